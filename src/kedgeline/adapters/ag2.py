"""AG2: a middleware.

    Agent("auditor", prompt, config=config, tools=tools, middleware=[kedgeline_middleware()])

The events of the stream stay whole; what is sent is compacted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Parts, Runs
from kedgeline.errors import MissingExtra

try:
    from ag2.compact import CompactionSummary
    from ag2.events import ModelRequest, ModelResponse, ToolResultEvent, ToolResultsEvent
    from ag2.middleware import BaseMiddleware, Middleware
except ImportError as error:
    raise MissingExtra("the adapter for AG2", "ag2") from error


def kedgeline_middleware(**options: Unpack[AdapterOptions]) -> _Factory:
    """What `Agent(middleware=[…])` takes. One for several agents shares nothing between streams."""
    return _Factory(Runs(**options))


class _Factory(Adapter, Middleware):
    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        super().__init__(_Turn, runs=runs)


class _Turn(BaseMiddleware):
    """Made anew for each turn of a stream."""

    def __init__(self, event: Any, context: Any, runs: Runs) -> None:
        super().__init__(event, context)
        self._runs = runs
        self._parts = Parts(_records)

    async def on_llm_call(
        self, call_next: Callable[..., Any], events: Sequence[Any], context: Any
    ) -> Any:
        given = list(events)
        try:
            shown = await self._shown(given, context)
        except Exception:  # noqa: BLE001 - events are private to AG2: whatever they are, the turn goes on
            shown = given
        return await call_next(shown, context)

    async def _shown(self, events: list[Any], context: Any) -> list[Any]:
        run, records = self._runs.of(f"ag2-{context.stream.id}"), self._parts.messages(events)
        name = str(getattr(getattr(context, "config", None), "model", "") or "")
        sent = await run.astep(records, beside=list(context.prompt), model_name=name)
        if sent is records:
            return events
        lead, staying, outputs = self._parts.remaining(events, sent)
        first = min(staying, default=len(events))
        kept = [
            _shortened(event, outputs)
            for n, event in enumerate(events)
            if n in staying or (n > first and not _records(event) and not _is_repeated(event))
        ]
        return [*([_summary(lead, first)] if lead else ()), *kept]


def _summary(lead: dict[str, Any], count: int) -> Any:
    content = lead["content"]
    texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    return CompactionSummary(summary="\n\n".join(texts), event_count=count)


def _is_repeated(event: Any) -> bool:
    """Whether it is one result, which stands in the event with all results too."""
    return isinstance(event, ToolResultEvent)


def _results(event: Any) -> list[Any]:
    return list(event.results) if isinstance(event, ToolResultsEvent) else []


def _records(event: Any) -> list[dict[str, Any]]:
    """What an event says, as messages of OpenAI's chat API."""
    if isinstance(event, CompactionSummary):
        return [{"role": "user", "content": event.summary}]
    if isinstance(event, ModelRequest):
        return [{"role": "user", "content": "\n".join(map(_text, event.parts))}]
    if isinstance(event, ModelResponse):
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in event.tool_calls.calls
        ]
        said = getattr(event.message, "content", None) or None
        return [{"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})}]
    return [
        {
            "role": "tool",
            "tool_call_id": result.parent_id,
            "content": "\n".join(map(_text, result.result.parts)),
        }
        for result in _results(event)
    ]


def _text(part: Any) -> str:
    return str(getattr(part, "content", part))


def _shortened(event: Any, outputs: dict[str, str]) -> Any:
    if not any(one.parent_id in outputs for one in _results(event)):
        return event
    made = copy(event)
    made.results = []
    for result in event.results:
        if result.parent_id in outputs:
            result = copy(result)
            result.result = copy(result.result)
            first = copy(result.result.parts[0])
            first.content = outputs[result.parent_id]
            result.result.parts = [first]
        made.results.append(result)
    return made
