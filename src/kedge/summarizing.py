"""A whole session as one summary, for a hand-off."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kedge.earlier import earlier_summary, numbered
from kedge.facts import facts_of
from kedge.model import Summary, Transcript, Verdict
from kedge.redaction import REDACTOR, Redactor
from kedge.summary import (
    LEVELS,
    NOTHING_WANTED,
    Wanted,
    handoff,
    items_of,
    merged,
    summary_128,
    summary_512,
)
from kedge.verifying import asked, verify, wanted

Count = Callable[[str], int]
"""Tokens of a text."""


class HandedOn(NamedTuple):
    text: str
    verdict: Verdict
    wanted: Wanted = NOTHING_WANTED
    """What had to come before all else for the text to be accepted."""


def summarize(transcript: Transcript, *, redactor: Redactor | None = REDACTOR) -> Summary:
    """All facts of a session, words that wait for an answer included, and what a summary of ours
    tells that leads it. Render it at any length with `hand_on`. Secrets that the `redactor` finds
    are in none of it."""
    transcript = numbered(transcript)
    transcript = transcript if redactor is None else redactor.transcript(transcript)
    turns = (*transcript.turns, *([transcript.pending] if transcript.pending else ()))
    last = turns[-1].index if turns else -1
    return merged(earlier_summary(transcript), facts_of(transcript), through=last)


def hand_on(summary: Summary, room: int, count: Count) -> HandedOn:
    """The hand-off in so many tokens, and what the probes find in it. Where it may not stand,
    entries that answer probes take the place of those that answer none."""
    probes = asked(summary, room)
    text = handoff(summary, room, count)
    first = HandedOn(text, verify(summary, text, probes))
    if first.verdict.accepted:
        return first
    needed = wanted(items_of(summary), probes)
    text = handoff(summary, room, count, wanted=needed)
    return max(
        first,
        HandedOn(text, verify(summary, text, probes), needed),
        key=lambda one: (-len(one.verdict.critical_failures), one.verdict.score or 0.0),
    )


def level(summary: Summary, tokens: int, count: Count) -> str:
    """A named level. What stands in a smaller one stands in the larger ones."""
    largest = hand_on(summary, LEVELS[2], count)
    if tokens == LEVELS[0]:
        return summary_128(summary, count, wanted=largest.wanted)
    if tokens == LEVELS[1]:
        return summary_512(summary, count, wanted=largest.wanted)
    return largest.text
