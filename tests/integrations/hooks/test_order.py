"""Events that come in another order than usual, late, not at all, or many at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import hook as spawning
from kedgeline.hosts import places
from kedgeline.hosts.hook import HookEvent, event_of
from tests.integrations.hooks.test_work import RULE, SHORT, Host, host

__all__ = ["host"]


def test_a_worker_that_was_quicker_than_the_host_does_not_tell_the_rules_twice(host: Host) -> None:
    """The summary is looked at before the session is started anew; the rules come then."""
    host.runs()
    places.keep(str(host.folder), places.COMPACTING, b"")
    host.compacts(SHORT)
    last = host.runs()["last"]
    assert host.kept(places.LACKING)
    assert RULE not in host.kept(places.LACKING)
    assert last["prepared_tokens"] > 0
    host.gives("rules")
    host.gives("lacking")
    places.forget(str(host.folder), places.COMPACTING)
    later = host.runs()["last"]
    assert later["put_back_tokens"] == last["prepared_tokens"]
    assert later["score_with_put_back"] == 1


def test_rules_that_a_late_worker_finds_given_are_not_owed(home: Path) -> None:
    """Codex was given them when the summary could not be read yet."""
    host = Host(home, "codex")
    host.works()
    host.runs()
    host.gives("rules")
    host.compacts(SHORT)
    assert host.runs()["last"]["put_back_tokens"] > 0
    host.gives("lacking")
    places.forget(str(host.folder), places.LACKING)
    host.runs()
    assert host.kept(places.LACKING) == ""


def test_a_compaction_that_the_user_went_back_behind_is_forgotten(host: Host) -> None:
    host.runs()
    before = b"".join(host.records.lines)
    host.compacts(SHORT)
    assert host.runs()["last"]["place"]
    assert host.kept(places.LACKING)
    status = host.runs(data=before)
    assert (status["compactions"], status.get("last")) == (0, None)
    assert host.kept(places.LACKING) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"given_from": "x"},
        {"tokens": {"rules": "many"}},
        {"tokens": {"other": 1}},
        {"scores": {}},
        {"place": None},
        {"rules_owed": 7},
    ],
)
def test_what_is_known_in_another_shape_stops_nothing(host: Host, wrong: dict[str, Any]) -> None:
    host.compacts(SHORT)
    status = host.runs()
    changed = {**status, "last": {**status["last"], **wrong}, "turns": -1}
    places.keep(str(host.folder), places.STATUS, json.dumps(changed).encode())
    assert host.runs()["turns"] == status["turns"]


def test_many_events_at_once_start_one_worker(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(
        spawning.os, "posix_spawn", lambda program, words, *_, **__: started.append(words) or 1
    )
    told = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": "s1.jsonl"}
    event = event_of(told, "claude-code")
    assert isinstance(event, HookEvent)
    for _ in range(50):
        spawning.start_worker(event, str(host.folder))
    assert len(started) == 1
    monkeypatch.setattr(spawning, "START_SECONDS", 0.0)
    spawning.start_worker(event, str(host.folder))  # the first one never began
    assert len(started) == 2
