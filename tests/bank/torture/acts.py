"""What is done to a bank, step by step, and what must be in it afterwards.

Three files belong together: entries, their archive, and how many the archive holds. Whatever
happens, the archive and the file behind it are all entries in their order."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Literal

from kedge.bank.files import Files, Looked, held, peek
from kedge.bank.values import Change
from kedge.errors import KedgeError, NothingToUndo

Kind = Literal["append", "compact", "undo"]
KINDS: dict[Kind, int] = {"append": 70, "compact": 20, "undo": 10}
"""Each with its weight."""
ACTIVE, ARCHIVE, COUNT = "activeContext.md", "activeContext.archive.md", "archived.md"
HEAD = b"# Active Context\n\n"
STAY = 4
"""Entries that stay when the others are archived."""
AT = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)

_MARK = re.compile(rb"^### (\S+)$", re.MULTILINE)


def kind_of(seed: int, number: int) -> Kind:
    return Random(f"{seed}/{number}").choices(list(KINDS), list(KINDS.values()))[0]


def entry(mark: str) -> bytes:
    """Of some lines, of which none may be missing."""
    size = Random(mark).randint(1, 30)
    lines = b"".join(b"line %d of %s\n" % (n, mark.encode()) for n in range(size))
    return b"### %s\n%s\n" % (mark.encode(), lines)


def append(files: Files, mark: str) -> None:
    before = files.read(ACTIVE)
    after = (before or HEAD) + entry(mark)
    files.commit([Change(name=ACTIVE, before=before, after=after)], "add", AT)


def compact(files: Files) -> None:
    """Move all but the newest to the archive."""
    before, archive, count = (files.read(name) for name in (ACTIVE, ARCHIVE, COUNT))
    starts = [match.start() for match in _MARK.finditer(before or b"")]
    if before is None or len(starts) <= STAY:
        return
    moved = before[starts[0] : starts[-STAY]]
    archived = (archive or b"# Archive\n\n") + moved
    changes = [
        Change(name=ARCHIVE, before=archive, after=archived),
        Change(name=ACTIVE, before=before, after=HEAD + before[starts[-STAY] :]),
        Change(name=COUNT, before=count, after=b"%d\n" % len(_MARK.findall(archived))),
    ]
    files.commit(changes, "compaction", AT, undoable=True)


def undo(files: Files) -> None:
    try:
        files.undo(AT)
    except NothingToUndo:
        return


def do(bank: Path, kind: Kind, mark: str) -> None:
    """Make a step, as a process of its own would."""
    with held(bank) as files:
        if kind == "append":
            append(files, mark)
        else:
            (compact if kind == "compact" else undo)(files)


def prepared(bank: Path, entries: int) -> list[str]:
    """A bank with so many entries, some of them archived; their marks."""
    bank.mkdir()
    marks = [f"prepared-{n}" for n in range(entries)]
    for n, mark in enumerate(marks):
        with held(bank) as files:
            append(files, mark)
            if n % (entries // 2) == entries // 4:
                compact(files)
    return marks


def marks_in(data: bytes | None) -> list[str]:
    return [mark.decode() for mark in _MARK.findall(data or b"")]


def wrong_in(bank: Path, expected: list[str], under_way: str = "") -> tuple[list[str], bool]:
    """What is not as it must be once the bank is open again, and whether the entry is there that
    was being added."""
    try:
        with held(bank, wait=5) as files:
            wrong, found = _wrong(files)
            left = sorted(path.name for path in (bank / ".kedge").iterdir())
    except KedgeError as error:
        return [f"the bank cannot be opened: {error}"], False
    wrong += [f"left behind: {n}" for n in left if n.startswith(("new-", "journal"))]
    more = bool(under_way) and found == [*expected, under_way]
    if found != expected and not more:
        missing = [mark for mark in expected if mark not in set(found)]
        twice = sorted({mark for mark in found if found.count(mark) > 1})
        wrong.append(f"{len(missing)} lost {missing[:3]}, twice {twice[:3]}, or moved")
    return wrong, more


def whole(bank: Path) -> list[str]:
    """What is wrong with the bank at this very moment, while others write."""
    with peek(bank) as looked:
        texts = [looked.read(name) or b"" for name in (ARCHIVE, ACTIVE)]
    return [wrong for text in texts for wrong in torn(text)]


def torn(text: bytes) -> list[str]:
    """Entries of which something is missing."""
    starts = [match.start() for match in _MARK.finditer(text)]
    pieces = [text[a:b] for a, b in zip(starts, [*starts[1:], None], strict=False)]
    marks = marks_in(text)
    return [f"{m} is torn" for m, piece in zip(marks, pieces, strict=True) if piece != entry(m)]


def _wrong(files: Looked) -> tuple[list[str], list[str]]:
    archive, active, count = (files.read(name) for name in (ARCHIVE, ACTIVE, COUNT))
    archived = marks_in(archive)
    wrong = torn(archive or b"") + torn(active or b"")
    if b"%d\n" % len(archived) != (count or b"0\n"):
        wrong.append(f"half replaced: {len(archived)} archived, and the count is {count!r}")
    return wrong, [*archived, *marks_in(active)]
