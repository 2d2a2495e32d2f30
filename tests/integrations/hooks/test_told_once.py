"""What stands in the agent's context already is not told again, and counts as what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import places
from kedgeline.hosts.worker import work
from tests.formats import codex_rollout as rollout
from tests.integrations.hooks.following import RULE, SHORT

REQUEST = "Mend the harbour light."


def history(*messages: dict[str, Any]) -> dict[str, Any]:
    message = f"Another language model started to solve this problem. {SHORT}"
    items = [one["payload"] for one in (*messages, rollout.user(message))]
    return rollout.record("compacted", message=message, replacement_history=items)


def codex(home: Path, compacted: dict[str, Any]) -> dict[str, Any]:
    """A session of Codex in which the user said two things."""
    session = [
        rollout.record("session_meta", **rollout.META),
        *(rollout.user(REQUEST), rollout.said("Yes."), rollout.user(RULE), rollout.said("Noted.")),
        compacted,
    ]
    path = home / "rollout.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in session))
    folder = places.folder_of("s1")
    work("s1", "codex", str(path), folder)
    found: dict[str, Any] = json.loads(Path(folder, places.STATUS).read_bytes())["last"]
    return found


def test_what_codex_keeps_of_the_users_words_is_not_lost(home: Path) -> None:
    last = codex(home, history(rollout.user(REQUEST), rollout.user(RULE)))
    assert last["critical_failures"] == 0
    assert not [one for one in last["unanswered"] if "user" in one]
    assert REQUEST not in places.kept(places.folder_of("s1"), places.LACKING)


def test_what_codex_does_not_keep_is_lost(home: Path) -> None:
    last = codex(home, history(rollout.user(REQUEST)))
    assert last["critical_failures"]


@pytest.mark.parametrize(
    "items", [7, {}, [7], [None], [{"content": [7, {"text": None}, {"type": "image"}]}]]
)
def test_a_history_of_another_shape_says_nothing(items: object, home: Path) -> None:
    last = codex(home, rollout.record("compacted", message=SHORT, replacement_history=items))
    assert last["critical_failures"]


def test_all_items_of_a_history_speak(home: Path) -> None:
    items = (rollout.user(REQUEST), rollout.said("Yes."), rollout.call("c1", RULE))
    last = codex(home, history(*items, rollout.output("c1", "three"), rollout.reasoning()))
    assert last["critical_failures"] == 0
