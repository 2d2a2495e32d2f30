"""What a store keeps and what it can do: entries in order, blobs by hash, passages to search.

It knows nothing of turns. Any store that passes `tests/store/conformance` will serve; it is opened
by its address."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from os import PathLike, fspath
from typing import Literal, Protocol, get_args

from msgspec.structs import replace

from kedgeline.model import Value
from kedgeline.settings import load_registered

Kind = Literal[
    "turn",  # a turn as it stands from now on, at its index
    "words",  # user words without an answer yet; a later turn or cut of the thread absorbs them
    "cut",  # the thread ends before an index
    "rewound",  # a turn that never stood, as it was taken back before it was seen
    "about",  # what is known beside the turns
    "compaction",  # the record of one
    "attempt",  # a compaction that changed nothing, and why
    "undo",  # a compaction that is ignored from now on
    "pin",  # what stays verbatim
    "unpin",
    "call",  # a request to a language model, as it is billed
    "output",  # a call with its whole output, where the turn holds something shorter
    "fork",  # where a session comes from
]
Durability = Literal["durable", "fast"]
"""durable: an entry is on disk when `writing` returns. fast: a power cut may lose the last entries,
never the order or the rest; a killed process loses nothing in either mode."""

WAIT_SECONDS = 30.0
"""Default timeout of a call that waits for another process: an append takes milliseconds, a
migration seconds."""

Who = Literal["user", "agent", "tool", "client"]
WHO: tuple[Who, ...] = get_args(Who)
"""Who said the words of a passage."""


class Entry(Value, frozen=True):
    """One immutable record of a session."""

    kind: Kind
    data: bytes = b""
    """Opaque to the store."""
    at: int = 0
    """Microseconds since 1970, UTC. Not an order: clocks go backwards."""
    thread: str = ""
    """Id of a sub-agent; empty for the main conversation."""
    index: int = -1
    """Of the turn; of the entry (its number) that an undo or unpin is about; else -1."""
    tokens: int = 0
    id: str = ""
    """Hash of the content: equal for equal content."""
    key: str = ""
    """Idempotency key of the caller, unique in a session."""
    blobs: tuple[str, ...] = ()
    """Hashes of the blobs it refers to."""
    said: tuple[str, ...] = ()
    """Content ids of the messages it absorbed, in order."""
    number: int = 0
    """Place in the session, from 1 on without gaps; assigned by the store."""
    chain: str = ""
    """Hash over this entry and the chain of the previous one; assigned by the store."""


class Place(Value, frozen=True):
    """A turn that stands in a thread. Places are derived from the entries: of each index the last
    `turn` entry, unless a turn with a lower index, or a cut, came after it."""

    index: int
    number: int
    """Of its entry."""
    tokens: int
    before: int
    """Tokens of all turns before it in its thread."""
    id: str


class Head(Value, frozen=True):
    """The last entry of a session; number 0 where there is none."""

    number: int = 0
    chain: str = ""


class SessionInfo(Value, frozen=True):
    """A session in a list."""

    name: str
    entries: int
    turns: int
    """Those that stand in the main thread."""
    tokens: int
    """Of these turns."""
    compactions: int
    """Records written, undone ones included."""
    first: int
    """Microseconds since 1970, UTC, of the first entry."""
    last: int
    bytes: int
    """Stored size of all its entries and of the blobs they refer to."""


class Passage(Value, frozen=True):
    """A searchable piece of a turn."""

    text: str
    who: Who = "tool"
    field: str = ""
    """Which text of the turn it is from, as the caller names it."""
    start: int = 0
    """Offset in that text, in characters."""
    files: str = ""
    """Paths that the turn's call names, one per line."""
    command: str = ""
    error: bool = False
    """Whether the call failed."""


class Phrase(Value, frozen=True):
    """Words next to each other."""

    words: tuple[str, ...]
    prefix: bool = False
    """Whether the last word is only a beginning."""


Favour = Literal[
    "failed",  # calls that failed
    "recent",  # the newest
    "many",  # what has more of the words, rare or not
]


class Query(Value, frozen=True):
    """What is searched for: all of it must hold, but any of the words of a topic will do."""

    phrases: tuple[Phrase, ...] = ()
    """In the text; without any, the newest passages that the rest allows."""
    files: tuple[Phrase, ...] = ()
    commands: tuple[Phrase, ...] = ()
    sessions: tuple[str, ...] = ()
    """Empty: all."""
    who: str = ""
    errors: bool = False
    since: int | None = None
    """Microseconds since 1970, UTC, of the entry; both ends inclusive, as those of turns."""
    until: int | None = None
    first: int | None = None
    """Index of a turn."""
    last: int | None = None
    topic: tuple[tuple[Phrase, ...], ...] = ()
    """Words of which any may stand in the text, each as all its forms: the more of them an entry
    has, and the rarer they are, the higher it ranks."""
    favour: tuple[Favour, ...] = ()
    """What ranks higher than usual where a topic is searched."""
    limit: int = 20


class Found(Value, frozen=True):
    """A passage that a query found: the best one of each entry, best first, ties newest first."""

    session: str
    thread: str
    index: int
    """Of the turn."""
    number: int
    """Of its entry."""
    at: int
    id: str
    """Content id of the entry: the same for equal turns of a session and its fork."""
    who: str
    field: str
    start: int
    size: int
    """Characters of the passage."""
    error: bool
    score: float
    """Higher is better; comparable within one answer only."""


