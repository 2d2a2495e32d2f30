"""What a provider wrote that the values have no place for, and how it is put back.

A wire names its provider under `provider`; another provider's writer does not look at it. It holds:

on a part, a call or a result
    keys, fields   the keys of the block in their order, and those fields that the values alone do
                   not give (unknown ones, arguments as they were written, a list of contents)
    pieces, block  the whole block, where it was read as several parts; `joins` marks the others
    block          alone, in an Opaque: the block itself
    type, field    which of several shapes of a provider the part had
    made_id        the id was made while reading, because the provider wrote none
    files          where the files begin and end that a client put into a text
on a message
    item           its place in the list; what of one message went to two turns shares it
    places         where its parts stood among those of the message, when they went to two turns
    keys, fields   as above, for the message around its content
    shape          "string" or "list": how the content was written
on a transcript
    body           the rest of the request

Values come first: where a part was changed after it was read, it is written from its values, and of
the wire only the unknown fields are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from kedgeline.formats.intake import Record
from kedgeline.formats.turns import Piece
from kedgeline.model import Opaque, Role, ToolResult, Wire

# Which names of tools and ids of calls a provider takes, and the nearest to one it refuses.

UNNAMED = "tool"
"""Stands for a name that is empty, which every provider refuses."""


class Names(NamedTuple):
    """What a name may look like."""

    refused: re.Pattern[str]
    """What becomes an underscore."""
    longest: int | None = None
    first: re.Pattern[str] = re.compile("")
    """What the first character has to be; a name that begins otherwise gets an underscore."""

    def nearest(self, name: str) -> str:
        """The name, if it is allowed; else one like it that is."""
        allowed = self.refused.sub("_", name or UNNAMED)
        if not self.first.match(allowed):
            allowed = f"_{allowed}"
        return allowed[: self.longest]


_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")

ANTHROPIC_NAMES = Names(_REFUSED, longest=128)
ANTHROPIC_IDS = Names(_REFUSED)
OPENAI_NAMES = Names(_REFUSED, longest=64)
GEMINI_NAMES = Names(re.compile(r"[^a-zA-Z0-9_.-]"), longest=64, first=re.compile(r"[a-zA-Z_]"))
ANY = Names(re.compile(r"(?!)"))


# Messages before any provider's shape, and what there is to know of a provider.


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


P = TypeVar("P", bound=Piece)
Plain = Callable[[Piece], Record | None]
"""A piece as a block written from its values alone; None when the provider has no place for it."""
Reread = Callable[[Any, Piece], Sequence[Piece]]
"""What a block reads as, given the (first) piece it was read as before."""


def own(wire: Any, provider: str) -> Wire:
    """The wire if it is this provider's, else nothing."""
    return wire if isinstance(wire, dict) and wire.get("provider") == provider else {}


def seal(provider: str, block: Record, plain: Record | None, **marks: Any) -> Wire | None:
    """The wire that makes of the plain block the one that was read; None when they are the same."""
    plain = plain or {}
    fields = {
        key: value
        for key, value in block.items()
        if key not in plain or not _same(plain[key], value)
    }
    if fields or list(block) != list(plain):
        marks |= {"keys": list(block), "fields": fields}
    return {"provider": provider, **marks} if marks else None


def restored(wire: Wire, plain: Record, holds: Callable[[Record], bool]) -> Record:
    """The block as it was read, if it still says what the values say; else the plain one."""
    if "keys" not in wire:
        return plain
    fields: Record = wire["fields"]
    both = {**plain, **fields}
    block = {key: both[key] for key in wire["keys"] if key in both}
    if holds(block):
        return block
    return {**fields, **plain}


def sealed(
    provider: str, block: Record, pieces: Sequence[Piece], plain: Plain, **marks: Any
) -> tuple[Piece, ...]:
    """The pieces read from one block, with what is needed to write it again."""
    if len(pieces) == 1:
        return (sealed_one(provider, block, pieces[0], plain, **marks),)
    first = {"provider": provider, "pieces": len(pieces), "block": block, **marks}
    further = {"provider": provider, "joins": True}
    return tuple(_with(piece, further if number else first) for number, piece in enumerate(pieces))


def sealed_one(provider: str, block: Record, piece: P, plain: Plain, **marks: Any) -> P:
    """The one piece read from a block."""
    marked = _with(piece, {"provider": provider, **marks} if marks else None)
    return _with(piece, seal(provider, block, plain(marked), **marks))


def kept(provider: str, kind: object, block: Any) -> Opaque:
    """A block that is only handed through."""
    return Opaque(kind=str(kind), wire={"provider": provider, "block": block})


def blocks_of(provider: str, pieces: Sequence[Piece], plain: Plain, reread: Reread) -> list[Any]:
    """Pieces as blocks, as they were read where they still are what was read."""
    blocks: list[Any] = []
    position = 0
    while position < len(pieces):
        piece = pieces[position]
        wire = own(piece.wire, provider)
        group = pieces[position : position + wire.get("pieces", 1)]
        if len(group) > 1 and _agree(reread(wire["block"], piece), group):
            blocks.append(wire["block"])
            position += len(group)
            continue
        position += 1
        if (block := block_of(provider, piece, plain, reread)) is not None:
            blocks.append(block)
    return blocks


def block_of(provider: str, piece: Piece, plain: Plain, reread: Reread) -> Any:
    """One piece as a block; None when the provider has no place for it."""
    wire = own(piece.wire, provider)
    if isinstance(piece, Opaque):
        return wire.get("block")
    written = plain(piece)
    if written is None:
        return None if "keys" not in wire else restored(wire, {}, lambda block: True)
    return restored(wire, written, lambda block: _agree(reread(block, piece), (piece,)))


def shaped(role: Role, parts: list[Any], wire: Wire, *, empty: str | None) -> Any:
    """Content for OpenAI: a list where it was one, or where the user's side holds several things;
    else one text."""
    if wire.get("shape") == "list":
        return parts
    texts = [part["text"] for part in parts if list(part) == ["type", "text"]]
    if len(texts) < len(parts) or (role == "user" and len(parts) > 1):
        return parts
    return "\n\n".join(texts) if texts else empty


def same_pieces(one: Iterable[Piece], other: Iterable[Piece]) -> bool:
    """Whether pieces say the same, whatever their wires."""
    return _agree(tuple(one), tuple(other))


def _agree(one: Sequence[Piece], other: Sequence[Piece]) -> bool:
    return len(one) == len(other) and all(
        type(a) is type(b) and (a == b if isinstance(a, Opaque) else _bare(a) == _bare(b))
        for a, b in zip(one, other, strict=True)
    )


def _bare(piece: Piece) -> Piece:
    """The piece without its wire, and without what was looked up elsewhere."""
    if isinstance(piece, ToolResult):
        return replace(piece, wire=None, reason="", change="")
    return _with(piece, None)


def _with(piece: P, wire: Wire | None) -> P:
    return piece if piece.wire is wire else replace(piece, wire=wire)


def _same(one: Any, other: Any) -> bool:
    """The same on the wire: `1` is not `true`, and keys stand in one order."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
