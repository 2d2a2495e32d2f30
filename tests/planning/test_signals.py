"""The history: what a session keeps between compactions, folded event by event."""

from __future__ import annotations

from kedgeline.planning.policy import POLICY, History, Signals
from kedgeline.planning.triggers import should_compact

WINDOW = 200_000


def test_a_session_that_cannot_be_sent_still_gets_its_next_try() -> None:
    """No turn can be added beyond the window: a pause that counts turns only would never end."""
    history = History(failures=3)
    for _ in range(POLICY.cool_down):
        assert not should_compact(_full(history)).compacts
        history = history.waited()
    assert should_compact(_full(history)).compacts


def _full(history: History) -> Signals:
    return Signals(context_tokens=WINDOW, window=WINDOW, history=history)
