"""Which file of a bank has which priority, and what of the history is asked for.

Every file is an item. One that is looked up and not loaded says so, and so does one that every bank
has and this one does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from kedge.bank.moving.archives import archived, understood
from kedge.bank.moving.triggers import stem
from kedge.bank.values import (
    ACTIVE,
    ARCHIVE,
    CHAIN,
    DECISIONS,
    INDEX,
    KNOWN,
    PATTERNS,
    PRODUCT,
    PROGRESS,
    Entry,
)
from kedge.economy.levels import summarised
from kedge.economy.loading import ON_DEMAND, Item
from kedge.errors import FileRefused
from kedge.redaction import Redactor

ORDER = {
    PATTERNS: 0,
    ACTIVE: 1,
    DECISIONS + INDEX: 2,
    DECISIONS: 2,
    PROGRESS: 2,
    PRODUCT: 2,
}
"""Priority by file, in the order they are loaded (seed 003). The seed does not name the product
context: it changes least of all, so it comes behind what is under way."""
HISTORY = 3
"""Priority of archives, and of files that the seed does not know: they come where there is room."""
NO_FILE, NO_TEXT = "no such file", "it is no UTF-8 text"
NO_LINK = "it is a symbolic link, and links are not followed"
MADE = "made by kedge from other files"
MATCHES = 50
"""Entries of one file that words bring at the most: each is read, shortened and counted, and more
would fit no share."""
MACHINES = (".yml", ".yaml")
"""Endings of the catalog, which is searched and not read."""


class Shelf(Protocol):
    """The files of a bank."""

    def names(self) -> list[str]: ...

    def links(self) -> list[str]: ...

    def read(self, name: str) -> bytes | None: ...


class Asked(NamedTuple):
    """What of the history is wanted."""

    words: tuple[str, ...] = ()
    """Only what has these."""
    all: bool = False


def silent(name: str, why: str, priority: int | None = None) -> Item:
    """One that is not loaded, whatever the room."""
    known = _priority(stem(name)) if priority is None else priority
    return Item(name=name, priority=known, text=lambda level: "", why_not=why)


def bank_items(shelf: Shelf, asked: Asked, redactor: Redactor) -> Iterator[Item]:
    """An item for every file, in the order of priorities; for the history also its entries that
    match."""
    names = shelf.names()
    for name in sorted(names, key=lambda name: (_place(stem(name)), name)):
        try:
            data = shelf.read(name)
            text = redactor.clean((data or b"").decode("utf-8-sig"))
        except FileRefused as error:
            yield silent(name, error.why)
        except UnicodeDecodeError:
            yield silent(name, NO_TEXT)
        else:
            yield from _items(name, text, names, asked, redactor)
    links = shelf.links()
    yield from (silent(name, NO_LINK) for name in links)
    there = {stem(name) for name in (*names, *links)}
    for missing in KNOWN:
        if missing not in there:
            yield silent(f"{missing}.md", NO_FILE)


def _items(
    name: str, text: str, names: Sequence[str], asked: Asked, redactor: Redactor
) -> Iterator[Item]:
    if stem(name).endswith(CHAIN) or name.endswith(MACHINES):
        yield silent(name, MADE)
    elif not _looked_up(name, names) or (asked.all and not asked.words):
        priority = HISTORY if _looked_up(name, names) else _priority(stem(name))
        yield Item(name=name, priority=priority, text=summarised(text))
    elif not asked.words:
        yield silent(name, ON_DEMAND, HISTORY)
    else:
        entries = list(_entries(name, text))
        matching = _matching(entries, asked.words)
        why = f"{ON_DEMAND}: {len(matching):,} of its {len(entries):,} entries match"
        more = f", the newest {MATCHES} may come" if len(matching) > MATCHES else ""
        yield silent(name, why + more, HISTORY)
        for entry in matching[:MATCHES]:
            said = redactor.clean(entry.text)
            label = f"{name}: {_called(entry)}"
            yield Item(name=label, priority=HISTORY, text=summarised(said, entry.title))


def _looked_up(name: str, names: Sequence[str]) -> bool:
    """Archives, and a log that has an index."""
    plain = stem(name)
    return plain.endswith(ARCHIVE) or any(stem(other) == plain + INDEX for other in names)


def _entries(name: str, text: str) -> Iterator[Entry]:
    """Of a log, or of the blocks of an archive, each as the file it came from has them. What cannot
    be read as such is one entry."""
    data = text.encode()
    archive = stem(name).endswith(ARCHIVE)
    for document in archived(name, data) if archive else [understood(name, data)]:
        yield from list(document.entries()) or [Entry(text=document.text, line=1)]


def _called(entry: Entry) -> str:
    date = entry.at.date().isoformat() if entry.at else f"line {entry.line}"
    return " ".join(filter(None, (entry.id, entry.title))) or f"{date} {entry.agent}".strip()


def _matching(entries: Sequence[Entry], words: Sequence[str]) -> list[Entry]:
    """Those with all words, where none has all those with most; the newest first."""
    wanted = {word.casefold() for word in words}
    hits = [sum(word in entry.text.casefold() for word in wanted) for entry in entries]
    most = max(hits, default=0)
    found = [entry for entry, hit in zip(entries, hits, strict=True) if hit and hit == most]
    return sorted(found, key=lambda entry: -entry.at.timestamp() if entry.at else 0.0)


def _priority(plain: str) -> int:
    return ORDER.get(plain, HISTORY)


def _place(plain: str) -> int:
    """Where it comes among all files."""
    return list(ORDER).index(plain) if plain in ORDER else len(ORDER)
