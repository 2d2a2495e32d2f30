"""The command line as people and programs use it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from tests.claude import Records, text, use
from tests.conftest import EXAMPLES, ROOT

KEYS_OF_STATS = {
    "format",
    "turns",
    "exchanges",
    "user_messages",
    "tool_calls",
    "tokens",
    "compactions",
    "damage",
}
FIELDS_OF_A_TURN = {
    "index",
    "exchange",
    "user_message",
    "assistant_response",
    "thinking",
    "tool_calls",
    "tool_results",
    "tokens",
    "timestamp",
    "previous_error",
    "agent",
    "source",
}


def kedgeline(
    *arguments: str,
    stdin: bytes | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    **environment: str,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kedgeline", *arguments],
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "100", **environment},
        cwd=ROOT,
    )


def rows(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def session(tmp_path: Path) -> str:
    records = Records()
    records.user("fix the berths")
    records.assistant("m1", text("I will look."), use("c1", "Read", file_path="/h/berths.py"))
    records.result("c1", "berth = 1\n" * 500)
    records.assistant("m2", use("c2", command="make test"))
    records.result("c2", "Exit code 2\nboom", is_error=True)
    records.raw("torn")
    records.user("and now?")
    path = tmp_path / "session"
    path.write_bytes(b"".join(records.lines))
    return str(path)


def test_stats_json_has_the_documented_keys(session: str) -> None:
    (found,) = rows(kedgeline("stats", "--json", session))
    assert set(found) >= KEYS_OF_STATS
    assert (found["format"], found["turns"], found["exchanges"]) == ("claude-code", 2, 1)
    assert found["user_messages"] == 2
    assert found["tool_calls"] == {"total": 2, "read": 1, "run": 1}
    kinds = {kind: count for kind, count in found["tokens"].items() if kind != "total"}
    assert found["tokens"]["total"] == sum(kinds.values())
    assert {"user", "assistant", "thinking", "tool_output"} <= set(kinds)
    assert [(d["kind"], d["line"]) for d in found["damage"]] == [("shape", 5)]
    assert found["largest_outputs"][0]["about"] == "/h/berths.py"
    assert found["pending"] == "and now?"


def test_every_key_is_described(session: str) -> None:
    page = (ROOT / "docs" / "json.md").read_text("utf-8")
    (found,) = rows(kedgeline("stats", "--json", session))
    assert [key for key in found if f"`{key}`" not in page] == []


def test_stats_for_people(session: str) -> None:
    done = kedgeline("stats", session)
    shown = done.stdout.decode()
    assert done.returncode == 0
    for expected in (
        "2 turns · 1 exchange",
        "tool output",
        "1 failed",
        "pending: and now?",
        "damage in 1",
    ):
        assert expected in shown


def test_stats_of_several_files_is_one_line_each(session: str) -> None:
    found = rows(kedgeline("stats", "--json", session, session))
    assert [row["turns"] for row in found] == [2, 2]
    shown = kedgeline("stats", session, session).stdout.decode()
    assert "2 files" in shown


def test_one_unreadable_file_does_not_keep_the_others_from_being_shown(session: str) -> None:
    done = kedgeline("stats", "--json", "pyproject.toml", session)
    assert done.returncode == 3
    assert [json.loads(line)["turns"] for line in done.stdout.splitlines()] == [2]
    assert done.stderr.decode().count("\n") == 1


def test_turns_json_has_the_fields_of_a_turn(session: str) -> None:
    found = rows(kedgeline("turns", "--json", session))
    assert [(turn["index"], turn["pending"]) for turn in found] == [
        (0, False),
        (1, False),
        (2, True),
    ]
    assert (found[2]["user_message"], found[2]["tokens"]) == ("and now?", 3)
    assert set(found[0]) >= FIELDS_OF_A_TURN
    assert found[0]["tokens"] > 500
    assert found[0]["tool_calls"][0]["verb"] == "read"
    assert found[1]["tool_results"][0]["exit_code"] == 2


def test_turns_for_people(session: str) -> None:
    shown = kedgeline("turns", session).stdout.decode()
    for expected in ("t0", "fix the berths", "✓ read", "✗ run", "exit 2", "pending", "and now?"):
        assert expected in shown
    assert "t0" not in kedgeline("turns", session, "--last", "1").stdout.decode()
    assert "t0" not in kedgeline("turns", session, "--from", "1").stdout.decode()
    assert "berth = 1" in kedgeline("turns", session, "--full").stdout.decode()


def test_stdin(session: str) -> None:
    (found,) = rows(kedgeline("stats", "--json", "-", stdin=Path(session).read_bytes()))
    assert found["turns"] == 2


def test_output_that_is_no_terminal_has_no_colour(session: str) -> None:
    assert b"\x1b" not in kedgeline("stats", session).stdout
    assert b"\x1b" not in kedgeline("turns", session).stdout
    forced = kedgeline("stats", session, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert re.findall(rb"\x1b\[[0-9;]*[34][0-7]m", forced) == []


def test_a_session_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Escape sequences in a tool's output would move the cursor, set the title, or hide words."""
    evil = "before\x1b]0;owned\x07\x1b[2Jafter\x9b31m\u202e\u2066[/b]"
    records = Records()
    records.user(evil, gitBranch=evil)
    records.assistant("m1", text(evil), use("c1", evil, command=evil))
    records.result("c1", evil * 400, is_error=True)
    records.user("go", isSidechain=True, agentId=evil, parent=None)
    records.assistant("a1", text("gone"), isSidechain=True, agentId=evil)
    records.user(evil)
    path = tmp_path / "session"
    path.write_bytes(b"".join(records.lines))
    for arguments in (["stats"], ["turns", "--agents"], ["turns", "--full"]):
        done = kedgeline(*arguments, str(path))
        shown = done.stdout.decode()
        assert done.returncode == 0
        assert "after" in shown
        assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["stats", "nowhere"], 3, "cannot read 'nowhere': no such file or directory"),
        (["stats", "pyproject.toml"], 3, "is not a transcript kedgeline knows"),
        (["stats", "--format", "telex", "README.md"], 2, "unknown format 'telex'"),
        (["turns", "--nonsense", "x"], 2, "No such option"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_errors_are_one_sentence_on_stderr(arguments: list[str], code: int, says: str) -> None:
    done = kedgeline(*arguments)
    assert (done.returncode, done.stdout) == (code, b"")
    assert says in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_bad_settings_name_the_variable(session: str) -> None:
    done = kedgeline("stats", session, KEDGELINE_LARGEST_OUTPUTS="many")
    assert done.returncode == 2
    assert "KEDGELINE_LARGEST_OUTPUTS" in done.stderr.decode()


def test_last_zero_shows_nothing_and_less_is_refused(session: str) -> None:
    assert kedgeline("turns", session, "--last", "0").stdout == b""
    assert kedgeline("turns", session, "--last", "9").stdout == kedgeline("turns", session).stdout
    for option in ("--last", "--from", "--session"):
        assert kedgeline("turns", session, f"{option}=-1").returncode == 2


def test_the_vocabulary_can_be_chosen(session: str) -> None:
    for chosen in (["--vocabulary", "estimate"], []):
        (found,) = rows(
            kedgeline("stats", "--json", session, *chosen, KEDGELINE_VOCABULARY="cl100k")
        )
        assert found["vocabulary"] == (chosen[1] if chosen else "cl100k")
    exact, about = (
        rows(kedgeline("turns", "--json", session, "--vocabulary", name))[0]["tokens"]
        for name in ("o200k", "estimate")
    )
    assert exact != about
    assert kedgeline("stats", session, "--vocabulary", "p50k").returncode == 2


def test_the_reader_of_the_output_may_leave_early() -> None:
    """`kedgeline turns … | head -1` ends quietly."""
    long = EXAMPLES / "claude-code-long.jsonl"
    command = f"{sys.executable} -m kedgeline turns --json {long} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, cwd=ROOT
    )
    assert b"Traceback" not in done.stderr
    assert done.stdout.count(b"\n") == 1


def test_help_and_version() -> None:
    assert b"stats" in kedgeline("--help").stdout
    assert kedgeline("--version").stdout.startswith(b"kedgeline ")
    assert kedgeline().returncode in (0, 2)
    assert b"complet" in kedgeline("--help").stdout


def test_commands_load_what_they_need_when_they_run() -> None:
    names = "('rich.table', 'splintr', 'importlib.metadata', 'bench.throughput')"
    code = f"import sys, kedgeline.cli.main; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
