"""`kedgeline hook` never breaks its host: whatever it is told it ends with 0, and says only what
the host understands."""

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

from kedgeline.hosts import hook as entry
from kedgeline.hosts import places
from kedgeline.hosts.hook import CONTEXT_EVENTS, HOSTS, event_answered, event_of
from kedgeline.hosts.places import line_for
from tests.claude import Records

NAMES = (
    *("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"),
    *("PostCompact", "SessionEnd", "PreCompress", "AfterAgent", "session.idle", "NeverHeardOf", ""),
    "PostToolBatch",
)
HEAVY = (
    "msgspec",
    "apsw",
    "zstandard",
    "typer",
    "rich",
    "kedgeline.session.session",
    "kedgeline.models",
    "pydantic",
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    return tmp_path / "kedgeline" / "hooks"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No worker is started; the sessions that one would be started for."""
    started: list[str] = []
    monkeypatch.setattr(entry, "start_worker", lambda event, folder: started.append(event.session))
    monkeypatch.setattr(entry, "is_busy", lambda folder: False)
    return started


def told(name: str, session: str = "s1", **fields: Any) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": session, **fields}).encode()


def run(data: bytes, *options: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kedgeline", "hook", *options],
        input=data,
        capture_output=True,
        timeout=30,
        check=False,
        env={**os.environ, **environment},
    )


def awaited(path: Path, words: str = "", most: float = 30.0) -> None:
    """Until a worker that the hook gave up waiting for has written this."""
    deadline = time.monotonic() + most
    while not path.exists() or words not in path.read_text():
        assert time.monotonic() < deadline, f"{path.name} was never written"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"hook_event_name": 7}', told("Stop", "")],
)
def test_what_is_no_event_is_answered_with_nothing_and_noted(data: bytes, state: Path) -> None:
    done = run(data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (state / "log").read_text()


def test_what_runs_at_every_step_loads_nothing_heavy() -> None:
    code = (
        "import sys, os, json\n"
        "sys.argv = ['kedgeline', 'hook']\n"
        "os._exit = lambda code: (print(json.dumps(sorted(sys.modules)), file=sys.stderr), "
        "sys.stderr.flush(), sys.exit(code))\n"
        "from kedgeline.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=told("Stop"),
        capture_output=True,
        timeout=30,
        check=False,
    )
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert [name for name in loaded if name.startswith(HEAVY)] == []


def scrambled(chance: random.Random) -> bytes:
    """An event as a host, a newer host or nobody would tell it."""
    fields: dict[str, Any] = {
        "transcript_path": chance.choice(["", "nowhere.jsonl", 7, None]),
        "cwd": chance.choice(["/tmp", None, ["x"]]),
        "source": chance.choice(["startup", "resume", "clear", "compact", "fork", 3]),
        "compact_summary": chance.choice(["A summary", None, {"a": 1}, "\ud800"]),
        "agent_id": chance.choice(["", "", "explore-1", None]),
        "never_seen": {"deep": [1, {"x": None}]},
    }
    kept = {key: value for key, value in fields.items() if chance.random() < 0.7}
    session = chance.choice(["s1", "s2", "../../etc", "a" * 300, "名前", "s1/x", "\0"])
    data = told(chance.choice(NAMES), session, **kept)
    return data[: chance.randrange(len(data))] if chance.random() < 0.1 else data


def check(data: bytes, host: str) -> None:
    """Nothing that a host would misread."""
    answer = event_answered(data, host)
    try:
        event = event_of(json.loads(data), host)
    except ValueError:
        event = None
    if event is None:
        assert answer == ""
    elif event.name == "PreCompact":
        assert host in ("claude-code", "opencode") or not answer
        assert not answer.lstrip().startswith("{")
    elif answer:
        assert event.name in CONTEXT_EVENTS
        assert not event.agent
        (inside,) = json.loads(answer).values()
        assert set(inside) == {"hookEventName", "additionalContext"}
        assert set(inside["additionalContext"].split("\n\n")) == {f"for {event.session}"}


def test_two_thousand_events_in_any_order_never_break_a_host(alone: list[str], state: Path) -> None:
    """Shuffled, repeated, late, cut off, with unknown fields, of sub-agents and two sessions."""
    chance = random.Random(9)
    for number in range(2_000):
        if number % 50 == 0:
            for session in ("s1", "s2"):
                folder = places.folder_of(session)
                places.keep(folder, places.RULES, f"for {session}".encode())
                places.keep(folder, places.LACKING, f"for {session}".encode())
                places.keep(folder, places.STEERING, f"for {session}".encode())
        check(scrambled(chance), chance.choice(HOSTS))
    assert {path.name for path in state.iterdir()} >= {"s1", "s2", "log"}
    assert all(path.parent == state for path in state.iterdir())


def test_what_a_summary_lacks_is_given_once_however_many_ask(alone: list[str]) -> None:
    places.keep(places.folder_of("s1"), places.LACKING, b"the rule")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: event_answered(told("PostToolUse"), HOSTS[0]), range(40)))
    assert sum("the rule" in answer for answer in answers) == 1


def test_it_gives_up_after_a_while_and_still_ends_with_0() -> None:
    code = (
        "import time\n"
        "from kedgeline.hosts import hook as entry\n"
        "entry.HARD_STOP = 0.2\n"
        "entry.event_answered = lambda data, host: time.sleep(20)\n"
        "entry.main([])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"", capture_output=True, timeout=10, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_whole_session_from_the_first_event_to_what_is_put_back(
    tmp_path: Path, state: Path
) -> None:
    """With real processes, in the order in which Claude Code calls."""
    records = Records()
    records.user("Light the lamp. Never touch legacy/.")
    records.assistant("m1", {"type": "text", "text": "Lit."})
    path = tmp_path / "s9.jsonl"
    path.write_bytes(b"".join(records.lines))
    here = {"session": "s9", "transcript_path": str(path)}
    steered = run(told("PreCompact", **here, trigger="auto"))
    if not steered.stdout:  # a busy machine: it does not wait for long, and says so
        assert "not up to date within" in (state / "log").read_text()
        awaited(state / "s9" / places.STEERING)
        steered = run(told("PreCompact", **here, trigger="auto"))
    assert b'- "Never touch legacy/." [t0]' in steered.stdout
    put_back = run(told("SessionStart", **here, source="compact"))
    text = json.loads(put_back.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "Never touch legacy/." in text
    run(told("PostCompact", **here, compact_summary="<summary>The lamp was lit.</summary>"))
    run(told("PreCompact", **here))  # it waits for the worker
    awaited(state / "s9" / "status.json", '"compactions": 1')
    status = json.loads((state / "s9" / "status.json").read_text())
    assert status["compactions"] == 1
    assert status["last"]["score_with_put_back"] > status["last"]["score"]
    line = line_for({"session_id": "s9", "context_window": {"used_percentage": 41.7}})
    assert line.startswith("kedgeline · 42% used · 1 compaction · probes ")


def test_the_window_is_what_the_host_says(home: Path) -> None:
    """A model of a million tokens was said to be full at a fifth of it."""
    status = {"session": "s9", "context_tokens": 150_000, "window": 200_000}
    places.keep(places.folder_of("s9"), places.STATUS, json.dumps(status).encode())
    assert "75% used" in line_for({"session_id": "s9"})
    line_for({"session_id": "s9", "context_window": {"context_window_size": 1_000_000}})
    assert "15% used" in line_for({"session_id": "s9"})
    assert places.status_of("s9")["window"] == 1_000_000
