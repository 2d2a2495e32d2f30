"""CrewAI: a hook before each call of the model.

    register_before_llm_call_hook(KedgelineHook())

The executor's list is changed in place: it is the only copy, so give a `store` where originals are
needed later. Hooks hold for the whole process; with `agents=` only these agents are compacted."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs


class KedgelineHook(Adapter):
    def __init__(self, *, agents: Collection[str] = (), **options: Unpack[AdapterOptions]) -> None:
        """`agents` are roles; all where none is named."""
        self._agents = agents
        self._runs = Runs(rewrites=True, **options)

    def __call__(self, context: Any) -> None:
        """None lets the call go on."""
        role = getattr(context.agent, "role", "")
        if self._agents and role not in self._agents:
            return
        messages, llm = context.messages, context.llm
        run = self._runs.of_object(messages)
        asks = getattr(llm, "get_context_window_size", None)
        sent = run.step(
            messages,
            model_name=str(getattr(llm, "model", "")),
            model_window=asks() if callable(asks) else None,
        )
        if sent is not messages:
            messages[:] = sent
