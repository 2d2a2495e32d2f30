"""How much is asked: all that a hand-off must say, and of all else what a summary of its size
should hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from kedge.model import Matter, Probe


class Ration(NamedTuple):
    each: int
    """Tokens for which one more is asked."""
    behind: int = 0
    """Tokens that are not counted: a shorter text has better things to say."""


RATIONS: dict[Matter, Ration] = {
    "name": Ration(12),
    "command": Ration(110, behind=250),
    "read": Ration(200, behind=900),
    "change": Ration(110, behind=400),
    "decision": Ration(700, behind=600),
    "earlier request": Ration(260, behind=250),
    "said since": Ration(700, behind=600),
    "task done": Ration(1_000, behind=1_200),
    "action": Ration(500, behind=1_200),
    "commit": Ration(1_500, behind=1_000),
    "report": Ration(1_500, behind=2_000),
    "open error": Ration(900, behind=1_000),
    "resolved error": Ration(700, behind=1_800),
    "dead end": Ration(700, behind=900),
    "earlier text": Ration(100),
}
"""For which length of a summary one probe of a matter is asked, those with the highest rank first.
Measured on real sessions: somewhat more than what summaries of 1,000 to 4,000 tokens hold of each
where all is told in the order of its worth. More would ask for what no summary of the size can
hold, less would not notice what is gone."""

CHARACTERS = 4
"""Of a token, as a rule: what is left to spare need not be known exactly."""
AROUND = 10
"""Tokens around an answer: marks of turns, labels, the line itself."""


def ration(matter: Matter, room: int) -> int:
    """How many things of a matter a summary with so many tokens to spare is asked for."""
    each, behind = RATIONS[matter]
    return max(0, room - behind) // each


def rationed(probes: Iterable[Probe], room: int) -> Iterator[Probe]:
    """The first of probes of one matter."""
    found = iter(probes)
    for first in found:
        yield from islice(chain([first], found), ration(first.matter, room))
        return


def left_of(room: int, asked: Iterable[Probe]) -> int:
    """Tokens that are left where all of these are answered."""
    return max(0, room - sum(map(_tokens, asked)))


def _tokens(probe: Probe) -> int:
    return AROUND + sum(map(len, probe.expected)) // CHARACTERS
