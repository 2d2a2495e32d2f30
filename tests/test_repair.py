"""Where probes fail, what is missing comes back, within the budget, and nothing gets worse."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import Budget, Compaction, Transcript, Turn, Verdict
from kedgeline.pipeline import compact as compaction
from kedgeline.pipeline.draft import MORE_ROOM, Draft, Told, repaired, summary_of
from kedgeline.pipeline.draft import verdict_of as verdict_for
from kedgeline.pipeline.job import Job, flow_of, plan_of, prepared
from kedgeline.pipeline.view import wrapped
from kedgeline.summary import SECTIONS, entries_of, handoff
from tests.probes.sessions import random_session
from tests.test_compaction import ESTIMATE, made, session
from tests.turns import bash, called, edit, turn

ROOMY = Budget(target=2_000, usable=4_000, summary=250)
BUDGETS = (
    Budget(target=2_000, usable=4_000, summary=600),
    Budget(target=900, usable=4_000, summary=400),
    Budget(target=1_500, usable=9_000, summary=300),
    Budget(target=1_200, usable=1_300, summary=900, recent_turns=1),
    Budget(target=700, usable=5_000, summary=900, recent_turns=1),
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
    failed = len(verdict_of(plain).failed)
    assert matters(plain) == {"modified"}
    assert verdict_of(done).failed == ()
    assert verdict_of(done).accepted
    assert verdict_of(done).failed_first == failed
    assert verdict_of(done).repaired > 10  # of what is asked no longer, nobody knows
    assert done.warnings == ()
    assert done.tokens_after <= ROOMY.target
    assert done.summary_tokens > plain.summary_tokens


def test_a_failing_artifact_probe_expands_the_table_of_files() -> None:
    plain, done = both(session(edits(15)), ROOMY)
    before, after = sections(plain.summary), sections(done.summary)
    grown = [name for name in before if len(before[name]) < len(after[name])]
    assert "## Files Modified" in grown
    rows = {one.text for one in entries_of(done.summary) if one.section == "Files Modified"}
    assert rows == {f"src/p{n}.py" for n in range(15)}


def test_where_there_is_no_room_what_is_missing_is_put_back_all_the_same() -> None:
    """A draft that forgot the table of files and told more of other things in its room."""
    budget = Budget(target=1_180, usable=1_180, summary=600)
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


def test_what_is_asked_for_by_rank_takes_the_place_of_what_nobody_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of sessions with many commands and errors a fifth of the probes failed in a text that had
    room for all answers."""
    monkeypatch.setitem(SECTIONS, "Commands", SECTIONS["Commands"]._replace(share=1e-9))
    turns = [turn(0, user="Try all parts, one by one", says="I will.")]
    turns += [
        turn(
            n, bash(f"make part-{n}", f"part {n} is fine"), says=f"Part {n} {'is on its way ' * 20}"
        )
        for n in range(1, 240)
    ]
    budget = Budget(target=4_100, usable=4_100, summary=4_000, recent_turns=1)
    plain, done = both(session(turns), budget)
    assert matters(plain) == {"command"}
    assert not verdict_of(plain).accepted
    assert verdict_of(done).accepted
    assert done.tokens_after <= budget.target


def test_where_nothing_helps_it_says_so_with_numbers_and_keeps_the_verdict() -> None:
    budget = Budget(target=600, usable=700, summary=120)
    plain, done = both(session(edits(50)), budget)
    failed, first = len(verdict_of(done).failed), len(verdict_of(plain).failed)
    assert 40 < failed <= first
    assert (verdict_of(done).failed_first, verdict_of(done).repaired) == (first, first - failed)
    assert not verdict_of(done).accepted
    (warning,) = [one for one in done.warnings if "probes" in one]
    assert f"fails {failed} of 51 probes, {failed} of them critical" in warning
    assert "What became of src/p" in warning
    assert done.tokens_after < done.tokens_before


def test_where_nothing_fails_nothing_is_changed() -> None:
    plain, done = both(session(edits(5)), Budget(target=8_000, usable=12_000, summary=6_000))
    assert verdict_of(plain).failed == ()
    assert done == plain
    assert (verdict_of(done).failed_first, verdict_of(done).repaired) == (0, 0)


def test_what_may_stand_is_not_paid_for_with_turns() -> None:
    """A summary that is accepted keeps its cut, though a probe fails."""
    for budget in BUDGETS:
        plain, done = both(random_session(Random(7)), budget)
        if plain.verdict is not None and plain.verdict.accepted:
            assert done.plan.cut == plain.plan.cut


def test_a_style_that_keeps_no_state_can_only_keep_more_turns() -> None:
    plain, done = both(session(edits(15)), ROOMY, style="outcomes")
    assert verdict_of(plain).answers
    assert done.plan.cut <= plain.plan.cut
    assert verdict_of(done).failed_first == len(verdict_of(plain).failed)
    assert (verdict_of(done).score or 0) >= (verdict_of(plain).score or 0)


def test_what_must_be_said_may_take_all_that_the_target_leaves() -> None:
    """Turns that would stay give way to it."""
    plain, done = both(session(edits(40)), replace(ROOMY, summary=300))
    assert not verdict_of(plain).accepted
    assert verdict_of(done).accepted
    assert done.plan.cut >= plain.plan.cut
    assert done.plan.summary_room > plain.plan.summary_room
    assert done.tokens_after <= ROOMY.target


def test_what_is_asked_for_by_rank_makes_a_summary_at_most_twice_as_long() -> None:
    names = " ".join(f"`harbour_{n}_{{}}`" for n in range(40))
    turns = [turn(0, user="Read the harbour's code, all of it, please", says="I will.")]
    turns += [turn(n, says=names.format(*[n] * 40)) for n in range(1, 60)]
    plain, done = both(session(turns), replace(ROOMY, summary=300))
    assert not verdict_of(plain).critical_failures
    assert done.plan.summary_room <= MORE_ROOM * plain.plan.summary_room
