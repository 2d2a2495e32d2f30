"""A plan: what will be kept, folded and masked, and why. Pure data, printable before anything
happens."""

from __future__ import annotations

from typing import Literal

from kedge.model.value import Value


class Span(Value, frozen=True):
    """Turns that follow each other and share a fate."""

    first: int
    last: int
    """Included."""
    tokens: int
    reason: str


class Masked(Value, frozen=True):
    """One tool output in a kept turn that is replaced by a shorter text."""

    turn: int
    call_id: str
    how: Literal["masked", "shortened"]
    """One line in its place, or its head, its tail and the error lines between."""
    text: str
    """What stands in its place."""
    tokens_before: int
    tokens_after: int
    reason: str


Repeated = Literal["instructions", "environment", "summary", "request"]
"""Rules files as the agent was given them, its surroundings, what another system had put in the
place of turns that are nowhere else, or the user's words."""


class Repeat(Value, frozen=True):
    """Something of a folded turn that is said again verbatim, between the summary and the kept
    turns."""

    turn: int
    what: Repeated
    tokens: int


class Plan(Value, frozen=True):
    cut: int = 0
    """Turns before it are folded; it and all after it are kept."""
    folded: tuple[Span, ...] = ()
    kept: tuple[Span, ...] = ()
    masked: tuple[Masked, ...] = ()
    repeated: tuple[Repeat, ...] = ()
    anchor: int | None = None
    """The anchor the cut falls on."""
    reason: str = ""
    """Why the cut is where it is; or why there is nothing to do."""
    tokens_before: int = 0
    tokens_kept: int = 0
    """Of the turns that stay, after masking, and of what is said again."""
    summary_room: int = 0
    """What the summary may have at the most."""
    excess: int = 0
    """Tokens above the target that no step could free."""
    advice: tuple[str, ...] = ()
    """What would help where the budget is not kept."""

    @property
    def over_budget(self) -> bool:
        return self.excess > 0

    @property
    def nothing_to_do(self) -> bool:
        return not self.folded and not self.masked
