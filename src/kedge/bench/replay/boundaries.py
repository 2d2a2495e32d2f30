"""Where sessions are cut: at the compactions another system made, and where none had been made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from kedge.model import SessionFacts, Transcript, Turn, Value

HORIZON = 40
"""Turns after a cut that are looked at: what is needed later depends more and more on what came in
between."""
LEAST_AFTER_BOUNDARY = 5
"""Turns after a real compaction; fewer show nothing of what the agent needed."""
SHARES = (0.4, 0.6, 0.8)
"""Of the turns of an uncompacted session: where it is cut for a fair comparison."""
LEAST_TURNS = 30
"""Of a session that is cut so: shorter ones have too little to forget."""
LEAST_AFTER_FAIR = 15

Where = Literal["boundary", "fair"]


class Cut(Value, frozen=True):
    """A point in a session."""

    where: Where
    turn: int
    """The first one after it."""
    end: int
    """The first one that is no longer looked at."""
    recorded: str = ""
    """The other system's own summary, at a boundary."""


def cuts_of(transcript: Transcript) -> tuple[Cut, ...]:
    """All cuts of a session, the same for the same session."""
    return (*_boundaries(transcript), *_fair(transcript))


def before(transcript: Transcript, cut: Cut) -> Transcript:
    """The session as it stood at the cut: nothing in it comes from later."""
    turns = transcript.turns[: cut.turn]
    calls = {call.id for turn in turns for call in turn.tool_calls}
    changes = tuple(one for one in transcript.session.changes if one.turn < cut.turn)
    return replace(
        transcript,
        turns=turns,
        pending=None,
        session=SessionFacts(changes=changes),
        compactions=tuple(one for one in transcript.compactions if one.turn < cut.turn),
        agents=tuple(one for one in transcript.agents if one.delegated_by in calls),
    )


def after(transcript: Transcript, cut: Cut) -> tuple[Turn, ...]:
    """The turns that show what was needed, without the summary the agent went on from."""
    turns = transcript.turns[cut.turn : cut.end]
    if not turns or cut.where != "boundary":
        return turns
    notes = tuple(note for note in turns[0].notes if note.kind != "summary")
    return (replace(turns[0], notes=notes), *turns[1:])


def _boundaries(transcript: Transcript) -> Iterator[Cut]:
    count = len(transcript.turns)
    made = {one.turn: one.summary for one in transcript.compactions if one.kind == "summary"}
    every = sorted({one.turn for one in transcript.compactions} | {count})
    for turn, summary in sorted(made.items()):
        end = min(next((one for one in every if one > turn), count), turn + HORIZON, count)
        if turn > 0 and summary.strip() and end - turn >= LEAST_AFTER_BOUNDARY:
            yield Cut(where="boundary", turn=turn, end=end, recorded=summary)


def _fair(transcript: Transcript) -> Iterator[Cut]:
    """Before the first compaction of any kind the agent had its whole history."""
    limit = min([len(transcript.turns), *(one.turn for one in transcript.compactions)])
    if limit < LEAST_TURNS:
        return
    for share in SHARES:
        turn = int(limit * share)
        if limit - turn >= LEAST_AFTER_FAIR:
            yield Cut(where="fair", turn=turn, end=min(limit, turn + HORIZON))
