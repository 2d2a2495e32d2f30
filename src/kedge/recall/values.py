"""What recall gives back."""

from __future__ import annotations

from kedge.model import ToolCall, ToolResult, Turn, Value


class Line(Value, frozen=True):
    """A line of an original, or the part of a long one around what was looked for."""

    number: int
    """In its text, from 1 on."""
    text: str
    """As it stands there."""
    spans: tuple[tuple[int, int], ...] = ()
    """What was looked for: from one character of `text` to before another."""
    column: int = 0
    """Characters of the line that are left out before `text`."""
    cut: bool = False
    """Whether the line goes on behind `text`."""


class Recalled(Value, frozen=True):
    """A turn in which a query was found: the best place in it."""

    session: str
    mark: str
    """Of the turn, as `original` takes it: t12; explore-1/t3 in the thread of a sub-agent; #57, by
    its entry, where the turn no longer stands."""
    turn: int
    """Index of the turn."""
    thread: str
    """Id of a sub-agent; empty for the main conversation."""
    number: int
    """Of the entry."""
    stands: bool
    """Whether the turn still stands: a rewind may have taken it back."""
    at: int
    """Microseconds since 1970, UTC."""
    who: str
    """user, agent, tool or client."""
    field: str
    """Which text of the turn it is, as `kedge.archive.passages` names it."""
    title: str
    """One line: the tool and what it was about, or what kind of text it is."""
    output: str
    """Mark of the call with its output, as `original` takes it; empty where no call is meant."""
    error: bool
    """Whether the call failed."""
    score: float
    """As the store has it; comparable within one answer."""
    together: bool
    """Whether all words were found next to each other, in the order they were asked for."""
    start: int
    """Where the passage begins in its text, in characters."""
    lines: tuple[Line, ...]
    """The lines that hold what was looked for, and those around them."""
    also: tuple[str, ...] = ()
    """Other sessions that have the same turn: forks."""
    relaxed: tuple[str, ...] = ()
    """What was asked for and does not stand here: nothing had all of it."""
    damage: str = ""
    """Why there are no lines, where the original cannot be read."""


class Original(Value, frozen=True):
    """A turn as it was, or one call of it."""

    session: str
    mark: str
    turn: Turn
    call: ToolCall | None = None
    """The one that was asked for; None for the whole turn, or for a result without its call."""
    result: ToolResult | None = None

    @property
    def text(self) -> str:
        """What the tool gave back; empty for a whole turn."""
        return "" if self.result is None else self.result.output or self.result.error or ""
