"""Where the command line's output goes, and what may stand in it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.claude import Records, text, use
from tests.test_cli import kedgeline, rows
from tests.test_stats import dialogue


@pytest.fixture
def session(tmp_path: Path) -> Path:
    records = Records()
    records.user(
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>42</command-args>"
    )
    records.assistant("m1", text("Größe ✓ 港"), use("c1", "mcp__x__[/b]y", command="[red]ls"))
    records.result("c1", "berth = 1\n" * 500)
    records.assistant("m2", text("done"))
    path = tmp_path / "[red].jsonl"
    path.write_bytes(b"".join(records.lines))
    return path


def test_names_are_never_markup(session: Path) -> None:
    """A tool called `[/b]` ended the program, and a file called `[red]` lost its name."""
    for files in ([str(session)], [str(session), str(session)]):
        done = kedgeline("stats", *files)
        assert (done.returncode, done.stderr) == (0, b"")
        assert "[red].jsonl" in done.stdout.decode().replace("\n", "")
    shown = kedgeline("stats", str(session)).stdout.decode()
    assert "mcp__x__[/b]y" in shown
    assert "[red]ls" in shown


def test_a_command_is_shown_as_it_was_typed(session: Path) -> None:
    shown = kedgeline("turns", str(session)).stdout.decode()
    assert "command        /review 42\n" in shown


def test_the_context_is_shown_with_how_it_is_known(session: Path) -> None:
    (found,) = rows(kedgeline("stats", "--json", str(session)))
    assert found["context"]["kind"] == "estimated"
    assert (found["model"], found["vocabulary"]) == ("claude-opus-4-5", "o200k × 1.21")
    shown = kedgeline("stats", str(session)).stdout.decode()
    assert f"context: {found['context']['total']:,} tokens (estimated)" in shown


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_encoding_that_lacks_characters(session: Path, encoding: str) -> None:
    for command in ("stats", "turns"):
        done = kedgeline(command, str(session), PYTHONIOENCODING=encoding)
        assert (done.returncode, done.stderr) == (0, b"")
    found = rows(kedgeline("turns", "--json", str(session), PYTHONIOENCODING=encoding))
    assert found[0]["assistant_response"] == "Größe ✓ 港"


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_a_file_name_that_is_not_utf8(session: Path) -> None:
    name = os.fsdecode(bytes(session.parent) + b"/a\xffb")
    Path(name).write_bytes(session.read_bytes())
    (found,) = rows(kedgeline("stats", "--json", name))
    assert found["file"].endswith("/a?b")
    assert b"a?b" in kedgeline("stats", name).stdout.replace(b"\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["stats"], ["stats", "--json"], ["turns", "--json"]])
def test_a_full_disk_is_one_sentence(session: Path, arguments: list[str], unbuffered: str) -> None:
    """What is left in a buffer is written when the interpreter exits, too late for a sentence."""
    with open("/dev/full", "wb") as full:
        done = kedgeline(*arguments, str(session), stdout=full, PYTHONUNBUFFERED=unbuffered)
    said = done.stderr.decode()
    assert (done.returncode, said.count("\n")) == (1, 1)
    assert said.startswith("kedgeline: cannot write the output: no space left on device")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["stats"], ["stats", "--json"], ["turns", "--json"]])
def test_a_reader_that_is_gone_is_told_nothing(
    session: Path, arguments: list[str], unbuffered: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = kedgeline(*arguments, str(session), stdout=writer, PYTHONUNBUFFERED=unbuffered)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_sessions_of_one_file_have_headings(tmp_path: Path) -> None:
    path = tmp_path / "dialogues"
    path.write_text(json.dumps([dialogue(0), dialogue(1)]))
    shown = [line.strip() for line in kedgeline("turns", str(path)).stdout.decode().splitlines()]
    assert [line for line in shown if line.startswith("session")] == ["session 0", "session 1"]
    assert shown.index("session 1") > shown.index("pending        more 0?")
    alone = kedgeline("turns", str(path), "--session", "1").stdout.decode()
    assert "session" not in alone
    found = rows(kedgeline("turns", "--json", str(path)))
    assert [(t["session"], t["pending"]) for t in found] == [
        (0, False),
        (0, True),
        (1, False),
        (1, True),
    ]


def test_damage_names_the_file_it_is_in(tmp_path: Path) -> None:
    records = Records()
    records.user("explore")
    records.assistant("m1", text("done"))
    (tmp_path / "s1.jsonl").write_bytes(b"".join(records.lines))
    inner = Records()
    inner.user("Find it", isSidechain=True, agentId="ag1", parent=None)
    inner.assistant("a1", text("found"), isSidechain=True, agentId="ag1")
    inner.raw("torn")
    beside = tmp_path / "s1" / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-ag1.jsonl").write_bytes(b"".join(inner.lines))
    shown = kedgeline("stats", str(tmp_path / "s1.jsonl")).stdout.decode()
    assert "  agent-ag1.jsonl, line 2: shape" in shown
