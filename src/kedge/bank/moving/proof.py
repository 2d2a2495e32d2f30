"""Whether what would be written has everything that is there now. It knows nothing of how a move is
planned: it reads both versions of every file and compares."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kedge.bank.moving.archives import archive_name, blocks
from kedge.bank.moving.triggers import stem
from kedge.bank.shapes import read_document
from kedge.bank.values import ARCHIVE, DECISIONS, INDEX, Change, Document, Other
from kedge.errors import BankChanged

HASH = re.compile(rb"\b[0-9a-f]{64}\b")
"""How a reference names its block, in any shape."""
REPORT = "this is an error of kedge, please report it"
CORRECT = (
    "nothing of it was moved; put blank lines around what stands there, or move its old entries "
    "by hand, and compact again"
)
LOOK = "run `kedge bank verify`, correct the archive and compact again"


def prove(changes: Sequence[Change]) -> None:
    """Raises BankChanged where anything would be lost, or changed that must not be."""
    written = {change.name: change.after or b"" for change in changes}
    for change in changes:
        if stem(change.name).endswith(INDEX):
            continue
        if stem(change.name) == DECISIONS:
            why = "the decision log is never rewritten by a compaction"
            raise BankChanged(change.name, f"{why}; {REPORT}")
        if stem(change.name).endswith(ARCHIVE):
            if not (change.after or b"").startswith(change.before or b""):
                raise BankChanged(change.name, f"an archive only grows; {REPORT}")
        else:
            _prove_moved(change, written.get(archive_name(change.name), b""))


def _prove_moved(change: Change, archive: bytes) -> None:
    """Every piece is in the file as before, or in a whole block that a new reference leads to, as
    often as it was there."""
    name = change.name
    before = read_document(name, change.before or b"")
    after = read_document(name, change.after or b"")
    contents = {found.sha256: found.content for found in blocks(archive) if not found.damage}
    new = _new_references(before, after)
    for digest in new:
        if digest not in contents:
            why = f"no whole block of its archive has the hash {digest}"
            raise BankChanged(name, f"{why}; {LOOK}")
    if lost := _not_moved(_texts(before) - _texts(after), new.elements(), contents):
        line = next(piece.line for piece in before.pieces if piece.text in lost)
        raise BankChanged(name, f"what stands in line {line} would not be found again; {CORRECT}")
    entries = Counter(entry.text for entry in after.entries())
    if more := entries - Counter(entry.text for entry in before.entries()):
        line = next(entry.line for entry in after.entries() if entry.text in more)
        why = f"its line {line} would be read as an entry that was none"
        raise BankChanged(name, f"{why}; {CORRECT}")
    if _others(before) != _others(after):
        raise BankChanged(name, f"what is no entry would not stay as it is; {CORRECT}")


def _not_moved(
    gone: Counter[str], references: Iterable[str], contents: Mapping[str, bytes]
) -> Counter[str]:
    """What of all that is gone is in no block, each block read once for each reference to it: two
    may lead to the same. A reference that was made and moved at once is followed too."""
    left = Counter({text.encode(): times for text, times in gone.items()})
    sizes = _sizes(left)
    following = list(references)
    followed = 0
    while following and followed <= len(contents) + sum(gone.values()):
        followed += 1
        content, place = contents[following.pop()], 0
        while place < len(content):
            end = content.find(b"\n", place) + 1 or len(content)
            line = content[place:end]
            found = next((n for n in sizes[line] if left[content[place : place + n]] > 0), 0)
            if found:
                left[content[place : place + found]] -= 1
            else:
                named = (one.decode() for one in HASH.findall(line))
                following.extend(digest for digest in named if digest in contents)
            place = place + found if found else end
    return Counter({text.decode(): times for text, times in (+left).items()})


def _sizes(texts: Iterable[bytes]) -> defaultdict[bytes, list[int]]:
    """How long texts are that begin with a line, the longest first."""
    sizes: defaultdict[bytes, set[int]] = defaultdict(set)
    for text in texts:
        sizes[text[: text.find(b"\n") + 1 or len(text)]].add(len(text))
    ordered = {line: sorted(found, reverse=True) for line, found in sizes.items()}
    return defaultdict(list, ordered)


def _new_references(before: Document, after: Document) -> Counter[str]:
    """Hashes that references lead to which were not there, by their text: a twin of an entry that
    is archived already gets a reference with the same hash."""
    hashes = {reference.text: reference.sha256 for reference in after.references()}
    there = Counter(reference.text for reference in before.references())
    texts = Counter(reference.text for reference in after.references()) - there
    new: Counter[str] = Counter()
    for text, times in texts.items():
        new[hashes[text]] += times
    return new


def _texts(document: Document) -> Counter[str]:
    """Of what can move."""
    return Counter(piece.text for piece in document.pieces if not isinstance(piece, Other))


def _others(document: Document) -> str:
    return "".join(piece.text for piece in document.pieces if isinstance(piece, Other))
