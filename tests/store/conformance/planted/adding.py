"""Bugs in what is written, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from kedgeline.errors import KedgelineError
from kedgeline.store.sqlite import open_memory
from kedgeline.store.sqlite.reading import kept
from kedgeline.store.tables import text_of
from kedgeline.store.values import Entry, Found, Query
from tests.store.conformance.planted.core import Planted, bug


@bug
class OwnerLeftOut(Planted):
    def __init__(self, inner: Any, place: str, owner: str) -> None:
        super().__init__(open_memory(f"memory:OwnerLeftOut {place}"), place, owner)


@bug
class OwnerLeftOutOfBlobs(Planted):
    def blob(self, hash: str) -> bytes | None:
        rows = self.sql("SELECT data FROM blob WHERE hash = ?", kept(hash))
        return rows[0][0] if rows else None


@bug
class OwnerLeftOutOfSearch(Planted):
    def find(self, query: Query) -> list[Found]:
        place = self.inner._connections.place
        owners = [text_of(owner) for (owner,) in self.sql("SELECT DISTINCT owner FROM entry")]
        return [each for owner in owners for each in open_memory(place, owner=owner).find(query)]


@bug
class NotAtomic(Planted):
    """What was added stays, though the block raised."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        raised: list[KedgelineError] = []
        with self.inner.writing(session) as writing:
            try:
                yield writing
            except KedgelineError as error:
                raised.append(error)
        for error in raised:
            raise error


@bug
class NamesUnchecked(Planted):
    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        safe = "".join(letter for letter in session if letter.isascii() and letter.isalnum())
        with self.inner.writing(safe[:64] + "x") as writing:
            yield writing


@bug
class CaseLeftOut(Planted):
    def head(self, session: str) -> Any:
        return self.inner.head(session.lower())

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session.lower()) as writing:
            yield writing


class _Adding(Planted):
    """Changes what is added."""

    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return entry

    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        changed = self.change(entry, more)
        written: Entry = writing.add(changed, **more)
        return written


@bug
class NumberGap(Planted):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        written = writing.add(entry, **more)
        return replace(written, number=written.number + (written.number > 1))


@bug
class ChainNotLinked(Planted):
    def entries(self, session: str, **chosen: Any) -> Iterator[Entry]:
        for entry in self.inner.entries(session, **chosen):
            yield replace(entry, chain="0" * 64) if entry.number > 1 else entry


@bug
class CutIgnored(_Adding):
    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return replace(entry, index=1 << 40) if entry.kind == "cut" else entry


@bug
class CutInAllThreads(_Adding):
    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return replace(entry, thread="") if entry.kind == "cut" else entry


@bug
class OldPassagesStay(_Adding):
    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        more.pop("instead_of", None)
        return entry


@bug
class TextsMangled(_Adding):
    """Written as UTF-8 with what cannot be replaced."""

    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return replace(entry, key=entry.key.encode("utf-8", "replace").decode())


@bug
class TextsCutAtZero(_Adding):
    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return replace(entry, thread=entry.thread.partition("\0")[0])


@bug
class LargeCutOff(_Adding):
    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return replace(entry, data=entry.data[: 1 << 20])


@bug
class MessagesLeftOut(_Adding):
    def change(self, entry: Entry, more: dict[str, Any]) -> Entry:
        return replace(entry, said=entry.said[:1])


@bug
class KeyUsedAgain(_Adding):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        used = writing.keyed(writing._session, entry.key)
        written: Entry = writing.add(replace(entry, key="") if used else entry, **more)
        return written


@bug
class BlobWrittenAgain(Planted):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        written: Entry = writing.add(entry, **more)
        for hash, data in more.get("blobs", {}).items():
            self.sql("UPDATE blob SET data = ? WHERE hash = ?", data, kept(hash))
        return written
