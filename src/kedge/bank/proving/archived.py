"""Archives held against their own hashes, and references against the archives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kedge.bank.moving.archives import Found, archive_name, blocks
from kedge.bank.moving.triggers import stem
from kedge.bank.proving.findings import Finding
from kedge.bank.shapes import read_document, shape_named
from kedge.bank.values import ARCHIVE, Document, Entry, Other, Piece, Reference
from kedge.errors import BankMalformed

_RESTORE = "put the archive back from a copy or from git"


def archive_blocks(derived: Mapping[str, bytes]) -> dict[str, list[Found]]:
    """By the name of the archive."""
    return {
        name: list(blocks(data)) for name, data in derived.items() if stem(name).endswith(ARCHIVE)
    }


def damaged(archives: Mapping[str, Sequence[Found]]) -> Iterator[Finding]:
    """Blocks that are not what was moved, unless the same block stands there whole as well."""
    for name, found in archives.items():
        whole = {block.sha256 for block in found if not block.damage}
        for block in found:
            if block.damage and block.sha256 not in whole:
                yield Finding(
                    file=name,
                    line=block.line,
                    what=f"the block {block.sha256[:12]} of {block.entries} entries is damaged: "
                    f"{block.damage}",
                    gravity="violation",
                    advice=_RESTORE,
                )


def pieces_with_archived(document: Document, found: Sequence[Found]) -> Iterator[tuple[Piece, int]]:
    """The pieces of a document, each reference followed by what it stands for, and for what lies
    in the archive the line of its block. References that lead nowhere are given without more."""
    whole = {block.sha256: block for block in found if not block.damage}
    left: list[tuple[Piece, int]] = [(piece, 0) for piece in reversed(document.pieces)]
    while left:
        piece, line = left.pop()
        yield piece, line
        if isinstance(piece, Reference) and (block := whole.get(piece.sha256)):
            inside = _read(document, block)
            left.extend((one, block.line) for one in reversed(inside))


def _read(document: Document, block: Found) -> Sequence[Piece]:
    """A block in the shape its file has now, or in the one it had when the block went."""
    data = block.lead + block.content
    try:
        now = shape_named(document.shape).read(document.name, data.decode())
        if any(not isinstance(piece, Other) for piece in now.pieces):
            return now.pieces
        return read_document(document.name, data).pieces
    except (BankMalformed, UnicodeDecodeError):
        return ()  # of no shape that is known; its hash is right, and that is what counts


def broken_references(
    document: Document, archives: Mapping[str, Sequence[Found]]
) -> Iterator[Finding]:
    """References without a block, and blocks without a reference."""
    archive = archive_name(document.name)
    found = archives.get(archive, ())
    whole = {block.sha256: block for block in found if not block.damage}
    for piece, line in pieces_with_archived(document, found):
        if not isinstance(piece, Reference):
            continue
        block = whole.get(piece.sha256)
        place = (archive, line) if line else (document.name, piece.line)
        if block is None:
            yield Finding(
                file=place[0],
                line=place[1],
                what=f"a reference stands for {piece.entries} entries, and no whole block of "
                f"{archive} has its hash {piece.sha256[:12]}",
                gravity="violation",
                advice=_RESTORE,
            )
        elif block.entries != piece.entries:
            yield Finding(
                file=place[0],
                line=place[1],
                what=f"a reference says {piece.entries} entries, its block has {block.entries}",
                gravity="warning",
                advice="correct the number by hand",
            )


def unreferenced(
    documents: Sequence[Document], archives: Mapping[str, Sequence[Found]]
) -> Iterator[Finding]:
    """Blocks that nothing leads to: nothing is lost, and nobody will look there."""
    for archive, found in archives.items():
        named = {
            piece.sha256
            for document in documents
            if archive_name(document.name) == archive
            for piece, _ in pieces_with_archived(document, found)
            if isinstance(piece, Reference)
        }
        for block in found:
            if not block.damage and block.sha256 not in named:
                yield Finding(
                    file=archive,
                    line=block.line,
                    what=f"no reference leads to the block {block.sha256[:12]}",
                    gravity="note",
                    advice="its line was taken out of the file by hand; the entries are here",
                )


def kept_twice(
    documents: Sequence[Document], archives: Mapping[str, Sequence[Found]]
) -> Iterator[Finding]:
    """Entries that stand in the file and in its archive, or twice in the file."""
    for document in documents:
        archived = b"\0".join(b.content for b in archives.get(archive_name(document.name), ()))
        seen: dict[str, Entry] = {}
        for entry in document.entries():
            text = entry.text.strip()
            if earlier := seen.get(text):
                yield _twice(document, entry, f"the same entry stands in line {earlier.line}")
            elif text and text.encode() in archived:
                yield _twice(document, entry, "the same entry stands in the archive")
            seen[text] = entry


def _twice(document: Document, entry: Entry, what: str) -> Finding:
    return Finding(
        file=document.name,
        line=entry.line,
        what=what,
        gravity="note",
        advice="take one of them out by hand if it is not meant",
    )
