"""The real Codex against a server of ours: what reaches the model when it compacts."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.hooks.playing import printed_by
from tests.integrations.hooks.responses_server import Request, Says, Server, serving

pytestmark = pytest.mark.hosts

RULE = "Never push to main. Always run make check before a commit."
SUMMARY = "The harbour light is being mended."
FILE = "lamp.txt"
COMMAND = f"echo mended > {FILE}"
RULES_BLOCK = "From kedgeline, which follows this session"
LACKING_BLOCK = "From kedgeline: what the summary of this conversation lacks"
LIMIT = 20_000
"""Tokens from which on Codex compacts."""
FULL, LIGHT = 50_000, 3_000
"""What a request is said to have carried: more than that, and less."""
SECONDS = 90


def binary() -> str:
    """Codex, as it is named or installed."""
    if found := os.environ.get("KEDGELINE_CODEX_BINARY", "") or shutil.which("codex"):
        return found
    pytest.skip("Codex is not here: npm install @openai/codex, or set KEDGELINE_CODEX_BINARY")


class Codex:
    """One session of Codex with a home of its own, and kedgeline installed into it."""

    def __init__(self, home: Path, server: Server) -> None:
        self._binary, self.session = binary(), ""
        self.home, self._work = home / "codex", home / "work"
        self.home.mkdir(parents=True)
        self._work.mkdir()
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "CODEX_HOME": str(self.home),
            "XDG_STATE_HOME": str(home / "state"),
            "KEDGELINE_STORE": str(home / "store"),
            "HARBOUR_KEY": "of no worth",
        }
        (self.home / "config.toml").write_text(
            f'model = "harbour"\nmodel_provider = "harbour"\nmodel_context_window = 200000\n'
            f"model_auto_compact_token_limit = {LIMIT}\n"
            f'[model_providers.harbour]\nname = "harbour"\nbase_url = "{server.address}/v1"\n'
            f'wire_api = "responses"\nenv_key = "HARBOUR_KEY"\n'
        )
        self.kedgeline("install", "codex")

    def kedgeline(self, *words: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(
            self._run(sys.executable, "-m", "kedgeline", *words, "--json")[0]
        )
        return told

    def says(self, prompt: str) -> list[str]:
        """What Codex tells of its hooks while it answers, line by line."""
        resumed = ("resume", self.session) if self.session else ()
        free = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
        said, told = self._run(
            self._binary, "exec", *resumed, *free, "--skip-git-repo-check", prompt
        )
        assert said.strip() == "Mended."
        lines = told.splitlines()
        (self.session,) = [
            line.removeprefix("session id: ") for line in lines if line.startswith("session id: ")
        ]
        return [line.removeprefix("hook: ") for line in lines if line.startswith("hook: ")]

    def status(self, turns: int) -> dict[str, Any]:
        """What the worker has written down, as soon as it has so many turns."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for found in self.kedgeline("status")["sessions"]:
                if found["session"] == self.session and found["turns"] >= turns:
                    return dict(found)
        raise AssertionError(f"the worker did not get there: {self.kedgeline('status')}")

    def _run(self, *words: str) -> tuple[str, str]:
        return printed_by(words, self._work, self.environment, SECONDS)


def reply(request: Request) -> Says:
    """A command at first, which fills the context; then words."""
    if is_summarising(request):
        return Says(SUMMARY, input_tokens=LIGHT)
    asked = request.texts("user")
    if asked[-1].startswith("Mend") and not request.outputs:
        return Says(tool="exec_command", arguments={"cmd": COMMAND}, input_tokens=FULL)
    filled = asked[-1].startswith("Now the second")
    return Says("Mended.", input_tokens=FULL if filled else LIGHT)


def is_summarising(request: Request) -> bool:
    return "CONTEXT CHECKPOINT COMPACTION" in request.texts("user")[-1]


def blocks(request: Request) -> list[str]:
    """What kedgeline added, in all roles."""
    return [text for text in request.texts() if "From kedgeline" in text]


def assert_put_back(request: Request) -> None:
    """Once, as the words of a developer, behind the summary."""
    (block,) = blocks(request)
    assert block in request.texts("developer")
    assert (block.count(RULES_BLOCK), block.count(LACKING_BLOCK)) == (1, 1)
    assert RULE in block
    assert f"| {FILE} | created |" in block
    texts = request.texts()
    (summary,) = [place for place, text in enumerate(texts) if text.endswith(SUMMARY)]
    assert summary < texts.index(block)


def completed(*events: str) -> list[str]:
    """As Codex tells of hooks that ended with 0 and said nothing wrong."""
    return [line for event in events for line in (event, f"{event} Completed")]


COMPACTING = ("PreCompact", "PostCompact")


def test_what_codex_forgets_is_put_back_in_the_middle_of_a_turn_and_when_it_resumes(
    tmp_path: Path,
) -> None:
    with serving(reply) as server:
        codex = Codex(tmp_path / "home", server)
        first = codex.says(f"Mend the harbour light. {RULE}")
        again = ("SessionStart", "Stop")
        assert first == completed("SessionStart", "UserPromptSubmit", *COMPACTING, *again)
        calling, summarising, after = server.requests
        assert blocks(calling) == []
        assert blocks(summarising) == []
        assert_put_back(after)

        second = codex.says("Now the second lamp")
        assert second == completed("SessionStart", "UserPromptSubmit", "Stop")
        assert_put_back(server.requests[-1])  # what was put back stands, and is not said again

        third = codex.says("And the third")
        starts = ("SessionStart", "SessionStart", "UserPromptSubmit", "Stop")
        assert third == completed(*COMPACTING, *starts)
        assert len(server.requests) == 6
        assert is_summarising(server.requests[-2])
        assert_put_back(server.requests[-1])

        found = codex.status(turns=4)
        assert (found["host"], found["compactions"]) == ("codex", 2)
        assert found["last"]["score"] < found["last"]["score_with_put_back"]
        log = tmp_path / "home" / "state" / "kedgeline" / "hooks" / "log"
        assert log.read_text() == ""
