"""What hosts send in the course of a session, sent again: each gets an answer that it understands,
and what its compaction lost, once.

A stream is a file of lines: what it is, then events (`event`) and records that the host has written
into its transcript by then (`adds`)."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kedgeline import read
from kedgeline.hosts.hook import HOSTS, event_answered
from kedgeline.hosts.judgement import Compacted, kept_beside
from kedgeline.hosts.places import status_of
from kedgeline.hosts.store import opened_session
from tests.formats.opencode_export import export

pytestmark = pytest.mark.usefixtures("at_once")

STREAMS = Path(__file__).parent / "streams"
RULE = "Never push to main. Always run make check before a commit."
OTHER_RULE = "Never paint the hull. Always call the pilot before a start."
RULES_BLOCK = "From kedgeline, which follows this session"
LACKING_BLOCK = "From kedgeline: what the summary of this conversation lacks"
ADDING = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "PostToolUse"),
    "codex": ("SessionStart", "UserPromptSubmit"),
    "gemini-cli": ("BeforeAgent", "AfterTool"),
    "opencode": ("SessionStart", "UserPromptSubmit"),
}
"""Events that a host takes context from, as JSON."""
STEERED = {"claude-code": "PreCompact", "opencode": "PreCompact"}
"""The event whose answer goes to a host's summariser, as plain text."""
COMPACTIONS = {"claude-code": 1, "codex": 2, "gemini-cli": 1, "opencode": 1}


class Told(NamedTuple):
    event: dict[str, Any]
    answer: str

    @property
    def name(self) -> str:
        return str(self.event["hook_event_name"])


class Replay:
    """One session of a host, sent again with a transcript of its own that grows alongside."""

    def __init__(
        self, host: str, folder: Path, *, other: bool = False, by_hand: bool = True
    ) -> None:
        text = (STREAMS / f"{host}.jsonl").read_text()
        if not by_hand:
            text = text.replace('"trigger": "manual"', '"trigger": "auto"')
        if other:
            text = text.replace(RULE, OTHER_RULE).replace("00000001", "00000002")
            text = text.replace("harbour1", "harbour2")
        self.host, self.rule = host, OTHER_RULE if other else RULE
        self.told: list[Told] = []
        self.lines = [json.loads(line) for line in text.splitlines()][1:]
        self.transcript = folder / f"{'other' if other else 'one'}.json"
        self._records: list[dict[str, Any]] = []
        self.session = str(next(one for one in self.lines if "event" in one)["event"]["session_id"])

    def take(self, line: dict[str, Any]) -> None:
        if "adds" in line:
            self._add(line["adds"])
            return
        event = dict(line["event"])
        if "transcript_path" in event:
            event["transcript_path"] = str(self.transcript)
        self.told.append(Told(event, event_answered(json.dumps(event).encode(), self.host)))

    def _add(self, record: dict[str, Any]) -> None:
        """A line more; OpenCode's is written anew as a whole."""
        self._records.append(record)
        if self.host == "opencode":
            self.transcript.write_text(json.dumps(export(*self._records)))
        else:
            with self.transcript.open("a") as file:
                file.write(json.dumps(record) + "\n")

    def events_with(self, words: str) -> list[str]:
        return [one.name for one in self.told if words in one.answer]


def check(told: Told, replay: Replay) -> None:
    """Nothing that this host would misread, and nothing of another session."""
    if not told.answer:
        return
    assert (OTHER_RULE if replay.rule == RULE else RULE) not in told.answer
    assert not told.event.get("agent_id")
    if told.name == STEERED.get(replay.host):
        assert not told.answer.lstrip().startswith(("{", "["))
        return
    assert told.name in ADDING[replay.host]
    ((key, inside),) = json.loads(told.answer).items()
    assert (key, set(inside)) == ("hookSpecificOutput", {"hookEventName", "additionalContext"})
    assert inside["hookEventName"] == told.name
    assert inside["additionalContext"].startswith("From kedgeline")


def check_end(replay: Replay) -> None:
    """What is known is what a look at the whole transcript finds."""
    status = status_of(replay.session)
    known = (status["session"], status["host"], status["compactions"])
    assert known == (replay.session, replay.host, COMPACTIONS[replay.host])
    assert status["turns"] == len(read(replay.transcript).turns) >= 2
    assert status["last"]["score"] < status["last"]["score_with_put_back"]


def together(replays: Sequence[Replay]) -> None:
    """Line by line in turns, as two windows of one user would."""
    for lines in zip(*(one.lines for one in replays), strict=True):
        for line, replay in zip(lines, replays, strict=True):
            replay.take(line)


@pytest.mark.parametrize("host", HOSTS)
def test_a_recorded_session_gets_back_what_it_lost_once(host: str, tmp_path: Path) -> None:
    """Two of them at once: each gets its own."""
    replays = [Replay(host, tmp_path, other=other, by_hand=False) for other in (False, True)]
    together(replays)
    for replay in replays:
        for told in replay.told:
            check(told, replay)
        after = "AfterTool" if host == "gemini-cli" else "SessionStart"
        assert replay.events_with(RULES_BLOCK) == [after] * COMPACTIONS[host]
        assert replay.events_with(LACKING_BLOCK) == [after] * COMPACTIONS[host]
        given = [one for one in replay.told if RULES_BLOCK in one.answer]
        assert all(replay.rule in one.answer for one in given)
        assert all("prompt" not in one.event for one in given)  # not a word later
        steered = [one.answer for one in replay.told if one.name == STEERED.get(host)]
        assert all(replay.rule in answer for answer in steered)
        assert len(steered) == (host in STEERED)
        check_end(replay)


def test_what_gemini_leaves_behind_its_summary_is_known_to_be_there(tmp_path: Path) -> None:
    """It keeps the last messages, and lists them behind its summary."""
    replay = Replay("gemini-cli", tmp_path)
    for line in replay.lines:
        if "adds" in line:
            replay.take(line)
    (record,) = read(replay.transcript).compactions
    with opened_session("s1") as session:
        compacted = Compacted(record.summary, record.turn, "", record)
        beside = kept_beside(session, replay.transcript, compacted)
    assert "Now the second lamp" in beside
    assert "echo second > buoy.txt" in beside
    assert record.summary not in beside
    assert not any("Mend the harbour light" in text for text in beside)


@pytest.mark.parametrize("host", HOSTS)
def test_a_recorded_session_in_any_order_and_twice_breaks_nothing(
    host: str, tmp_path: Path
) -> None:
    replay = Replay(host, tmp_path)
    chance = random.Random(9)
    events = [line for line in replay.lines if "event" in line] * 2
    chance.shuffle(events)
    for line in replay.lines:
        replay.take(line if "adds" in line else events.pop())
    for line in events:
        replay.take(line)
    for told in replay.told:
        check(told, replay)
    assert len(replay.events_with(LACKING_BLOCK)) <= COMPACTIONS[host]
    check_end(replay)


def test_a_summary_that_is_told_and_later_written_down_is_made_good_once(tmp_path: Path) -> None:
    """Claude Code tells of it with tags, and writes it down with a sentence before it."""
    replay = Replay("claude-code", tmp_path, by_hand=False)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": replay.session}
    for line in replay.lines:
        replay.take(line)
        if line.get("event", {}).get("hook_event_name") == "PostCompact":
            replay.take({"event": prompt})
    assert replay.events_with(LACKING_BLOCK) == ["UserPromptSubmit"]
    check_end(replay)
