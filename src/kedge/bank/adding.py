"""Entries written into files that are held: all of them or none, the log's chain with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from kedge.bank.briefs import SMALL, brief_128
from kedge.bank.briefs.fitting import cut_to
from kedge.bank.contents import file_named, is_derived
from kedge.bank.files import Files
from kedge.bank.moving.index import index_name, index_of, index_wanted
from kedge.bank.moving.triggers import stem
from kedge.bank.proving import chain_name, updated
from kedge.bank.shapes import new_file, read_document, with_entry
from kedge.bank.values import DECISIONS, LIMITS, Change, Document, Limits, NewEntry
from kedge.errors import UserError
from kedge.model import Value
from kedge.redaction import Redactor

Rows = Iterable[tuple[str, NewEntry]]
"""Entries, each with the file it goes to."""


class Added(Value, frozen=True):
    """Where an entry was written."""

    file: str
    line: int
    id: str = ""


class _Growing(NamedTuple):
    before: bytes | None
    document: Document


def added(
    files: Files, rows: Callable[[], Rows], at: datetime, limits: Limits = LIMITS
) -> list[Added]:
    """`rows` is asked again where somebody changed a file meanwhile."""
    done: list[Added] = []

    def changes() -> Sequence[Change]:
        done.clear()
        growing: dict[str, _Growing] = {}
        for file, new in rows():
            name = file_named(file, (*files.names(), *growing))
            if is_derived(name):
                raise UserError(f"{name} is made by kedge from another file; add to that one")
            before, document = growing.get(name) or _opened(files, name)
            grown = read_document(name, with_entry(document, new).encode())
            growing[name] = _Growing(before, grown)
            done.append(_place(document, grown))
        return [
            change
            for name, (before, document) in growing.items()
            for change in (
                _change(name, before, document),
                *follow_ups(files, document, limits, at),
            )
        ]

    files.carry_out(changes, "entries added", at)
    return done


def follow_ups(files: Files, document: Document, limits: Limits, at: datetime) -> Iterator[Change]:
    """The chain and the index of a log brought up to date with it. Both only ever follow the log,
    so they are no part of what can be taken back."""
    if stem(document.name) != DECISIONS:
        return
    name = chain_name(document.name)
    before = files.read(name)
    yield Change(name=name, before=before, after=updated(before, document, at=at) or None)
    name = index_name(document.name)
    before = files.read(name)
    is_first = document.name == file_named(DECISIONS, (*files.names(), document.name))
    if is_first and index_wanted(document, before, limits):
        yield Change(name=name, before=before, after=index_of(document))


def cleaned(new: NewEntry, redactor: Redactor) -> NewEntry:
    """Without secrets, with a summary of what it says, at a time of whole seconds: people read
    it."""
    if not (new.text.strip() or new.title.strip() or any(new.fields.values())):
        raise UserError("there is nothing to write down; give a text or a title")

    def clean(text: str) -> str:
        return redactor.clean(text.encode("utf-8", "replace").decode())

    new = replace(
        new,
        at=new.at.replace(microsecond=0),
        agent=clean(new.agent),
        text=clean(new.text),
        title=clean(new.title),
        id=clean(new.id),
        status=clean(new.status),
        summary=cut_to(clean(new.summary), SMALL),
        sources=tuple(map(clean, new.sources)),
        fields={clean(name): clean(value) for name, value in new.fields.items()},
    )
    if new.summary:
        return new
    said = "\n\n".join((new.text, *new.fields.values()))
    return replace(new, summary=brief_128(said, title=new.title, sources=new.sources))


def _opened(files: Files, name: str) -> _Growing:
    before = files.read(name)
    return _Growing(before, read_document(name, new_file(name) if before is None else before))


def _change(name: str, before: bytes | None, document: Document) -> Change:
    return Change(name=name, before=before, after=document.text.encode())


def _place(before: Document, after: Document) -> Added:
    """The entry that is new: where the two begin to differ, or behind all that was there."""
    old, new = list(before.entries()), list(after.entries())
    for n, entry in enumerate(new):
        if n >= len(old) or old[n].text.rstrip() != entry.text.rstrip():
            return Added(file=after.name, line=entry.line, id=entry.id)
    raise UserError(
        f"what was written would not be found again in {after.name}; nothing was written: is its "
        f"last entry in the shape of the others?"
    )
