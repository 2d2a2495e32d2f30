"""One compaction, its view, and what later ones make of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

import kedgeline
from kedgeline.facts import facts_of
from kedgeline.model import Budget, Compaction, Media, Note, Transcript, Turn
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.job import Style
from kedgeline.pipeline.read import counted, write
from kedgeline.pipeline.view import PROVIDERS, lead, problems, view, wrapped
from kedgeline.planning import Policy
from kedgeline.summary import build, parse
from kedgeline.tokens import Estimate
from tests.conftest import EXAMPLES
from tests.turns import bash, called, edit, turn

ESTIMATE = Estimate()
SMALL = Budget(target=2_000, usable=4_000, summary=600)


def session(turns: list[Turn], **fields: Any) -> Transcript:
    return counted(Transcript(format="plain", turns=tuple(turns), **fields), ESTIMATE)


def long_run(steps: int = 60) -> list[Turn]:
    """One request, many steps, a fix in the middle."""
    turns = [turn(0, user="Port the parser to the new grammar", says="I will.")]
    turns += [
        turn(n, called("Read", f"line {n}\n" * 60, file_path=f"src/p{n}.py"))
        for n in range(1, steps)
    ]
    turns[20] = turn(20, bash("pytest", "1 failed, 3 passed in 0.1s", exit_code=1))
    turns[21] = turn(21, edit("src/p1.py"), says="The rule was wrong.")
    turns[22] = turn(22, bash("pytest", "4 passed in 0.1s"), says="All tests pass again.")
    return turns


def made(transcript: Transcript, budget: Budget = SMALL, **options: Any) -> Compaction:
    return compact(transcript, budget, counter=ESTIMATE, **options)


def test_the_view_has_the_summary_the_request_and_the_kept_turns() -> None:
    transcript = session(long_run())
    done = made(transcript)
    first, *kept = view(transcript, done).turns
    assert first.notes[-1].text == wrapped(done.summary)
    assert first.user_message == "Port the parser to the new grammar"
    assert tuple(kept) == transcript.turns[done.plan.cut :]
    assert done.covered_through == done.plan.cut - 1
    assert done.tokens_after < done.tokens_before


def test_a_conversation_without_tool_calls_is_kept_by_recency_and_says_so() -> None:
    turns = [turn(n, user=f"tell me {n}", says="text " * 80, exchange=n) for n in range(20)]
    turns[6] = turn(6, user="looks good, save this", says="text " * 80, exchange=6)
    done = made(session(turns), Budget())
    assert done.strategy == "legacy_fallback"
    assert done.plan.cut == 17
    assert any("recency" in warning for warning in done.warnings)
    assert [a.turn_index for a in done.anchors] == [6]


def test_with_nothing_to_do_the_view_is_the_transcript() -> None:
    transcript = session(long_run()[:3])
    done = made(transcript)
    assert done.plan.nothing_to_do
    assert view(transcript, done) == transcript
    assert done.tokens_after == done.tokens_before
    assert done.warnings == ("nothing was folded: all 3 turns belong to the recent window",)


def test_a_later_compaction_folds_only_what_is_new_and_merges() -> None:
    turns = long_run(120)
    first = made(session(turns[:60]), style="outcomes")
    whole = session(turns)
    second = made(whole, previous=first, style="outcomes")
    assert second.plan.folded[0].first == first.plan.cut
    assert second.plan.cut > first.plan.cut
    assert "[ANCHOR] All tests pass again." in second.summary
    assert lead(whole, second)[0].user_message == "Port the parser to the new grammar"
    earlier = [line for line in first.summary.splitlines() if line.startswith(("[ANCHOR]", "User"))]
    assert [line for line in earlier if line not in second.summary] == []


def test_masks_of_an_earlier_compaction_stay() -> None:
    """Otherwise the prefix would change between compactions, and outputs would come back."""
    turns = [replace(t, exchange=1) if t.index >= 52 else t for t in long_run()]
    turns[52] = replace(turns[52], user_message="Now port the lexer")
    transcript = session(turns)
    roomy = Budget(target=9_000, usable=12_000, summary=400)
    first = made(transcript, roomy, masking=True)
    assert first.plan.masked
    more = [turn(n, says="word " * 50, exchange=1) for n in range(60, 70)]
    later = session([*turns, *more])
    second = made(later, roomy, previous=first)
    still = {one.turn for one in second.plan.masked}
    assert {one.turn for one in first.plan.masked if one.turn >= second.plan.cut} <= still


@pytest.mark.parametrize("provider", PROVIDERS)
def test_between_compactions_the_prefix_stays_the_same_to_the_byte(provider: str) -> None:
    """T-C10: turns that come later change nothing that stands before them."""
    turns = long_run(80)
    done = made(session(turns[:60]), masking=True, provider=provider)
    before = write(view(session(turns[:60]), done), to=provider).messages
    for count in range(61, 81):
        after = write(view(session(turns[:count]), done), to=provider).messages
        assert json.dumps(after[: len(before)]) == json.dumps(before)
        assert len(after) > len(before)
        before = after


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("style", "kept", "heading"),
    [
        ("outcomes", "[ANCHOR] All tests pass again.", "Key outcomes:"),
        ("anchored", "| src/p1.py | modified |", "## Files Modified"),
    ],
)
def test_what_was_written_can_be_read_and_compacted_again(
    provider: str, style: Style, kept: str, heading: str
) -> None:
    transcript = session(long_run())
    messages = write(view(transcript, made(transcript, style=style)), to=provider).messages
    again = kedgeline.read(json.dumps(messages).encode(), format=provider, counter=ESTIMATE)
    assert [(c.by, c.turn) for c in again.compactions] == [("kedgeline", 0)]
    assert again.turns[0].user_message == "Port the parser to the new grammar"
    assert "All tests pass" not in " ".join(t.user_message for t in again.turns)
    more = [
        turn(n, called("Read", "x " * 200, file_path=f"b{n}"))
        for n in range(len(again.turns), len(again.turns) + 40)
    ]
    longer = counted(replace(again, turns=(*again.turns, *more)), ESTIMATE)
    second = made(longer, provider=provider, style=style)
    assert second.plan.folded
    assert second.first >= 22, "numbers go on behind those that the earlier summary cites"
    assert kept in second.summary
    assert second.summary.count(heading) == 1
    written = write(view(longer, second), to=provider).messages
    assert problems(provider, written) == []
    assert "Port the parser to the new grammar" in json.dumps(written)


def test_a_summary_of_another_system_is_said_again_where_it_is_all_there_is() -> None:
    """The turns it stands for are nowhere else: to fold it would lose them."""
    note = Note(kind="summary", text="This session is being continued … Port 4711 is taken.")
    turns = long_run()
    turns[0] = replace(turns[0], notes=(note,))
    transcript = session(turns)
    done = made(transcript)
    assert note in lead(transcript, done)[0].notes


def test_the_request_keeps_its_image_and_rules_come_before_the_summary() -> None:
    turns = long_run()
    rules = Note(kind="instructions", text="# AGENTS.md\nNever push.")
    image = Media(mime="image/png", url="https://x.test/a.png")
    turns[0] = replace(turns[0], notes=(rules,), media=(image,))
    transcript = session(turns)
    (first,) = lead(transcript, made(transcript))
    assert first.media == (image,)
    assert [note.kind for note in first.notes] == ["instructions", "summary"]


def test_the_sample_session_is_compacted_by_two_thirds_and_more() -> None:
    transcript = kedgeline.read(EXAMPLES / "claude-code-long.jsonl")
    done = compact(transcript, Policy().budget(32_000))
    assert done.context_reduction >= 0.6
    assert not done.plan.over_budget
    for provider in PROVIDERS:
        there = compact(transcript, Policy().budget(32_000), provider=provider)
        assert problems(provider, write(view(transcript, there), to=provider).messages) == []


def test_turns_built_by_hand_are_numbered_and_counted() -> None:
    """Their numbers and sizes are 0 unless somebody gives them; the same words were said again for
    every one of them."""
    turns = tuple(
        Turn(user_message=f"request {n}", assistant_response="word " * 200) for n in range(20)
    )
    bare = Transcript(format="plain", turns=turns)
    done = made(bare)
    assert done.plan.folded[0].first == 0
    shown = view(bare, done)
    assert shown.turns[0].user_message == ""
    assert [t.user_message for t in shown.turns[-3:]] == ["request 17", "request 18", "request 19"]
    assert done.tokens_after < done.tokens_before


def test_rules_and_the_request_are_byte_equal_after_fifty_compactions() -> None:
    """T-C7: a session that grows and is compacted fifty times."""
    rule = "Never  push to `main`, and always run\nmake check first."
    turns = [turn(0, user=f"Port the parser. {rule}", says="I will.", exchange=0)]
    turns += [
        turn(n, called("Read", f"line {n}\n" * 60, file_path=f"p{n}.py")) for n in range(1, 20)
    ]
    turns.append(turn(20, user="Now the lexer, please, all of it", says="Yes.", exchange=1))
    done: Compaction | None = None
    for count in range(50):
        first = len(turns)
        turns += [
            turn(n, called("Read", f"line {n}\n" * 60, file_path=f"p{n}.py"), exchange=1)
            for n in range(first, first + 12)
        ]
        transcript = session(turns)
        done = made(transcript, previous=done)
        assert done.plan.folded, count
    assert done is not None
    assert done.state is not None
    assert [given.text for given in done.state.instructions] == [rule]
    items, _ = parse(done.summary)
    assert f'"{rule}"' in [item.text for item in items]
    assert lead(transcript, done)[0].user_message == "Now the lexer, please, all of it"
    at_once = build(fact for fact in facts_of(transcript) if fact.turn <= done.covered_through)
    assert done.state == replace(at_once, through=done.state.through)
