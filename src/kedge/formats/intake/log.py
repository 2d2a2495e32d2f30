"""What a reader finds beside the turns: damage, session facts, earlier compactions, links."""

from __future__ import annotations

from collections import Counter

from kedge.formats.intake.lines import Line
from kedge.formats.intake.links import Links
from kedge.model import (
    Change,
    Damage,
    DamageKind,
    EarlierCompaction,
    Message,
    SessionFacts,
    Turn,
    Wire,
)

DAMAGE_KEPT = 1_000
"""Entries kept with their position; a file broken in more places is only counted further, so
that memory does not grow with the damage."""


class Log:
    """Filled while turns are read; complete once the reader is exhausted."""

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
        other.file, other.links = file, self.links
        other.damage, other.damage_counts, other.ignored = (
            self.damage,
            self.damage_counts,
            self.ignored,
        )
        return other

    def take_in(self, other: Log) -> None:
        """What a file beside the session's own said of sub-agents, once it is read."""
        for key, length in other.lengths.items():
            if key[1]:
                self.lengths[key] = length
        for key, words in other.pending.items():
            if key[1]:
                self.pending[key] = words

    @property
    def delegated_by(self) -> dict[str, str]:
        """Sub-agent id to the call that started it."""
        return self.links.all()

    def broken(self, kind: DamageKind, line: Line, detail: str) -> None:
        self.damage_counts[kind] += 1
        if len(self.damage) < DAMAGE_KEPT:
            self.damage.append(
                Damage(
                    kind=kind, line=line.number, offset=line.start, detail=detail, file=self.file
                )
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
