"""Bugs in who holds a session, and what others see of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import getpid
from threading import get_ident
from time import sleep
from typing import Any

from kedgeline.store.sqlite import open_memory
from kedgeline.store.values import Entry
from tests.store.conformance.planted.core import Planted, bug


@bug
class EverybodyHolds(Planted):
    """A block holds nothing: each entry is written by itself."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        yield _ByItself(self.inner, session)


class _ByItself:
    def __init__(self, store: Any, session: str) -> None:
        self.store, self.session = store, session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def add(self, entry: Entry, **more: Any) -> Entry:
        sleep(0.0002)  # so that others come between
        with self.store.writing(self.session) as writing:
            written: Entry = writing.add(entry, **more)
        return written


@bug
class HeldTwice(Planted):
    def __init__(self, inner: Any, place: str, owner: str) -> None:
        super().__init__(inner, place, owner)
        self.held: dict[int, Any] = {}

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        if get_ident() in self.held:
            yield self.held[get_ident()]
            return
        with self.inner.writing(session) as writing:
            self.held[get_ident()] = writing
            try:
                yield writing
            finally:
                del self.held[get_ident()]


@bug
class NeverOver(Planted):
    """A block can still be written to when it is over."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session) as writing:
            yield writing
        writing._holder = (getpid(), get_ident())


@bug
class HalfIsSeen(Planted):
    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        written: Entry = writing.add(entry, **more)
        self.sql("COMMIT")
        if entry.index == 1:
            sleep(0.05)  # so that somebody looks
        self.sql("BEGIN IMMEDIATE")
        return written


@bug
class BlockSeesTheStore(Planted):
    """Reading within a block shows what was before it."""

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session) as writing:
            other = open_memory(self.inner._connections.place, owner=self.owner)
            yield _Outside(other, writing)


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
