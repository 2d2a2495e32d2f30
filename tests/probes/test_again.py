"""What was proved once is asked for at every later compaction, until newer facts are about it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import (
    AnyFact,
    Compaction,
    Decided,
    FileRead,
    InstructionGiven,
    Requested,
    Stated,
    Summary,
    Turn,
    Verdict,
)
from kedgeline.pipeline.handoff import asked, verify
from kedgeline.probes import again, probes_of
from kedgeline.summary import build, handoff, merged
from tests.probes.facts import NO_LIMIT, change, size
from tests.test_compaction import made, session
from tests.turns import called, turn

RULE = "Never push to main."
LONG = (
    "Port the parser to the new grammar, one rule after the other, and tell me what you did. " * 4
)
"""More than is shown of a request that is over."""
FACTS: list[AnyFact] = [
    InstructionGiven(turn=0, by="user", text=RULE),
    change(1, "a.py", "created"),
    change(2, "b.py", "modified"),
    Decided(turn=3, by="user", key="db", decision="use sqlite", rationale="it is small"),
]
STATE = build(FACTS)
FIRST = asked(STATE, 0)
"""What was asked at the compaction before."""


def later(state: Summary, *since: AnyFact, room: int = 0) -> Verdict:
    """The verdict on all that is known, at the next compaction."""
    probes = asked(state, room, earlier=FIRST, since=since)
    return verify(state, handoff(state, NO_LIMIT, size), probes)


def expected(verdict: Verdict) -> set[tuple[str, ...]]:
    return {one.probe.expected for one in verdict.answers}


def lost(verdict: Verdict) -> list[tuple[str, ...]]:
    return [one.probe.expected for one in verdict.failed]


def test_what_is_made_anew_is_not_asked_for_twice() -> None:
    assert len(FIRST) == 4
    assert again(FIRST, FIRST, ()) == ()
    assert len(later(STATE).answers) == 4
    assert later(STATE).score == 1.0


def test_what_moves_with_the_work_is_not_asked_for_again() -> None:
    request = Requested(turn=0, by="user", text="Fix the light", scope="new")
    moving = [one for one in probes_of(build([request]), NO_LIMIT) if not one.lasting]
    assert moving
    assert again(moving, (), ()) == ()


@pytest.mark.parametrize(
    ("dropped", "missing"),
    [
        ({"instructions": ()}, (RULE,)),
        ({"files": {"b.py": STATE.files["b.py"]}}, ("a.py", "created")),
        ({"files": {"a.py": STATE.files["a.py"]}}, ("b.py", "modified")),
        ({"decisions": {}}, ("use sqlite", "it is small")),
    ],
)
def test_what_a_state_lost_on_the_way_is_noticed(
    dropped: dict[str, Any], missing: tuple[str, ...]
) -> None:
    """Planted drift."""
    verdict = later(replace(STATE, **dropped))
    assert lost(verdict) == [missing]
    assert verdict.critical_failures
    assert not verdict.accepted


@pytest.mark.parametrize(
    "other",
    [
        FileRead(turn=0, path="a.py"),
        Stated(turn=0, text="It is in `a.py`.", where="answer"),
    ],
)
def test_a_lost_file_is_noticed_where_its_path_stands_elsewhere(other: AnyFact) -> None:
    state = merged(STATE, [other])
    files = {"b.py": state.files["b.py"]}
    assert lost(later(replace(state, files=files), room=5_000)) == [("a.py", "created")]


@pytest.mark.parametrize(
    ("since", "now"),
    [
        (change(9, "a.py", "modified"), ("a.py", "created")),
        (change(9, "b.py", "deleted"), ("b.py", "deleted")),
        (change(9, "c.py", "renamed", renamed_from="b.py"), ("c.py", "renamed")),
        (change(9, "a.py", "deleted"), None),
    ],
)
def test_a_file_that_changed_since_is_asked_for_by_the_newer_probe_only(
    since: AnyFact, now: tuple[str, ...] | None
) -> None:
    verdict = later(merged(STATE, [since]), since)
    assert verdict.score == 1.0
    paths = {"a.py", "b.py", "c.py"}
    about = [one for one in expected(verdict) if one[0] in paths]
    moved = {getattr(since, "path", ""), getattr(since, "renamed_from", "")}
    assert [one for one in about if one[0] in moved] == ([now] if now else [])
    assert len(about) == (2 if now else 1)


def test_a_decision_that_the_user_took_back_is_asked_for_as_it_is_now() -> None:
    since = Decided(turn=9, by="user", key="db", decision="use postgres")
    verdict = later(merged(STATE, [since]), since)
    assert verdict.score == 1.0
    assert ("use postgres",) in expected(verdict)
    assert ("use sqlite", "it is small") not in expected(verdict)


def test_a_decision_that_became_a_rule_is_asked_for_once() -> None:
    since = InstructionGiven(turn=9, by="user", text="use sqlite")
    verdict = later(merged(STATE, [since]), since)
    assert verdict.score == 1.0
    assert ("use sqlite", "it is small") not in expected(verdict)


def growing(compactions: int) -> list[Compaction]:
    """A session with a rule, files and a decision in its beginning, compacted again and again."""
    turns = [
        turn(0, user=f"Port the parser. {RULE}", says="I will."),
        turn(1, called("Write", "ok", file_path="src/new.py", content="def parse(): pass")),
        turn(2, called("Edit", "ok", file_path="src/old.py", old_string="a", new_string="b")),
        turn(3, user="Let's use sqlite instead of postgres.", says="Yes.", exchange=1),
        turn(4, user="Now the lexer, please, all of it", says="Yes.", exchange=2),
    ]
    turns += [step(n) for n in range(5, 15)]
    done: list[Compaction] = []
    for _ in range(compactions):
        first = len(turns)
        turns += [step(n) for n in range(first, first + 3)]
        done.append(made(session(turns), previous=done[-1] if done else None))
        assert done[-1].plan.folded
    return done


def step(number: int) -> Turn:
    read = called("Read", f"line {number}\n" * 60, file_path=f"p{number % 9}.py")
    return turn(number, read, exchange=2)


def lasting(done: Compaction) -> dict[tuple[str, ...], bool]:
    assert done.verdict is not None
    return {one.probe.expected: one.passed for one in done.verdict.answers if one.probe.lasting}


@pytest.mark.parametrize("compactions", [5, 50])
def test_after_many_compactions_all_that_lasts_is_asked_for_and_there(compactions: int) -> None:
    done = growing(compactions)
    proved = lasting(done[-1])
    assert proved.keys() >= {
        (RULE,),
        ("src/new.py", "created"),
        ("src/old.py", "modified"),
        ("Let's use sqlite instead of postgres.", "postgres"),
    }
    assert all(proved.values())
    assert proved == lasting(done[0])
    assert [one.count for one in done] == [*range(1, compactions + 1)]


@pytest.mark.parametrize(
    ("dropped", "missing"),
    [
        ({"instructions": ()}, (RULE,)),
        pytest.param({"files": {}}, ("src/new.py", "created")),
    ],
)
def test_drift_is_noticed_by_the_next_compaction_and_by_later_ones(
    dropped: dict[str, Any], missing: tuple[str, ...]
) -> None:
    """A state that loses something behind a compaction's back."""
    turns = [
        turn(0, user=f"{LONG} {RULE}", says="I will."),
        turn(1, called("Write", "ok", file_path="src/new.py", content="x = 1")),
        turn(2, user="Now the lexer, please, all of it", says="Yes.", exchange=2),
        *(step(n) for n in range(3, 20)),
    ]
    done = made(session(turns))
    assert done.state is not None
    done = replace(done, state=replace(done.state, **dropped))
    for _ in range(2):
        turns += [step(n) for n in range(len(turns), len(turns) + 10)]
        done = made(session(turns), previous=done)
        assert lasting(done)[missing] is False
        assert any("critical" in warning for warning in done.warnings)
