"""What the stores over tables share: values of rows, a writer's block, the turns that stand, marks
of passages, and the best of what a search found."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_type_hints

from kedgeline.errors import StoreFailed
from kedgeline.store.protocol import Reading
from kedgeline.store.values import (
    Entry,
    Found,
    Head,
    Kind,
    Passage,
    Phrase,
    Place,
    Problem,
    SessionInfo,
    chain_of,
    linked,
    words,
)

Made = TypeVar("Made")
Row = tuple[Any, ...]
KINDS = frozenset(get_args(Kind))
LAST_INTEGER = (1 << 63) - 1


# Values of rows. Any of them may be damaged: each is looked at before it is believed.


class Unreadable(ValueError):
    """A row that holds what nobody wrote."""


UNREADABLE = (Unreadable, UnicodeDecodeError)
"""What reading a damaged row leads to; SQLite hands texts out that are no Unicode."""


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def text_of(value: object) -> str:
    """A text that was kept as it is, or as its bytes."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise Unreadable(f"a {type(value).__name__} in the place of a text")
    return value.decode("utf-8", "surrogatepass")


def number_of(value: object) -> int:
    if not isinstance(value, int):
        raise Unreadable(f"a {type(value).__name__} in the place of a number")
    return value


def texts_of(value: object) -> tuple[str, ...]:
    """A list of texts: an array, or JSON."""
    if not value:
        return ()
    try:
        return tuple(map(text_of, value if isinstance(value, list) else json.loads(text_of(value))))
    except (ValueError, TypeError, RecursionError) as error:
        raise Unreadable(f"a list of texts is damaged: {error}") from error


def readable(rows: Iterator[Row], make: Callable[[Row], Made]) -> Iterator[Made]:
    """What the rows say that can be read: one that is damaged does not hide the others."""
    while True:
        try:
            yield make(next(rows))
        except UNREADABLE:
            continue
        except StopIteration:
            return


def kind_of(value: object) -> Kind:
    if value not in KINDS:
        raise Unreadable("its kind is none that is written")
    return cast(Kind, value)


