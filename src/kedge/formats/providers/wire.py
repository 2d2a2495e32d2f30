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

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from kedge.formats.intake.lines import Record
from kedge.formats.turns.draft import Piece
from kedge.model import Opaque, ToolResult, Wire

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
