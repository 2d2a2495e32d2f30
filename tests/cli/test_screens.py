"""What is shown on screens: wide and narrow, in colour and without, and where there is no Unicode.

`KEDGELINE_GOLDEN=write pytest tests/cli/test_screens.py` writes the files anew: look at them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import started
from tests.conftest import ROOT

GOLDEN = Path(__file__).parent / "golden"
CODEX = "examples/codex.jsonl"
SHOWN = {
    "stats": ("stats", CODEX),
    "several": ("stats", CODEX, "examples/claude-code-compacted.jsonl"),
    "turns": ("turns", CODEX, "--last", "2"),
    "todos": ("todos", CODEX),
    "plan": ("plan", CODEX, "--window", "32k"),
    "cost": ("cost", CODEX),
    "refused": ("plan", CODEX, "--window", "10"),
}
COMPLETED = [
    ("install cod", "codex"),
    ("stats --format claude", "claude-code"),
    ("view har", "harbour"),
    ("compact x --to a", "anthropic"),
]
SCREENS = {
    "60": {"COLUMNS": "60", "FORCE_COLOR": "1", "NO_COLOR": "1"},
    "200": {"COLUMNS": "200", "FORCE_COLOR": "1", "NO_COLOR": "1"},
    "colour": {"COLUMNS": "100", "FORCE_COLOR": "1", "TERM": "xterm-256color"},
    "ascii": {"COLUMNS": "80", "PYTHONIOENCODING": "ascii"},
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", SHOWN)
def test_a_screen_looks_as_it_was_looked_at(name: str, screen: str) -> None:
    if screen == "colour" and name not in ("stats", "plan"):
        pytest.skip("two of them show all colours")
    ran = started(*SHOWN[name], **SCREENS[screen])
    text = "".join(f"{line.rstrip()}\n" for line in (ran.stdout + ran.stderr).decode().splitlines())
    golden = GOLDEN / f"{name}-{screen}.txt"
    if name == "plan":  # its numbers are those of the summary
        assert "triggers: " in text
    elif os.environ.get("KEDGELINE_GOLDEN") == "write":
        golden.write_text(text, "utf-8")
    else:
        assert golden.read_text("utf-8") == text
    if screen != "ascii":  # into a file nothing is broken, as a program may read it
        shown = re.sub(r"\x1b\[[\d;]*m", "", ran.stdout.decode()).splitlines()
        width = int(SCREENS[screen]["COLUMNS"])
        assert [line for line in shown if len(line.rstrip()) > width] == []


@pytest.mark.parametrize(("typed", "offered"), COMPLETED)
def test_a_shell_completes_sessions_hosts_and_formats(
    typed: str, offered: str, tmp_path: Path
) -> None:
    started("add", "harbour", CODEX, "--store", str(tmp_path))
    words = f"kedgeline {typed}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    asked |= {"_KEDGELINE_COMPLETE": "complete_bash", "KEDGELINE_STORE": str(tmp_path)}
    program = Path(sys.executable).with_name("kedgeline")
    ran = subprocess.run([program], env={**os.environ, **asked}, capture_output=True, text=True)
    assert ran.stdout.split() == offered.split()


def test_a_session_of_an_agent_is_found_by_how_its_id_begins(tmp_path: Path) -> None:
    project = tmp_path / ".claude" / "projects" / "harbour"
    project.mkdir(parents=True)
    session = (ROOT / "examples" / "claude-code-compacted.jsonl").read_bytes()
    (project / "0badcafe-1111-4222-8333-444455556666.jsonl").write_bytes(session)
    ran = started("turns", "0badcafe", "--last", "1", HOME=str(tmp_path), CLAUDE_CONFIG_DIR="")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"t")
