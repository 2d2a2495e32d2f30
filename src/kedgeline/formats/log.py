"""What a reader finds beside the turns, and where it stands in the file."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple, TypeVar

from kedgeline.model import (
    Change,
    Damage,
    DamageKind,
    EarlierCompaction,
    Message,
    SessionFacts,
    Source,
    Turn,
    Wire,
)


class Line(NamedTuple):
    """Where something stands."""

    number: int
    """Counted from 0. In documents and lists: the item's number."""
    start: int = -1
    end: int = -1
    last: int = -1
    """Number of the last line, where a message covers several; -1 where it is one line."""

    @property
    def source(self) -> Source:
        return Source(
            first=self.number, last=max(self.number, self.last), start=self.start, end=self.end
        )

    def to(self, last: Line) -> Line:
        """The place of a message that covers the lines up to another."""
        return Line(self.number, self.start, last.end, max(last.number, last.last))


REMEMBERED = 65_536
"""Records whose place is remembered. Users go back within one context window, which never holds as
many."""
DAMAGE_KEPT = 1_000
"""Entries kept with their position; a file broken in more places is only counted further, so
that memory does not grow with the damage."""
PROMPTS_KEPT = 4_096
"""Calls, and sub-agents, that wait to be linked by their prompts."""

Kept = TypeVar("Kept")


def remember(known: dict[str, Kept], key: str, value: Kept, *, most: int = REMEMBERED) -> None:
    """Keep a value under a key, and no more than `most`: the oldest goes."""
    if len(known) >= most and key not in known:
        del known[next(iter(known))]
    known[key] = value


class Links:
    """Which call started which sub-agent: as the client says it, else by the words it began with.
    The files of one session share it, in whatever order they are read."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._asked: dict[str, tuple[str, str]] = {}
        """Calls that no sub-agent is known for, with their time and the hash of their prompt."""
        self._begun: dict[str, tuple[str, str]] = {}
        """Sub-agents that no call is known for, likewise."""

    def told(self, agent: str, call: str) -> None:
        """The client names both."""
        if agent not in self._told:
            self._told[agent] = call
            self._asked.pop(call, None)
            self._begun.pop(agent, None)

    def asked(self, call: str, prompt: str, time: str = "") -> None:
        """A call for a sub-agent; until it ends, and if it fails, nothing else tells of which."""
        if call not in self._told.values() and prompt.strip():
            remember(self._asked, call, (time, _hash(prompt)), most=PROMPTS_KEPT)

    def begun(self, agent: str, words: str, time: str = "") -> None:
        """A sub-agent's conversation begins."""
        if agent not in self._told and words.strip():
            remember(self._begun, agent, (time, _hash(words)), most=PROMPTS_KEPT)

    def all(self) -> dict[str, str]:
        """Sub-agents to calls. Where several were asked the same, they began in that order."""
        calls: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for call, (time, prompt) in self._asked.items():
            calls[prompt].append((time, call))
        waiting = {prompt: iter(sorted(alike)) for prompt, alike in calls.items()}
        found = dict(self._told)
        for _, agent, prompt in sorted((time, a, p) for a, (time, p) in self._begun.items()):
            for _, call in islice(waiting.get(prompt, ()), 1):
                found[agent] = call
        return found


def _hash(words: str) -> str:
    return blake2b(words.strip().encode("utf-8", "replace"), digest_size=16).hexdigest()


class Log:
    """Damage, session facts, earlier compactions, links: filled while turns are read, complete once
    the reader is exhausted."""

    def __init__(self) -> None:
        self.file = ""
        """The file being read, when it is one beside the session's own."""
        self.session = 0
        """The session being read, where one file holds several."""
        self.damage: list[Damage] = []
        self.damage_counts: Counter[DamageKind] = Counter()
        self.ignored: Counter[str] = Counter()
        """Record types nobody knows, and how often they came."""
        self.changes: list[Change] = []
        self.compactions: list[EarlierCompaction] = []
        self.heads: dict[int, list[Message]] = {}
        """System messages before the first turn, by session."""
        self.pending: dict[tuple[int, str], Turn] = {}
        """Unanswered words, by session and agent."""
        self.lengths: dict[tuple[int, str], int] = {}
        """How many turns stand in the end, by session and agent; fewer than were read after a
        rewind."""
        self.links = Links()
        self.rewound = 0
        self.wire: Wire | None = None
        self._latest: dict[tuple[int, str], str] = {}

    def beside(self, file: str) -> Log:
        """For a file beside the session's own. Sub-agents speak in it: what it says of its own
        session is not said of this one."""
        other = Log()
        other.file, other.links, other.ignored = file, self.links, self.ignored
        other.damage, other.damage_counts = self.damage, self.damage_counts
        return other

    def take_in(self, other: Log) -> None:
        """What a file beside the session's own said of sub-agents, once it is read."""
        self.lengths |= {key: length for key, length in other.lengths.items() if key[1]}
        self.pending |= {key: words for key, words in other.pending.items() if key[1]}

    @property
    def delegated_by(self) -> dict[str, str]:
        """Sub-agent id to the call that started it."""
        return self.links.all()

    def broken(self, kind: DamageKind, line: Line, detail: str) -> None:
        self.damage_counts[kind] += 1
        if len(self.damage) < DAMAGE_KEPT:
            number, start = line.number, line.start
            self.damage.append(
                Damage(kind=kind, line=number, offset=start, detail=detail, file=self.file)
            )

    def fact(self, name: str, value: object, *, turn: int) -> None:
        """Record a session fact; only a change is kept."""
        if isinstance(value, str) and value and self.latest(name) != value:
            self._latest[self.session, name] = value
            change = Change(turn=turn, name=name, value=value, session=self.session)  # type: ignore[arg-type]
            self.changes.append(change)

    def latest(self, name: str) -> str:
        return self._latest.get((self.session, name), "")

    def facts(self, session: int | None = None) -> SessionFacts:
        """The facts of one session, or of all a file holds."""
        return SessionFacts(
            changes=tuple(c for c in self.changes if session is None or c.session == session)
        )
