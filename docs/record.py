"""Records the terminal session of docs/install.md: the real Claude Code, with and without
kedgeline, against a model that is played on loopback. `make recording` runs it.

The model forgets on purpose: its summary names no rule and no command. What is shown of the files,
of kedgeline and of what Claude Code sends is as it really was."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from rich.console import Console  # noqa: E402
from rich.text import Text  # noqa: E402

from docs.terminal import svg_of  # noqa: E402
from kedgeline.model import Usage  # noqa: E402
from tests.models.server import Request, Says, Server, serving  # noqa: E402

GUIDE = ROOT / "docs" / "install.md"
PICTURE = ROOT / "docs" / "pictures" / "claude-code.svg"
BEGIN, END = "<!-- recorded -->", "<!-- /recorded -->"
WIDTH = 100
SECONDS = 120
CHARACTERS = 4
"""Of a token, about."""
WAIT_SECONDS = 2
"""After the compaction: a person reads a moment before they go on."""

CONTEXT = "SessionStart hook additional context: "
_OURS = re.compile("From kedgeline|kedgeline follows this session")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_REMINDERS = re.compile(
    "</local-command-stdout>|\nPostCompact \\[|</system-reminder>|"
    "\n\nThe following MCP servers|\n\nToday's date"
)
"""Where what the host says of itself begins again."""

PROMPTS = (
    "Make the north lamp blink 12 times a minute. Never push to main. "
    "Always run `make check` before a commit.",
    "Now the south lamp, the same way.",
)
SUMMARY = "The user is working on the harbour lamps. Both were changed and the work goes well."
MAKEFILE = "check:\n\t@echo 2 lamps checked\n"
STEPS: dict[str, tuple[Says, ...]] = {
    PROMPTS[0]: (
        Says(
            tool=json.dumps({"file_path": "WORK/north.py", "content": "BLINKS = 12\n"}),
            called="Write",
            ending="tool call",
        ),
        Says(
            tool=json.dumps({"command": "make check", "description": "Check"}),
            called="Bash",
            ending="tool call",
        ),
        Says("The north lamp blinks 12 times a minute; `make check` passes."),
    ),
    PROMPTS[1]: (
        Says(
            tool=json.dumps({"file_path": "WORK/south.py", "content": "BLINKS = 12\n"}),
            called="Write",
            ending="tool call",
        ),
        Says("The south lamp blinks 12 times a minute. `make check` is still to be run."),
    ),
}


class Home:
    """A user's home with a project, and Claude Code in it."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self._server, self.session = folder, server, ""
        self.work = folder / "harbour"
        self.work.mkdir(parents=True)
        (self.work / "Makefile").write_text(MAKEFILE)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("KEDGELINE_")},
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_DATA_HOME": str(folder / "data"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANTHROPIC_BASE_URL": server.address,
            "ANTHROPIC_API_KEY": "of no worth",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "COLUMNS": str(WIDTH),
        }

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode:
            raise SystemExit(f"{words[0]} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def says(self, prompt: str) -> str:
        resumed = ("--resume", self.session) if self.session else ()
        allowed = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash(make check:*)")
        told = json.loads(
            self.run(_claude(), "-p", prompt, "--output-format", "json", *allowed, *resumed)
        )
        last = told[-1] if isinstance(told, list) else told
        self.session = last["session_id"]
        return str(last.get("result") or "")

    def shown(self, text: str) -> str:
        """As it would stand in anybody's home."""
        return text.replace(str(self.folder), "~").replace(self.session or "\0", "SESSION")


def played(request: Request) -> Says:
    """What the model says, and how much it has read by then."""
    says = _step(request)
    return replace(says, usage=Usage(input=len(request.text) // CHARACTERS, output=50))


def _step(request: Request) -> Says:
    """The next step of the prompt that it was given last."""
    if "Do NOT call any tools" in request.text or "detailed summary" in request.text:
        return Says(f"<analysis>…</analysis><summary>{SUMMARY}</summary>")
    since, results = "", 0
    for text, is_result in _said(request.body["messages"]):
        given = [prompt for prompt in PROMPTS if text.strip() == prompt]
        since, results = (given[0], 0) if given else (since, results + is_result)
    steps = STEPS.get(since, ())
    if results >= len(steps):
        return Says("Going on.")
    says = steps[results]
    work = re.search(r'Primary working directory: ([^\s\\"]+)', request.text)
    tool = says.tool.replace("WORK", work.group(1) if work else ".")
    return Says(says.text, tool=tool, called=says.called, ending=says.ending)


def _said(messages: list[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            yield block.get("text", ""), block.get("type") == "tool_result"


def read_by_the_model(server: Server) -> str:
    """The conversation of the last request, without what the host says of itself."""
    for request in reversed(server.requests):
        texts = [text for text, _ in _said(request.body["messages"])]
        if any(text.strip() == "Go on." for text in texts):
            return "\n".join(_told(texts))
    raise SystemExit("no request has the last prompt")


def _told(texts: list[str]) -> Iterator[str]:
    for text in texts:
        if found := _OURS.search(text):
            inside = _REMINDERS.split(_COLOURS.sub("", text[found.start() :]))[0]
            yield "\n" + inside.replace(CONTEXT, "").strip()
        elif SUMMARY in text:
            yield f"… Summary: {SUMMARY} …"
        elif text.strip() == "Go on.":
            yield "\nGo on."


def recorded(folder: Path) -> Iterator[tuple[str, str]]:
    """Commands and what they print."""
    with serving(rule=played) as server:
        for name, with_kedgeline in (("before", False), ("after", True)):
            home = Home(folder / name, server)
            if with_kedgeline:
                yield (
                    "kedgeline install claude-code",
                    home.shown(home.run("kedgeline", "install", "claude-code", "--advise")),
                )
            else:
                yield "# without kedgeline", ""
            for prompt in PROMPTS:
                yield f'claude -p "{prompt}"', home.shown(home.says(prompt))
            home.says("/compact")
            yield 'claude -p "/compact" --continue', ""
            if with_kedgeline:
                subprocess.run(["sleep", str(WAIT_SECONDS)], check=True)
            yield 'claude -p "Go on." --continue', home.says("Go on.")
            yield "# what the model reads now", home.shown(read_by_the_model(server))
            if with_kedgeline:
                shown = home.run("kedgeline", "status", home.session)
                yield (
                    "kedgeline status SESSION",
                    home.shown(shown.partition("\nwhat was put back")[0]),
                )


def wrapped(text: str) -> Iterator[str]:
    """As a terminal shows it."""
    for line in text.splitlines():
        yield from textwrap.wrap(line, WIDTH, break_on_hyphens=False) or [""]


def _claude() -> str:
    found = os.environ.get("KEDGELINE_CLAUDE_BINARY") or shutil.which("claude")
    if not found:
        raise SystemExit(
            "Claude Code is not here: run `make recording`, or set KEDGELINE_CLAUDE_BINARY"
        )
    return found


def main() -> None:
    out = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for command, printed in recorded(Path(folder)):
            lead = "" if command.startswith("#") else "$ "
            lines += ["", *wrapped(f"{lead}{command}"), *wrapped(printed.rstrip())]
            out.print(Text(f"\n{lead}{command}", style="bold cyan" if lead else "bold yellow"))
            if printed.strip():
                out.print(Text(printed.rstrip()))
    PICTURE.write_text(svg_of(out, "Claude Code, without and with kedgeline"), "utf-8")
    guide = GUIDE.read_text("utf-8")
    before, rest = guide.split(BEGIN)
    after = rest.split(END)[1]
    text = "\n".join(lines).strip()
    GUIDE.write_text(f"{before}{BEGIN}\n\n```text\n{text}\n```\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
