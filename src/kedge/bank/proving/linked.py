"""The chain inside a JSON Lines file, through its references into the archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from kedge.bank.moving.archives import Found, archive_name
from kedge.bank.moving.predecessors import end_of_chain, is_chained
from kedge.bank.proving.archived import pieces_with_archived
from kedge.bank.proving.findings import Finding
from kedge.bank.shapes.json_lines import PREDECESSOR, SPELT
from kedge.bank.values import Document, Entry, Piece, Reference


def against_predecessors(document: Document, found: Sequence[Found]) -> Iterator[Finding]:
    """Each entry must name the line before it. Entries without a hash are passed over: people
    write lines too."""
    if not is_chained(document):
        return
    pieces = pieces_with_archived(document, found)
    whole = {block.sha256 for block in found if not block.damage}
    before: Piece | None = None
    for piece, block in pieces:
        if isinstance(piece, Reference) and piece.sha256 in whole:
            continue  # what it stands for follows
        if isinstance(piece, Entry):
            named = _named(piece)
            if named and before is not None and named != end_of_chain(before):
                yield _broken(document, piece, block)
        if isinstance(piece, Entry | Reference):
            before = piece


def _named(entry: Entry) -> str:
    named = msgspec.json.decode(entry.text, type=dict[str, object]).get(PREDECESSOR)
    return named.removeprefix(SPELT) if isinstance(named, str) else ""


def _broken(document: Document, entry: Entry, block: int) -> Finding:
    file, line = (archive_name(document.name), block) if block else (document.name, entry.line)
    return Finding(
        file=file,
        line=line,
        what="the predecessor_hash is not that of the line before: a line was taken out, changed "
        "or put in between",
        gravity="violation",
        advice="put the lines back from a copy or from git",
    )
