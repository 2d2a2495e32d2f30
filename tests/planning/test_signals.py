"""The history: what a session keeps between compactions, folded event by event."""

from __future__ import annotations

import msgspec

from kedgeline.planning.policy import POLICY, History, Signals
from kedgeline.planning.triggers import should_compact

WINDOW = 200_000


def test_turns_add_up_and_the_newest_anchor_stays() -> None:
    history = History().turn(100).turn(50, anchor="first").turn(7, anchor="second").turn(3)
    expected = History(
        turns_since=4, tokens_since=160, anchor_since="second", turns_since_failure=4
    )
    assert expected == history


def test_a_failure_keeps_what_was_and_starts_the_pause_anew() -> None:
    past = History(turns_since=5, tokens_since=50, freed=7, held_up="x", failures=2)
    expected = msgspec.structs.replace(past, failures=3, turns_since_failure=0)
    assert expected == msgspec.structs.replace(past, turns_since_failure=8).failed()


def test_a_session_that_cannot_be_sent_still_gets_its_next_try() -> None:
    """No turn can be added beyond the window: a pause that counts turns only would never end."""
    history = History(failures=3)
    for _ in range(POLICY.cool_down):
        assert not should_compact(_full(history)).compacts
        history = history.waited()
    assert should_compact(_full(history)).compacts


def _full(history: History) -> Signals:
    return Signals(context_tokens=WINDOW, window=WINDOW, history=history)
