"""Questions as people ask them find the turn that answers them."""

from __future__ import annotations

import pytest

from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.store import Store
from tests.recall.keeping import keep
from tests.turns import bash, called, turn


@pytest.fixture
def kept(store: Store) -> Store:
    log = "\n".join(f"why the tide is what it was at {n}" for n in range(400))
    keep(
        store,
        "harbor",
        turn(0, user="Which store do we use for the tide cache?"),
        turn(1, says="We dropped Redis: the sentinel failed over twice a day."),
        turn(2, called("Log", log)),
        turn(3, bash("pytest -q", "E   TideError: too low in tideTable()", exit_code=1)),
        turn(4, says="The berths are painted red."),
        turn(5, user="Now paint the pier."),
    )
    return store


@pytest.mark.parametrize(
    ("asked", "mark"),
    [
        ("why did we drop redis?", "t1"),
        ("What did the sentinels do, that it was dropped?", "t1"),
        ("Which error did the test of the tide table end with?", "t3"),
        ("what was wrong with tideTable in src/tide_table.py", "t3"),
        ("who is painting the berths and in what colour", "t4"),
        ("What is to be painted next?", "t5"),
    ],
)
def test_a_question_finds_its_turn_first(kept: Store, asked: str, mark: str) -> None:
    assert recall(kept, query_of(asked))[0].mark == mark


def test_the_lines_shown_are_those_that_answer(kept: Store) -> None:
    one = recall(kept, query_of("why did the sentinel of redis fail over?"))[0]
    (line,) = one.lines
    marked = [line.text[begin:end] for begin, end in line.spans]
    assert marked == ["Redis", "sentinel", "failed"]
    assert one.relaxed == ()


def test_each_turn_comes_once(kept: Store) -> None:
    found = recall(kept, query_of("why is the tide what it was at noon?"))
    assert len({one.mark for one in found}) == len(found)


def test_what_is_quoted_and_filters_hold_in_a_question(kept: Store) -> None:
    assert {one.mark for one in recall(kept, query_of('why did we drop "Redis: the"'))} == {"t1"}
    assert recall(kept, query_of('why did we drop "redis cluster"')) == ()
    marks = {one.mark for one in recall(kept, query_of("what of the tide and paint", who="user"))}
    assert marks == {"t0", "t5"}


def test_exact_words_come_first_and_others_behind_them(kept: Store) -> None:
    first, *others = recall(kept, query_of("tide cache"))
    assert (first.mark, first.together, first.relaxed) == ("t0", True, ())
    assert others
    assert all(one.relaxed == ("cache",) for one in others)
    assert [one.mark for one in recall(kept, query_of("TideError"))] == ["t3"]


@pytest.mark.parametrize("asked", ["我们为什么放弃了 redis", "what of 潮位 in the harbour"])
def test_scripts_without_blanks_are_asked_in_too(store: Store, asked: str) -> None:
    keep(store, "harbor", turn(0, user="因为它不稳定，我们放弃了它：潮位"), turn(1, user="nothing"))
    assert [one.mark for one in recall(store, query_of(asked))] == ["t0"]
