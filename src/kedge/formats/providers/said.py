"""Messages before any provider's shape, and what there is to know of a provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kedge.formats.providers.names import ANY, Names
from kedge.formats.turns.draft import Piece
from kedge.model import Role, ToolResult, Wire


class Said(NamedTuple):
    """One message: its pieces, calls and results among them."""

    role: Role
    pieces: tuple[Piece, ...]
    wire: Wire
    """Empty when another format wrote it."""

    @property
    def item(self) -> int:
        """Its place in the list it was read from; -1 when it was not."""
        item: int = self.wire.get("item", -1)
        return item


class Dialect(NamedTuple):
    """What the layout has to know of a provider."""

    provider: str
    takes: Callable[[Role, Piece], bool]
    """Whether there is a place for a piece in a message of this role."""
    signed_by: tuple[str, ...] = ()
    """Formats whose thinking carries this provider's signature."""
    system_inside: bool = False
    """Whether system messages may stand between the others."""
    names: Names = ANY
    """What tools may be called."""
    ids: Names = ANY
    """What the ids of calls may be."""


def reminder(text: str) -> str:
    """Text that nobody typed, marked as such where only the user's role is left for it."""
    inner = text.replace("</system-reminder>", "</system_reminder>")
    return f"<system-reminder>\n{inner}\n</system-reminder>"


def text_of_result(result: ToolResult) -> str:
    return result.output or result.error or ""
