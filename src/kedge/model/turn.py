"""A turn: the smallest unit that can be cut without breaking tool pairing."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from kedge.model.catalogue import Verb, paths_in, verb_of
from kedge.model.parts import Media, Message, Note
from kedge.model.value import Value, Wire


class Source(Value, frozen=True):
    """Where a turn stands in its file."""

    first: int = 0
    """First physical line (or item, in a JSON document or a list), counted from 0."""
    last: int = 0
    start: int = -1
    """Byte offset at which the first line begins; -1 where the format has no lines."""
    end: int = -1
    """Byte offset just behind the last line."""
    file: str = ""
    """Name of a file beside the session's own, where a client keeps sub-agents apart."""


MOST_TOKENS = 10**12
"""Of one message: no context is a millionth of it, so a larger number is no count."""


class Usage(Value, frozen=True):
    """Tokens as the provider reported them for one assistant message."""

    input: int = 0
    """Without what came from or went to the cache."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def context(self) -> int:
        """Everything the model was sent."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """Sent and written."""
        return self.context + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


class ToolCall(Value, frozen=True):
    id: str
    tool: str
    """The tool's name as the agent calls it."""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    verb: Verb = "other"
    """What the tool does, in words common to all agents; looked up unless given."""
    wire: Wire | None = None

    def __post_init__(self) -> None:
        if self.verb == "other":
            msgspec.structs.force_setattr(self, "verb", verb_of(self.tool, self.parameters))

    def paths(self) -> tuple[str, ...]:
        """Full paths the call names, as written."""
        return paths_in(self.tool, self.parameters)

    def filename(self) -> str | None:
        """Base name of the first path, or None when the call names none."""
        for path in self.paths():
            return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        return None


class ToolResult(Value, frozen=True):
    call_id: str
    success: bool = True
    """From error flags, states and exit codes; never from the wording of the output."""
    output: str = ""
    error: str | None = None
    """What went wrong, when the call failed."""
    exit_code: int | None = None
    refused: bool = False
    """The user (or a rule of theirs) did not let the call run: it had no effect and did not fail.
    """
    reason: str = ""
    """The user's own words when refusing."""
    interrupted: bool = False
    change: Literal["", "create", "update", "delete"] = ""
    """What the tool itself reports to have done to the file."""
    media: tuple[Media, ...] = ()
    wire: Wire | None = None

    @property
    def failed(self) -> bool:
        return not (self.success or self.refused or self.interrupted)


class Turn(Value, frozen=True):
    """One assistant message with its calls and their results, and the user's words before it."""

    index: int = 0
    """Place in its transcript, counted from 0; printed as t0, t1, …"""
    exchange: int = 0
    """Which of the user's requests it answers, counted from 0."""
    user_message: str = ""
    """What the user said before the assistant message: prompts and queued words, nothing injected.
    """
    assistant_response: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    """Matched to the calls by id and in their order; a call without one was not answered."""
    tokens: int = 0
    timestamp: datetime | None = None
    previous_error: bool = False
    """A call before this turn failed and has not succeeded since (same exchange, or the turn
    before)."""
    agent: str = ""
    """Id of the sub-agent that took this turn; empty for the main conversation."""
    session: int = 0
    """Which session, where one file holds several."""
    source: Source = Source()
    notes: tuple[Note, ...] = ()
    media: tuple[Media, ...] = ()
    """Images and files that came with the user's words."""
    model: str = ""
    message_id: str = ""
    usage: Usage | None = None
    messages: tuple[Message, ...] = ()
    """The layout in the provider's order; empty when the turn was not read from a provider's
    messages."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing is in it: it holds the place of a turn that was not loaded."""
        return not (
            self.user_message
            or self.assistant_response
            or self.thinking
            or self.tool_calls
            or self.tool_results
            or self.notes
            or self.media
            or self.messages
        )

    def result_of(self, call: ToolCall) -> ToolResult | None:
        return next((r for r in self.tool_results if r.call_id == call.id), None)

    def user_words(self) -> tuple[str, ...]:
        """All the user said in this turn, reasons for refusing a call included."""
        said = (self.user_message, *(result.reason for result in self.tool_results))
        return tuple(text for text in said if text)
