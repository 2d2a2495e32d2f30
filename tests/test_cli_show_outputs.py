"""`kedgeline show` of what a call gave back, and outputs whose call id comes again."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedgeline.cli.look import write_output
from kedgeline.hosts.hook import HOSTS, answered
from kedgeline.model import ToolCall
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.line import Line

TEXTS = (
    "one line",
    "ends with lines\n\n",
    "carriage\r\nreturns\r\n",
    "\x1b[31mred\x1b[0m \x00 and \x07",
    "né ✓ 日本語 \U0001f600",
)
FIRST, SECOND = (
    "\n".join(f"{name} line {n} of the log" for n in range(4_000)) for name in ("first", "second")
)


def kept(store: Path, *outputs: str) -> list[str]:
    """Marks of outputs of one call id."""
    call = ToolCall(id="call_0", tool="Bash")
    with closing(open_store(store)) as opened:
        session = Session("harbor", opened, redactor=None)
        return [session.keep_output(call, output) for output in outputs]


@pytest.mark.parametrize("text", TEXTS)
def test_an_output_comes_through_a_pipe_as_it_was(kedgeline: Line, store: Path, text: str) -> None:
    kept(store, text)
    assert kedgeline("show", "harbor", "output:call_0").stdout == text.encode()


def test_outputs_come_one_behind_the_other(kedgeline: Line, store: Path) -> None:
    marks = kept(store, "one\n", "two\n")
    assert kedgeline("show", "harbor", *reversed(marks)).stdout == b"two\none\n"


def test_a_terminal_is_not_steered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    write_output("\x1b[31mred")
    assert shown.getvalue() == "␛[31mred\n"


def test_a_call_id_that_comes_again_with_another_output_has_another_mark(store: Path) -> None:
    first, second, again, other = kept(store, "first", "second", "second", "first")
    assert first == other == "output:call_0"
    assert second == again != first
    with closing(open_store(store)) as opened:
        session = Session("harbor", opened, redactor=None)
        assert [session.original(mark).text for mark in (first, second)] == ["first", "second"]
        assert len(list(opened.entries("harbor"))) == 2  # each is kept once


@pytest.fixture
def hooked(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def told_of(call_id: str, output: str) -> str:
    """How to show an output that was made shorter, as the agent reads it."""
    event: dict[str, Any] = {
        "hook_event_name": "PostToolUse",
        "session_id": "s1",
        "tool_name": "Bash",
        "tool_use_id": call_id,
        "tool_input": {"command": "make log"},
        "tool_response": {"stdout": output, "stderr": ""},
    }
    answer = json.loads(answered(json.dumps(event).encode(), HOSTS[0]))
    text: str = answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    return text.splitlines()[-1].partition("kedgeline show ")[2].removesuffix("]")


@pytest.mark.usefixtures("hooked")
def test_an_agent_is_told_the_mark_of_its_own_output(kedgeline: Line) -> None:
    lines = [told_of("call_0", output) for output in (FIRST, SECOND)]
    shown = [kedgeline("show", *shlex.split(line)).stdout.decode() for line in lines]
    assert shown == [FIRST, SECOND]


@pytest.mark.usefixtures("hooked")
def test_an_id_that_a_shell_would_run_is_not_in_the_line(kedgeline: Line) -> None:
    line = told_of("x `rm -r y` $(z)\n; a", FIRST)
    assert not set(line) & set("`$();\n")
    assert kedgeline("show", *shlex.split(line)).stdout.decode() == FIRST
