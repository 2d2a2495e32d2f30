"""What a store must be able to do, and how one is opened by its address. Any that passes
`tests/store/conformance` will serve."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike, fspath
from typing import Protocol

from kedgeline.settings import load
from kedgeline.store.values import (
    WAIT_SECONDS,
    Durability,
    Entry,
    Found,
    Head,
    Kind,
    Passage,
    Place,
    Problem,
    Query,
    SessionInfo,
)


class Reading(Protocol):
    """What can be asked. All answers are of the owner that the store was opened for."""

    owner: str

    def head(self, session: str) -> Head:
        """Where a session ends; number 0 where nothing was written yet."""

    def entries(
        self,
        session: str,
        *,
        kinds: Collection[Kind] = (),
        thread: str | None = None,
        after: int = 0,
        newest_first: bool = False,
        light: bool = False,
    ) -> Iterator[Entry]:
        """Entries behind a number, in order; all kinds and all threads where none is named. Given
        one by one, so that many large ones fit into little memory. `light`: without data, blobs
        and said."""

    def entry(self, session: str, number: int) -> Entry | None: ...

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        """The turns that stand, from one index to another, both included, in their order."""

    def last_place(self, session: str, *, thread: str = "") -> Place | None: ...

    def threads(self, session: str) -> Sequence[str]:
        """Threads in which turns stand, the main one left out, in the order in which the first of
        these turns were written."""

    def said(self, session: str, last: int) -> Sequence[str]:
        """Content ids of so many newest messages, oldest first."""

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        """Those of the content ids that some message of the session has."""

    def keyed(self, session: str, key: str) -> int | None:
        """Number of the entry that was written under this key."""

    def blob(self, hash: str) -> bytes | None: ...


class Writing(Reading, Protocol):
    """A session held by one writer: nobody else writes to it until this is over."""

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        """Write an entry, with what it refers to and what finds it; given back with its number and
        chain. A blob that is there already is not written again. `instead_of` is the number of an
        entry whose passages are no longer needed, as this one has them all. A key that was used in
        the session is refused."""


class Store(Reading, Protocol):
    """Several threads may use one store. Texts may hold any character, unpaired surrogates and the
    one of code zero included."""

    def writing(self, session: str) -> AbstractContextManager[Writing]:
        """Hold a session. What is added is there as a whole when the block ends, or not at all when
        it raises; nobody outside sees a part of it. A block in which nothing is added makes no
        session. One within another of the same thread is refused. The name is checked here, whoever
        checked it before."""

    def sessions(self) -> Sequence[SessionInfo]:
        """All sessions, the one written to last first."""

    def find(self, query: Query) -> Sequence[Found]: ...

    def indexed(self, session: str) -> Mapping[int, int]:
        """How many passages find each entry, by its number; those that are not found by all their
        passages are left out."""

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        """Forget a session: its entries, places and passages. Blobs stay until `sweep`. One that is
        not there is forgotten already. With `head`, only if it still ends there: nothing is
        forgotten that nobody has seen. Whether it is gone."""

    def loose(self) -> Mapping[str, int]:
        """Blobs that no entry refers to, with their sizes."""

    def sweep(self) -> int:
        """Remove these and give the room back; how many there were."""

    def problems(self) -> Iterable[Problem]:
        """What is wrong with the store itself: numbers, chains, places, references, indexes."""

    def repair(self) -> Iterable[Problem]:
        """Make good what can be: indexes and places, from the entries. What was repaired."""

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        """Replace the passages of some entries of a session, each named by its number; all others
        keep theirs. They stay as old as their entries are."""

    def close(self) -> None: ...


# Stores by where they are: a folder, or an address whose scheme names one.

GROUP = "kedgeline.stores"
FOLDER = "sqlite"
"""The store of a plain path."""
Open = Callable[..., Store]
"""Takes the place, and by name `owner`, `durability` and `wait`."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{1,31}):(?!\\)")
"""Two letters at least: C: is a drive."""


def open_store(
    place: str | PathLike[str],
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> Store:
    """The store at a folder, which is made where it is missing, or at an address such as
    `postgresql://host/name`; `memory:`, or `:memory:` as SQLite has it, is gone with the process.
    All it shows and takes is the owner's. A call waits so many seconds for another who holds the
    store."""
    named = "memory:" if fspath(place) == ":memory:" else fspath(place)
    scheme = _SCHEME.match(named)
    name = {"postgres": "postgresql"}.get(scheme[1], scheme[1]) if scheme else FOLDER
    opening: Open = load(GROUP, "store", name, needs=())
    return opening(named, owner=owner, durability=durability, wait=wait)
