"""Pydantic AI: a capability; and a strategy for its harness.

    Agent(model, capabilities=[KedgelineCompaction()])
    TieredCompaction(tiers=[KedgelineTier()], target_fraction=0.8)

The history stays whole; what is sent is compacted. With `persistent=True` the history is compacted
too, as every strategy of the harness does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack
from uuid import uuid4

from kedgeline.adapters.runs import Adapter, AdapterOptions, AgentRun, Runs
from kedgeline.errors import MissingExtra
from kedgeline.session.loop import Beside

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.models import ModelRequestContext
except ImportError as error:
    raise MissingExtra("the adapter for Pydantic AI", "pydantic-ai") from error

CARRIED = frozenset({"tool-availability-delta", "capability-load-delta"})
"""Parts that say which tools the model may use: what they said holds on."""


class _Run(AgentRun):
    def led(self, message: Any, folded: Sequence[Any]) -> Any:
        parts = (part for one in folded for part in one.parts)
        carried = [part for part in parts if getattr(part, "part_kind", "") in CARRIED]
        return replace(message, parts=[*message.parts, *carried]) if carried else message


class KedgelineCompaction(Adapter, AbstractCapability[Any]):
    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        self._runs = Runs(_Run, rewrites=None, **options)
        self._key = ""

    async def for_run(self, ctx: RunContext[Any]) -> KedgelineCompaction:
        own = object.__new__(type(self))
        own._runs, own._key = self._runs, f"pydantic-ai-{uuid4().hex[:12]}"
        return own

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        run, messages = self._runs.of(self._key), list(ctx.messages)
        sent = await run.astep(messages, **_known(request_context))
        if sent is messages:
            return request_context
        if self._runs.persistent:
            ctx.messages[:] = sent
        return replace(request_context, messages=sent)


def _known(request: ModelRequestContext) -> Beside:
    model = request.model
    parameters = request.model_request_parameters
    tools = [
        (one.name, one.description, one.parameters_json_schema) for one in parameters.function_tools
    ]
    return {
        "beside": tools,
        "model_name": getattr(model, "model_name", ""),
        "model_window": getattr(model, "context_window", None),
    }


class KedgelineTier(Adapter):
    """A tier for the compactions of pydantic-ai-harness, which decide when it is asked."""

    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        self._runs = Runs(_Run, rewrites=True, **options)

    async def compact(self, messages: list[Any], ctx: RunContext[Any]) -> list[Any]:
        named = getattr(ctx, "run_id", None)
        run = self._runs.of(named) if named else self._runs.of_object(ctx)
        return await run.astep(list(messages), now=True)
