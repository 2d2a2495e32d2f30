"""What the worker keeps, and what it makes ready for a host."""

from __future__ import annotations

import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import hook as spawning
from kedgeline.hosts import places
from kedgeline.hosts.advice import MOST, MOST_RULES, lacking_of
from kedgeline.hosts.hook import HookEvent, event_of
from kedgeline.hosts.store import opened_session, own_settings
from kedgeline.tokens import Estimate
from tests.claude import Records, text, use
from tests.integrations.hooks.following import RULE, SHORT, Host

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 8
ESTIMATE = Estimate()


def log(home: Path) -> str:
    return (home / "state" / "kedgeline" / "hooks" / "log").read_text()


def test_the_file_of_a_sub_agent_does_not_take_the_place_of_its_session(
    host: Host, home: Path
) -> None:
    before = host.runs()
    agent = Records()
    agent.user("Look for lamps.")
    agent.assistant("q1", text("Found."))
    other = home / "agent.jsonl"
    other.write_bytes(b"".join(agent.lines))
    host.records.user("And now?")
    host.records.assistant("n1", text("Now it is done."))
    after = host.runs(other)
    assert after["turns"] == before["turns"] + 1  # its own file is followed meanwhile
    assert after["transcript"] == str(host.path)
    assert "agent.jsonl is not followed" in log(home)


def test_a_session_whose_file_was_moved_is_followed_there(host: Host, home: Path) -> None:
    host.runs()
    moved = home / "moved.jsonl"
    host.records.user("And now?")
    host.records.assistant("n1", text("Now it is done."))
    moved.write_bytes(b"".join(host.records.lines))
    after = host.runs(moved)
    assert (after["transcript"], after["turns"]) == (str(moved), 9)


def test_a_pasted_log_does_not_drop_the_rules(home: Path) -> None:
    host = Host(home)
    host.works(rule=RULE)
    host.records.user("What is wrong here?\n" + "a line of the log\n" * 2_000)
    host.records.assistant("z", text("I look."))
    host.runs()
    for name, most in ((places.STEERING, MOST), (places.RULES, MOST_RULES)):
        told = host.kept(name)
        assert len(told) <= most
        assert RULE in told
        assert told.index("Standing Instructions") < told.index("What is wrong here?")
        assert "cut here; `kedgeline show s1 t" in told


def test_pins_stand_first(host: Host) -> None:
    host.runs()
    with opened_session("s1") as session:
        session.pin("The port is 4711")
        session.pin("t1")
    host.runs()
    for name in (places.STEERING, places.RULES):
        told = host.kept(name)
        assert 0 < told.index("The port is 4711") < told.index("## Standing Instructions")
        assert f"The user in t1:\n  {RULE}" in told


