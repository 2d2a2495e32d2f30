"""What a compaction left out of the text the agent goes on with."""

from __future__ import annotations

import msgspec

from kedge.model.summary import SectionName
from kedge.model.value import Value


class Lost(Value, frozen=True):
    """One entry that is known and does not stand in the text."""

    section: SectionName
    text: str
    turn: int
    """Where it comes from, and can be seen again; -1 where no turn is known."""


class Losses(Value, frozen=True):
    turns: int = 0
    """That were newly folded."""
    tokens: int = 0
    """Of these."""
    earlier: int = 0
    """Turns that earlier compactions had folded."""
    left_out: dict[str, int] = msgspec.field(default_factory=dict)
    """How many entries are not in the text, by section."""
    undetailed: int = 0
    """Files that stand in the text without what changed in them, though it is known."""
    named: tuple[Lost, ...] = ()
    """The most salient of what is left out."""
