"""Folding facts into a summary, and summaries into one another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kedgeline.model import (
    ActionTaken,
    AgentReported,
    Answered,
    AnyFact,
    Asked,
    Called,
    CommandRun,
    Committed,
    DeadEnd,
    Decided,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    FileRead,
    InstructionGiven,
    Requested,
    SessionNoted,
    Stated,
    TodoSet,
    Worded,
)
from kedgeline.model.summary import SectionName, Summary

# What a rendering is made of: items, each in its section, with its turns and its worth.

ALWAYS = 0
"""Tier of what no budget cuts: the user's rules and the current request."""
OPEN = 1
"""Tier of what is broken, waits or may not be undone: before anything that is only good to know."""
FIRST = 2
"""Tier of what every hand-off needs: the state, what was changed."""
THEN = 3
"""Tier of all else: by worth."""
WORDS = 4
"""Tier of what a model wrote: behind all facts, so that it takes the place of none."""


class Item(NamedTuple):
    section: SectionName
    text: str
    """On one line; a path in the files' table, a name in the index."""
    turns: tuple[int, ...] = ()
    tier: int = THEN
    worth: float = 0.0
    """Against others of the same tier."""
    action: str = ""
    """In the files' table."""
    detail: str = ""
    """What changed in a file, why one was read: goes before the item does."""
    more: tuple[str, ...] = ()
    """Longer renditions: of the detail where there is one, else of the text."""

    @property
    def rungs(self) -> int:
        """How many renditions there are: without the detail, with it, and the longer ones."""
        return 1 + bool(self.detail) + len(self.more)

    def length(self, rung: int) -> int:
        """Characters of a rendition. A changed file without its detail shares a row with those of
        its folder."""
        raised = self.raised(rung)
        text = raised.text if rung or not self.action else raised.text.rpartition("/")[2]
        return len(text) + len(raised.detail)

    def raised(self, rung: int) -> Item:
        """The item at one of its renditions, and nothing of the others."""
        if self.detail:
            turns = self.turns if rung or not self.action else ()
            detail = ("", self.detail, *self.more)[rung]
            return self._replace(turns=turns, detail=detail, more=())
        return self._replace(text=(self.text, *self.more)[rung], more=())


def cited(turns: Iterable[int], most: int = 4) -> str:
    """Turn marks: [t12], [t12-15], [t3, t12-15]; nothing for none. Of more than `most` the first
    and the newest are named."""
    marks: list[str] = []
    first = last = None
    for turn in (*sorted(set(turns)), None):
        if turn is not None and last is not None and turn == last + 1:
            last = turn
            continue
        if first is not None and last is not None:
            marks.append(f"t{first}" if first == last else f"t{first}-{last}")
        first = last = turn
    if len(marks) > most:
        marks = [marks[0], *marks[1 - most :]]
    return f"[{', '.join(marks)}]" if marks else ""


# What an entry is worth: one function, and one table of weights with the reason for each.


class Weight(NamedTuple):
    worth: float
    reason: str
    aging: float = 0.0
    """Share of the worth that is lost from the end of the session to its beginning."""
    falls: float = 0.0
    """What each further entry of the kind is worth less."""
    again: float = 0.0
    """What each further occurrence adds, up to four."""


AGAIN_MOST = 4
"""Occurrences that add to the worth: what is used five times is known to be used."""
LEAST = 0.5
"""Nothing that stands in the record is worth nothing."""

