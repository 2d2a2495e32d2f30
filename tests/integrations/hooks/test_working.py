"""What hosts tell of while their agent works, many times a minute, and from many sides at once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts.hooks import entry, places, work
from kedgeline.hosts.hooks.entry import CONTEXT_EVENTS, HOSTS, WORKING, answered, event_of, is_busy
from tests.claude import Records, text
from tests.integrations.hooks.test_entry import NAMES

pytestmark = pytest.mark.usefixtures("home")

EVENTS = 2_000
RULES = {
    "s1": "Never push to main. Always run make check first.",
    "s2": "Never touch the old harbour. Always ask Sam first.",
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events that a worker would be started for; none is."""
    found: list[str] = []
    monkeypatch.setattr(entry, "start_worker", lambda event, folder: found.append(event.name))
    return found


def told(name: str, session: str = "s1", **fields: Any) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": session, **fields}).encode()


def test_what_is_lacking_comes_between_two_calls(started: list[str]) -> None:
    places.keep(places.folder_of("s1"), places.LACKING, b"the rule")
    inside = json.loads(answered(told("PostToolBatch"), HOSTS[0]))["hookSpecificOutput"]
    assert inside == {"hookEventName": "PostToolBatch", "additionalContext": "the rule"}
    assert answered(told("PostToolBatch"), HOSTS[0]) == ""


@pytest.mark.parametrize("name", WORKING)
def test_a_sub_agent_at_work_takes_nothing_of_its_session(name: str, started: list[str]) -> None:
    folder = places.folder_of("s1")
    places.keep(folder, places.LACKING, b"the rule")
    assert answered(told(name, agent_id="explore-1"), HOSTS[0]) == ""
    assert places.kept(folder, places.LACKING) == "the rule"


@pytest.mark.parametrize("name", WORKING)
def test_a_session_is_looked_at_now_and_then_while_its_agent_works(
    name: str, started: list[str]
) -> None:
    folder = places.folder_of("s1")
    answered(told(name), HOSTS[0])
    assert started == [name]
    places.keep(folder, places.STATUS, b"{}")
    answered(told(name), HOSTS[0])
    assert started == [name]
    answered(told("Stop"), HOSTS[0])
    assert started == [name, "Stop"]
    longer = time.time() - entry.REST
    os.utime(Path(folder, places.STATUS), (longer, longer))
    answered(told(name), HOSTS[0])
    assert started == [name, "Stop", name]


def test_who_calls_while_a_worker_comes_to_its_end_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It called when the worker had just looked whether anybody did."""
    folder = places.folder_of("s1")
    rounds: list[str] = []
    monkeypatch.setattr(work, "_once", lambda *given: rounds.append("looked"))
    close = os.close

    def closing(descriptor: int) -> None:
        if len(rounds) == 1 and not os.path.exists(os.path.join(folder, places.AGAIN)):
            places.keep(folder, places.AGAIN, b"")
        close(descriptor)

    monkeypatch.setattr(work.os, "close", closing)
    work.work("s1", HOSTS[0], "nowhere.jsonl", folder)
    assert rounds == ["looked", "looked"]


def transcripts(home: Path) -> dict[str, str]:
    """Two sessions of one folder, each with a rule and a compaction."""
    paths = {}
    for session, rule in RULES.items():
        records = Records()
        records.user(f"Light the lamp. {rule}")
        records.assistant("a1", text("Yes."))
        path = home / f"{session}.jsonl"
        path.write_bytes(b"".join(records.lines))
        paths[session] = str(path)
    return paths


def scrambled(chance: random.Random, paths: dict[str, str]) -> bytes:
    session = chance.choice(["s1", "s2"])
    fields: dict[str, Any] = {
        "transcript_path": chance.choice([paths[session], paths[session], "", "nowhere", 7]),
        "cwd": chance.choice(["/tmp", None, ["x"]]),
        "source": chance.choice(["startup", "resume", "clear", "compact", "fork", 3]),
        "compact_summary": chance.choice(["A summary", None, {"a": 1}, "\ud800"]),
        "agent_id": chance.choice(["", "", "explore-1", None]),
        "never_seen": {"deep": [1, {"x": None}]},
    }
    kept = {key: value for key, value in fields.items() if chance.random() < 0.8}
    data = told(chance.choice(NAMES), session, **kept)
    return data[: chance.randrange(len(data))] if chance.random() < 0.1 else data


def misread(host: str, data: bytes, code: int, out: str) -> str:
    """What a host would be misled by in an answer; empty where there is nothing."""
    if code:
        return f"ended with {code}"
    if not out:
        return ""
    event = event_of(json.loads(data), host)
    if event is None or event.agent:
        return "an answer that nobody asked for"
    other = RULES["s2" if event.session == "s1" else "s1"]
    if other in out:
        return "the rule of another session"
    if event.name == "PreCompact":
        return "looks like JSON" if out.lstrip().startswith("{") else ""
    (inside,) = json.loads(out).values()
    fits = event.name in CONTEXT_EVENTS and set(inside) == {"hookEventName", "additionalContext"}
    return "" if fits else f"what {event.name} has no place for"


def test_the_check_sees_what_would_be_misread() -> None:
    event = told("UserPromptSubmit", "s1")
    plain = json.dumps({"x": {"hookEventName": "UserPromptSubmit", "additionalContext": "a"}})
    assert not misread(HOSTS[0], event, 0, plain)
    assert misread(HOSTS[0], event, 1, "")
    assert misread(HOSTS[0], event, 0, plain.replace('"a"', f'"{RULES["s2"]}"'))
    assert misread(HOSTS[0], told("Stop"), 0, plain)
    assert misread(HOSTS[0], told("UserPromptSubmit", agent_id="a"), 0, plain)
    assert misread(HOSTS[0], told("PreCompact"), 0, "{}")


@pytest.mark.torture
def test_two_thousand_calls_of_the_program_never_break_a_host(home: Path) -> None:
    """Each a process, eight at once, with workers behind them that really read two sessions."""
    chance, paths = random.Random(19), transcripts(home)
    calls = [(chance.choice(HOSTS), scrambled(chance, paths)) for _ in range(EVENTS)]

    def call(given: tuple[str, bytes]) -> tuple[str, bytes, int, bytes, bytes]:
        host, data = given
        words = [sys.executable, "-P", "-m", "kedgeline", "hook", f"--host={host}"]
        done = subprocess.run(words, input=data, capture_output=True, timeout=60, check=False)
        return host, data, done.returncode, done.stdout, done.stderr

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, calls))
    wrong = [
        (host, data, problem)
        for host, data, code, out, _ in answers
        if (problem := misread(host, data, code, out.decode()))
    ]
    assert wrong == []
    assert {errors for *_, errors in answers} == {b""}
    for session, rule in RULES.items():
        deadline = time.monotonic() + 30
        while is_busy(places.folder_of(session)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sum(rule.encode() in out for *_, out, _ in answers) > 0
