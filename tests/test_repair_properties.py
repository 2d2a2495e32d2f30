"""Whatever the session: a repair makes nothing worse, keeps the budget and counts right."""

from __future__ import annotations

from random import Random

import pytest

from kedgeline.model import Budget, Compaction, Transcript
from kedgeline.pipeline import draft as repair
from kedgeline.pipeline.handoff import verify
from kedgeline.pipeline.view import PROVIDERS, said_again
from kedgeline.tokens import overhead_tokens
from tests.histories import LONG_OUTPUTS, history
from tests.probes.sessions import random_session
from tests.test_compaction import ESTIMATE
from tests.test_compaction_properties import read
from tests.test_repair import BUDGETS, both, verdict_of


def wrong(transcript: Transcript, budget: Budget, plain: Compaction, done: Compaction) -> list[str]:
    """All that a repair must never do."""
    found: list[str] = []
    first, last = verdict_of(plain), verdict_of(done)
    if len(last.critical_failures) > len(first.critical_failures):
        found.append("more critical failures")
    if (last.score or 0) < (first.score or 0) and not (
        len(last.critical_failures) < len(first.critical_failures)
    ):
        found.append("a lower score for nothing")
    passing = {one.probe for one in last.answers if one.passed}
    failed = [one.probe for one in first.failed]
    if first.failed and last.failed_first != len(failed):
        found.append("another number of failures")
    if first.failed and last.repaired != sum(
        probe in passing or probe.turn > done.covered_through for probe in failed
    ):
        found.append("another number of repairs")
    state = done.state
    if state is not None:
        beside = said_again(transcript, done.plan.repeated)
        probes = [one.probe for one in last.answers]
        again = verify(state, done.summary, probes, standing="beside", beside=beside)
        later = verify(state, done.summary, probes, standing="later", beside=beside)
        if last.answers not in (again.answers, later.answers):
            found.append("a verdict on another text")
    if any(one.probe.turn > done.covered_through for one in last.answers):
        found.append("a probe about a turn that is not folded")
    return found + too_large(transcript, budget, plain, done)


def too_large(
    transcript: Transcript, budget: Budget, plain: Compaction, done: Compaction
) -> list[str]:
    """A repaired context may pass the target for what is critical alone, and never the window."""
    found: list[str] = []
    overhead = overhead_tokens(transcript, ESTIMATE)
    before, after = plain.tokens_after - overhead, done.tokens_after - overhead
    critical = verdict_of(plain).critical_failures
    if after > max(before, budget.target) and not critical:
        found.append("over the target")
    if after > max(before, budget.target) and done.plan.excess != after - budget.target:
        found.append("over the target in silence")
    if after > max(before, budget.usable):
        found.append("over the window")
    if done.tokens_after >= done.tokens_before:
        found.append("nothing freed")
    return found


@pytest.mark.parametrize("budget", range(len(BUDGETS)))
def test_a_repair_never_makes_anything_worse(budget: int) -> None:
    counts = {"failed": 0, "repaired": 0}
    for seed in (20, 24, 26):
        transcript = random_session(Random(seed), least=30)
        plain, done = both(transcript, BUDGETS[budget])
        assert done.plan.folded
        assert wrong(transcript, BUDGETS[budget], plain, done) == []
        counts["failed"] += bool(verdict_of(plain).failed)
        counts["repaired"] += verdict_of(done).repaired > 0
    assert counts["failed"] > 1
    assert counts["repaired"] > 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_repair_of_any_history_never_makes_anything_worse(provider: str) -> None:
    budget = Budget(target=1_500, usable=3_000, recent_turns=1, summary=150)
    folded = 0
    for seed in range(3):
        told = history(Random(seed), provider, least=20, most=50, outputs=LONG_OUTPUTS)
        transcript = read(told, provider)
        plain, done = both(transcript, budget, provider=provider)
        if plain.verdict is not None and done.plan.folded:
            folded += 1
            assert wrong(transcript, budget, plain, done) == []
    assert folded


def complaints() -> set[str]:
    """What is wrong with the repairs of a few sessions."""
    found: set[str] = set()
    for seed, budget in ((31, 4), (55, 3)):
        transcript = random_session(Random(seed), least=30)
        plain, done = both(transcript, BUDGETS[budget])
        found |= {*wrong(transcript, BUDGETS[budget], plain, done)}
    return found


def test_a_repair_without_bounds_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "most_room", lambda job, plan, limit: 100_000)
    assert complaints() & {"over the target", "over the window"}


def test_a_repair_that_counts_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "_counted", lambda job, best, first: best.verdict)
    assert complaints() == {"another number of failures", "another number of repairs"}