WEIGHTS: dict[str, Weight] = {
    "current request": Weight(100, "without it nobody knows what to do"),
    "answer referred to": Weight(60, "a short request means nothing without it; it is long"),
    "rule in the request": Weight(6, "stands in the request already"),
    "request of the scope": Weight(4, "part of what is under way", aging=0.2),
    "opening of the session": Weight(5, "what it is all about, mostly"),
    "opening of a scope": Weight(2.5, "what the session was about before", aging=0.2),
    "earlier request": Weight(0.8, "done, mostly", aging=0.5),
    "words since": Weight(5, "may change the request"),
    "closing answer": Weight(16, "what came of the request, in the agent's words"),
    "earlier answer": Weight(9, "what the larger task has come to", falls=1),
    "file changed": Weight(20, "the weakest point of every other method", aging=0.6, again=0.1),
    "file read": Weight(7, "found again at the price of a search", aging=0.85, again=1.0),
    "decision of the user": Weight(8, "not to be taken back", aging=0.5),
    "decision of the agent": Weight(4, "may be found in the code", aging=0.5),
    "newest check": Weight(15, "whether it works"),
    "failing check": Weight(12, "a narrower one that passes settles nothing", falls=1),
    "older check": Weight(3, "overtaken, mostly", falls=1),
    "edited since": Weight(12, "what no test has seen"),
    "absence": Weight(11, "prose forgets what was not done"),
    "task count": Weight(12, "how far it is"),
    "task done": Weight(5, "not to be done again", falls=1),
    "action": Weight(12, "cannot be seen in files", falls=1),
    "value given": Weight(14, "the user's word on how it is now", aging=0.3),
    "branch": Weight(11, "where the work is"),
    "head": Weight(11, "what the work stands on"),
    "commit": Weight(5, "in the log, too", falls=2),
    "published": Weight(9, "others have seen it"),
    "session": Weight(9, "what the agent may do"),
    "report of a sub-agent": Weight(8, "its word, no fact"),
    "report under way": Weight(12, "what was found for the request", falls=2),
    "sub-agent at work": Weight(13, "not to be done twice"),
    "open question": Weight(13, "somebody waits"),
    "open error": Weight(12, "stands in the way", aging=1.0),
    "resolved error": Weight(2, "may come back", aging=1.0),
    "dead end": Weight(4, "not to be tried again"),
    "next step": Weight(14, "what comes next", falls=1),
    "test": Weight(33, "run after every change", aging=0.6, again=5.6),
    "build": Weight(30, "run after every change", aging=0.6, again=5.6),
    "lint": Weight(25, "run before every commit", aging=0.6, again=5.6),
    "deploy": Weight(30, "long, and not to be guessed", aging=0.6, again=5.6),
    "migration": Weight(25, "not to be guessed", aging=0.6, again=5.6),
    "install": Weight(15, "needed again on another machine", aging=0.6, again=5.6),
    "other command": Weight(3.75, "by how often it was used", aging=0.6, again=5.6),
    "intent in short": Weight(8, "what the requests come to, in a model's words"),
    "state in short": Weight(8, "what the record comes to, in a model's words"),
    "change in short": Weight(4, "what a change was for, in a model's words"),
    "suggestion": Weight(3, "a model's guess"),
    "earlier text": Weight(3, "as a fact of medium age"),
}


def salience(kind: str, *, recent: float = 1.0, place: int = 0, again: int = 0) -> float:
    """The worth of an entry. `recent` is where in the session it was last touched, from 0 to 1;
    `place` how many of its kind come before it; `again` how often it occurred beyond the first."""
    weight = WEIGHTS[kind]
    aged = weight.worth * (1 - weight.aging * (1 - recent))
    return max(LEAST, aged - weight.falls * place + weight.again * min(again, AGAIN_MOST))


LISTED: dict[type, str] = {
    Requested: "requests",
    Answered: "answers",
    InstructionGiven: "instructions",
    ActionTaken: "actions",
    Committed: "repository",
    DeadEnd: "dead_ends",
    AgentReported: "agents",
    Stated: "statements",
    Called: "calls",
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

    def add(self, fact: AnyFact) -> None:
        """Take one fact; one that is known already changes nothing."""
        self._through = max(self._through, fact.turn)
        kind = type(fact)
        if kind in LISTED:
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
    """The facts that a summary was folded from, in the order of their turns."""
    rows = (fact for field in LISTED.values() for fact in getattr(summary, field))
    fields = dict.fromkeys(field for field, _ in KEYED.values())
    matters = (every for field in fields for every in getattr(summary, field).values())
    found = [*rows, *(fact for every in matters for fact in every)]
    return sorted(found, key=lambda fact: fact.turn)
