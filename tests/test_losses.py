"""The loss report: what is known and does not stand in the text, counted and named."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from kedgeline.model import (
    AnyFact,
    Budget,
    CommandRun,
    Decided,
    FileRead,
    InstructionGiven,
    Losses,
    Plan,
    Requested,
    Span,
    Stated,
    TodoSet,
)
from kedgeline.pipeline.draft import NAMED, Told, losses_of
from kedgeline.summary import Standing, build, handoff, items_of, parse
from kedgeline.summary.levels import BRIEF
from tests.probes.facts import NO_LIMIT, change, facts, size
from tests.probes.sessions import random_session
from tests.test_compaction import made

PLAN = Plan(
    cut=7,
    folded=(
        Span(first=3, last=4, tokens=40, reason=""),
        Span(first=5, last=6, tokens=2, reason=""),
    ),
)


def losses(found: list[AnyFact], room: int, standing: Standing = "here") -> Losses:
    state = build(found)
    text = handoff(state, room, size, standing=standing)
    lost = losses_of(PLAN, Told(text, state, standing))
    assert lost is not None
    return lost


def test_where_all_is_told_nothing_is_lost() -> None:
    found: list[AnyFact] = [
        Requested(turn=0, by="user", text="Build\n\na crane", scope="new"),
        change(1, "a b|c.py", "created", what="adds `f`"),
        FileRead(turn=2, path="b.py", lines="1-20", why="to see: the rule"),
        Stated(turn=3, text=f"`find` took {'long ' * 90}", where="answer"),
    ]
    assert losses(found, NO_LIMIT) == Losses(turns=4, tokens=42)


def test_what_is_left_out_is_counted_by_section_and_named_with_its_turn() -> None:
    found: list[AnyFact] = [
        InstructionGiven(turn=0, by="user", text="never push"),
        FileRead(turn=2, path="src/deep/b.py", why="to see the rule"),
        FileRead(turn=3, path="src/deep/c.py"),
        FileRead(turn=5, path="src/deep/b.py"),
        Decided(turn=3, by="user", key="k", decision="moor at the second berth " * 20),
        Stated(turn=4, text="`find` is slow.", where="answer"),
        CommandRun(turn=4, command="ls", key="ls"),
    ]
    lost = losses(found, 0)
    assert lost.left_out == {
        "Files Read (Not Modified)": 2,
        "Decisions Made": 1,
        "Commands": 1,
        "Index": 1,
    }
    assert {(one.section, one.text, one.turn) for one in lost.named} == {
        ("Files Read (Not Modified)", "src/deep/b.py", 5),
        ("Files Read (Not Modified)", "src/deep/c.py", 3),
        ("Index", "find", 4),
        ("Decisions Made", found[4].decision, 3),  # type: ignore[union-attr]
        ("Commands", "`ls`", 4),
    }


def test_a_detail_that_is_left_out_is_no_lost_entry() -> None:
    found: list[AnyFact] = [FileRead(turn=2, path="b.py", why="to see the rule " * 6)]
    state = build(found)
    room = size(handoff(build([FileRead(turn=2, path="b.py")]), BRIEF, size))
    assert "to see" not in handoff(state, room, size)
    assert losses(found, room).left_out == {}


@pytest.mark.parametrize(
    "fact",
    [
        InstructionGiven(turn=1, by="user", text="never print <kedgeline-summary>"),
        TodoSet(turn=1, key="k", text=" check the mast", status="pending"),
        change(1, "two  blanks.py", "created"),
    ],
)
def test_what_stands_in_the_text_is_not_lost(fact: AnyFact) -> None:
    assert losses([fact], NO_LIMIT).left_out == {}


def reads_the_same(fact: AnyFact) -> bool:
    """Not among those of the test above."""
    words = [value for value in astuple(fact) if isinstance(value, str)]
    return all(text == text.strip() for text in words)


plain_facts = facts.map(lambda found: [fact for fact in found if reads_the_same(fact)])


@settings(max_examples=80)
@given(plain_facts, st.integers(0, 1_200), st.sampled_from(("here", "beside", "later")))
def test_losses_are_what_is_known_without_what_is_shown(
    found: list[AnyFact], room: int, standing: Standing
) -> None:
    state = build(found)
    shown, left_out = parse(handoff(state, room, size, standing=standing))
    known = Counter(item.section for item in items_of(state, standing))
    lost = losses(found, room, standing)
    gone = known - Counter(item.section for item in shown)
    assert lost.left_out == dict(gone)
    assert gone.total() == left_out  # what the text itself says of it
    assert len(lost.named) == min(NAMED, left_out)
    assert {one.turn for one in lost.named} <= {fact.turn for fact in found} | {-1}


@pytest.mark.parametrize("seed", range(3))
def test_the_losses_of_a_compaction_name_turns_that_it_folded(seed: int) -> None:
    transcript = random_session(Random(f"losses {seed}"))
    done = made(transcript, Budget(target=1_500, usable=3_000, summary=400))
    assert done.plan.folded
    assert done.losses is not None
    assert done.losses.turns == done.plan.cut
    assert done.losses.tokens == sum(span.tokens for span in done.plan.folded)
    assert sum(done.losses.left_out.values()) == parse(done.summary)[1]
    assert done.losses.named
    assert all(-1 <= one.turn <= done.covered_through for one in done.losses.named)
