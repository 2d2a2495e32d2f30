"""Strands: a conversation manager.

    Agent(model=model, tools=tools, conversation_manager=KedgelineConversationManager())

`agent.messages` is compacted in place before a model call, as it is by every conversation manager;
a session manager keeps all messages, and a restored agent goes on with the compacted ones."""

from __future__ import annotations

from typing import Any, Unpack
from uuid import uuid4

from kedgeline.adapters.runs import Adapter, AdapterOptions, AgentRun, Runs
from kedgeline.errors import MissingExtra

try:
    from strands.agent.conversation_manager import ConversationManager
except ImportError as error:
    raise MissingExtra("the adapter for Strands", "strands") from error

ALWAYS = 0.01
"""From which fill on Strands asks before each model call; when to compact is decided here."""
LESS = 0.8
"""Share of a request that did not fit which is tried next."""


class KedgelineConversationManager(Adapter, ConversationManager):
    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        super().__init__(proactive_compression={"compression_threshold": ALWAYS})
        self._runs = Runs(rewrites=True, **options)
        self._key = f"strands-{uuid4().hex[:12]}"
        self._head: Any = None

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "head": self._head}

    def restore_from_session(self, state: dict[str, Any]) -> list[Any] | None:
        super().restore_from_session(state)
        self._head = state.get("head")
        return [self._head] if self._head else None

    def apply_management(self, agent: Any, **_: Any) -> None:
        """Called when a call of the agent is over: nothing is sent then."""

    def reduce_context(self, agent: Any, e: Exception | None = None, **_: Any) -> None:
        run, messages = self._runs.of(self._key), agent.messages
        window = getattr(agent.model, "context_window_limit", None)
        config = agent.model.get_config()
        name = config.get("model_id", "") if isinstance(config, dict) else ""
        beside = getattr(agent, "system_prompt", None)
        if e is None:
            sent = run.step(list(messages), beside=beside, model_name=name, model_window=window)
        else:
            sent = self._squeezed(run, list(messages), beside)
        if len(sent) == len(messages) and all(a is b for a, b in zip(sent, messages, strict=True)):
            if e is not None:
                raise e
            return
        own = {id(one) for one in messages}
        made = bool(sent) and id(sent[0]) not in own
        stored = len(messages) - (self._head is not None)
        self.removed_message_count += stored - (len(sent) - made)
        self._head = sent[0] if made else self._head
        messages[:] = sent

    def _squeezed(self, run: AgentRun, messages: list[Any], beside: Any) -> list[Any]:
        """After an overflow: the window is smaller than what was sent."""
        usual = run.window
        run.window = max(1, int(run.sizes.of(messages) * LESS))
        try:
            return run.step(messages, beside=beside, now=True)
        finally:
            run.window = usual
