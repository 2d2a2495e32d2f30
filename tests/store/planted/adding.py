"""Bugs in what is written, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from kedge.errors import KedgeError
from kedge.store.memory import open_memory
from kedge.store.values import Entry, Found, Query
from tests.store.planted.core import Planted, bug


@bug
class OwnerLeftOut(Planted):
    def __init__(self, inner: Any, place: str, owner: str) -> None:
        super().__init__(open_memory(f"memory:OwnerLeftOut {place}"), place, owner)


@bug
class OwnerLeftOutOfBlobs(Planted):
    def blob(self, hash: str) -> bytes | None:
        owners = self.inner._memory.owners.values()
        return next((owned.blobs[hash] for owned in owners if hash in owned.blobs), None)


@bug
class OwnerLeftOutOfSearch(Planted):
    def find(self, query: Query) -> list[Found]:
        memory = self.inner._memory
        stores = [open_memory(self.inner._named, owner=owner) for owner in list(memory.owners)]
        return [each for store in stores for each in store.find(query)]


@bug
class NotAtomic(Planted):
    """What was added stays, though the block raised."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        raised: list[KedgeError] = []
        with self.inner.writing(session) as writing:
            try:
                yield writing
            except KedgeError as error:
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
        used = entry.key and writing._work.keys.pop(entry.key, None)
        written: Entry = writing.add(entry, **more)
        if used:
            writing._work.keys[entry.key] = used
        return written


@bug
class BlobWrittenAgain(Planted):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        written: Entry = writing.add(entry, **more)
        writing._blobs.update(more.get("blobs", {}))
        return written
