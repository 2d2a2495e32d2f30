"""A session that was compacted long before it is first looked at: only what still holds is told."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedgeline.hosts import places
from kedgeline.hosts.worker import work
from tests.claude import Records, text, use

RULE = "Don't push to main."
OTHER_RULE = "Always run make check before a commit."
SUMMARY = "This session is being continued from a previous conversation. Summary:\nLamp work."


class Lamps(Records):
    """Yesterday's session, up to and with its compaction."""

    def __init__(self) -> None:
        super().__init__()
        self.says(RULE, "Good.")
        self.says(OTHER_RULE, "Good.")
        self.user("Mend the lamp.")
        self.runs("c1", "make check", "3 failed, 10 passed in 1s", failed=True)
        self.runs("c2", "make deploy", "DeployError: no harbour in reach", failed=True)
        self.assistant("a1", text("Two things fail, the lamp stays dark."))
        self.add(
            "system",
            parent=None,
            subtype="compact_boundary",
            compactMetadata={"trigger": "manual", "preTokens": 90_000},
        )
        self.user(SUMMARY, isCompactSummary=True)

    def runs(self, call: str, command: str, output: str, *, failed: bool = False) -> None:
        self.assistant(f"m{call}", use(call, "Bash", command=command))
        self.result(call, output, is_error=failed)

    def says(self, words: str, answer: str) -> None:
        self.user(words)
        self.assistant(f"a{len(self.lines)}", text(answer))

    def looked_at(self, home: Path) -> tuple[str, dict[str, Any]]:
        """What the agent will be told, and what is known."""
        path, folder = home / "s1.jsonl", places.folder_of("s1")
        path.write_bytes(b"".join(self.lines))
        work("s1", "claude-code", str(path), folder)
        status = json.loads(Path(folder, places.STATUS).read_bytes())
        return places.kept(folder, places.LACKING), status


def gone_on() -> Lamps:
    lamps = Lamps()
    lamps.says("You may push to main now.", "Good.")
    lamps.user("Now write the docs of the buoy.")
    lamps.runs("c3", "make check", "13 passed in 1s")
    lamps.assistant("a9", text("The docs are written."))
    return lamps


def test_what_no_turn_came_behind_is_told_whole(home: Path) -> None:
    told, _ = Lamps().looked_at(home)
    assert "Mend the lamp" in told
    assert RULE in told
    assert "3 failed" in told or "3 tests failed" in told


def test_a_rule_that_was_taken_back_since_is_not_told(home: Path) -> None:
    told, _ = gone_on().looked_at(home)
    assert RULE not in told
    assert OTHER_RULE in told


def test_a_failure_that_is_over_is_not_told_and_one_that_stands_is(home: Path) -> None:
    told, status = gone_on().looked_at(home)
    assert "failed" not in told
    assert "`make check`" not in told
    assert "no harbour in reach" in told
    assert not any("make check" in one for one in status["last"]["unanswered"])


def test_a_request_and_an_answer_of_before_are_not_told_as_the_last(home: Path) -> None:
    told = gone_on().looked_at(home)[0].partition("## Story")[0]
    assert "Mend the lamp" not in told
    assert "stays dark" not in told


def test_the_request_that_is_still_worked_on_is_told(home: Path) -> None:
    lamps = Lamps()
    lamps.runs("c3", "ls", "lamp.py")
    lamps.says("go on", "I go on.")
    told = lamps.looked_at(home)[0].partition("## Story")[0]
    assert "Mend the lamp" in told
    assert "stays dark" not in told  # it said more since


def test_a_compaction_has_the_time_of_its_record(home: Path) -> None:
    lamps = gone_on()
    _, status = lamps.looked_at(home)
    record = next(json.loads(one) for one in lamps.lines if b"compact_boundary" in one)
    assert status["last"]["at"] == datetime.fromisoformat(record["timestamp"]).timestamp()
    assert datetime.fromtimestamp(status["last"]["at"], UTC).year == 2026
    assert status["at"] > time.time() - 60
