"""A plan: what will be kept, folded and masked, and why. Pure data, printable before anything
happens.

A cut is a position in the list of turns: the first turn has 0, whatever its index is. Everything
else names turns by their index, as the summary does (t12)."""

from __future__ import annotations

from typing import Literal

from kedge.model.value import Value


class Span(Value, frozen=True):
    """Turns that follow each other and share a fate."""

    first: int
    """Index of a turn."""
    last: int
    """Index of a turn, included."""
    tokens: int
    reason: str


class Masked(Value, frozen=True):
    """One tool output in a kept turn that is replaced by a shorter text."""

    turn: int
    """Its index."""
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
    """Its index."""
    what: Repeated
    tokens: int
    heading: str = ""
    """How the note begins, where a turn holds several and this one only is said again. Empty: all
    of them."""


class Plan(Value, frozen=True):
    cut: int = 0
    """A position in the list of turns, and no index: those before it are folded, it and all after
    it are kept."""
    folded: tuple[Span, ...] = ()
    kept: tuple[Span, ...] = ()
    masked: tuple[Masked, ...] = ()
    """Those of the compaction before included, as far as their turns are kept."""
    repeated: tuple[Repeat, ...] = ()
    anchor: int | None = None
    """The anchor the cut falls on, as the index of its turn."""
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
        """Whether all stays as it was read. What an earlier compaction masked is not as it was
        read: whether a later one changes anything is in its record."""
        return not self.folded and not self.masked
