"""T-C1: random histories, every allowed cut, four providers; and what a compaction must never do.

10,000 histories are read in the normal run, 2,500 in the shape of each provider, and cut wherever
that is allowed. Compactions are made of fewer that are longer, with outputs worth masking: what
they come to is counted, so that no promise holds because nothing happened. Each property has a
planted bug below that makes it fail."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from msgspec.structs import replace

import kedgeline
from kedgeline.formats.providers.repair import Repair
from kedgeline.model import Budget, Compaction, Plan, Span, Transcript, Turn
from kedgeline.pipeline import compact as compaction
from kedgeline.pipeline import draft as record
from kedgeline.pipeline import view as viewing
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.draft import Draft, Told
from kedgeline.pipeline.job import ConversationFlow, Job, Style
from kedgeline.pipeline.read import write
from kedgeline.pipeline.view import PROVIDERS, problems, view
from kedgeline.planning import rules_for
from kedgeline.planning.masking import RECENT
from kedgeline.planning.rules import Repeats
from kedgeline.tokens import Estimate, overhead_tokens
from tests.histories import LONG_OUTPUTS, history
from tests.planning.cutting import allowed_cuts

SHARDS, OF_EACH = 8, 200
"""Tests that run side by side, and histories in each: 10,000 in all."""
LONGER = 48
"""Longer histories in each of these tests: 960 in all, of which each goes through six compactions.
"""
LINKS = 3
"""Compactions in a chain."""
ESTIMATE = Estimate()
BUDGETS = (
    Budget(recent_turns=1, summary=120),
    Budget(target=400, usable=800, summary=120, least_reduction=0.6),
    Budget(target=5_000, usable=7_000, summary=400, least_reduction=0.6),
    Budget(target=1_500, usable=90_000, recent_turns=1, summary=150),
)
"""No limit, a tight one, one that outputs have to be masked for, and one that the newest outputs
are too large for. There is room for a summary in each."""
STYLES: tuple[Style, ...] = get_args(Style)
AGREES = "go on"
"""The one among the words of a history that asks for nothing new."""
FLOORS = {"folded": 0.8, "masked": 0.05, "shortened": 0.1, "twice": 0.35, "further": 0.6}
"""The share of longer histories of which something must be folded, masked and shortened; folded
again in what was rebuilt and read; folded further where turns were added."""


def histories(shard: int, of_each: int = OF_EACH) -> Iterator[tuple[str, Transcript]]:
    for number in range(of_each):
        provider = PROVIDERS[number % len(PROVIDERS)]
        chance = random.Random(f"{shard}:{number}")
        yield provider, read(history(chance, provider), provider)


class Case(NamedTuple):
    provider: str
    transcript: Transcript
    budget: Budget
    style: Style
    masking: bool


def longer(shard: int, of_each: int = LONGER) -> Iterator[Case]:
    """Longer histories, so that each provider meets each budget and each style; in every second
    shard compactions are forced, as in a window that is nearly full."""
    for number in range(of_each):
        chance = random.Random(f"longer {shard}:{number}")
        others, provider = divmod(number, len(PROVIDERS))
        others, budget = divmod(others, len(BUDGETS))
        name = PROVIDERS[provider]
        told = history(chance, name, least=20, most=70, outputs=LONG_OUTPUTS)
        style = STYLES[others % len(STYLES)]
        masking = shard % 2 > 0
        yield Case(name, read(told, name), BUDGETS[budget], style, masking)


def read(messages: Any, provider: str) -> Transcript:
    return kedgeline.read(msgspec.json.encode(messages), format=provider, counter=ESTIMATE)


def shown_at(transcript: Transcript) -> Callable[[int], Transcript]:
    """What is shown when all turns before a cut are folded."""
    repeats = Repeats(transcript.turns, ESTIMATE.count, pending=transcript.pending)

    @cache
    def shown(cut: int) -> Transcript:
        span = Span(first=0, last=cut - 1, tokens=0, reason="")
        plan = Plan(cut=cut, folded=(span,), repeated=repeats.before(cut))
        return view(transcript, Compaction(plan=plan, summary="Key outcomes:\n✓ x [t0]"))

    return shown


def wrong_cuts(provider: str, transcript: Transcript) -> list[str]:
    """What providers would refuse, whatever allowed cut is taken."""
    found = []
    shown = shown_at(transcript)
    for target in PROVIDERS:
        for cut in allowed_cuts(transcript.turns, rules_for(target)):
            if 0 < cut < len(transcript.turns):
                written = write(shown(cut), to=target)
                found += [
                    f"{provider} to {target}, cut {cut}: {problem}"
                    for problem in problems(target, written.messages)
                ]
    return found


class Made:
    """One compaction after the other, with all that is wrong with them."""

    def __init__(self, case: Case) -> None:
        self.provider, self.budget = case.provider, case.budget
        self.style, self.masking = case.style, case.masking
        self.wrong: list[str] = []

    def compact(
        self, transcript: Transcript, budget: Budget, previous: Compaction | None = None
    ) -> Compaction:
        made = compact(
            transcript,
            budget,
            provider=self.provider,
            previous=previous,
            counter=ESTIMATE,
            style=self.style,
            masking=self.masking,
        )
        self.wrong += refused(self.provider, transcript, made)
        if made.tokens_after > made.tokens_before:
            self.wrong.append("larger than before")
        left = made.tokens_after - overhead_tokens(transcript, ESTIMATE)
        if left > budget.target and not made.plan.over_budget:
            self.wrong.append("over the budget, and not reported")
        self.wrong += changed(transcript, made)
        return made

    def twice(self, transcript: Transcript) -> tuple[Compaction, Compaction]:
        """A compaction, and one with less room of what it left, written and read."""
        made = self.compact(transcript, self.budget)
        self.compact(transcript, self.budget, made)
        written = write(view(transcript, made), to=self.provider).messages
        reread = read(written, self.provider) if written else transcript
        less = replace(self.budget, target=self.budget.target // 2, recent_turns=1)
        return made, self.compact(reread, less)

    def chain(self, transcript: Transcript) -> list[Compaction]:
        """Compactions of a session that grows between them."""
        made: list[Compaction] = []
        for link in range(1, LINKS + 1):
            end = len(transcript.turns) * link // LINKS
            so_far = replace(transcript, turns=transcript.turns[:end], pending=None)
            now = transcript if link == LINKS else so_far
            made.append(self.compact(now, self.budget, made[-1] if made else None))
        return made


def refused(provider: str, transcript: Transcript, made: Compaction) -> list[str]:
    """Problems of the rebuilt list. A list of which nothing was folded keeps the order in which it
    was read: then it has those it had, and no others."""
    found = problems(provider, write(view(transcript, made), to=provider).messages)
    if made.summary:
        return found
    before = problems(provider, write(transcript, to=provider).messages)
    return [problem for problem in found if problem not in before]


def changed(transcript: Transcript, made: Compaction) -> list[str]:
    """Kept turns stay as they are but for what the plan masks, of which the newest have nothing
    but shortened outputs; and what the user asked for is still there."""
    shown = view(transcript, made)
    kept = transcript.turns[made.plan.cut :]
    after = shown.turns[len(shown.turns) - len(kept) :]
    masked = {one.turn for one in made.plan.masked}
    found = [
        f"t{other.index} changed"
        for one, other in zip(kept, after, strict=True)
        if _unnumbered(one) != _unnumbered(other)
        and (other.index not in masked or _unmasked(one) != _unmasked(other))
    ]
    newest = made.first + made.turns - RECENT
    found += [
        f"t{one.turn} is new, and masked"
        for one in made.plan.masked
        if one.turn >= newest and one.how == "masked"
    ]
    request = [words for words in _asked(transcript) if words not in _said(shown)]
    return found + [f"the user's words are gone: {words!r}" for words in request]


def _unnumbered(turn: Turn) -> Turn:
    """Turns behind an earlier summary are numbered anew."""
    return replace(turn, index=0)


def _unmasked(turn: Turn) -> Turn:
    return replace(turn, index=0, tool_results=(), tokens=0)


def _spoken(transcript: Transcript) -> list[Turn]:
    return [*transcript.turns, *([transcript.pending] if transcript.pending else ())]


def _asked(transcript: Transcript) -> list[str]:
    """What the user said from the exchange on that last asked for something."""
    found: list[str] = []
    turns = _spoken(transcript)
    for before, turn in reversed([*zip([None, *turns], turns, strict=False)]):
        words = turn.user_message
        found += [words] if words else []
        opens = before is None or before.exchange != turn.exchange
        if opens and (words not in ("", AGREES) or (words and turn.media)):
            break
    return found


def _said(transcript: Transcript) -> str:
    return "\n".join(turn.user_message for turn in _spoken(transcript))


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_allowed_cut_breaks_a_list(shard: int) -> None:
    for provider, transcript in histories(shard):
        assert wrong_cuts(provider, transcript) == []


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_compaction_keeps_its_promises(shard: int) -> None:
    for case in longer(shard):
        made = Made(case)
        made.twice(case.transcript)
        made.chain(case.transcript)
        assert made.wrong == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_compactions_do_something(provider: str) -> None:
    """A test of the tests above: for two of four providers nothing was ever folded in them."""
    done: Counter[str] = Counter()
    own = [case for shard in range(4) for case in longer(shard) if case.provider == provider]
    for case in own:
        first, second = Made(case).twice(case.transcript)
        links = Made(case).chain(case.transcript)
        done["folded"] += bool(first.plan.folded)
        done["twice"] += bool(first.plan.folded and second.plan.folded)
        done["further"] += sum(bool(one.plan.folded) for one in links) > 1
        done.update({one.how for one in first.plan.masked})
    short = {what: done[what] / len(own) for what in FLOORS if done[what] < FLOORS[what] * len(own)}
    assert short == {}


def complaints(shard: int) -> list[str]:
    """All that the properties find in a few histories."""
    found: list[str] = []
    for provider, transcript in histories(shard, 60):
        found += wrong_cuts(provider, transcript)
    for case in longer(shard, 32):
        made = Made(case)
        made.twice(case.transcript)
        made.chain(case.transcript)
        found += made.wrong
    return found


def test_few_histories_give_no_complaint() -> None:
    """The ground on which bugs are planted below."""
    assert complaints(99) == []


def _without_bounds(job: Job, flow: ConversationFlow, plan: Plan) -> Told:
    return Told("word " * 20_000 if plan.folded else "")


def _unchecked(job: Job, flow: ConversationFlow, draft: Draft) -> Compaction:
    made = record._measured(job, flow, draft)
    return replace(made, tokens_before=record._before(job))


def _without_thinking(turn: Turn, masked: Any) -> Turn:
    return replace(turn, thinking="", messages=())


BUGS: dict[str, tuple[dict[tuple[Any, str], Any], str]] = {
    "a writer that repairs nothing": (
        {(Repair, "round"): lambda self, said, in_flight: said},
        "for calls|again",
    ),
    "a summary without bounds, and a record that takes whatever comes": (
        {(compaction, "summary_of"): _without_bounds, (compaction, "record_of"): _unchecked},
        "larger than before",
    ),
    "a budget that is exceeded in silence": (
        {(Plan, "over_budget"): False},
        "over the budget, and not reported",
    ),
    "a kept turn that loses its thinking": ({(viewing, "applied"): _without_thinking}, " changed$"),
    "a request that is not said again": (
        {(Repeats, "before"): lambda self, cut: ()},
        "words are gone",
    ),
    "a cut between a call and its result": (
        {
            (Repair, "_is_whole"): lambda self, said, in_flight: True,
            (sys.modules[__name__], "rules_for"): lambda provider: (),
        },
        "no call waits",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_noticed(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places, shown = BUGS[bug]
    for (place, name), wrong in places.items():
        monkeypatch.setattr(place, name, wrong)
    assert any(re.search(shown, found) for found in complaints(99))
