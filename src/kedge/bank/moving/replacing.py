"""Pieces of a document replaced by references to the blocks they become in an archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import structs

from kedge.bank.moving.archives import Block, archive_name
from kedge.bank.moving.predecessors import end_of_chain, is_chained
from kedge.bank.moving.summaries import summary_of
from kedge.bank.shapes import read_document, shape_named
from kedge.bank.shapes.checklists import Checklists
from kedge.bank.shapes.tables import Tables, head_above
from kedge.bank.shapes.times import aware
from kedge.bank.values import Document, Entry, Other, Piece, Reference
from kedge.model import Value

Group = Sequence[int]
"""Places of pieces, in the order of the file, that one reference will stand for."""


class Moved(Value, frozen=True):
    """A document without what goes, and what goes."""

    document: Document
    blocks: tuple[Block, ...] = ()
    """In the order in which they go to the archive."""
    entries: int = 0
    """How many went."""
    references: int = 0
    """How many older references went, of which one stands for all."""


def replaced(document: Document, groups: Sequence[Group]) -> Moved:
    """Every group becomes a block and, where its first piece stood, a reference. All other pieces
    stay where they are. The first place is the one that matters: an entry under a heading ends at
    a reference, and what a person wrote behind it must not become part of the entry."""
    if not groups:
        return Moved(document=document)
    shape = shape_named(document.shape)
    references: dict[int, str] = {}
    blocks: list[Block] = []
    gone: set[int] = set()
    heads = _heads(document)
    for group in groups:
        pieces = [document.pieces[place] for place in group]
        block = Block(
            content="".join(piece.text for piece in pieces).encode(),
            entries=sum(_counted(piece) for piece in pieces),
            lead=_table_head(heads[group[0]]).encode(),
        )
        reference = _reference(document, pieces, block)
        above = structs.replace(document, pieces=heads[group[0]])
        references[group[0]] = shape.reference(reference, above)
        blocks.append(block)
        gone.update(group)
    text = "".join(
        references.get(place, "") if place in gone else piece.text
        for place, piece in enumerate(document.pieces)
    )
    went = [document.pieces[place] for place in gone]
    entries = sum(isinstance(piece, Entry) for piece in went)
    return Moved(
        document=read_document(document.name, text.encode()),
        blocks=tuple(blocks),
        entries=entries,
        references=len(went) - entries,
    )


def fewer_references(moved: Moved, most: int) -> Moved:
    """Where more than `most` references are left, the older ones go too and one stands for them.
    Half of them stay, so that this is not done at every compaction."""
    document = moved.document
    groups = list(_older_references(document, most))
    if not groups:
        return moved
    again = replaced(document, groups)
    return Moved(
        document=again.document,
        blocks=(*moved.blocks, *again.blocks),
        entries=moved.entries,
        references=again.references,
    )


def runs(going: set[int]) -> Iterator[list[int]]:
    """Places that go, neighbours together."""
    run: list[int] = []
    for place in sorted(going):
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def is_listed(document: Document) -> bool:
    """Whether entries are lines below each other, of which any can go without the others
    noticing."""
    return document.shape in (Tables.name, Checklists.name)


def by_table(document: Document, places: Iterable[int]) -> Iterator[list[int]]:
    """Places of rows, those of tables with the same head together, so that they can be read again;
    where there is no table, all of them."""
    heads = _heads(document)
    groups: dict[str, list[int]] = {}
    for place in sorted(places):
        groups.setdefault(_table_head(heads[place]), []).append(place)
    yield from groups.values()


def _older_references(document: Document, most: int) -> Iterator[list[int]]:
    """Older than the newest half, those together that can become one."""
    places = [n for n, piece in enumerate(document.pieces) if isinstance(piece, Reference)]
    if len(places) <= most:
        return
    newest_first = places if document.order == "newest_first" else places[::-1]
    older = sorted(newest_first[most // 2 :])
    groups = by_table(document, older) if is_listed(document) else _unbroken(document, older)
    yield from (group for group in groups if len(group) > 1)


def _unbroken(document: Document, places: Sequence[int]) -> Iterator[list[int]]:
    """Places with no entry and no other reference between them: a chain of predecessors runs
    through both, and an entry under a heading ends where a reference stands."""
    group: list[int] = []
    for place in places:
        if group and any(not isinstance(p, Other) for p in document.pieces[group[-1] + 1 : place]):
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _reference(document: Document, pieces: Sequence[Piece], block: Block) -> Reference:
    times = [moment for piece in pieces for moment in _times(piece)]
    in_order = pieces if document.order == "oldest_first" else pieces[::-1]
    return Reference(
        archive=archive_name(document.name),
        sha256=block.sha256,
        entries=block.entries,
        summary=summary_of(pieces),
        first=min(times, default=None),
        last=max(times, default=None),
        end=end_of_chain(in_order[-1]) if is_chained(document) else "",
    )


def _counted(piece: Piece) -> int:
    return piece.entries if isinstance(piece, Reference) else 1


def _times(piece: Piece) -> list[datetime]:
    known: tuple[datetime | None, ...] = ()
    if isinstance(piece, Reference):
        known = (piece.first, piece.last)
    elif isinstance(piece, Entry):
        known = (piece.at,)
    return [aware(moment) for moment in known if moment is not None]


def _heads(document: Document) -> list[tuple[Piece, ...]]:
    """For every piece the one that ends with the head of its table; none where it is no row. A
    reference is written as its own table demands: those of one file may have different columns."""
    found: tuple[Piece, ...] = ()
    heads = []
    for piece in document.pieces:
        heads.append(found)
        if document.shape == Tables.name and isinstance(piece, Other):
            one = structs.replace(document, pieces=(piece,))
            found = found if head_above(one) is None else (piece,)
    return heads


def _table_head(above: Sequence[Piece]) -> str:
    return "".join("".join(piece.text.splitlines(True)[-2:]) for piece in above)
