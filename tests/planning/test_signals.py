"""The history: what a session keeps between compactions, folded event by event."""

from __future__ import annotations

import msgspec
import pytest

from kedge.planning.policy import POLICY
from kedge.planning.signals import History, Signals
from kedge.planning.triggers import should_compact

WINDOW = 200_000


def test_turns_add_up_and_the_newest_anchor_stays() -> None:
    history = History().turn(100).turn(50, anchor="first").turn(7, anchor="second").turn(3)
    expected = History(
        turns_since=4, tokens_since=160, anchor_since="second", turns_since_failure=4
    )
    assert expected == history


@pytest.mark.parametrize(
    ("before", "after", "weak"),
    [
        (900, 801, 1),  # freed 99 of 1,000
        (900, 800, 0),
        (520, 501, 1),
        (520, 500, 0),  # freed little, and reached the target
        (300, 300, 0),  # a manual one of a small context
        (900, 900, 1),  # nothing to do
        (900, 950, 1),
    ],
)
def test_a_compaction_is_weak_if_it_freed_little_and_missed_the_target(
    before: int, after: int, weak: int
) -> None:
    past = History(turns_since=9, tokens_since=9, anchor_since="done", failures=2)
    expected = History(freed=max(0, before - after), usable=1_000, weak=weak)
    assert expected == past.compacted(before=before, after=after, usable=1_000)


def test_weak_compactions_count_in_a_row_only() -> None:
    history = History()
    seen = []
    for after in (890, 890, 890, 500, 890):
        history = history.turn(9).compacted(before=900, after=after, usable=1_000)
        seen.append(history.weak)
    assert seen == [1, 2, 3, 0, 1]


def test_a_failure_keeps_what_was_and_starts_the_pause_anew() -> None:
    past = History(turns_since=5, tokens_since=50, freed=7, weak=1, failures=2)
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
