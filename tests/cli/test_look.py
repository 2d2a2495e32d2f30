"""`kedgeline stats`, `turns`, `show`, `anchors`, `todos`, and where output goes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedgeline.cli.look import _write_output
from kedgeline.model import ToolCall
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.claude import Records, text, use
from tests.cli.running import LONG, one, ran, rows, started, talk, undocumented, written
from tests.integrations.hooks.delegating import Delegating
from tests.line import Line
from tests.test_stats import dialogue


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
    return written(tmp_path, records)


def test_stats(session: str) -> None:
    found = one("stats", session)
    assert (found["format"], found["turns"], found["exchanges"]) == ("claude-code", 2, 1)
    assert (found["user_messages"], found["pending"]) == (2, "and now?")
    assert found["tool_calls"] == {"total": 2, "read": 1, "run": 1}
    kinds = {kind: count for kind, count in found["tokens"].items() if kind != "total"}
    assert found["tokens"]["total"] == sum(kinds.values())
    assert found["context"]["kind"] == "estimated"
    assert (found["model"], found["vocabulary"]) == ("claude-opus-4-5", "o200k × 1.21")
    assert [damage["kind"] for damage in found["damage"]] == ["shape"]
    assert found["largest_outputs"][0]["about"] == "/h/berths.py"
    assert undocumented(*found) == []
    shown = ran("stats", session).out
    for words in (
        *("2 turns · 1 exchange", "tool output", "1 failed", "pending: and now?", "damage in 1"),
        f"context: {found['context']['total']:,} tokens (estimated)",
    ):
        assert words in shown
    assert [row["turns"] for row in rows("stats", session, session)] == [2, 2]
    assert "2 files" in ran("stats", session, session).out


def test_one_unreadable_file_does_not_keep_the_others_from_being_shown(session: str) -> None:
    done = ran("stats", "--json", "pyproject.toml", session)
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert [json.loads(line)["turns"] for line in done.out.splitlines()] == [2]


def test_damage_names_the_file_it_is_in(tmp_path: Path) -> None:
    session = talk(tmp_path, "explore")
    inner = Records()
    inner.user("Find it", isSidechain=True, agentId="ag1", parent=None)
    inner.assistant("a1", text("found"), isSidechain=True, agentId="ag1")
    inner.raw("torn")
    beside = tmp_path / "session" / "subagents"
    beside.mkdir(parents=True)
    written(beside, inner, "agent-ag1.jsonl")
    assert "  agent-ag1.jsonl, line 3: shape" in ran("stats", session).out


def test_turns(session: str) -> None:
    found = rows("turns", session)
    assert [(t["index"], t["pending"]) for t in found] == [(0, False), (1, False), (2, True)]
    assert (found[2]["user_message"], found[2]["tokens"]) == ("and now?", 3)
    assert found[0]["tokens"] > 500
    assert found[0]["tool_calls"][0]["verb"] == "read"
    assert found[1]["tool_results"][0]["exit_code"] == 2
    shown = ran("turns", session).out
    for words in ("t0", "fix the berths", "✓ read", "✗ run", "exit 2", "pending", "and now?"):
        assert words in shown
    assert "t0" not in ran("turns", session, "--last", "1").out
    assert "t0" not in ran("turns", session, "--from", "1").out
    assert "berth = 1" in ran("show", session, "t0").out
    assert ran("turns", session, "--last", "0").out == ""
    assert ran("turns", session, "--last", "9").out == shown
    for option in ("--last", "--from", "--session"):
        assert ran("turns", session, f"{option}=-1").code == 2


def test_the_vocabulary_can_be_chosen(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGELINE_VOCABULARY", "cl100k")
    for chosen in (["--vocabulary", "estimate"], []):
        assert one("stats", session, *chosen)["vocabulary"] == (chosen or ["", "cl100k"])[1]
    exact, about = (
        rows("turns", session, "--vocabulary", name)[0]["tokens"] for name in ("o200k", "estimate")
    )
    assert exact != about
    assert ran("stats", session, "--vocabulary", "p50k").code == 2


def test_sessions_of_one_file_have_headings(tmp_path: Path) -> None:
    path = tmp_path / "dialogues"
    path.write_text(json.dumps([dialogue(0), dialogue(1)]))
    shown = [line.strip() for line in ran("turns", str(path)).out.splitlines()]
    assert [line for line in shown if line.startswith("session")] == ["session 0", "session 1"]
    assert shown.index("session 1") > shown.index("pending        more 0?")
    assert "session" not in ran("turns", str(path), "--session", "1").out
    told = [(turn["session"], turn["pending"]) for turn in rows("turns", str(path))]
    assert told == [(0, False), (0, True), (1, False), (1, True)]


def test_a_call_for_a_sub_agent_names_it(tmp_path: Path, store: Path) -> None:
    made = Delegating(tmp_path)
    made.asks("Mend the harbour.", "I begin.")
    agent = made.delegates("c1", "Find the buoy", "Look for the buoy.", "a1111")
    agent.ends("It is red.")
    made.handed_back("c1", "a1111", "It is red.")
    made.says("It is found.")
    made.write()
    ran("add", "harbor", str(made.path))
    for source in ("harbor", str(made.path)):
        assert "Find the buoy  → a1111/t0" in ran("turns", source, "--agents").out
        every = rows("turns", source, "--agents")
        assert {(row["agent"], row["delegated_by"]) for row in every} == {("", ""), ("a1111", "c1")}
    assert "It is red." in ran("show", "harbor", "a1111/t0").out
    assert one("show", "harbor", "a1111/t0")["delegated_by"] == "c1"


def test_single_turns_are_shown_whole() -> None:
    shown = ran("show", LONG, "t191", "[t192-193]").out
    assert [mark in shown for mark in ("t190", "t191", "t192", "t193")] == [False, True, True, True]
    assert [row["index"] for row in rows("show", LONG, "t3")] == [3]


def test_anchors(tmp_path: Path) -> None:
    found = rows("anchors", LONG)
    assert {row["type"]: row["weight"] for row in found}["error_resolution"] == 0.9
    assert [row["turn_index"] for row in found] == sorted({row["turn_index"] for row in found})
    assert all(row["confidence"] >= 0.9 for row in found)
    literal = rows("anchors", LONG, "--profile", "literal")
    silent = {row["detector"] for row in found} - {row["detector"] for row in literal}
    assert "command-milestone" in silent
    shown = ran("anchors", LONG).out.splitlines()
    assert shown[0].split() == ["turn", "type", "weight", "confidence", "description"]
    assert "per 100 turns" in shown[-1]
    (only,) = rows("anchors", talk(tmp_path, *(f"tell me of stone {n}" for n in range(10))))
    assert (only["turn_index"], only["synthetic"], only["weight"]) == (9, True, 0.7)


def test_todos(tmp_path: Path) -> None:
    def listed(call: str, *statuses: str) -> Any:
        items = [
            {"content": f"step {n}", "status": status, "activeForm": "x"}
            for n, status in enumerate(statuses)
        ]
        return use(call, "TodoWrite", todos=items)

    records = Records()
    records.user("build a crane")
    records.assistant("m1", text("I plan."), listed("c1", "pending", "pending", "pending"))
    records.result("c1", "Todos have been modified successfully")
    records.assistant("m2", listed("c2", "completed", "in_progress", "pending"))
    records.result("c2", "Todos have been modified successfully")
    session = written(tmp_path, records)
    names = ("text", "status", "place", "turn", "source", "since")
    expected = [("completed", 1), ("in_progress", 1), ("pending", 0)]
    assert rows("todos", session) == [
        dict(zip(names, (f"step {n}", status, n, turn, "todos", 0), strict=True))
        for n, (status, turn) in enumerate(expected)
    ]
    shown = ran("todos", session).out.splitlines()
    signs = [line.split()[:3] for line in shown[1:4]]
    assert signs == [["✓", "step", "0"], ["▶", "step", "1"], ["○", "step", "2"]]
    assert shown[-1] == "todos: 1 of 3 completed"
    planned = sum(row["source"] == "plan" for row in rows("todos", LONG))
    shown = ran("todos", LONG).out.splitlines()
    assert shown[-1].startswith(f"{planned} planned steps are not shown")
    assert " plan " not in shown[2]
    assert ran("todos", talk(tmp_path, "hello")).out == "no todos\n"


# What a session may do to a screen.


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
    session = written(tmp_path, records)
    for arguments in (
        *(["stats"], ["turns", "--agents"], ["facts"], ["anchors"]),
        *(["plan", "--window", "8k"], ["probe"], ["summarize"]),
    ):
        done = ran(*arguments, session)
        assert done.code == 0
        assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\u202e", "\u2066"}, arguments


def test_names_are_never_markup_and_a_command_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    """A tool called `[/b]` ended the program, and a file called `[red]` lost its name."""
    records = Records()
    records.user(
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>42</command-args>"
    )
    records.assistant("m1", text("Größe ✓ 港"), use("c1", "mcp__x__[/b]y", command="[red]ls"))
    records.result("c1", "berth = 1\n" * 500)
    session = written(tmp_path, records, "[red].jsonl")
    for files in ([session], [session, session]):
        assert "[red].jsonl" in ran("stats", *files).out.replace("\n", "")
    shown = ran("stats", session).out
    assert "mcp__x__[/b]y" in shown
    assert "[red]ls" in shown
    assert "command        /review 42\n" in ran("turns", session).out
    for encoding in ("ascii", "cp1252"):
        done = started("turns", session, PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
        told = started("turns", "--json", session, PYTHONIOENCODING=encoding).stdout
        assert json.loads(told.splitlines()[0])["assistant_response"] == "Größe ✓ 港"
    if sys.platform == "linux":
        name = os.fsdecode(bytes(tmp_path) + b"/a\xffb")
        Path(name).write_bytes(Path(session).read_bytes())
        assert json.loads(started("stats", "--json", name).stdout)["file"].endswith("/a?b")
        assert b"a?b" in started("stats", name).stdout.replace(b"\n", b"")


def test_output_that_is_no_terminal_has_no_colour(session: str) -> None:
    assert b"\x1b" not in started("turns", session).stdout
    forced = started("stats", session, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert re.findall(rb"\x1b\[[0-9;]*[34][0-7]m", forced) == []


# How a command ends.


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["stats", "nowhere"], 3, "cannot read 'nowhere': no such file or directory"),
        (["stats", "pyproject.toml"], 3, "is not a transcript kedgeline knows"),
        (["stats", "--format", "telex", "README.md"], 2, "unknown format 'telex'"),
        (["turns", "--nonsense", "x"], 2, "No such option"),
        (["nonsense"], 2, "No such command"),
        (["plan", LONG, "--window", "much"], 2, "is not a number of tokens"),
        (["plan", LONG, "--window", "10"], 2, "smaller than any model's"),
        (["compact", LONG, "--to", "nowhere"], 2, "unknown provider 'nowhere'"),
        (["anchors", LONG, "--profile", "bold"], 2, "unknown profile 'bold'"),
        (["show", LONG, "t500"], 2, "has no turn t500"),
        (["show", LONG, "twelve"], 2, "is not a turn"),
    ],
)
def test_errors_are_one_sentence_on_stderr(
    kedgeline: Line, arguments: list[str], code: int, says: str
) -> None:
    done = kedgeline(*arguments, code=code)
    said = done.stderr.decode()
    assert (done.stdout, said.count("\n"), says in said) == (b"", 1, True), said


def test_bad_settings_name_the_variable(kedgeline: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGELINE_LARGEST_OUTPUTS", "many")
    assert b"KEDGELINE_LARGEST_OUTPUTS" in kedgeline("stats", LONG, code=2).stderr


def test_the_reader_of_the_output_may_leave_early(session: str) -> None:
    """`kedgeline turns … | head -1` ends quietly."""
    command = f"{sys.executable} -m kedgeline turns --json {LONG} | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True)
    assert b"Traceback" not in done.stderr
    assert done.stdout.count(b"\n") == 1
    reader, writer = os.pipe()
    os.close(reader)
    try:
        gone = started("stats", session, stdout=writer)
    finally:
        os.close(writer)
    assert (gone.returncode, gone.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["stats"], ["turns", "--json"]])
def test_a_full_disk_is_one_sentence(session: str, arguments: list[str]) -> None:
    """What is left in a buffer is written when the interpreter exits, too late for a sentence."""
    with open("/dev/full", "wb") as full:
        done = started(*arguments, session, stdout=full, PYTHONUNBUFFERED="")
    said = done.stderr.decode()
    assert (done.returncode, said.count("\n")) == (1, 1)
    assert said.startswith("kedgeline: cannot write the output: no space left on device")


def test_help_version_and_stdin(session: str) -> None:
    shown = started("--help").stdout
    assert b"stats" in shown
    assert b"complet" in shown
    assert started("--version").stdout.startswith(b"kedgeline ")
    assert started().returncode in (0, 2)
    done = started("stats", "--json", "-", stdin=Path(session).read_bytes())
    assert json.loads(done.stdout)["turns"] == 2


def test_commands_load_what_they_need_when_they_run() -> None:
    names = "('rich.table', 'splintr', 'importlib.metadata', 'bench.throughput')"
    code = f"import sys, kedgeline.cli.main; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


# What a call gave back, from the archive.


def kept(store: Path, *outputs: str) -> list[str]:
    """Marks of outputs of one call id."""
    call = ToolCall(id="call_0", tool="Bash")
    with closing(open_store(store)) as opened:
        session = Session("harbor", opened, redactor=None)
        return [session.keep_output(call, output) for output in outputs]


TEXTS = (
    *("one line", "ends with lines\n\n", "carriage\r\nreturns\r\n", "né ✓ 日本語 \U0001f600"),
    "\x1b[31mred\x1b[0m \x00 and \x07",
)


@pytest.mark.parametrize("output", TEXTS)
def test_an_output_comes_through_a_pipe_as_it_was(
    kedgeline: Line, store: Path, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = kept(store, output, "two\n", output)
    assert marks[0] == marks[2] != marks[1]  # each is kept once
    assert kedgeline("show", "harbor", marks[0]).stdout == output.encode()
    assert kedgeline("show", "harbor", *marks[1::-1]).stdout == b"two\n" + output.encode()

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    _write_output(output)
    assert "\x1b" not in shown.getvalue()
