"""The real Claude Code against a server of ours: what reaches the model when it compacts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kedgeline.model import Usage
from tests.models.server import Line, Request, Says, serving

pytestmark = pytest.mark.hosts

RULE = "Never push to main. Always run make check before a commit."
SUMMARY = "The harbour light is being mended."
FULL = Usage(input=120_000, output=20)
"""So full a context that Claude Code compacts by itself where its window is 100,000."""
SECONDS = 90


def binary() -> str:
    """Claude Code, as it is installed or as it comes with its SDK for Python."""
    if named := os.environ.get("KEDGELINE_CLAUDE_BINARY", ""):
        return named
    found = find_spec("claude_agent_sdk")
    for folder in (found.submodule_search_locations if found else None) or []:
        if (bundled := Path(folder) / "_bundled" / "claude").exists():
            return str(bundled)
    if installed := shutil.which("claude"):
        return installed
    pytest.skip(
        "Claude Code is not here: pip install claude-agent-sdk, or set KEDGELINE_CLAUDE_BINARY"
    )


class Claude:
    """One session of Claude Code with a home of its own, and kedgeline installed into it."""

    def __init__(self, home: Path, address: str) -> None:
        self.home, self._binary, self.session = home, binary(), ""
        self._work = home / "work"
        self._work.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "KEDGELINE_STORE": str(home / "store"),
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "of no worth",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        words = [sys.executable, "-m", "kedgeline", "install", "claude-code", "--advise"]
        subprocess.run(words, env=self.environment, cwd=self._work, check=True, timeout=SECONDS)

    def says(self, prompt: str, *options: str) -> None:
        resumed = ("--resume", self.session) if self.session else ()
        done = subprocess.run(
            [self._binary, "-p", prompt, "--output-format", "json", *resumed, *options],
            cwd=self._work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        told = json.loads(done.stdout)
        self.session = (told[-1] if isinstance(told, list) else told)["session_id"]

    @property
    def folder(self) -> Path:
        return self.home / "state" / "kedgeline" / "hooks" / self.session

    def status(self, known: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What the worker has written down, as soon as it is what is waited for."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            path = self.folder / "status.json"
            found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
            if known(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"the worker did not get there: {found}")


def reply(request: Request) -> Line:
    if is_summarising(request):
        text = f"<analysis>a</analysis><summary>{SUMMARY}</summary>"
        return Says(text, usage=FULL)
    return Says("Mended.", usage=FULL)


def is_summarising(request: Request) -> bool:
    return "Do NOT call any tools" in request.text or "detailed summary" in request.text


def added_to(request: Request) -> str:
    """All that the model is sent in the messages, as one text."""
    parts = []
    for message in request.body["messages"]:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        parts += [block.get("text", "") for block in blocks]
    return "\n".join(parts)


def test_a_compaction_that_was_asked_for_is_steered_and_made_good(tmp_path: Path) -> None:
    with serving(rule=reply) as server:
        claude = Claude(tmp_path / "home", server.address)
        claude.says(f"Mend the harbour light. {RULE}")
        claude.status(lambda known: known.get("turns", 0) >= 1)
        claude.says("Now the quay")
        claude.status(lambda known: known.get("turns", 0) >= 2)
        claude.says("/compact")
        (summarising,) = [one for one in server.requests if is_summarising(one)]
        assert f'- "{RULE}" [t0]' in added_to(summarising)
        claude.status(lambda known: known.get("compactions") == 1)
        claude.says("Go on")
        sent = added_to(server.requests[-1])
        assert SUMMARY in sent
        assert f'- "{RULE}" [t0]' in sent
        found = claude.status(lambda known: known.get("turns", 0) >= 3)
        assert found["last"]["score"] < found["last"]["score_with_put_back"]
        claude.says("And on")
        again = added_to(server.requests[-1])
        assert again.count(RULE) == sent.count(RULE)
        assert again.count("what the summary of this conversation lacks") <= 1


def test_a_compaction_of_its_own_is_made_good_too(tmp_path: Path) -> None:
    with serving(rule=reply) as server:
        claude = Claude(tmp_path / "home", server.address)
        claude.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        claude.says(f"Mend the harbour light. {RULE}", "--autocompact", "100k")
        claude.says("Now the second lamp", "--autocompact", "100k")
        claude.says("And the third", "--autocompact", "100k")
        summarising = [one for one in server.requests if is_summarising(one)]
        assert summarising
        assert any(RULE in added_to(one) for one in summarising)
        after = server.requests[server.requests.index(summarising[-1]) + 1 :]
        assert after
        assert all(RULE in added_to(one) for one in after if SUMMARY in added_to(one))
        assert any(f'- "{RULE}" [t0]' in added_to(one) for one in after)


def test_what_is_lacking_comes_while_the_agent_works_on(tmp_path: Path) -> None:
    """A compaction in the middle of a turn: nobody says a word for hours."""

    def works(request: Request) -> Line:
        calls = sum(not is_summarising(one) for one in server.requests)
        if is_summarising(request) or not 1 < calls < 9:
            return reply(request)
        time.sleep(1)  # an agent thinks; the worker needs a moment as well
        usage = None if SUMMARY in request.text else FULL
        command = json.dumps({"command": "echo lamp"})
        return Says(tool=command, called="Bash", ending="tool call", usage=usage)

    with serving(rule=works) as server:
        claude = Claude(tmp_path / "home", server.address)
        claude.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        claude.says("Look at src/lamp.py first.")
        options = ("--autocompact", "100k", "--allowedTools", "Bash(echo:*)")
        claude.says(f"Mend the harbour light. {RULE}", *options)
        turn = [one for one in server.requests if not is_summarising(one)]
        assert len(turn) < len(server.requests), "nothing was compacted"
        after = [added_to(one) for one in turn if SUMMARY in added_to(one)]
        assert any("what the summary of this conversation lacks" in one for one in after)
        assert all(one.count("From kedgeline, which follows this session") <= 1 for one in after)
