"""Folding facts into a summary, and summaries into one another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kedge.model import (
    ActionTaken,
    AgentReported,
    Answered,
    AnyFact,
    Asked,
    CommandRun,
    Committed,
    DeadEnd,
    Decided,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    FileRead,
    InstructionGiven,
    NameSeen,
    Requested,
    SessionNoted,
    TodoSet,
    Worded,
)
from kedge.model.summary import NameEntry, Place, Summary

CITED = 4
"""Turns of a name that are kept to be cited: the newest say where to look."""
PLACES = 6
"""Files or topics of a name that are kept, those with most weight: a name that stands everywhere is
found anywhere."""

LISTED: dict[type, str] = {
    Requested: "requests",
    Answered: "answers",
    InstructionGiven: "instructions",
    ActionTaken: "actions",
    Committed: "repository",
    DeadEnd: "dead_ends",
    AgentReported: "agents",
}
"""Kinds of facts that are kept in a row, and the field they are kept in."""
KEYED: dict[type, tuple[str, str]] = {
    FileChanged: ("files", "path"),
    FileRead: ("reads", "path"),
    Decided: ("decisions", "key"),
    CommandRun: ("commands", "key"),
    ErrorSeen: ("errors", "key"),
    ErrorResolved: ("errors", "key"),
    TodoSet: ("todos", "key"),
    Asked: ("questions", "key"),
    SessionNoted: ("session", "name"),
    Worded: ("wordings", "about"),
}
"""Kinds that are kept by matter: the field, and what tells the matter."""


class Fold:
    """A summary that grows; adding a fact costs the same however many there are."""

    def __init__(self, summary: Summary | None = None) -> None:
        start = summary or Summary()
        self._through = start.through
        self._carried = list(start.carried)
        self._rows = {field: dict.fromkeys(getattr(start, field)) for field in LISTED.values()}
        self._matters: dict[str, dict[str, dict[Any, None]]] = {
            field: {key: dict.fromkeys(facts) for key, facts in getattr(start, field).items()}
            for field in dict.fromkeys(field for field, _ in KEYED.values())
        }
        self._names = dict(start.names)

    def add(self, fact: AnyFact) -> None:
        """Take one fact; one that is known already changes nothing."""
        self._through = max(self._through, fact.turn)
        kind = type(fact)
        if isinstance(fact, NameSeen):
            known = self._names.get(fact.name)
            self._names[fact.name] = seen(known, fact)
        elif kind in LISTED:
            self._rows[LISTED[kind]][fact] = None
        else:
            field, key = KEYED[kind]
            self._matters[field].setdefault(getattr(fact, key), {})[fact] = None

    def covers(self, turn: int) -> None:
        """Turns without a fact are covered too."""
        self._through = max(self._through, turn)

    def summary(self) -> Summary:
        fields: dict[str, Any] = {field: tuple(facts) for field, facts in self._rows.items()}
        for field, found in self._matters.items():
            fields[field] = {key: tuple(facts) for key, facts in found.items()}
        return Summary(
            through=self._through,
            names=dict(self._names),
            carried=tuple(self._carried),
            **fields,
        )


def build(facts: Iterable[AnyFact], *, through: int = -1) -> Summary:
    """The summary of facts in the order of their turns."""
    return merged(Summary(), facts, through=through)


def merged(previous: Summary, facts: Iterable[AnyFact], *, through: int = -1) -> Summary:
    """The earlier summary with newer facts: nothing in it is made anew."""
    fold = Fold(previous)
    for fact in facts:
        fold.add(fact)
    fold.covers(through)
    return fold.summary()


def facts_in(summary: Summary) -> list[AnyFact]:
    """The facts that a summary was folded from, in the order of their turns; of names only sums are
    kept, so that they are not among them."""
    rows = (fact for field in LISTED.values() for fact in getattr(summary, field))
    fields = dict.fromkeys(field for field, _ in KEYED.values())
    matters = (every for field in fields for every in getattr(summary, field).values())
    found = [*rows, *(fact for every in matters for fact in every)]
    return sorted(found, key=lambda fact: fact.turn)


def seen(known: NameEntry | None, fact: NameSeen) -> NameEntry:
    """What is known of a name, with one more sight of it."""
    entry = known or NameEntry(kind=fact.kind, first=fact.turn, last=fact.turn)
    places = dict(entry.places)
    before = places.pop(fact.topic, Place())
    places[fact.topic] = Place(
        place=fact.place or before.place,
        note=fact.note or before.note,
        weight=before.weight + fact.weight,
        last=fact.turn if fact.place or fact.note or before.last < 0 else before.last,
    )
    if len(places) > PLACES:
        del places[min(places, key=lambda topic: (places[topic].weight, places[topic].last))]
    turns = (*entry.turns, fact.turn) if fact.turn not in entry.turns else entry.turns
    return NameEntry(
        kind=entry.kind,
        count=entry.count + 1,
        heat=entry.heat_at(fact.turn) + fact.weight,
        first=entry.first,
        last=fact.turn,
        turns=turns[-CITED:],
        places=places,
    )