class Problem(Value, frozen=True):
    """Something that is not as it should be."""

    where: str
    """The session and entry, the blob, or the part of the store."""
    what: str
    """One sentence."""
    repairable: bool
    """Whether `repair` fixes it: it is in an index, and no original is lost."""


class StoreReading(Protocol):
    """Queries. All answers belong to the owner that the store was opened for."""

    owner: str

    def head(self, session: str) -> Head: ...

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
        """Readable entries after a number, in order; all kinds and threads unless some are named.
        Streamed, so that many large ones fit into little memory. `light`: without data, blobs and
        said."""

    def entry(self, session: str, number: int) -> Entry | None:
        """Raises `StoreDamaged` where it is there and cannot be read."""

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        """The turns that stand, from one index to another, both inclusive, in order."""

    def last_place(self, session: str, *, thread: str = "") -> Place | None: ...

    def threads(self, session: str) -> Sequence[str]:
        """Threads with turns, without the main one, in the order of their first entries."""

    def said(self, session: str, last: int) -> Sequence[str]:
        """Content ids of the last messages, oldest first."""

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        """The content ids among these that some message of the session has."""

    def keyed(self, session: str, key: str) -> int | None:
        """Number of the entry that was written under this key."""

    def blob(self, hash: str) -> bytes | None: ...


class Writing(StoreReading, Protocol):
    """A session locked for one writer."""

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        """Write an entry; returns it with its number and chain. A blob that exists is not written
        again. The passages of the entry `instead_of` are dropped, as this one has them all. A key
        that was used in the session is refused."""


class Store(StoreReading, Protocol):
    """Thread-safe. Texts may hold any character, unpaired surrogates and NUL included."""

    def writing(self, session: str) -> AbstractContextManager[Writing]:
        """Lock a session. The block is a transaction: all of it is written when it ends, nothing if
        it raises. Nested blocks of one thread are refused. A block that adds nothing creates no
        session."""

    def sessions(self) -> Sequence[SessionInfo]:
        """All sessions, the one written to last first."""

    def find(self, query: Query) -> Sequence[Found]: ...

    def indexed(self, session: str) -> Mapping[int, int]:
        """How many passages find each entry, by its number; entries of which a passage is missing
        in the index are left out."""

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        """Delete a session; blobs stay until `sweep`. With `head`, only if it still ends there.
        Returns whether it is gone."""

    def loose(self) -> Mapping[str, int]:
        """Blobs that no entry refers to, with their sizes."""

    def sweep(self) -> int:
        """Delete these and free the space; returns how many there were."""

    def problems(self) -> Iterable[Problem]:
        """What is wrong with the database and with what is derived from the entries: places, links,
        the session list, the index of words. The entries themselves are not checked here."""

    def repair(self) -> Iterable[Problem]:
        """Rebuild what is derived from the entries, the words of passages excepted: `reindex`
        restores those. Returns what was repaired."""

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        """Replace the passages of some entries of a session, each named by its number."""

    def close(self) -> None: ...


# Stores by their address.

GROUP = "kedgeline.stores"
Open = Callable[..., Store]
"""Takes the address, and by name `owner`, `durability` and `wait`."""
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{1,31}):(?!\\)")
"""At least two letters: C: is a drive."""


def open_store(
    place: str | PathLike[str],
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> Store:
    """The store in a folder, which is created where it is missing, or at an address such as
    `postgresql://host/name`; `memory:` (or `:memory:`) ends with the process. It shows and takes
    only what belongs to the owner. `wait` is the timeout in seconds for a locked store."""
    named = "memory:" if fspath(place) == ":memory:" else fspath(place)
    scheme = _SCHEME.match(named)
    name = {"postgres": "postgresql"}.get(scheme[1], scheme[1]) if scheme else "sqlite"
    opening: Open = load_registered(GROUP, "store", name, needs=())
    return opening(named, owner=owner, durability=durability, wait=wait)


# The chain over the entries of a session: changing, dropping or moving one breaks it.


def linked(entry: Entry, head: Head) -> Entry:
    """The entry as it stands after a head. The session's name is not part of the chain: a copy
    keeps it."""
    return replace(entry, number=head.number + 1, chain=chain_of(entry, head.chain))


def chain_of(entry: Entry, before: str) -> str:
    parts = (
        before,
        entry.kind,
        str(entry.at),
        entry.thread,
        str(entry.index),
        str(entry.tokens),
        entry.id,
        entry.key,
        " ".join(entry.blobs),
        " ".join(entry.said),
    )
    hashed = sha256()
    for part in (*(part.encode("utf-8", "surrogatepass") for part in parts), entry.data):
        hashed.update(b"%d:" % len(part))  # so that no part can pass for the end of another
        hashed.update(part)
    return hashed.hexdigest()


# Words as they are searched: the same for every store, and for texts as for queries.

EAST = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and ideographs
    "\U00020000-\U0003ffff"
)
"""Scripts without blanks between words: each character counts as one."""
_WORD = re.compile(rf"[{EAST}]|[^\W_{EAST}]+")
_ASCII = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """The words of a text in order. Names are split: `a/b_c.py` has the words a, b, c and py, and
    is found as words next to each other."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
