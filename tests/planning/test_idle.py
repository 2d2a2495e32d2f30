"""A compaction behind another that has nothing to do: it says so, and changes nothing."""

from __future__ import annotations

from msgspec.structs import replace

from kedgeline.model import Budget, Compaction, Transcript, Turn
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.view import lead, view
from kedgeline.planning import Policy
from kedgeline.tokens import Estimate
from tests.turns import called, turn

ESTIMATE = Estimate()
ROOMY = Budget(target=9_000, usable=12_000, summary=400)


def reads(count: int) -> Transcript:
    """One request of which every step reads a file; then another with two steps."""
    steps = [
        turn(n, called("Read", f"line {n}\n" * 80, file_path=f"a{n}.py"), tokens=400)
        for n in range(count)
    ]
    steps[0] = replace(steps[0], user_message="Port the parser")
    steps[-2:] = [replace(one, exchange=1) for one in steps[-2:]]
    steps[-2] = replace(steps[-2], user_message="Now the lexer")
    return Transcript(format="plain", turns=tuple(steps))


def made(transcript: Transcript, previous: Compaction | None = None) -> Compaction:
    return compact(transcript, ROOMY, previous=previous, counter=ESTIMATE, masking=True)


def test_nothing_done_behind_a_compaction_that_masked_is_said() -> None:
    """Its masks are in the plan of every compaction behind it, so that none seemed idle."""
    transcript = reads(40)
    first = made(transcript)
    assert first.plan.masked
    again = made(transcript, first)
    assert again.tokens_after == again.tokens_before
    assert again.warnings == ("nothing was folded: there are no new turns",)


def test_a_compaction_that_only_masks_leaves_what_leads_the_view() -> None:
    """The request before the kept turns would be gone with it."""
    transcript = reads(40)
    transcript = replace(transcript, turns=transcript.turns[:-2])
    first = compact(transcript, ROOMY, counter=ESTIMATE)
    assert [one.what for one in first.plan.repeated] == ["request"]
    new = turn(38, exchange=1, user="Now the lexer", says="Yes.", tokens=500)
    grown = replace(transcript, turns=(*transcript.turns, new))
    again = made(grown, first)
    assert not again.plan.folded
    assert len(again.plan.masked) > len(first.plan.masked)
    assert lead(grown, again) == lead(grown, first)
    assert view(grown, again).turns[0].user_message == "Port the parser"


def test_words_of_no_size_are_no_advice() -> None:
    """A window in which nothing is left: "the words that wait for an answer have 0 tokens"."""
    transcript = Transcript(format="plain", turns=tuple(Turn(index=n, tokens=9) for n in range(5)))
    done = compact(transcript, Policy().budget(1_000, overhead=1_000), counter=ESTIMATE)
    assert done.plan.over_budget
    assert not any("words that wait" in advice for advice in done.plan.advice)
