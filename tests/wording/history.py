"""A session of our own writing, and what makes it hard to compact well."""

from __future__ import annotations

from typing import NamedTuple

from kedgeline.model import ToolCall, ToolResult, Turn
from tests.turns import turn

Did = tuple[ToolCall, ToolResult]


class Said(NamedTuple):
    """A turn that is to be."""

    user: str
    says: str
    did: tuple[Did, ...] = ()


class History(NamedTuple):
    name: str
    shape: str
    """A provider's, or `turns`."""
    said: tuple[Said, ...]
    rules: tuple[str, ...]
    """Standing instructions of the user's, word for word."""
    pins: tuple[str, ...] = ()
    compacted_after: int = 0
    """Turns after which it was compacted for the first time."""
    waiting: str = ""
    """Command of a call that is under way in the end."""
    secret: str = ""
    kept: str = "memory"

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(
            turn(n, *one.did, user=one.user, says=one.says, exchange=n, tokens=0)
            for n, one in enumerate(self.said)
        )
