"""Bugs in what is read, listed, dropped and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kedgeline.store.values import Entry, Head, Place, Problem, SessionInfo
from tests.store.conformance.planted.core import Planted, altered, bug

altered("OrderOfNames", threads=lambda self, session: sorted(self.inner.threads(session)))
altered("NewestMessageFirst", said=lambda self, session, last: self.inner.said(session, last)[::-1])
altered("AllMessagesKnown", known=lambda self, session, ids: frozenset(ids))
altered("KeyNotFound", keyed=lambda self, session, key: None)
altered("DropForgotten", drop=lambda self, session, head=None: True)
altered("DropUnseen", drop=lambda self, session, head=None: self.inner.drop(session))
altered("SweepTakesNothing", sweep=lambda self: len(self.inner.loose()))
altered("NoProblemSeen", problems=lambda self: [])
altered("EntryCountsFromZero", entry=lambda self, session, n: self.inner.entry(session, n + 1))


def _entries_without(option: str, default: Any) -> None:
    def entries(self: Planted, session: str, **chosen: Any) -> Iterator[Entry]:
        yield from self.inner.entries(session, **(chosen | {option: default}))

    altered(f"EntriesWithout_{option}", entries=entries)


_entries_without("kinds", ())
_entries_without("thread", None)
_entries_without("after", 0)
_entries_without("newest_first", False)
_entries_without("light", False)


@bug
class EntriesStopAtBatch(Planted):
    def entries(self, session: str, **chosen: Any) -> Iterator[Entry]:
        yield from list(self.inner.entries(session, **chosen))[:256]


@bug
class HeadWithoutChain(Planted):
    def head(self, session: str) -> Head:
        return replace(self.inner.head(session), chain="")


@bug
class MainThreadOnly(Planted):
    def last_place(self, session: str, *, thread: str = "") -> Any:
        return self.inner.last_place(session)


@bug
class PlacesUnbounded(Planted):
    def places(self, session: str, *, thread: str = "", **_: Any) -> Sequence[Place]:
        found: Sequence[Place] = self.inner.places(session, thread=thread)
        return found


@bug
class BeforeNotSummed(Planted):
    def places(self, session: str, **chosen: Any) -> Sequence[Place]:
        return [replace(place, before=0) for place in self.inner.places(session, **chosen)]


@bug
class PlacesRenumbered(Planted):
    def places(self, session: str, **chosen: Any) -> Sequence[Place]:
        standing = self.inner.places(session, **chosen)
        return [replace(place, index=index) for index, place in enumerate(standing)]


@bug
class SessionsByName(Planted):
    def sessions(self) -> Sequence[SessionInfo]:
        return sorted(self.inner.sessions(), key=lambda info: info.name)


@bug
class TokensOfAllTurns(Planted):
    def sessions(self) -> Sequence[SessionInfo]:
        return [
            replace(info, tokens=sum(entry.tokens for entry in self.inner.entries(info.name)))
            for info in self.inner.sessions()
        ]


@bug
class OnlySessionsWithTurns(Planted):
    def sessions(self) -> Sequence[SessionInfo]:
        return [info for info in self.inner.sessions() if info.turns]


@bug
class DropTakesBlobs(Planted):
    def drop(self, session: str, *, head: Any = None) -> bool:
        gone = bool(self.inner.drop(session, head=head))
        self.inner.sweep()
        return gone


@bug
class SweepTakesAll(Planted):
    def sweep(self) -> int:
        return len(self.sql("DELETE FROM blob RETURNING 1"))


@bug
class OnlyStandingTurnsNeedBlobs(Planted):
    def loose(self) -> Mapping[str, int]:
        needed = {
            hash
            for info in self.inner.sessions()
            for place in self.inner.places(info.name)
            for hash in self.inner.entry(info.name, place.number).blobs
        }
        blobs = self.sql("SELECT hash, length(data) FROM blob")
        return {hash: size for hash, size in blobs if hash not in needed}


@bug
class ProblemsEverywhere(Planted):
    def problems(self) -> Sequence[Problem]:
        return [
            Problem(where=info.name, what="made up", repairable=True)
            for info in self.inner.sessions()
        ]
