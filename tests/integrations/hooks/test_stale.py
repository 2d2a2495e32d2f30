"""A session that was compacted long before it is first looked at: only what still holds is told."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedgeline.hosts import places
from tests.claude import text
from tests.integrations.hooks.following import Host

RULE = "Don't push to main."
OTHER_RULE = "Always run make check before a commit."


class Lamps(Host):
    """Yesterday's session, up to and with its compaction."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.says(RULE, "Good.")
        self.says(OTHER_RULE, "Good.")
        self.records.user("Mend the lamp.")
        self.calls("Bash", "3 failed, 10 passed in 1s", command="make check", fails=True)
        failed = "DeployError: no harbour in reach"
        self.calls("Bash", failed, command="make deploy", fails=True)
        self.records.assistant("a1", text("Two things fail, the lamp stays dark."))
        self.compacts("Lamp work.")

    def looked_at(self) -> tuple[str, dict[str, Any]]:
        """What the agent will be told, and what is known."""
        status = self.runs()
        return self.kept(places.LACKING), status


def gone_on(home: Path) -> Lamps:
    lamps = Lamps(home)
    lamps.says("You may push to main now.", "Good.")
    lamps.records.user("Now write the docs of the buoy.")
    lamps.calls("Bash", "13 passed in 1s", command="make check")
    lamps.records.assistant("a9", text("The docs are written."))
    return lamps


def test_what_no_turn_came_behind_is_told_whole(home: Path) -> None:
    told, _ = Lamps(home).looked_at()
    assert "Mend the lamp" in told
    assert RULE in told
    assert "3 failed" in told or "3 tests failed" in told


def test_a_rule_that_was_taken_back_since_is_not_told(home: Path) -> None:
    told, _ = gone_on(home).looked_at()
    assert RULE not in told
    assert OTHER_RULE in told


def test_a_failure_that_is_over_is_not_told_and_one_that_stands_is(home: Path) -> None:
    told, status = gone_on(home).looked_at()
    assert "failed" not in told
    assert "`make check`" not in told
    assert "no harbour in reach" in told
    assert not any("make check" in one for one in status["last"]["unanswered"])


def test_a_request_and_an_answer_of_before_are_not_told_as_the_last(home: Path) -> None:
    told = gone_on(home).looked_at()[0].partition("## Story")[0]
    assert "Mend the lamp" not in told
    assert "stays dark" not in told


def test_the_request_that_is_still_worked_on_is_told(home: Path) -> None:
    lamps = Lamps(home)
    lamps.calls("Bash", "lamp.py", command="ls")
    lamps.says("go on", "I go on.")
    told = lamps.looked_at()[0].partition("## Story")[0]
    assert "Mend the lamp" in told
    assert "stays dark" not in told  # it said more since


def test_a_compaction_has_the_time_of_its_record(home: Path) -> None:
    lamps = gone_on(home)
    _, status = lamps.looked_at()
    record = next(json.loads(one) for one in lamps.records.lines if b"compact_boundary" in one)
    assert status["last"]["at"] == datetime.fromisoformat(record["timestamp"]).timestamp()
    assert datetime.fromtimestamp(status["last"]["at"], UTC).year == 2026
    assert status["at"] > time.time() - 60
