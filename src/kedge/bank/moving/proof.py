"""Whether what would be written has everything that is there now. It knows nothing of how a move is
planned: it reads both versions of every file and compares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kedge.bank.moving.archives import archive_name, blocks
from kedge.bank.moving.triggers import stem
from kedge.bank.shapes import read_document
from kedge.bank.values import ARCHIVE, DECISIONS, INDEX, Change, Document, Other
from kedge.errors import BankChanged

HASH = re.compile(rb"\b[0-9a-f]{64}\b")
"""How a reference names its block, in any shape."""


def prove(changes: Sequence[Change]) -> None:
    """Raises BankChanged where anything would be lost, or changed that must not be."""
    written = {change.name: change.after or b"" for change in changes}
    for change in changes:
        if stem(change.name).endswith(INDEX):
            continue
        if stem(change.name) == DECISIONS:
            raise BankChanged(change.name, "the decision log is never rewritten by a compaction")
        if stem(change.name).endswith(ARCHIVE):
            if not (change.after or b"").startswith(change.before or b""):
                raise BankChanged(change.name, "an archive only grows")
        else:
            _prove_moved(change, written.get(archive_name(change.name), b""))


def _prove_moved(change: Change, archive: bytes) -> None:
    """Every piece is in the file as before, or in a whole block that a new reference leads to."""
    name = change.name
    before = read_document(name, change.before or b"")
    after = read_document(name, change.after or b"")
    contents = {found.sha256: found.content for found in blocks(archive) if not found.damage}
    new = Counter(_hashes(after)) - Counter(_hashes(before))
    for digest in new:
        if digest not in contents:
            raise BankChanged(name, f"no whole block of its archive has the hash {digest}")
    moved = b"\0".join(contents[digest] for digest in _reached(new, contents))
    for text, times in (_texts(before) - _texts(after)).items():
        if moved.count(text.encode()) < times:
            line = next(piece.line for piece in before.pieces if piece.text == text)
            raise BankChanged(name, f"what stands in line {line} would not be found again")
    entries = Counter(entry.text for entry in after.entries())
    if more := entries - Counter(entry.text for entry in before.entries()):
        line = next(entry.line for entry in after.entries() if entry.text in more)
        raise BankChanged(name, f"its line {line} would be read as an entry that was none")
    if _others(before) != _others(after):
        raise BankChanged(name, "what is no entry would not stay as it is")


def _reached(start: Iterable[str], contents: Mapping[str, bytes]) -> set[str]:
    """Hashes of all blocks that references lead to, through references in blocks."""
    reached: set[str] = set()
    left = list(start)
    while left:
        digest = left.pop()
        if digest not in reached:
            reached.add(digest)
            named = {found.decode() for found in HASH.findall(contents[digest])}
            left.extend(named & contents.keys())
    return reached


def _hashes(document: Document) -> list[str]:
    return [reference.sha256 for reference in document.references()]


def _texts(document: Document) -> Counter[str]:
    """Of what can move."""
    return Counter(piece.text for piece in document.pieces if not isinstance(piece, Other))


def _others(document: Document) -> str:
    return "".join(piece.text for piece in document.pieces if isinstance(piece, Other))
