"""A session taken through everything that writes a summary, with what is wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

import kedgeline
from kedgeline.model import Budget
from kedgeline.pipeline.handoff import is_well_formed
from kedgeline.summary import handoff, items_of, parse
from kedgeline.tokens import EXACT
from tests.injection.oracle import in_messages, in_outcomes, in_summary
from tests.injection.sessions import LAST, LATER, TOKENS, Session, gone_on, read_back
from tests.providers import NAMES

SMALL = Budget(usable=30_000, target=20_000, recent_turns=3, summary=1_600)
"""Less than one session with something planted, so that it is folded."""
ROOM = 1 << 40
"""Tokens for a rendering that leaves nothing out."""


def wrong_with(session: Session, provider: str) -> Iterator[str]:
    """Told whole; folded; folded again on top of it; and read back from one provider's messages,
    which is all that is left of it then, and folded once more."""
    yield from _told(session)
    first = kedgeline.compact_transcript(session.transcript, SMALL)
    if first.plan.cut < sum(turn.tokens == TOKENS for turn in session.transcript.turns):
        yield f"nothing was folded: {first.plan.reason}"
        return
    for name in NAMES:
        shown = kedgeline.write(kedgeline.view(session.transcript, first), to=name)
        yield from _named(f"to {name}", in_messages(shown.messages, session))
    second = gone_on(session, LATER)
    again = kedgeline.compact_transcript(second.transcript, SMALL, previous=first)
    shown = kedgeline.write(kedgeline.view(second.transcript, again), to=provider)
    yield from _named("folded again", in_messages(shown.messages, second))
    yield from _named("read back", _read_back(second, shown.messages, provider))


def _told(session: Session) -> Iterator[str]:
    state = kedgeline.summarize(session.transcript)
    text = handoff(state, ROOM, EXACT.count)
    yield from _named("told", in_summary(text, session))
    if not is_well_formed(text):
        yield "told: not well formed"
    listed = [one.section for one in parse(text)[0] if one.section != "Story"]
    if listed != [one.section for one in items_of(state)]:
        yield "told: other entries than were built"


def _read_back(session: Session, messages: Any, provider: str) -> Iterator[str]:
    """Only the messages are left. What was folded is told by the summary in them."""
    third = gone_on(session._replace(transcript=read_back(messages, provider)), LAST)
    for turn in third.transcript.turns:
        if turn.user_message and turn.user_message not in third.words:
            yield f"not the user's words: {turn.user_message[:120]!r}"
    heavy = tuple(replace(turn, tokens=TOKENS) for turn in third.transcript.turns[:-3])
    turns = (*heavy, *third.transcript.turns[-3:])
    transcript = replace(third.transcript, turns=turns)
    done = kedgeline.compact_transcript(transcript, SMALL)
    if not done.plan.cut:
        yield f"nothing was folded: {done.plan.reason}"
    shown = kedgeline.write(kedgeline.view(transcript, done), to=provider)
    yield from in_messages(shown.messages, third)


def wrong_in_lines(session: Session) -> Iterator[str]:
    """The same in the style that tells a line for each turn."""
    first = kedgeline.compact_transcript(session.transcript, SMALL, style="outcomes")
    yield from _named("in lines", in_outcomes(first.summary, session))
    second = gone_on(session, LATER)
    again = kedgeline.compact_transcript(second.transcript, SMALL, previous=first, style="outcomes")
    yield from _named("in lines again", in_outcomes(again.summary, second))


def _named(where: str, found: Iterator[str]) -> Iterator[str]:
    return (f"{where}: {one}" for one in found)
