"""The chain inside a JSON Lines file, through its references into the archive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kedge.bank.moving.archives import Found, archive_name
from kedge.bank.moving.predecessors import end_of_chain, is_chained
from kedge.bank.proving.archived import pieces_with_archived
from kedge.bank.proving.findings import Finding
from kedge.bank.shapes.json_lines import PREDECESSOR, SPELT, line_hash
from kedge.bank.values import Document, Entry, Piece, Reference

_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_STATUS = re.compile(rf'(?P<before>,\s*)?(?P<key>"status"\s*:\s*){_STRING}(?P<after>\s*,\s*)?')


def against_predecessors(
    document: Document, found: Sequence[Found], statuses: Mapping[int, str] | None = None
) -> Iterator[Finding]:
    """Each entry must name the line before it. Entries without a hash are passed over: people
    write lines too. `statuses`: those that entries of a log had when they were first seen, by their
    lines; a line that only got another is still the one that was named."""
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
            if named and before is not None and named not in _ends(before, statuses or {}):
                yield _broken(document, piece, block)
        if isinstance(piece, Entry | Reference):
            before = piece


def _ends(piece: Piece, statuses: Mapping[int, str]) -> Iterator[str]:
    """What the next entry may name: this line, and what it was with its first status."""
    yield end_of_chain(piece)
    if not isinstance(piece, Entry) or statuses.get(piece.line, piece.status) == piece.status:
        return
    first = statuses[piece.line]
    for found in _STATUS.finditer(piece.text):
        head, tail = piece.text[: found.start()], piece.text[found.end() :]
        before, after = found["before"] or "", found["after"] or ""
        if not first:  # there was no such key: one of the two commas came with it
            yield from (line_hash(head + comma + tail) for comma in {before, after})
            continue
        for ascii_only in (False, True):
            value = json.dumps(first, ensure_ascii=ascii_only)
            yield line_hash(f"{head}{before}{found['key']}{value}{after}{tail}")


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
