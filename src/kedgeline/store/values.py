"""What a store takes in and gives out. It knows nothing of turns: it keeps entries in their order,
blobs by their hash, and passages that are searched."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from math import log
from typing import Literal, get_args

from msgspec.structs import replace

from kedgeline.model import Value

Kind = Literal[
    "turn",  # a turn as it stands from now on, at its index
    "words",  # what waits for an answer; a later turn or cut of its thread has taken it in
    "cut",  # the thread ends before an index
    "about",  # what is known beside the turns
    "compaction",  # the record of one
    "attempt",  # one that changed nothing, and why
    "undo",  # a compaction that is left out of the fold from now on
    "pin",  # what stays verbatim
    "unpin",
    "call",  # a request to a language model, as it is paid
    "output",  # a call with all it gave back, where something shorter took its place in the turn
    "fork",  # where a session comes from
]
Durability = Literal["durable", "fast"]
"""durable: what was returned from is on disk. fast: a power cut may take the last entries, never
the order or the rest; a killed process takes nothing in either mode."""

WAIT_SECONDS = 30.0
"""How long a call waits for another who holds the store, where it is opened without saying so: one
append takes milliseconds, a migration seconds."""

Who = Literal["user", "agent", "tool", "client"]
WHO: tuple[Who, ...] = get_args(Who)
"""Whose words a passage has."""


class Entry(Value, frozen=True):
    """One thing written down. It is never changed."""

    kind: Kind
    data: bytes = b""
    """Whatever the session makes of it; a store does not look inside."""
    at: int = 0
    """Microseconds since 1970, UTC. It orders nothing: clocks go backwards."""
    thread: str = ""
    """Id of a sub-agent; empty for the main conversation."""
    index: int = -1
    """Of the turn; of the entry (its number) that an undo or unpin is about; else -1."""
    tokens: int = 0
    id: str = ""
    """Hash of what it says, equal for equal content."""
    key: str = ""
    """Given by a caller who does not know whether the call before went through; once a session."""
    blobs: tuple[str, ...] = ()
    """Hashes of what it refers to."""
    said: tuple[str, ...] = ()
    """Content ids of the messages it took in, in order."""
    number: int = 0
    """Place in its session, from 1 on without a gap; given by the store."""
    chain: str = ""
    """Hash over this entry and the chain of the one before; given by the store."""


class Place(Value, frozen=True):
    """A turn that stands in a thread. Places are an index over the entries: of the kind `turn` the
    last with that index, unless one with a lower index, or a cut, came after it."""

    index: int
    number: int
    """Of its entry."""
    tokens: int
    before: int
    """Tokens of all turns that stand before it in its thread."""
    id: str


class Head(Value, frozen=True):
    """Where a session ends."""

    number: int = 0
    """Of its last entry; 0 where there is none."""
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
    """Records written, left out ones included."""
    first: int
    """Microseconds since 1970, UTC, of the first entry."""
    last: int
    bytes: int
    """Of all its entries and of the blobs they refer to, as they are stored."""


class Passage(Value, frozen=True):
    """A piece of a turn that is searched. Passages are an index over the entries."""

    text: str
    who: Who = "tool"
    field: str = ""
    """Which text of the turn it is from, as the one who made it names it."""
    start: int = 0
    """Where it begins in that text, in characters."""
    files: str = ""
    """Paths that the turn's call names, one a line."""
    command: str = ""
    error: bool = False
    """Whether it is from a call that failed."""


class Phrase(Value, frozen=True):
    """Words that stand next to each other."""

    words: tuple[str, ...]
    """As `kedgeline.store.values` makes them; others are cut into such. A phrase without any is
    left out of the query."""
    prefix: bool = False
    """Whether the last word may go on."""


Favour = Literal[
    "failed",  # calls that failed
    "recent",  # what was written last
    "many",  # what has more of the words than others, rare or not
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
    """Microseconds since 1970, UTC, of the entry; both ends included, as those of turns."""
    until: int | None = None
    first: int | None = None
    """Index of a turn."""
    last: int | None = None
    topic: tuple[tuple[Phrase, ...], ...] = ()
    """Words of which any may stand in the text, each as all its forms: the more of them stand in an
    entry, and the rarer they are, the better it answers."""
    favour: tuple[Favour, ...] = ()
    """What counts for more than it does else where a topic is sought."""
    limit: int = 20


class Found(Value, frozen=True):
    """A passage that a query found: of each entry the best one, best first, and of equal ones the
    one written last."""

    session: str
    thread: str
    index: int
    """Of the turn."""
    number: int
    """Of its entry."""
    at: int
    id: str
    """Content id of the entry: equal turns of a session and its fork have the same."""
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
    """Whether `repair` makes it good: it is in an index, and no original is lost."""


# The chain over the entries of a session: whoever changes, drops or moves one breaks it.


def linked(entry: Entry, head: Head) -> Entry:
    """The entry as it stands behind a head. The session's name is not in it: a copy keeps its
    chain."""
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
"""Scripts that put no blanks between words: each character counts as one."""
_WORD = re.compile(rf"[{EAST}]|[^\W_{EAST}]+")
_ASCII = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """The words of a text in their order. Names fall into theirs: `a/b_c.py` has the words a, b, c
    and py, and is found as words that stand next to each other."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def spaced(text: str) -> str:
    """A text with a blank between its words, for an index that cuts at whatever is neither an ASCII
    letter nor digit nor beyond ASCII. One in ASCII alone is cut right as it is."""
    return text if text.isascii() else " ".join(words(text))


# How well a passage answers a query: the formula BM25.

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
"""The two constants as they are used everywhere: how soon further hits count for little, and how
much a passage's length takes from them."""


def score_of(hits: Iterable[int], size: int, average: float) -> float:
    """From how often each phrase stands in a passage, its words and those of an average one; rare
    phrases count no more than others."""
    return sum(scores_of(hits, size, average))


def scores_of(hits: Iterable[int], size: int, average: float) -> list[float]:
    """The same for each phrase alone."""
    damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * size / max(1.0, average))
    return [count * (SATURATION + 1) / (count + damping) for count in hits]


def rarity(having: float, all_: float) -> float:
    """What a word is worth that so many of all passages have."""
    return log(1 + (max(0.0, all_ - having) + 0.5) / (having + 0.5))
