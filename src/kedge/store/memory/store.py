"""Reading and writing what is kept in memory. A session that others see is never changed: its
writer works on a copy, which takes its place when the block ends."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from kedge.errors import StoreFailed
from kedge.names import checked
from kedge.store.chain import chain_of, linked
from kedge.store.memory.kept import Kept, Memory, Owned
from kedge.store.memory.matching import answer, indexed
from kedge.store.values import (
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


class MemoryReading:
    def __init__(self, memory: Memory, *, place: str, owner: str) -> None:
        self.owner = owner
        self._memory, self._named = memory, place

    def _kept(self, session: str) -> Kept:
        return self._memory.of(self.owner).sessions.get(session) or Kept()

    def head(self, session: str) -> Head:
        return self._kept(session).head()

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
        found = self._kept(session).entries[max(0, after) :]
        if newest_first:
            found.reverse()
        for entry in found:
            if (not kinds or entry.kind in kinds) and thread in (None, entry.thread):
                yield replace(entry, data=b"", blobs=(), said=()) if light else entry

    def entry(self, session: str, number: int) -> Entry | None:
        entries = self._kept(session).entries
        return entries[number - 1] if 0 < number <= len(entries) else None

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        return [
            place
            for place in self._kept(session).places.get(thread, [])
            if first <= place.index and (last is None or place.index <= last)
        ]

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        return next(reversed(self._kept(session).places.get(thread, [])), None)

    def threads(self, session: str) -> Sequence[str]:
        places = self._kept(session).places
        first = {thread: standing[0].number for thread, standing in places.items() if standing}
        return sorted(first.keys() - {""}, key=first.__getitem__)

    def said(self, session: str, last: int) -> Sequence[str]:
        said = self._kept(session).said
        return said[max(0, len(said) - max(0, last)) :]

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        return frozenset(ids).intersection(self._kept(session).said)

    def keyed(self, session: str, key: str) -> int | None:
        return self._kept(session).keys.get(key)

    def blob(self, hash: str) -> bytes | None:
        return self._memory.of(self.owner).blobs.get(hash)


class MemoryWriting(MemoryReading):
    def __init__(self, memory: Memory, *, place: str, owner: str, session: str) -> None:
        super().__init__(memory, place=place, owner=owner)
        self._session = session
        self._work = self._kept(session).copy()
        self._blobs: dict[str, bytes] = {}
        self._holder: int | None = threading.get_ident()

    def _kept(self, session: str) -> Kept:
        if not hasattr(self, "_work") or session != self._session:
            return super()._kept(session)
        return self._work

    def blob(self, hash: str) -> bytes | None:
        return self._blobs.get(hash, super().blob(hash))

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        if self._holder != threading.get_ident():
            raise StoreFailed(
                self._named,
                f"the session {self._session!r} is not held here",
                next_step="hold it with writing(); nothing was written",
            )
        if entry.key in self._work.keys:
            raise StoreFailed(
                self._named,
                f"an entry of {self._session!r} has the key {entry.key!r} already",
                next_step="it was not written again; ask keyed() for its number",
            )
        entry = linked(entry, self._work.head())
        self._memory.rank += 1
        self._work.take(entry, self._memory.rank)
        self._work.passages.pop(instead_of or 0, None)
        self._work.passages[entry.number] = [indexed(passage) for passage in passages]
        for hash, data in blobs.items():
            if self.blob(hash) is None:
                self._blobs[hash] = bytes(data)
        return entry

    def end(self, *, done: bool) -> None:
        self._holder = None
        if done and self._work.entries:
            owned = self._memory.of(self.owner)
            owned.blobs.update(self._blobs)
            owned.sessions[self._session] = self._work


class MemoryStore(MemoryReading):
    @contextmanager
    def _held(self) -> Iterator[Owned]:
        with self._memory.lock:
            if self._memory.held:
                raise StoreFailed(
                    self._named,
                    "this thread holds a session already",
                    next_step="end that block first; nothing was written",
                )
            self._memory.held = True
            try:
                yield self._memory.of(self.owner)
            finally:
                self._memory.held = False

    @contextmanager
    def writing(self, session: str) -> Iterator[MemoryWriting]:
        checked("session", session)
        with self._held():
            writing = MemoryWriting(
                self._memory, place=self._named, owner=self.owner, session=session
            )
            done = False
            try:
                yield writing
                done = True
            finally:
                writing.end(done=done)

    def sessions(self) -> Sequence[SessionInfo]:
        owned = self._memory.of(self.owner)
        newest = sorted(owned.sessions.items(), key=lambda item: item[1].ranks[-1], reverse=True)
        return [_info(name, kept, owned.blobs) for name, kept in newest]

    def find(self, query: Query) -> Sequence[Found]:
        sessions = list(self._memory.of(self.owner).sessions.items())
        return answer(query, (each for name, kept in sessions for each in kept.candidates(name)))

    def indexed(self, session: str) -> Mapping[int, int]:
        passages = self._kept(session).passages
        return {number: len(found) for number, found in passages.items() if found}

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        with self._held() as owned:
            if head is not None and self.head(checked("session", session)) != head:
                return False
            owned.sessions.pop(checked("session", session), None)
        return True

    def loose(self) -> Mapping[str, int]:
        return self._memory.of(self.owner).loose()

    def sweep(self) -> int:
        with self._held() as owned:
            loose = owned.loose()
            for hash in loose:
                del owned.blobs[hash]
        return len(loose)

    def problems(self) -> Iterable[Problem]:
        owned = self._memory.of(self.owner)
        for name, kept in list(owned.sessions.items()):
            before = Head()
            for entry in kept.entries:
                where = f"{name} entry {entry.number}"
                if entry.number != before.number + 1:
                    yield Problem(where=where, what="its number leaves a gap", repairable=False)
                if entry.chain != chain_of(entry, before.chain):
                    yield Problem(where=where, what="its chain is broken", repairable=False)
                for hash in entry.blobs:
                    if hash not in owned.blobs:
                        what = f"the blob {hash} it refers to is missing"
                        yield Problem(where=where, what=what, repairable=False)
                before = Head(number=entry.number, chain=entry.chain)

    def repair(self) -> Iterable[Problem]:
        return ()

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        with self._held() as owned:
            kept = owned.sessions.get(checked("session", session), Kept()).copy()
            kept.passages |= {
                number: [indexed(passage) for passage in written]
                for number, written in passages
                if 0 < number <= len(kept.entries)
            }
            if kept.entries:
                owned.sessions[session] = kept

    def close(self) -> None:
        """What it holds stays as long as somebody has it, or its name."""


def _info(name: str, kept: Kept, blobs: Mapping[str, bytes]) -> SessionInfo:
    main = kept.places.get("", [])
    hashes = {hash for entry in kept.entries for hash in entry.blobs}
    return SessionInfo(
        name=name,
        entries=len(kept.entries),
        turns=len(main),
        tokens=sum(place.tokens for place in main),
        compactions=sum(entry.kind == "compaction" for entry in kept.entries),
        first=kept.entries[0].at,
        last=kept.entries[-1].at,
        bytes=sum(len(entry.data) for entry in kept.entries)
        + sum(len(blobs.get(hash, b"")) for hash in hashes),
    )
