"""Bugs in who holds a session, and what others see of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from kedge.names import checked
from kedge.store.memory.store import MemoryWriting
from kedge.store.values import Entry
from tests.store.planted.core import Planted, bug


@bug
class EverybodyHolds(Planted):
    """No lock: the last writer wins."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        checked("session", session)
        writing = MemoryWriting(
            self.inner._memory, place=self.place, owner=self.owner, session=session
        )
        done = False
        try:
            yield writing
            done = True
        finally:
            writing.end(done=done)


@bug
class HeldTwice(Planted):
    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner._memory.lock:
            self.inner._memory.held = False
            with self.inner.writing(session) as writing:
                yield writing


@bug
class NeverOver(Planted):
    """A block can still be written to when it is over."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session) as writing:
            yield writing
        writing._holder = get_ident()


@bug
class HalfIsSeen(Planted):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        written: Entry = writing.add(entry, **more)
        self.inner._memory.of(self.owner).sessions[writing._session] = writing._work.copy()
        return written


@bug
class BlockSeesTheStore(Planted):
    """Reading within a block shows what was before it."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session) as writing:
            yield _Outside(self.inner, writing)


class _Outside:
    def __init__(self, store: Any, writing: Any) -> None:
        self.store, self.writing = store, writing

    def __getattr__(self, name: str) -> Any:
        return getattr(self.writing if name in ("add", "head", "end") else self.store, name)


@bug
class OneStoreOneThread(Planted):
    def __init__(self, inner: Any, place: str, owner: str) -> None:
        super().__init__(inner, place, owner)
        self.thread = 0

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        self.thread = self.thread or get_ident()
        if self.thread != get_ident():
            raise RuntimeError("used by another thread")
        with self.inner.writing(session) as writing:
            yield writing


@bug
class EmptySessionListed(Planted):
    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session) as writing:
            yield writing
            if not writing.head(session).number:
                writing.add(Entry(kind="about"))
