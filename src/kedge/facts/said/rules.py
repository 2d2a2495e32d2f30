"""How a sentence says a standing rule, and what looks like one and is none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kedge.facts.said import rule_cues as cues
from kedge.spoken import at_beginning

LONGEST = 800
"""Characters of a sentence in which cues are looked for."""


class _Table(NamedTuple):
    cues: re.Pattern[str]
    words: tuple[str, ...] = ("",)

    def holds(self, sentence: str, lowered: str, places: Iterable[int] | None = None) -> bool:
        """Whether a cue stands in a sentence; at one of the places, where some are given."""
        if not any(word in lowered for word in self.words):
            return False
        if places is None:
            return self.cues.search(sentence) is not None
        return any(self.cues.match(sentence, place) for place in places)


def _table(*rows: str, words: tuple[str, ...] = ("",)) -> _Table:
    return _Table(re.compile("|".join(f"(?:{row})" for row in rows), re.IGNORECASE), words)


class Place(NamedTuple):
    """Where a sentence stands."""

    correcting: bool = False
    """The user speaks of what the agent has done."""
    short: bool = False
    """The message is short: a weak cue is most of what the user says."""
    asked: bool = False
    """The message asks for something to be done: what it says beside may be about that only."""
    standing: bool = False
    """All that is said there holds for good, as in a rules file."""


_ORDERS = _table(*cues.ORDERS, words=cues.ORDER_WORDS)
_STRONG = (
    _table(*cues.OBLIGATIONS, words=cues.OBLIGATION_WORDS),
    _table(*cues.LASTING, words=cues.LASTING_WORDS),
    _table(*cues.WISHES, words=cues.WISH_WORDS),
)
_ASSURANCES, _AGAIN = _table(*cues.ASSURANCES, words=("sure",)), _table(*cues.AGAIN).cues
_EXPECTATIONS = _table(*cues.EXPECTATIONS, words=("should", " has ", " have ", "need"))
_SMALL_ORDERS = _table(*cues.SMALL_ORDERS)
_CONSTRAINTS = _table(*cues.CONSTRAINTS, *cues.FORBIDDEN_THINGS)
_HINTS = _table(*cues.HINTS, *cues.PERMISSIONS)
_COMPLAINT, _KEPT_IN_MIND = _table(*cues.COMPLAINTS).cues, _table(*cues.KEPT_IN_MIND).cues
_POLITE, _POLITE_RULE = _table(*cues.POLITE).cues, _table(*cues.POLITE_RULES).cues
_CONFIRMED, _ASKING = _table(*cues.CONFIRMED).cues, _table(*cues.ASKING).cues
_ORDERED_BEHIND = _table(*cues.ORDERED_BEHIND).cues
_DELIVERABLE, _SUPPOSED = at_beginning(cues.DELIVERABLES), at_beginning(cues.SUPPOSED)


_PASSING = re.compile(
    r"\b(?:for now|this time|just this once)\b|^\W{0,3}why (?:don['’]?t|not|didn['’]?t)\b",
    re.IGNORECASE,
)
"""What holds only now, or asks for one change: no standing rule."""


IN_RULES_FILE = Place(standing=True)


def is_rule(plain: str, place: Place = IN_RULES_FILE) -> bool:
    """Whether a sentence says a rule. What must come of one request is none; nor is a weak cue
    beside a request; and what should be so is one only where the user corrects the agent."""
    sentence = plain[:LONGEST]
    if _PASSING.search(sentence):
        return False
    if points_back(sentence):
        return True
    if _asks(sentence) and not _CONFIRMED.search(sentence):
        return place.short and _asked_for(sentence)
    lowered = sentence.lower()
    clauses = [clause.end() for clause in cues.CLAUSE.finditer(sentence)]
    if _ORDERS.holds(sentence, lowered, clauses) or cues.SHOUTED.search(sentence):
        return True
    if any(table.holds(sentence, lowered) for table in _STRONG):
        return True
    if _ASSURANCES.holds(sentence, lowered) and (place.standing or _AGAIN.search(sentence)):
        return True
    return place.short and _weak(sentence, lowered, clauses, place)


def _weak(sentence: str, lowered: str, clauses: list[int], place: Place) -> bool:
    if _CONSTRAINTS.holds(sentence, lowered):
        return True
    if place.asked:
        return False
    if _HINTS.holds(sentence, lowered):
        return True
    if not place.correcting or _SUPPOSED.match(sentence):
        return False
    return _SMALL_ORDERS.holds(sentence, lowered, clauses) or _EXPECTATIONS.holds(sentence, lowered)


def asks_for_work(plain: str) -> bool:
    """Whether a sentence asks for something to be done, once; not whether it says how."""
    sentence = plain[:LONGEST]
    if _asked_for(sentence):
        return False
    found = _DELIVERABLE.match(sentence) or _POLITE.match(sentence)
    return bool(found or _ORDERED_BEHIND.search(sentence))


def _asks(sentence: str) -> bool:
    return "?" in sentence[-5:] or _ASKING.match(sentence) is not None


def _asked_for(sentence: str) -> bool:
    polite = _POLITE.match(sentence)
    ordered = polite is not None and _POLITE_RULE.search(polite["order"]) is not None
    return ordered or _COMPLAINT.search(sentence) is not None


def points_back(plain: str) -> bool:
    """Whether a sentence makes a rule of those before it."""
    return "you " in plain and _KEPT_IN_MIND.search(plain[:LONGEST]) is not None


def is_question(plain: str) -> bool:
    """Whether a sentence asks to be told something; one that asks for something to be done, as
    "can you …?", is an order."""
    sentence = plain[:LONGEST]
    orders = _POLITE.match(sentence) or _ORDERED_BEHIND.search(sentence)
    return _asks(sentence) and not orders
