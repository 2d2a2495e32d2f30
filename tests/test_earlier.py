"""A list that a compaction of ours leads: what it told goes on, whatever is made of it next."""

from __future__ import annotations

import json

import pytest

import kedgeline
from kedgeline.model import Transcript
from kedgeline.pipeline.handoff import asked, hand_on, summarize, verify
from kedgeline.pipeline.view import earlier_summary, numbered, told
from kedgeline.summary import entries_of
from kedgeline.tokens import EXACT
from tests.conftest import EXAMPLES


@pytest.fixture(scope="module")
def first() -> Transcript:
    return kedgeline.read(EXAMPLES / "claude-code-long.jsonl")


@pytest.fixture(scope="module")
def again(first: Transcript) -> Transcript:
    """The session as it was sent after a compaction, read from the messages alone."""
    done = kedgeline.compact_transcript(
        first, kedgeline.budget_for(first, 32_000), provider="anthropic"
    )
    written = kedgeline.write(kedgeline.view(first, done), to="anthropic")
    return kedgeline.read(json.dumps(written.messages).encode())


def test_a_hand_off_of_such_a_list_knows_its_rules_files_and_decisions(
    first: Transcript, again: Transcript
) -> None:
    text, verdict, _ = hand_on(summarize(again), 6_000, EXACT.count)
    assert verdict.accepted
    known = summarize(first)
    assert all(rule.text in text for rule in known.instructions)
    told = {entry.text for entry in entries_of(text) if entry.section == "Files Modified"}
    changed = {path for path, events in known.files_now().items() if not events[0].scratch}
    assert all(any(there.endswith(path) for there in told) for path in changed)
    assert "May a berth that is on offer still be booked" in text


def test_what_no_hand_off_may_lose_is_asked_for_in_any_room(again: Transcript) -> None:
    state = summarize(again)
    told_before = {entry.section for entry in earlier_summary(numbered(again)).carried}
    critical = {probe.section for probe in asked(state, 100) if probe.critical}
    assert {"Standing Instructions", "Files Modified", "Decisions Made"} <= told_before & critical
    bare = "\n\n".join(
        f"{part}" if not part.startswith("## Decisions Made") else "## Decisions Made\nN/A"
        for part in hand_on(state, 6_000, EXACT.count).text.split("\n\n")
    )
    assert not verify(state, bare, asked(state, 100)).accepted


def test_numbers_go_on_behind_those_the_summary_cites(again: Transcript) -> None:
    ready = numbered(again)
    assert again.turns[0].index == 0
    assert ready.turns[0].index > 100
    assert [turn.index - ready.turns[0].index for turn in ready.turns] == [*range(len(ready.turns))]


def test_what_was_asked_last_then_is_no_longer() -> None:
    text = '## Session Intent\n- Now: "port it" [t3]\n- Asked last, answered in t4: "test it" [t2]'
    assert [entry.text for entry in told(text).carried] == ['Asked: "port it"', 'Asked: "test it"']