def data_of(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise Unreadable(f"a {type(value).__name__} in the place of its data")
    return value


_READ: dict[Any, Callable[[Any], object]] = {
    int: number_of,
    str: text_of,
    tuple[str, ...]: texts_of,
    Kind: kind_of,
    bytes: data_of,
}


def reader(make: Callable[..., Made], columns: str) -> Callable[[Row], Made]:
    """Makes a value of a row with these columns, each read as its field is declared; the last may
    be missing."""
    hints = get_type_hints(make)
    named = [(name, _READ.get(hints[name], hints[name])) for name in columns.split()]

    def made(row: Row) -> Made:
        return make(**{name: read(value) for (name, read), value in zip(named, row, strict=False)})

    return made


entry_of = reader(Entry, "number kind at thread index tokens id key chain blobs said data")
head_of = reader(Head, "number chain")
place_of = reader(Place, "index number tokens before id")
info_of = reader(SessionInfo, "name entries turns tokens compactions first last bytes")
found_of = reader(Found, "score session number thread index at id who field start size error")


# A writer's block.


def held_already(place: str) -> StoreFailed:
    step = "end that block first; nothing was written"
    return StoreFailed(place, "this thread holds a session already", next_step=step)


class Block(Reading):
    """A session held by one writer; how an entry is written is up to the store."""

    def __init__(self, place: str, session: str) -> None:
        self.half = False
        """Whether an entry was written in part: then nothing of the block may stay."""
        self._place, self._session = place, session
        self._holder: tuple[int, int] | None = (os.getpid(), threading.get_ident())
        self._head: Head | None = None

    def release(self) -> None:
        self._holder = None

    def check_holder(self) -> None:
        if self._holder != (os.getpid(), threading.get_ident()):
            why = f"the session {self._session!r} is not held here"
            step = "hold it with writing(); nothing was written"
            raise StoreFailed(self._place, why, next_step=step)

    def check_whole(self) -> None:
        if self.half:
            why = f"an entry of {self._session!r} could not be written"
            step = "nothing of the block was written; try all of it again"
            raise StoreFailed(self._place, why, next_step=step)

    def _write(
        self,
        entry: Entry,
        blobs: Mapping[str, bytes],
        passages: Sequence[Passage],
        instead_of: int | None,
    ) -> None:
        raise NotImplementedError

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        self.check_holder()
        if entry.key and self.keyed(self._session, entry.key) is not None:
            why = f"an entry of {self._session!r} has the key {entry.key!r} already"
            step = "it was not written again; ask keyed() for its number"
            raise StoreFailed(self._place, why, next_step=step)
        if self._head is None:
            self._head = self.head(self._session)
        entry = linked(entry, self._head)
        self.half = True
        self._write(entry, blobs, passages, instead_of)
        self._head = Head(number=entry.number, chain=entry.chain)
        self.half = False
        return entry


# What follows from the entries, and what is wrong with them.

WRONG_PLACES = "the turns that stand are not those that its entries say"
WRONG_MESSAGES = "its messages are not those that its entries say"
WRONG_LINE = "its line in the list of sessions is not what its entries say"


class Standing:
    """The turns that stand in each thread, as entries are taken in one by one."""

    def __init__(self) -> None:
        self.places: dict[str, list[Place]] = {}

    def take(self, entry: Entry) -> None:
        if entry.kind not in ("turn", "cut"):
            return
        places = self.places.setdefault(entry.thread, [])
        while places and places[-1].index >= entry.index:
            places.pop()
        if entry.kind == "turn":
            before = places[-1].before + places[-1].tokens if places else 0
            places.append(place_of((entry.index, entry.number, entry.tokens, before, entry.id)))


def problem_of(session: str, number: int, what: str) -> Problem:
    return Problem(where=f"{session} entry {number}", what=what, repairable=False)


def link_problems(session: str, entry: Entry, before: Head) -> Iterator[Problem]:
    """Whether an entry is the one that came behind another."""
    if entry.number != before.number + 1:
        what = f"its number comes after {before.number}: entries are missing"
        yield problem_of(session, entry.number, what)
    if entry.chain != chain_of(entry, before.chain):
        what = "its chain is broken: it, or what was before it, is not what was written"
        yield problem_of(session, entry.number, what)


def missing_blob(session: str, number: int, hash: object) -> Problem:
    return problem_of(session, number, f"the blob {text_of(hash)} that it refers to is missing")


# Searching: the newest passages that match, and the best of these.

CANDIDATES = 2_000
"""Newest matches that are ranked. A word that stands everywhere would else cost a look at every
passage there is."""
OF_A_TURN = 50
"""Candidates from one turn: a giant output must not be all that is looked at."""
FAILED = "failed"
"""Mark of a passage from a call that failed."""
HASH_LETTERS = 16
"""Of an owner or session among the marks. Two that share them cost time only: the columns say whose
a passage is."""


def owner_mark(owner: str | bytes) -> str:
    """One word for an owner, that narrows a search to what is theirs."""
    return "o" + _hashed(owner)


def session_mark(owner: str | bytes, session: str) -> str:
    return "s" + _hashed(owner, session)


def _hashed(*parts: str | bytes) -> str:
    whole = b"\0".join(part.encode() if isinstance(part, str) else part for part in parts)
    return sha256(whole).hexdigest()[:HASH_LETTERS]


def words_of(phrase: Phrase) -> list[str]:
    return [word for text in phrase.words for word in words(text)]


class Candidate(NamedTuple):
    """A passage that matches; of equal scores the one written last is the largest."""

    score: float
    written: int
    row: int
    session: str
    number: int

    def found(self, row: Row) -> Found:
        """With the columns of its passage and entry."""
        return found_of((self.score, self.session, self.number, *row))


def best_of(candidates: Iterable[Candidate], limit: int) -> list[Candidate]:
    """Of each turn its best passage, best first, newer before older."""
    best: dict[tuple[str, int], Candidate] = {}
    for candidate in sorted(candidates, reverse=True):
        best.setdefault((candidate.session, candidate.number), candidate)
        if len(best) == limit:
            break
    return list(best.values())
