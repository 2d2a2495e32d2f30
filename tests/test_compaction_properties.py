"""T-C1: random histories, every allowed cut, four providers; and what a compaction must never do.

10,000 histories are read in the normal run, 2,500 in the shape of each provider. Each property has
a planted bug below that makes it fail."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import kedge
from kedge import compaction
from kedge.compaction import compact
from kedge.formats.providers.repair import Repair
from kedge.model import Budget, Compaction, ConversationFlow, Plan, Span, Transcript, Turn
from kedge.planning import allowed_cuts, rules_for
from kedge.planning.repeats import Repeats
from kedge.steps import Job, record
from kedge.tokens import Estimate, overhead_tokens
from kedge.validity import PROVIDERS, problems
from kedge.viewing import view
from kedge.writing import write
from tests.histories import history

SHARDS, OF_EACH = 20, 500
"""Tests that run side by side, and histories in each: 10,000 in all."""
ESTIMATE = Estimate()
BUDGETS = (
    Budget(),
    Budget(target=200, usable=400, recent=60, summary=80),
    Budget(target=60, usable=100, recent=20, summary=60, least_reduction=0.6),
    Budget(target=500, usable=700, recent=300, recent_turns=1, summary=100),
)


def histories(shard: int, of_each: int = OF_EACH) -> Iterator[tuple[str, Transcript]]:
    for number in range(of_each):
        provider = PROVIDERS[number % len(PROVIDERS)]
        chance = random.Random(f"{shard}:{number}")
        yield provider, read(history(chance, provider), provider)


def read(messages: Any, provider: str) -> Transcript:
    return kedge.read(msgspec.json.encode(messages), format=provider, counter=ESTIMATE)


def cut_at(transcript: Transcript, cut: int) -> Compaction:
    """A compaction that folds all turns before a cut."""
    turns = transcript.turns
    span = Span(first=0, last=cut - 1, tokens=0, reason="")
    asked = bool(transcript.pending and transcript.pending.user_message)
    again = Repeats(turns, ESTIMATE.count, asked=asked).before(cut)
    plan = Plan(cut=cut, folded=(span,), repeated=again)
    return Compaction(plan=plan, summary="Key outcomes:\n✓ x [t0]")


def wrong_cuts(provider: str, transcript: Transcript) -> list[str]:
    """What providers would refuse, whatever allowed cut is taken."""
    found = []
    for target in PROVIDERS:
        for cut in allowed_cuts(transcript.turns, rules_for(target)):
            if 0 < cut < len(transcript.turns):
                written = write(view(transcript, cut_at(transcript, cut)), to=target)
                found += [
                    f"{provider} to {target}, cut {cut}: {problem}"
                    for problem in problems(target, written.messages)
                ]
    return found


def wrong_compaction(provider: str, transcript: Transcript, budget: Budget) -> list[str]:
    """What is wrong with a compaction, and with one of what it left."""
    made = compact(transcript, budget, provider=provider, counter=ESTIMATE)
    shown = view(transcript, made)
    written = write(shown, to=provider).messages
    found = refused(provider, transcript, made)
    if made.tokens_after > made.tokens_before:
        found.append("larger than before")
    left = made.tokens_after - overhead_tokens(transcript, ESTIMATE)
    if left > budget.target and not made.plan.over_budget:
        found.append("over the budget, and not reported")
    found += changed(transcript, made, shown)
    again = compact(transcript, budget, provider=provider, previous=made, counter=ESTIMATE)
    found += refused(provider, transcript, again)
    reread = read(written, provider) if written else transcript
    second = compact(reread, budget, provider=provider, counter=ESTIMATE)
    found += refused(provider, reread, second)
    if second.tokens_after > second.tokens_before:
        found.append("larger after the second")
    return found


def refused(provider: str, transcript: Transcript, made: Compaction) -> list[str]:
    """Problems of the rebuilt list. A list of which nothing was folded keeps the order in which it
    was read: then it has those it had, and no others."""
    found = problems(provider, write(view(transcript, made), to=provider).messages)
    if made.summary:
        return found
    before = problems(provider, write(transcript, to=provider).messages)
    return [problem for problem in found if problem not in before]


def changed(transcript: Transcript, made: Compaction, shown: Transcript) -> list[str]:
    """Kept turns stay as they are but for what the plan masks, the newest three in any case."""
    kept = transcript.turns[made.plan.cut :]
    after = shown.turns[len(shown.turns) - len(kept) :]
    masked = {one.turn for one in made.plan.masked}
    found = [
        f"t{one.index} changed"
        for one, other in zip(kept, after, strict=True)
        if one != other and (one.index not in masked or _unmasked(one) != _unmasked(other))
    ]
    request = [words for words in _asked(transcript) if words not in _said(shown)]
    return found + [f"the user's words are gone: {words!r}" for words in request]


def _unmasked(turn: Turn) -> Turn:
    return replace(turn, tool_results=(), tokens=0)


def _asked(transcript: Transcript) -> list[str]:
    """What the user said in the exchange that is under way."""
    turns, pending = transcript.turns, transcript.pending
    if pending and pending.user_message:
        return [pending.user_message]
    last = turns[-1].exchange if turns else 0
    return [turn.user_message for turn in turns if turn.exchange == last and turn.user_message]


def _said(transcript: Transcript) -> str:
    turns = (*transcript.turns, *([transcript.pending] if transcript.pending else ()))
    return "\n".join(turn.user_message for turn in turns)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_allowed_cut_breaks_a_list(shard: int) -> None:
    for provider, transcript in histories(shard):
        assert wrong_cuts(provider, transcript) == []


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_compaction_keeps_its_promises(shard: int) -> None:
    for number, (provider, transcript) in enumerate(histories(shard)):
        budget = BUDGETS[number % len(BUDGETS)]
        assert wrong_compaction(provider, transcript, budget) == []


def complaints(shard: int, of_each: int = 120) -> list[str]:
    """All that the properties find in a few histories."""
    found: list[str] = []
    for number, (provider, transcript) in enumerate(histories(shard, of_each)):
        found += wrong_cuts(provider, transcript)
        found += wrong_compaction(provider, transcript, BUDGETS[number % len(BUDGETS)])
    return found


def test_few_histories_give_no_complaint() -> None:
    """The ground on which bugs are planted below."""
    assert complaints(99) == []


def test_a_writer_that_repairs_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repair, "round", lambda self, said, in_flight: said)
    assert any("for calls" in found or "again" in found for found in complaints(99))


def test_a_compaction_that_grows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary without bounds, and a record that takes whatever comes."""
    monkeypatch.setattr(compaction, "summary_of", _without_bounds)
    monkeypatch.setattr(compaction, "record_of", _unchecked)
    assert "larger than before" in complaints(99)


def _without_bounds(job: Job, flow: ConversationFlow, plan: Plan) -> str:
    return "word " * 500 if plan.folded else ""


def _unchecked(job: Job, flow: ConversationFlow, plan: Plan, summary: str) -> Compaction:
    made = record._measured(job, flow, plan, summary)
    return replace(made, tokens_before=record._before(job))


def test_a_budget_that_is_exceeded_in_silence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "over_budget", False)
    assert "over the budget, and not reported" in complaints(99)


def test_a_kept_turn_that_loses_its_thinking_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kedge.viewing.applied", lambda turn, masked: replace(turn, thinking="", messages=())
    )
    assert any(found.endswith(" changed") for found in complaints(99))


def test_a_request_that_is_not_said_again_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repeats, "before", lambda self, cut: ())
    assert any("words are gone" in found for found in complaints(99))


def test_a_cut_where_a_rule_forbids_it_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call folded whose result stands in a later turn."""
    monkeypatch.setattr(Repair, "_is_whole", lambda self, said, in_flight: True)
    monkeypatch.setattr("tests.test_compaction_properties.rules_for", lambda provider: ())
    assert any("no call waits" in found for found in complaints(99))
