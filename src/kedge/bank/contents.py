"""All files of a bank, read: those that people write, and those that are derived from them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kedge.bank.files import Looked, Transaction
from kedge.bank.moving.archives import archived
from kedge.bank.moving.triggers import Trigger, stem, tokens_of_text
from kedge.bank.owning import Lock
from kedge.bank.shapes import read_document
from kedge.bank.values import ARCHIVE, CHAIN, INDEX, Document, known_name
from kedge.model import Value

ENDINGS = (".md", ".markdown", ".jsonl", ".ndjson")
"""Of bank files; whatever else lies in the folder is nobody's business here."""


class Contents(Value, frozen=True):
    documents: tuple[Document, ...] = ()
    derived: dict[str, bytes] = msgspec.field(default_factory=dict)
    """Archives, the index and the chain, by name."""
    links: tuple[str, ...] = ()
    """Bank files that are links: they are not followed."""


class FileStatus(Value, frozen=True):
    """One file, in numbers."""

    name: str
    shape: str
    """How its entries are written; `derived` where it is made from another file."""
    entries: int
    references: int
    tokens: int
    """Estimated."""


class Status(Value, frozen=True):
    """A bank, in numbers."""

    files: tuple[FileStatus, ...]
    tokens: int
    """Estimated, of the working files."""
    triggers: tuple[Trigger, ...]
    """All of them; those that hold first."""
    owner: str = ""
    """The only agent that may compact; empty where any may."""
    last: Transaction | None = None
    """The newest compaction that stands."""
    pending: Transaction | None = None
    """What is being written now, or was left by a killed process."""
    lock: Lock | None = None
    """Of the agent that compacts, or did and never gave it back."""
    links: tuple[str, ...] = ()
    """Bank files that are links: they are not followed."""

    @property
    def due(self) -> bool:
        return any(trigger.holds for trigger in self.triggers)


def contents_of(files: Looked) -> Contents:
    """Raises BankMalformed where a file cannot be understood."""
    documents, derived = [], {}
    for name in files.names():
        data = files.read(name) if name.endswith(ENDINGS) else None
        if data is None:
            continue
        if is_derived(name):
            derived[name] = data
        else:
            documents.append(read_document(name, data))
    links = tuple(name for name in files.links() if name.endswith(ENDINGS))
    return Contents(documents=tuple(documents), derived=derived, links=links)


def is_derived(name: str) -> bool:
    """Whether a file is made by kedge from another one: an archive, an index, a chain."""
    return stem(name).endswith((ARCHIVE, INDEX, CHAIN))


def with_archives(contents: Contents) -> list[Document]:
    """All that was ever written down, and is still to be found."""
    archives = (name for name in contents.derived if stem(name).endswith(ARCHIVE))
    read = (one for name in archives for one in archived(name, contents.derived[name]))
    return [*contents.documents, *read]


def file_named(given: str, names: Iterable[str]) -> str:
    """The file that is meant by activeContext, or by activeContext.md: one that is there, however
    it is spelt, else a new one."""
    known = [name for name in names if name.endswith(ENDINGS)]
    if given in known:
        return given
    wanted = stem(given) if given.endswith(ENDINGS) else known_name(given)
    alike = (name for name in known if stem(name) == wanted and not is_derived(name))
    return next(alike, given if given.endswith(ENDINGS) else f"{given}{ENDINGS[0]}")


def file_statuses(contents: Contents) -> tuple[FileStatus, ...]:
    read = [
        FileStatus(
            name=one.name,
            shape=one.shape,
            entries=sum(1 for _ in one.entries()),
            references=sum(1 for _ in one.references()),
            tokens=tokens_of_text(one.text),
        )
        for one in contents.documents
    ]
    derived = [
        FileStatus(
            name=name,
            shape="derived",
            entries=0,
            references=0,
            tokens=tokens_of_text(data.decode("utf-8", "replace")),
        )
        for name, data in contents.derived.items()
    ]
    return tuple(sorted([*read, *derived], key=lambda one: one.name))


def last_compaction(history: Iterable[Transaction]) -> Transaction | None:
    standing = [one for one in history if not one.undone and not one.undoes]
    return standing[-1] if standing else None
