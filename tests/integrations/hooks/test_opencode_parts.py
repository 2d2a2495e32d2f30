"""What OpenCode leaves as it was when it compacts, and which words its plugin lets through."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts.advice import FURTHER, MOST, MOST_RULES, PUT_BACK, STEERING
from kedgeline.hosts.hook import event_answered
from kedgeline.hosts.places import read_status
from kedgeline.hosts.shared import text_named
from kedgeline.hosts.worker import work
from tests.formats.opencode_export import export, message, said, text, tool, user

RULE = "Never push to main."
WAITING = "Paint the mast green"
SUMMARY = said(6, text("The light is being mended."), summary=True)
GOES_ON = message("user", 7, [text("Continue if you have next steps.", synthetic=True)])


def compacted(**part: Any) -> list[dict[str, Any]]:
    """A session in which the last words were not answered when it was compacted."""
    edit = tool("c1", "write", input={"filePath": "/home/sam/harbor/lamp.txt", "content": "lit"})
    return [
        user(f"Mend the light. {RULE}", 0),
        said(1, text("I look at it.")),
        user("Light the lamp", 2),
        said(3, edit, text("It is lit.")),
        user(WAITING, 4),
        message("user", 5, [{"type": "compaction", "auto": True, **part}]),
        SUMMARY,
        GOES_ON,
    ]


def written(folder: Path, *messages: Any) -> Path:
    path = folder / "session.json"
    path.write_text(json.dumps(export(*messages)))
    return path


LEFT: dict[str, tuple[dict[str, Any], bool]] = {
    "all is gone": ({}, False),
    "a message that is not there": ({"tail_start_id": "msg_9"}, False),
    "a mark of another kind": ({"tail_start_id": 7}, False),
    "the last two": ({"tail_start_id": "msg_2"}, True),
}


@pytest.mark.parametrize(("part", "left"), LEFT.values(), ids=LEFT)
def test_words_that_waited_are_told_and_what_was_left_is_not(
    part: dict[str, Any], left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    path = written(tmp_path, *compacted(**part))
    folder = tmp_path / "state" / "kedgeline" / "hooks" / "ses_1"
    event = {"session_id": "ses_1", "source": "compact", "hook_event_name": "SessionStart"}
    event_answered(json.dumps({**event, "source": "startup"}).encode(), "opencode")
    work("ses_1", "opencode", str(path), str(folder))
    told = event_answered(json.dumps(event).encode(), "opencode")
    rules, _, lacking = told.partition(FURTHER)
    assert RULE in rules
    assert WAITING in rules
    assert told.count("Now: ") == 1  # the words before them are no request any more
    assert ("lamp.txt" in lacking) is not left
    asked = read_status(str(folder))["last"]["unanswered"]
    assert any("last ask for" in one for one in asked) is not left


def test_the_plugin_lets_through_all_that_kedgeline_says() -> None:
    plugin = text_named("opencode.ts")
    (pattern,) = re.findall(r"OURS = /(.+)/\n", plugin)
    assert all(re.match(pattern, words) for words in (STEERING, PUT_BACK, FURTHER))
    (most,) = re.findall(r"MOST_WORDS = ([\d_]+)\n", plugin)
    assert int(most) > 2 * (MOST + MOST_RULES)
