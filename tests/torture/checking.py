"""What is in a store, held against what was acknowledged."""

from __future__ import annotations

from typing import NamedTuple

from kedgeline.errors import KedgelineError
from kedgeline.session.session import Session
from tests.torture.acts import Act, changed, marks_in, pieces_of

WRITES = {"compact": (["compaction"], ["attempt"]), "undo": (["undo"],), "pin": (["pin"],)}
"""What may be found of a step that says nothing, when it had begun and was not acknowledged."""


class Acknowledged(NamedTuple):
    """A step whose call had returned."""

    act: Act
    number: int = -1
    """Of the last entry then; -1 where it was not looked at."""
    chain: str = ""


class Verdict(NamedTuple):
    wrong: list[str]
    further: bool = False
    """Whether the step that was under way is there."""


def compare(
    session: Session, seed: int, acknowledged: list[Acknowledged], under_way: Act | None = None
) -> Verdict:
    """Every acknowledged step is there, once, in order; the one under way is there whole or not at
    all; nothing else is; the store is sound and the session can be used."""
    try:
        return _compared(session, seed, acknowledged, under_way)
    except KedgelineError as error:
        return Verdict([f"the session cannot be read: {error!r}"])


def _compared(
    session: Session, seed: int, acknowledged: list[Acknowledged], under_way: Act | None
) -> Verdict:
    wrong = [f"problem: {problem}" for problem in session.store.problems()]
    transcript = session.transcript()
    pieces = [piece for done in acknowledged for piece in pieces_of(seed, done.act)]
    more = pieces_of(seed, under_way) if under_way else []
    expected, found = [piece.mark for piece in pieces], marks_in(transcript)
    further = bool(more) and found == [*expected, *(piece.mark for piece in more)]
    if further:
        pieces += more
    elif found != expected:
        wrong.append(_difference(expected, found))
    wrong += [f"{mark} is not as it was said" for mark in changed(transcript, pieces)]
    entries = list(session.store.entries(session.name, light=True))
    for done in acknowledged:
        there = entries[done.number - 1].chain if 0 < done.number <= len(entries) else ""
        if done.number >= 0 and there != done.chain:
            wrong.append(f"what {done.act} left is not there: entry {done.number}")
    beyond = [entry.kind for entry in entries[acknowledged[-1].number :]] if acknowledged else []
    if under_way and under_way.kind in WRITES and acknowledged and acknowledged[-1].number >= 0:
        further = beyond in WRITES[under_way.kind]
        if beyond and not further:
            wrong.append(f"{under_way} left {beyond}")
    session.history()
    if not session.view("anthropic").messages and found:
        wrong.append("the view is empty")
    return Verdict(wrong, further)


def _difference(expected: list[str], found: list[str]) -> str:
    missing = [mark for mark in expected if mark not in set(found)]
    strange = [mark for mark in found if mark not in set(expected)]
    twice = [mark for mark in set(found) if found.count(mark) > 1]
    return f"missing {missing[:5]}, not expected {strange[:5]}, twice {twice[:5]}, or moved"