def test_files_of_a_project_do_not_decide_where_a_session_is_kept(
    host: Host, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    project.mkdir()
    (project / "kedgeline.toml").write_text(f'store = "{home}/theirs"\nkeep_secrets = true\n')
    monkeypatch.chdir(project)
    monkeypatch.delenv("KEDGELINE_STORE")
    host.runs()
    assert not (home / "theirs").exists()
    (project / "kedgeline.toml").write_text("nonsense = 1\n")
    assert host.runs()["turns"] == 8


def test_a_setting_that_cannot_be_read_stops_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_WINDOW", "wide")
    monkeypatch.setenv("KEDGELINE_KEEP_SECRETS", "perhaps")
    monkeypatch.setenv("KEDGELINE_OWNER", "sam")
    found = own_settings()
    assert (found.window, found.keep_secrets, found.owner) == (200_000, False, "sam")
    assert "KEDGELINE_WINDOW cannot be read" in log(home)


@pytest.mark.parametrize("broken", [b"", b"[]", b"\xff\xfe", b"{", b'{"last": 7, "judged": 3}'])
def test_a_status_that_cannot_be_read_is_made_anew(host: Host, broken: bytes) -> None:
    host.runs()
    (host.folder / places.STATUS).write_bytes(broken)
    assert host.runs()["turns"] == 8


@pytest.mark.parametrize("wrong", [(1, 2), "words", (2, b"x", b"y"), {"a": 1}])
def test_state_of_another_shape_is_read_anew(host: Host, wrong: object) -> None:
    host.runs()
    places.keep(str(host.folder), places.TAIL, pickle.dumps(wrong))
    host.records.user("And now?")
    host.records.assistant("n1", text("Now it is done."))
    assert host.runs()["turns"] == 9


def test_rules_that_were_not_ready_come_with_what_is_lacking(host: Host) -> None:
    host.compacts(SHORT)
    last = host.runs()["last"]
    assert RULE in host.kept(places.LACKING)
    assert (last["put_back_tokens"], last["score_with_put_back"]) == (0, last["score"])
    assert last["prepared_tokens"] > 0
    host.gives("lacking")
    later = host.runs()["last"]
    assert later["put_back_tokens"] == last["prepared_tokens"]
    assert later["prepared_tokens"] == 0
    assert later["score_with_put_back"] > later["score"]


def test_rules_that_were_given_are_not_lacking(host: Host) -> None:
    host.runs()
    host.gives("rules")
    host.compacts(SHORT)
    last = host.runs()["last"]
    assert RULE not in host.kept(places.LACKING)
    assert last["put_back_tokens"] > 0
    assert last["prepared_tokens"] > 0
    assert last["score_with_put_back"] > last["score"]


def test_rules_of_one_compaction_do_not_count_for_the_next(host: Host) -> None:
    host.runs()
    host.gives("rules")
    host.compacts(SHORT)
    host.runs()
    host.gives("lacking")
    host.records.user("Go on.")
    host.records.assistant("g1", text("I do."))
    host.compacts("All is well.")
    last = host.runs()["last"]
    assert last["put_back_tokens"] == 0
    assert RULE in host.kept(places.LACKING)


def test_a_compaction_is_judged_once_however_it_is_told(host: Host) -> None:
    host.runs()
    times: set[float] = set()
    for _ in range(3):
        host.tells(f"<analysis>long thoughts</analysis><summary>{SHORT}</summary>")
        assert host.runs()["compactions"] == 1
        times.add(at := host.status()["last"]["at"])
        places.forget(str(host.folder), places.LACKING)
    assert len(times) == 1
    host.compacts(SHORT)
    host.tells(f"<summary>{SHORT}</summary>")
    found = host.runs()
    assert (found["compactions"], found["last"]["at"], found["ahead"]) == (1, at, "")
    assert not (host.folder / places.LACKING).exists()
    host.records.user("Go on.")
    host.records.assistant("g1", text("I do."))
    host.compacts(SHORT)  # the same words at another place
    found = host.runs()
    assert found["compactions"] == 2
    assert found["last"]["at"] != at
    assert host.kept(places.LACKING)


def test_nothing_is_made_ready_for_a_session_that_was_cleared_meanwhile(host: Host) -> None:
    host.runs()
    places.forget(str(host.folder), places.RULES)
    cleared = host.folder / places.CLEARED
    cleared.write_bytes(b"")
    os.utime(cleared, (time.time() + 60, time.time() + 60))
    host.compacts(SHORT)
    host.runs()
    assert not (host.folder / places.LACKING).exists()
    assert not (host.folder / places.RULES).exists()
    os.utime(cleared, (1, 1))
    host.runs()
    assert (host.folder / places.RULES).exists()


def test_what_came_behind_a_compaction_is_not_asked_of_it(host: Host) -> None:
    host.compacts(SHORT)
    for n in range(20, 24):
        host.records.user(f"Please do lamp {n} now.")
        host.records.assistant(f"b{n}", use(f"c{n}", "Bash", command=f"make lamp{n}"))
        host.records.result(f"c{n}", f"ValueError: lamp {n} is dark", is_error=True)
        host.records.assistant(f"d{n}", text("It is dark."))
    last = host.runs()["last"]
    assert not [one for one in last["unanswered"] if "lamp2" in one or "lamp 2" in one[-20:-3]]
    lacking = host.kept(places.LACKING)
    assert "lamp 23" not in lacking
    assert RULE in lacking
    assert "src/mod2.py" in lacking
    assert "Do lamp 2." not in lacking  # the user has asked for something else since


def test_what_a_host_left_as_it_was_is_not_lost(host: Host, home: Path) -> None:
    host.compacts(SHORT, preservedSegment={"headUuid": "u1", "tailUuid": "u2"})
    kept = host.runs()["last"]["score"]
    other = Host(home)
    other.works()
    other.compacts(SHORT)
    (host.folder / places.STATUS).unlink()
    assert kept > other.runs()["last"]["score"]


def test_secrets_are_in_no_file_where_they_are_not_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_KEEP_SECRETS", "false")
    host = Host(home)
    host.works(rule=f"Always use the key {SECRET} for this.")
    host.runs()
    host.tells(f"The key is {SECRET}.")
    host.runs()
    host.compacts(f"The key is {SECRET}.")
    host.runs()
    assert not (host.folder / places.TAIL).exists()
    for path in host.folder.iterdir():
        assert SECRET.encode() not in path.read_bytes(), path.name


def test_a_file_that_is_not_named_is_lacking(host: Host) -> None:
    known = host.facts()
    named = "Others were modified.\nsrc/mod1.py was modified.\nmains"
    told = lacking_of(known, [named], "s1", ESTIMATE.count)
    assert "| src/mod1.py |" not in told
    assert "| src/mod2.py |" in told


def test_a_rule_that_the_summary_has_word_for_word_is_not_lacking(host: Host) -> None:
    known = host.facts()
    told = lacking_of(known, [f"The user said: {RULE} Then lamps."], "s1", ESTIMATE.count)
    assert RULE not in told
    assert told.count("## Session Intent") == 1
    assert 'Asked last: "Do lamp 2."' in told


def test_a_rule_at_the_end_of_a_request_that_is_cut_stands_by_itself(host: Host) -> None:
    log = "a line of the log\n" * 2_000
    host.records.user(f"What is wrong here?\n{log}\nNever touch the buoy.")
    host.records.assistant("z", text("I look."))
    host.runs()
    for name in (places.STEERING, places.RULES):
        assert '- "Never touch the buoy."' in host.kept(name)


# Events in another order than usual, late, not at all, or many at once.


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
