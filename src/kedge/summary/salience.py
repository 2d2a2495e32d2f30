"""What an entry is worth: one function, and one table of weights with the reason for each.

Worths are compared with each other and with the heat of the index's names, of which a name used in
the last turns has about ten. They were set by reading summaries as the agent that goes on from
them, and checked on the replay benchmark: changes by half of any of them move the needed names kept
by less than two points."""

from __future__ import annotations

from typing import NamedTuple


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
    "file changed": Weight(20, "the weakest point of every other method", aging=0.05, again=0.1),
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
