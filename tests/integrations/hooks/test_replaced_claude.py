"""The real Claude Code with its compaction replaced: manual, automatic amid a loop, of a sub-agent,
resumed and forked; and whatever can go wrong with our answer."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kedgeline.hosts.places import replaced_in
from kedgeline.model import Usage
from tests.integrations.hooks.test_claude_code import (
    RULE,
    SECONDS,
    SUMMARY,
    Claude,
    added_to,
    is_summarising,
)
from tests.models.server import Line, Request, Says, Server, serving

pytestmark = pytest.mark.hosts

OURS = "<kedgeline-summary>"
SCALE = 2
"""The played model counts each character so often: a short session is a long one."""
LOOP = re.compile(r"LOOP (\d+ \w+(?: \d+)?)")
BASH = ("--allowedTools", "Bash")


def tools_used(request: Request) -> int:
    return request.text.count('"type":"tool_result"') + request.text.count('"type": "tool_result"')


class Model:
    """It calls a tool so many times as a request of the user says, and is as full as what it is
    sent."""

    def __init__(self) -> None:
        self._left, self._seen = 0, set[str]()

    def __call__(self, request: Request) -> Line:
        usage = Usage(input=3_000 + SCALE * len(json.dumps(request.body["messages"])), output=20)
        if is_summarising(request):
            return Says(f"<analysis>a</analysis><summary>{SUMMARY}</summary>", usage=usage)
        said = added_to(request)
        wanted = {one for one in LOOP.findall(said) if one not in self._seen}
        for words in wanted:
            self._seen.add(words)
            self._left = int(words.split()[0])
        if "AGENT" in said and "agent" not in self._seen and '"name":"Agent"' in request.text:
            self._seen.add("agent")
            given = {"description": "a lamp", "prompt": "LOOP 12 of a sub-agent"}
            given["subagent_type"] = "general-purpose"
            return Says(tool=json.dumps(given), called="Agent", ending="tool call", usage=usage)
        if self._left:
            self._left -= 1
            command = {"command": f"echo lamp {self._left}; seq 1 900", "description": "lamps"}
            return Says(tool=json.dumps(command), called="Bash", ending="tool call", usage=usage)
        return Says("Mended.", usage=usage)


class Replaced(Claude):
    def __init__(self, home: Path, server: Server, *options: str) -> None:
        super().__init__(home, server.address)
        words = [sys.executable, "-m", "kedgeline", "install", "claude-code", *options]
        subprocess.run(words, env=self.environment, cwd=home / "work", check=True, timeout=SECONDS)
        self.module = home / ".claude" / "skills" / "kedgeline" / "hooks" / "register.js"
        self._server = server

    def calls(self, program: Path, milliseconds: int = 3_000) -> None:
        """Another program in the place of kedgeline."""
        text = self.module.read_text()
        text = re.sub(r"KEDGELINE = \[.*\]", f'KEDGELINE = ["{program}"]', text)
        self.module.write_text(
            re.sub(r"MILLISECONDS = \S+", f"MILLISECONDS = {milliseconds}", text)
        )

    @property
    def native(self) -> int:
        return sum(map(is_summarising, self._server.requests))

    def sent(self) -> str:
        return added_to(self._server.requests[-1])

    def size(self) -> int:
        """Characters of what was sent last, outputs and all."""
        return len(json.dumps(self._server.requests[-1].body["messages"]))


def test_by_hand_resumed_and_forked(tmp_path: Path) -> None:
    with serving(rule=Model()) as server:
        claude = Replaced(tmp_path / "home", server)
        claude.says(f"LOOP 6 mend the harbour light. {RULE}", *BASH)
        claude.says("Now the quay")
        before = claude.size()
        claude.says("/compact keep the lamps")
        claude.says("Go on")
        first = claude.sent()
        assert claude.native == 0
        assert claude.size() < 0.7 * before
        size = claude.size()
        assert RULE in first
        assert first.count("word for word:\nkeep the lamps\n") == 1
        assert "From kedgeline, which follows this session" not in first
        claude.says("And on")
        again = claude.sent()
        assert again.count(OURS) == first.count(OURS)
        assert again.count(RULE) == first.count(RULE)
        assert claude.size() < size + 5_000
        claude.says("Another way", "--fork-session")
        assert claude.sent().count(OURS) == first.count(OURS)


def test_by_itself_in_the_middle_of_a_loop_again_and_again(tmp_path: Path) -> None:
    with serving(rule=Model()) as server:
        claude = Replaced(tmp_path / "home", server)
        options = ("--autocompact", "100k", *BASH)
        claude.says(f"LOOP 30 mend the harbour light. {RULE}", *options)
        found = replaced_in(str(claude.folder))
        assert found is not None
        assert found["replaced"] >= 2
        assert (found["own"], found["left"], claude.native) == (0, {}, 0)
        assert all(RULE in added_to(one) for one in server.requests if tools_used(one))
        claude.says("AGENT for the quay", *options)
        assert claude.native == 0


GARBAGE = {
    "nothing": "exit 0",
    "no JSON": "echo lamp",
    "no messages": "echo '{\"messages\": []}'",
    "no roles": 'echo \'{"messages": [{"role": "system", "text": 3}]}\'',
    "an error": "echo '{\"messages\": 1}'; exit 3",
    "killed": "kill -9 $$",
    "too late": "sleep 20",
}


def test_every_failure_ends_in_the_hosts_own_compaction(tmp_path: Path) -> None:
    with serving(rule=Model()) as server:
        claude = Replaced(tmp_path / "home", server)
        program = tmp_path / "program"
        claude.calls(program)
        for number, (what, script) in enumerate([("missing", ""), *GARBAGE.items()]):
            if script:
                program.write_text(f"#!/bin/sh\n{script}\n")
                program.chmod(0o755)
            claude.says(f"LOOP 2 lamp {number}. {RULE}", *BASH)
            claude.says("/compact")
            assert claude.native == number + 1, what
        claude.says("Go on")
        assert SUMMARY in claude.sent()


def test_advice_alone_is_asked_for(tmp_path: Path) -> None:
    with serving(rule=Model()) as server:
        claude = Replaced(tmp_path / "home", server, "--advise")
        assert not claude.module.exists()
        claude.says(f"LOOP 2 mend the harbour light. {RULE}", *BASH)
        claude.says("/compact")
        assert claude.native == 1
        found = replaced_in(str(claude.folder))
        assert found is not None
        assert (found["replaced"], found["own"], found["left"]) == (0, 1, {})
