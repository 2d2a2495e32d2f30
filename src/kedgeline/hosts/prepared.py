"""A host's compaction, made ready before it is asked for. The worker keeps what the host's own file
has in the session that `replacement` works on, and prepares a compaction of it; when the host asks,
only what came since is kept, and the answer is written.

What is ready is taken only for the very messages that it was made of. Without it, or where the user
has gone back, the answer is the same and takes longer."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from json import dumps

import msgspec
from msgspec.structs import replace

from kedgeline.hosts import places
from kedgeline.hosts.shared import Message
from kedgeline.model import Value
from kedgeline.session.journal import Journal, Prepared

VERSION = 1
MOST_MARKS = 200
"""Places that a session can be cut back to when the user goes back."""
LOOK_EVERY = 0.01


class Mark(Value, frozen=True):
    """So many messages of the host stand as so many turns of the session."""

    messages: int
    """Without those that say nothing: Claude Code has some in its file alone."""
    digest: str
    turns: int
    entry: int
    """Number of the last of these turns, which tells whether they still stand."""


class Preparation(Value, frozen=True):
    version: int = VERSION
    session: str = ""
    """Of the store, in which it is."""
    first: str = ""
    """What tells the first message: another one begins behind every compaction."""
    base: int = 0
    """Turns that stood before it."""
    marks: tuple[Mark, ...] = ()
    answered: bool = False
    """Whether the host was given a context for it, so that nothing more is made ready."""
    tokens: int = 0
    """Of the context that was prepared."""
    ready: Prepared | None = None
    view: bytes = b""
    """The messages of the context with that in force."""
    thoughts: tuple[str, ...] = ()
    """What was thought in the turns that stay."""

    def starts_like(self, rows: Sequence[Message]) -> bool:
        """Whether it is of the same messages, as they begin."""
        return next(_speaking(rows), ("", 0))[0] == self.first

    def mark_of(self, rows: Sequence[Message], journal: Journal) -> Mark | None:
        """The last mark up to which the host's messages are those that are there."""
        if not self.starts_like(rows):
            return None
        there = _digests(rows, {mark.messages for mark in self.marks})
        same = (mark for mark in reversed(self.marks) if there.get(mark.messages) == mark.digest)
        return next((one for one in same if journal.number(one.turns - 1) == one.entry), None)

    def with_mark(self, rows: Sequence[Message], journal: Journal) -> Preparation:
        count, turns = sum(1 for _ in _speaking(rows)), journal.count()
        mark = Mark(count, _digests(rows, {count})[count], turns, journal.number(turns - 1))
        return replace(self, marks=(*self.marks, mark)[-MOST_MARKS:])


def new_preparation(session: str, rows: Sequence[Message], turns: int) -> Preparation:
    first, _ = next(_speaking(rows), ("", 0))
    return Preparation(session=session, first=first, base=turns)


def rows_after(rows: Sequence[Message], mark: Mark) -> Sequence[Message]:
    """The messages that are not there yet."""
    ends = (end for number, (_, end) in enumerate(_speaking(rows), 1) if number == mark.messages)
    return rows[next(ends, 0) :]


def _speaking(rows: Sequence[Message]) -> Iterator[tuple[str, int]]:
    """What tells each message that says something, and where it ends."""
    for end, row in enumerate(rows, 1):
        if any(row.get(key) for key in ("text", "toolUses", "toolResults")) or "text" not in row:
            yield str(row.get("handle") or dumps(row, sort_keys=True)), end


def _digests(rows: Sequence[Message], counts: set[int]) -> dict[int, str]:
    """What tells the first so many."""
    hashed, found = blake2b(digest_size=16), dict[int, str]()
    for number, (key, _) in enumerate(_speaking(rows), 1):
        hashed.update(key.encode("utf-8", "replace") + b"\n")
        if number in counts:
            found[number] = hashed.hexdigest()
    return found


def load(folder: str, session: str) -> Preparation | None:
    try:
        found = msgspec.msgpack.decode(places.kept_bytes(folder, places.AHEAD), type=Preparation)
    except (msgspec.MsgspecError, ValueError):
        return None
    return found if (found.version, found.session) == (VERSION, session) else None


def save(folder: str, known: Preparation) -> None:
    places.keep(folder, places.AHEAD, msgspec.msgpack.encode(known))


@contextmanager
def locked(folder: str, wait: float) -> Iterator[None]:
    """Worker and answer one after the other, each waiting so many seconds for the other."""
    path = os.path.join(folder, places.AHEAD_LOCK)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    descriptor, deadline = os.open(path, flags, places.OWN_FILE), time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} is held") from None
                time.sleep(LOOK_EVERY)
        yield
    finally:
        os.close(descriptor)
