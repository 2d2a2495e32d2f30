"""The names of one turn: where each was met, and how much that weighs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from kedge.facts.names.shapes import NameKind
from kedge.model import NameSeen, Speaker

Source = Literal[
    "declared",
    "used",
    "written",
    "changed_file",
    "read_file",
    "plan",
    "user",
    "command",
    "said",
    "marked",
    "searched",
    "replaced",
    "asked_of_agent",
    "call_site",
    "error",
    "reported",
    "printed",
    "mentioned",
    "shown_declared",
    "shown",
    "listed",
]


class Rank(NamedTuple):
    weight: int
    by: Speaker


RANKS: dict[Source, Rank] = {
    "declared": Rank(60, "tool"),  # what an edit brings into being is spoken of for the rest
    "changed_file": Rank(40, "tool"),
    "plan": Rank(40, "agent"),  # half of the names in plans are used later
    "user": Rank(40, "user"),
    "read_file": Rank(30, "tool"),
    "used": Rank(30, "tool"),  # in an edit
    "command": Rank(30, "tool"),
    "written": Rank(20, "tool"),  # used in a whole file: many, and each a little less
    "said": Rank(20, "agent"),
    "marked": Rank(10, "agent"),  # on top of being said: in back-ticks
    "searched": Rank(15, "tool"),
    "call_site": Rank(15, "tool"),
    "replaced": Rank(10, "tool"),  # only in what an edit took away, or in an edit that failed
    "mentioned": Rank(10, "agent"),  # a file in code, a number in the agent's words: often examples
    "asked_of_agent": Rank(10, "agent"),
    "error": Rank(10, "tool"),
    "reported": Rank(6, "tool"),  # by a sub-agent
    "printed": Rank(6, "tool"),  # hashes, versions and URLs in the results of commands
    "shown_declared": Rank(3, "tool"),  # a read shows hundreds, and one in eighty is needed
    "shown": Rank(2, "tool"),
    "listed": Rank(1, "tool"),
}
"""What a sighting weighs. One in five names of calls and prose is used after a cut, one in eighty
of those a read shows: the tiers matter, the numbers within a tier hardly do."""


class Seen:
    """One name in one turn."""

    __slots__ = (
        "best",
        "by",
        "count",
        "heaviest",
        "kind",
        "name",
        "note",
        "place",
        "sources",
        "topic",
        "weight",
    )

    def __init__(self, name: str, kind: NameKind) -> None:
        self.name, self.kind = name, kind
        self.topic = self.place = self.note = ""
        self.sources: tuple[Source, ...] = ()
        self.weight = 0
        self.by: Speaker = "tool"
        """Whose word the heaviest sighting is."""
        self.heaviest = 0
        self.best = -1
        """The weight of the sighting that gave the topic."""
        self.count = 0

    def meet(self, source: Source, rank: Rank) -> None:
        """A second sighting of the same kind adds nothing."""
        if source in self.sources:
            return
        if rank.weight > self.heaviest:
            self.heaviest, self.by = rank
        self.sources += (source,)
        self.weight += rank.weight


_RATHER: tuple[NameKind, ...] = ("variable", "ticket")


class Sightings:
    """All names of one turn. A name met in several ways has the weight of all of them, and the
    topic of the heaviest."""

    def __init__(self) -> None:
        self._seen: dict[tuple[NameKind, str, str], Seen] = {}

    def add(
        self,
        name: str,
        kind: NameKind,
        source: Source,
        *,
        topic: str = "",
        place: str = "",
        note: str = "",
        count: int = 1,
    ) -> None:
        # a call site is told apart by the name it is one of: its topic
        key = (kind, name, topic if kind == "call_site" else "")
        seen = self._seen.get(key)
        if seen is None:
            seen = self._seen[key] = Seen(name, kind)
        rank = RANKS[source]
        seen.meet(source, rank)
        seen.count += count
        if topic and rank.weight > seen.best:
            if topic != seen.topic:
                seen.place = ""
            seen.topic, seen.best = topic, rank.weight
        if place and topic == seen.topic:
            seen.place = place
        if note:
            seen.note = note

    def strongest(self, most: int) -> Iterator[Seen]:
        """The heaviest, and among equals those that occur most."""
        # what looks like a symbol may be told to be something else beside
        other = {name for kind, name, _ in self._seen if kind in _RATHER}
        found = [s for s in self._seen.values() if s.kind != "symbol" or s.name not in other]
        found.sort(key=lambda seen: (-seen.weight, -seen.count))
        return iter(found[:most])


def fact(seen: Seen, turn: int, home: str) -> NameSeen:
    """`home` is the file a name without a topic was last met in."""
    return NameSeen(
        turn=turn,
        by=seen.by,
        name=seen.name,
        kind=seen.kind,
        topic=seen.topic or home,
        place=seen.place,
        note=seen.note,
        weight=seen.weight,
    )
