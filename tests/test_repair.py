"""Where probes fail, what is missing comes back, within the budget, and nothing gets worse."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kedge import compaction
from kedge.flow import flow_of
from kedge.model import Budget, Compaction, Transcript, Turn, Verdict
from kedge.steps import Draft, Job, Told, plan_of, prepared, repair, repaired, summary_of
from kedge.steps import verdict_of as verdict_for
from kedge.steps.repair import MORE_ROOM
from kedge.summary import entries_of, handoff
from kedge.viewing import wrapped
from tests.probes.sessions import random_session
from tests.test_compaction import ESTIMATE, made, session
from tests.turns import called, edit, turn

ROOMY = Budget(target=2_000, usable=4_000, recent=300, summary=250)
BUDGETS = (
    Budget(target=2_000, usable=4_000, recent=300, summary=600),
    Budget(target=900, usable=4_000, recent=300, summary=400),
    Budget(target=3_000, usable=9_000, recent=300, summary=300),
    Budget(target=1_200, usable=1_300, recent=100, summary=900, recent_turns=1),
    Budget(target=700, usable=5_000, recent=100, summary=900, recent_turns=1),
)
"""With room to spare, tight, wide with a short summary, and squeezed for the target."""


def edits(files: int) -> list[Turn]:
    """Sixty turns that edit so many files, and read as many as there are turns."""
    turns = [turn(0, user="Port the parser to the new grammar", says="I will.")]
    return turns + [
        turn(
            n,
            edit(f"src/p{n % files}.py"),
            called("Read", "line\n" * 60, file_path=f"lib/q{n}.py"),
        )
        for n in range(1, 60)
    ]


def both(transcript: Transcript, budget: Budget, **options: Any) -> tuple[Compaction, Compaction]:
    """A compaction as it would be without repair, and as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "repaired", lambda job, flow, draft: draft)
        plain = made(transcript, budget, **options)
    return plain, made(transcript, budget, **options)


def verdict_of(done: Compaction) -> Verdict:
    assert done.verdict is not None
    return done.verdict


def matters(done: Compaction) -> set[str]:
    return {one.probe.matter for one in verdict_of(done).failed}


def sections(text: str) -> dict[str, str]:
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in text.split("\n\n")}


def test_what_is_missing_is_added_where_there_is_room() -> None:
    plain, done = both(session(edits(15)), ROOMY)
    assert (len(verdict_of(plain).failed), matters(plain)) == (13, {"modified"})
    assert verdict_of(done).failed == ()
    assert verdict_of(done).accepted
    assert (verdict_of(done).failed_first, verdict_of(done).repaired) == (13, 13)
    assert done.warnings == ()
    assert done.tokens_after <= ROOMY.target
    assert done.summary_tokens > plain.summary_tokens


def test_a_failing_artifact_probe_expands_the_table_of_files_and_nothing_else() -> None:
    plain, done = both(session(edits(15)), ROOMY)
    before, after = sections(plain.summary), sections(done.summary)
    assert [name for name in before if before[name] != after[name]] == ["## Files Modified"]
    rows = {one.text for one in entries_of(done.summary) if one.section == "Files Modified"}
    assert rows == {f"src/p{n}.py" for n in range(15)}


def test_where_there_is_no_room_what_is_missing_is_put_back_all_the_same() -> None:
    """A draft that forgot the table of files and told more of other things in its room."""
    budget = Budget(target=1_180, usable=1_180, recent=300, summary=600)
    job = Job(prepared(session(edits(15)), ESTIMATE), budget, "", None, ESTIMATE, False)
    flow = flow_of(job.transcript.turns)
    plan = plan_of(job, flow)
    state, standing = summary_of(job, flow, plan)[1:3]
    assert state is not None
    room = plan.summary_room - ESTIMATE.count(wrapped(""))
    text = handoff(replace(state, files={}), room, ESTIMATE.count, standing=standing)
    told = Told(text, state, standing)
    first = Draft(plan, told, verdict_for(job, plan, told))
    assert first.verdict is not None
    assert len(first.verdict.critical_failures) == 15
    done = repaired(job, flow, first)
    assert done.verdict is not None
    assert done.verdict.accepted
    assert done.verdict.critical_failures == ()
    assert done.verdict.failed_first == len(first.verdict.failed)
    assert done.verdict.repaired == len(first.verdict.failed) - len(done.verdict.failed)
    most = budget.target - plan.tokens_kept
    assert ESTIMATE.count(wrapped(done.told.text)) <= most
    passed = {one.probe for one in first.verdict.answers if one.passed}
    assert passed <= {one.probe for one in done.verdict.answers if one.passed}


