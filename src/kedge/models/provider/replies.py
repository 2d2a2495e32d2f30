"""What a provider's client hands back, as a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.model import Ending, Reply, Usage
from kedge.models.command import LARGEST_REPLY
from kedge.models.provider.body import Spoiled, too_large

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.usage import RequestUsage

ENDINGS: dict[str, Ending] = {
    "stop": "whole",
    "length": "cut off",
    "content_filter": "refused",
    "tool_call": "tool call",
}
GROWING = ("part_start", "part_delta")
"""Events that bring something new; others repeat it."""
HOLDERS = ("content", "content_delta", "args", "args_delta")
"""Where text, reasoning and tool calls are, in an event's part or delta."""


class Size:
    """Of a reply while it comes."""

    def __init__(self) -> None:
        self.characters = 0

    def grow(self, event: ModelResponseStreamEvent) -> None:
        if event.event_kind in GROWING:
            self.add(getattr(event, "part", None) or getattr(event, "delta", None))

    def add(self, part: object) -> None:
        self.characters += sum(len(str(getattr(part, holder, None) or "")) for holder in HOLDERS)
        if self.characters > LARGEST_REPLY:
            raise too_large("characters", LARGEST_REPLY)


def reply_in(response: ModelResponse, *, name: str, streamed: bool) -> Reply:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    details: dict[str, Any] = response.provider_details or {}
    usage = _usage(response.usage)
    size = Size()
    for part in response.parts:
        size.add(part)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    text = text or str(details.get("refusal") or "")
    ending = _ending(response, details)
    if streamed and not ending and _broke_off(response, details, usage):
        raise Spoiled("disconnected", "its reply broke off", "try again later")
    if any(isinstance(part, ToolCallPart) for part in response.parts):
        ending = "tool call"
    thought = any(isinstance(part, ThinkingPart) for part in response.parts)
    return Reply(
        text=text.encode(errors="replace").decode(),
        model=name,
        usage=usage,
        ending=ending,
        reasoned=thought or response.usage.details.get("reasoning_tokens", 0) > 0,
    )


def _ending(response: ModelResponse, details: dict[str, Any]) -> Ending:
    """As the provider says, and not as pydantic-ai supposes where it does not."""
    if response.finish_reason == "error":
        raise Spoiled("server error", "it broke off with an error", "try again later")
    said = "finish_reason" in details or "refusal" in details
    return ENDINGS.get(response.finish_reason or "", "") if said else ""


def _broke_off(response: ModelResponse, details: dict[str, Any], usage: Usage | None) -> bool:
    """Some servers never say why a reply ended; but their usage comes last."""
    if "finish_reason" in details:
        return False
    return response.state == "incomplete" or response.finish_reason is None or usage is None


def _usage(usage: RequestUsage) -> Usage | None:
    """pydantic-ai counts what went through the cache as a part of the input."""
    read, written = max(0, usage.cache_read_tokens), max(0, usage.cache_write_tokens)
    found = Usage(
        input=max(0, usage.input_tokens - read - written),
        output=max(0, usage.output_tokens),
        cache_read=read,
        cache_write=written,
    )
    return None if found == Usage() else found
