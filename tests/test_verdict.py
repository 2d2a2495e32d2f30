"""The verdict of a compaction: asked of the text, kept in the record, and never a score of none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kedgeline.model import ACCEPTED, Answer, Budget, Compaction, Probe, Turn, Verdict
from kedgeline.pipeline.draft import Told, summary_of, verdict_of
from kedgeline.pipeline.handoff import is_well_formed
from kedgeline.pipeline.job import Job, flow_of, plan_of, prepared
from kedgeline.pipeline.view import view
from tests.test_compaction import ESTIMATE, SMALL, long_run, made, session
from tests.turns import called, turn

NOW = datetime(2024, 5, 4, 12, 0, tzinfo=UTC)
LATER = datetime(2024, 5, 5, tzinfo=UTC)


def answered(passed: int, failed: int = 0, *, critical: bool = False) -> tuple[Answer, ...]:
    probe = Probe(
        type="recall",
        matter="check",
        question="What?",
        expected=("x",),
        section="Current State",
        turn=1,
        critical=critical,
    )
    return (
        *(Answer(probe=probe, found=("x",), passed=True) for _ in range(passed)),
        *(Answer(probe=probe, found=(), passed=False) for _ in range(failed)),
    )


def verdict(done: Compaction) -> Verdict:
    assert done.verdict is not None
    return done.verdict


def grown(more: int = 12) -> list[Turn]:
    """The long run with turns behind it."""
    turns = long_run()
    return turns + [
        turn(n, called("Read", f"line {n}\n" * 60, file_path=f"src/p{n}.py"))
        for n in range(len(turns), len(turns) + more)
    ]


def test_what_is_accepted() -> None:
    assert ACCEPTED == 0.9
    assert Verdict(answers=answered(9, 1)).accepted
    assert not Verdict(answers=answered(89, 11)).accepted
    assert not Verdict(answers=answered(99, 1, critical=True)).accepted
    assert not Verdict(answers=answered(9), strays=("x",)).accepted
    assert not Verdict(strays=("x",)).accepted
    assert Verdict().accepted


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("## Commands\n", ""),
        lambda text: text.replace("## Story", "## story"),
        lambda text: text + "\n## Index\nN/A",
        lambda text: "",
    ],
)
def test_a_text_without_its_sections_is_not_well_formed(spoil: Any) -> None:
    text = made(session(long_run())).summary
    assert is_well_formed(text)
    assert not is_well_formed(spoil(text))


def drafted(**options: Any) -> tuple[Job, Any, Told]:
    transcript = prepared(session(long_run()), ESTIMATE)
    job = Job(transcript, SMALL, "", None, ESTIMATE, False, **options)
    flow = flow_of(transcript.turns)
    plan = plan_of(job, flow)
    return job, plan, summary_of(job, flow, plan)


def test_probes_are_asked_of_the_text_and_not_of_the_state() -> None:
    job, plan, told = drafted()
    good = verdict_of(job, plan, told)
    changed = told._replace(text=told.text.replace("src/p1.py | modified", "src/p1.py | created"))
    bad = verdict_of(job, plan, changed)
    assert good is not None
    assert bad is not None
    assert good.strays == ()
    assert not good.critical_failures
    assert [one.probe.expected for one in bad.critical_failures] == [("src/p1.py", "modified")]
    assert len(bad.strays) == 1
    empty = verdict_of(job, plan, told._replace(text=""))
    assert empty is not None
    assert [one.probe.matter for one in empty.answers if one.passed] == ["request"]


def test_the_probes_are_about_all_that_is_folded_and_nothing_that_is_kept() -> None:
    done = made(session(long_run()))
    turns = [one.probe.turn for one in verdict(done).answers]
    assert max(turns) <= done.covered_through
    expected = {one.probe.expected for one in verdict(done).answers}
    assert ("src/p1.py", "modified") in expected
    assert ("pytest", "4 tests passed") in expected
    assert ("Port the parser to the new grammar",) in expected


def test_the_record_has_the_verdict_the_count_and_the_time() -> None:
    first = made(session(long_run()), at=NOW)
    assert (first.count, first.at) == (1, NOW)
    assert verdict(first).answers
    assert first.losses is not None
    second = made(session(grown()), previous=first, at=LATER)
    assert second.plan.folded
    assert (second.count, second.at) == (2, LATER)
    assert verdict(second).answers
    assert made(session(long_run())).at is None


def test_a_compaction_that_does_nothing_keeps_what_was_known() -> None:
    """arcee-ai/nac#147: repeated compaction with no new messages eroded exact facts."""
    transcript = session(long_run())
    first = made(transcript, at=NOW)
    again = made(transcript, previous=first, at=LATER)
    assert "no new turns" in again.warnings[0]
    assert view(transcript, again) == view(transcript, first)
    assert again.tokens_after == first.tokens_after
    assert again.verdict == first.verdict
    assert again.losses == first.losses
    assert (again.count, again.at) == (1, NOW)
    third = made(session(grown()), previous=again, at=LATER)
    assert (third.count, third.at) == (2, LATER)


def test_a_compaction_that_only_masks_keeps_what_is_known_of_the_summary() -> None:
    turns = [replace(one, exchange=1) if one.index >= 52 else one for one in long_run()]
    turns[52] = replace(turns[52], user_message="Now port the lexer")
    budget = Budget(target=9_000, usable=12_000, summary=120)
    first = made(session(turns), budget)
    more = [turn(n, says="word " * 5, exchange=1) for n in range(60, 63)]
    tighter = replace(budget, target=8_900)
    second = made(session([*turns, *more]), tighter, previous=first, masking=True)
    assert second.plan.masked
    assert not second.plan.folded
    assert second.summary == first.summary
    assert second.verdict == first.verdict
    assert second.losses == first.losses


@pytest.mark.parametrize("budget", [SMALL, Budget(target=600, usable=700, summary=120)])
def test_a_record_with_its_verdict_can_be_written_and_read(budget: Budget) -> None:
    done = made(session(long_run()), budget, at=NOW)
    assert verdict(done).answers
    for encode, decode in (
        (msgspec.json.encode, msgspec.json.decode),
        (msgspec.msgpack.encode, msgspec.msgpack.decode),
    ):
        assert decode(encode(done), type=Compaction) == done