def test_where_the_summary_cannot_say_enough_more_turns_are_kept() -> None:
    """Three turns before the recent ones changed more files than a short summary holds."""
    turns = [turn(0, user="Port the parser to the new grammar", says="I will.")]
    turns += [
        turn(n, called("Read", "line\n" * 60, file_path=f"lib/q{n % 5}.py")) for n in range(1, 36)
    ]
    turns += [turn(n, *(edit(f"src/part{n}/p{k}.py") for k in range(15))) for n in range(36, 39)]
    turns += [turn(n, says="Looking.") for n in range(39, 42)]
    budget = Budget(target=4_000, usable=8_000, recent=10, summary=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repair, "most_room", lambda job, plan, limit: plan.summary_room)
        plain, done = both(session(turns), budget)
    assert (plain.plan.cut, done.plan.cut) == (39, 36)
    assert len(verdict_of(plain).critical_failures) == 45
    assert verdict_of(done).accepted
    assert (verdict_of(done).failed_first, verdict_of(done).repaired) == (45, 45)
    assert done.tokens_after <= budget.target
    assert done.covered_through == 35


def test_where_nothing_helps_it_says_so_with_numbers_and_keeps_the_verdict() -> None:
    budget = Budget(target=600, usable=700, recent=300, summary=120)
    plain, done = both(session(edits(50)), budget)
    failed = len(verdict_of(done).failed)
    assert failed == len(verdict_of(plain).failed) == 50
    assert (verdict_of(done).failed_first, verdict_of(done).repaired) == (50, 0)
    assert not verdict_of(done).accepted
    (warning,) = [one for one in done.warnings if "probes" in one]
    assert "fails 50 of 51 probes, 50 of them critical" in warning
    assert "What became of src/p" in warning
    assert done.tokens_after < done.tokens_before
    assert done.summary == plain.summary


def test_where_nothing_fails_nothing_is_changed() -> None:
    plain, done = both(session(edits(5)), Budget(target=4_000, usable=8_000, summary=3_000))
    assert verdict_of(plain).failed == ()
    assert done == plain
    assert (verdict_of(done).failed_first, verdict_of(done).repaired) == (0, 0)


def test_what_may_stand_is_not_paid_for_with_turns() -> None:
    """A summary that is accepted keeps its cut, though a probe fails."""
    for budget in BUDGETS:
        plain, done = both(random_session(Random(7)), budget)
        if verdict_of(plain).accepted:
            assert done.plan.cut == plain.plan.cut


def test_a_style_that_keeps_no_state_can_only_keep_more_turns() -> None:
    plain, done = both(session(edits(15)), ROOMY, style="outcomes")
    assert verdict_of(done).failed
    assert done.plan.cut <= plain.plan.cut
    assert verdict_of(done).failed_first == len(verdict_of(plain).failed)
    assert (verdict_of(done).score or 0) >= (verdict_of(plain).score or 0)


def test_what_must_be_said_may_take_all_that_the_target_leaves() -> None:
    plain, done = both(session(edits(40)), replace(ROOMY, summary=300))
    assert not verdict_of(plain).accepted
    assert verdict_of(done).accepted
    assert done.plan.summary_room > MORE_ROOM * plain.plan.summary_room
    assert done.tokens_after <= ROOMY.target


def test_what_is_asked_for_by_rank_makes_a_summary_at_most_twice_as_long() -> None:
    names = " ".join(f"`harbour_{n}_{{}}`" for n in range(40))
    turns = [turn(0, user="Read the harbour's code, all of it, please", says="I will.")]
    turns += [turn(n, says=names.format(*[n] * 40)) for n in range(1, 60)]
    plain, done = both(session(turns), replace(ROOMY, summary=300))
    assert not verdict_of(plain).critical_failures
    assert done.plan.summary_room <= MORE_ROOM * plain.plan.summary_room
