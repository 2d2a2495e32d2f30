"""Bugs of others, by their reports: what happened there does not happen here."""

from __future__ import annotations

import json

import pytest

from kedgeline.planning import POLICY
from kedgeline.session.compacting import SessionCompaction
from kedgeline.session.journal import Keeping
from kedgeline.tokens import EXACT
from tests.living.sessions import Opening, cheaply, opened, session, steps
from tests.turns import bash, turn

FACTS = (
    "port 8427",
    "src/harbour/lamp.py",
    "make lamps-west",
    "LAMP_TIMEOUT=90",
    "v2.31.4",
    "#4711",
)


def exact(number: int = 14) -> list:
    said = [
        turn(
            0, bash(f"echo {fact}", fact), user=f"note {fact}: I want it kept", says=f"noted {fact}"
        )
        for fact in FACTS
    ]
    return [*said, *steps(number, first=len(said))]


def test_compacting_again_without_anything_new_erodes_nothing() -> None:
    """arcee-ai/nac#147: repeated compaction with no new messages eroded six exact facts."""
    found = session(window=2_500)
    found.append(exact(30))
    first = found.compact()
    before = found.view("anthropic").messages
    for _ in range(5):
        found.compact()
        assert found.view("anthropic").messages == before
    standing = found._journal().recorded()
    assert standing is not None
    assert standing.record.compaction.summary == first.summary


def test_order_is_that_of_the_store_whatever_the_clock_says() -> None:
    """opencode#28618, #40432: clocks that go backwards or stand still (T-D8)."""
    times = iter([10**18, 5, 5, 0, 10**15, *[7] * 500])
    found = session()
    found.keeping = Keeping(EXACT, None, clock=lambda: next(times))
    turns = steps(8)
    for one in turns[:5]:
        found.append([one])
    cheaply(found)
    found.append(turns)
    found.undo()
    cheaply(found)
    assert [one.assistant_response for one in found.transcript().turns] == [
        one.assistant_response for one in turns
    ]
    assert [event.undone for event in found.history()] == [True, False]


def test_words_said_while_a_compaction_failed_are_the_next_request() -> None:
    """openclaw#123737: an interrupted compaction swallowed the next prompt."""
    found = session(window=1_500)
    found.append(steps(20))
    with pytest.raises(ZeroDivisionError):
        cheaply(found, lambda region, budget: 1 // 0)  # type: ignore[arg-type, return-value]
    found.append({"role": "user", "content": "and now the eastern lamp"})
    found.compact()
    last = found.view("anthropic").messages[-1]
    assert last["role"] == "user"
    assert "and now the eastern lamp" in json.dumps(last)


def test_summaries_never_carry_another_sessions_words(opening: Opening) -> None:
    """openclaw#15990, claude-mem#4097: a summary leaked into another session."""
    with opened(opening, "one") as one, opened(opening, "two") as two:
        one.append([turn(0, user=f"only here {n}", says="ok") for n in range(40)])
        two.append(steps(40))
        one.compact(window=1_500)
        two.compact(window=1_500)
        assert "only here" not in json.dumps(two.view("anthropic").messages)


def test_before_and_after_are_counted_on_one_scale() -> None:
    """hermes-agent#6217, qwen-code#4528: sizes on two scales made the guard dead code."""
    found = session(window=2_500)
    found.append(exact(30))
    made = found.compact()
    journal = found._journal()
    assert made.tokens_before == journal.tokens()
    after = found.should_compact()
    assert made.tokens_after < made.tokens_before
    assert f"{made.tokens_after:,}" in after.reason


def test_pins_leave_no_room_for_more_than_fits() -> None:
    """What is pinned is taken from the room: a compaction does not fill it twice."""
    found = session(window=4_000)
    found.append(steps(10))
    found.pin("x " * 500)
    given = found.name, found._held, found._journal, found.keeping, POLICY
    compaction = SessionCompaction(*given, usual=4_000)
    budget = compaction.room(found._journal(), found.context_tokens())
    assert budget.usable < POLICY.budget(4_000).usable - 400


def test_a_fork_of_early_turns_has_no_compaction() -> None:
    """CC#46603: a chain broken at a compaction."""
    found, turns = session(), steps(12)
    found.append(turns)
    cheaply(found)
    early = found.fork("early", through=3)
    assert early.compaction() is None
    said = [one.assistant_response for one in early.transcript().turns]
    assert said == [one.assistant_response for one in turns[:4]]
