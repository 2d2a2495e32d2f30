"""The real Gemini CLI against a server of ours: what reaches the model when it compresses."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.hooks.gemini_server import Request, Says, Server, serving
from tests.integrations.hooks.playing import printed_by

pytestmark = pytest.mark.hosts

RULE = "Never push to main. Always run make check before a commit."
BRACKETS = "Always spell out Vec<u8>."
SUMMARY = "<scratchpad>Lamps.</scratchpad>\n<state_snapshot>The light is mended.</state_snapshot>"
RULES_BLOCK = "From kedgeline, which follows this session"
LACKING_BLOCK = "From kedgeline: what the summary of this conversation lacks"
SECOND, THIRD, LOOKED = "echo second > buoy.txt", "echo third", "echo looked"
WINDOW = 1_048_576
"""Tokens that Gemini CLI takes its models to have room for."""
LIMIT = 100_000
"""Tokens from which on it compresses."""
FULL, LIGHT = 200_000, 3_000
"""What a request is said to have carried: more than that, and less."""
SECONDS = 120
RECORDER = """
import json, os, sys
event = json.load(sys.stdin)
there = os.path.exists(event["transcript_path"])
with open(os.environ["RECORDED"], "a") as file:
    file.write(json.dumps({**event, "transcript_is_there": there}) + "\\n")
"""
"""A hook beside those of kedgeline, which writes down what it is told."""


def binary() -> str:
    """Gemini CLI, as it is named or installed."""
    if found := os.environ.get("KEDGELINE_GEMINI_BINARY", "") or shutil.which("gemini"):
        return found
    pytest.skip("no Gemini CLI: npm install @google/gemini-cli, or set KEDGELINE_GEMINI_BINARY")


class Gemini:
    """One session of Gemini CLI with a home of its own, and kedgeline installed into it."""

    def __init__(self, home: Path, server: Server, *, project: bool = False) -> None:
        self._binary, self.told = binary(), ""
        self.home, self.work = home, home / "work"
        self.work.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_STATE_HOME": str(home / "state"),
            "KEDGELINE_STORE": str(home / "store"),
            "GEMINI_API_KEY": "of no worth",
            "GOOGLE_GEMINI_BASE_URL": server.address,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "RECORDED": str(home / "events.jsonl"),
        }
        self.kedgeline("install", "gemini-cli", *(("--project",) if project else ()))
        recorder = home / "recorder.py"
        recorder.write_text(RECORDER)
        command = {"type": "command", "command": f"{sys.executable} {recorder}"}
        events = ("SessionStart", "BeforeAgent", "AfterTool", "PreCompress", "AfterAgent")
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "model": {"compressionThreshold": LIMIT / WINDOW},
            "hooks": {event: [{"hooks": [command]}] for event in events},
        }
        (home / ".gemini").mkdir(exist_ok=True)
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))

    def kedgeline(self, *words: str) -> dict[str, Any]:
        said, _ = self._run(sys.executable, "-m", "kedgeline", *words, "--json")
        told: dict[str, Any] = json.loads(said)
        return told

    def says(self, prompt: str) -> None:
        """The first word begins the session, every later one goes on with it."""
        resumed = ("--resume", "latest") if self.events else ()
        model = ("-m", "gemini-2.5-pro", "--approval-mode", "yolo")
        said, self.told = self._run(self._binary, *model, "-p", prompt, *resumed)
        assert said.strip() == "Mended."

    @property
    def events(self) -> list[dict[str, Any]]:
        """All that hooks were told so far."""
        path = self.home / "events.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def status(self, turns: int) -> dict[str, Any]:
        """What the worker has written down, as soon as it has so many turns."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for found in self.kedgeline("status")["sessions"]:
                if found["turns"] >= turns:
                    return dict(found)
        raise AssertionError(f"the worker did not get there: {self.kedgeline('status')}")

    @property
    def log(self) -> str:
        path = self.home / "state" / "kedgeline" / "hooks" / "log"
        return path.read_text() if path.exists() else ""

    def _run(self, *words: str) -> tuple[str, str]:
        return printed_by(words, self.work, self.environment, SECONDS)


def shell(command: str, input_tokens: int = LIGHT) -> Says:
    return Says(tool="run_shell_command", arguments={"command": command}, input_tokens=input_tokens)


def reply(request: Request) -> Says:
    """To the first word a command; to the second one that fills the context, and another."""
    if is_summarising(request):
        return Says(SUMMARY, input_tokens=LIGHT)
    asked = prompts(request)[-1]
    made = len(calls_since(request, asked))
    if asked.startswith("Mend") and not made:
        return shell("echo mended > lamp.txt")
    if asked.startswith("Now the second") and made < 2:
        return (shell(SECOND, FULL), shell(THIRD))[made]
    return Says("Mended.", input_tokens=LIGHT)


def delegating(request: Request) -> Says:
    """As above, but that between both commands a sub-agent is sent, which runs one of its own."""
    if not is_main(request):
        looked = any("looked" in output for output in request.outputs)
        done = Says(tool="complete_task", arguments={"result": {"response": "dark"}})
        return done if looked else shell(LOOKED)
    asked = prompts(request)[-1]
    made = len(calls_since(request, asked))
    if not is_summarising(request) and asked.startswith("Now the second") and made in (1, 2):
        sent = {"agent_name": "generalist", "prompt": "Look at the harbour."}
        return Says(tool="invoke_agent", arguments=sent) if made == 1 else shell(THIRD)
    return reply(request)


def is_main(request: Request) -> bool:
    return "complete_task" not in json.dumps(request.body.get("tools", []))


def is_summarising(request: Request) -> bool:
    last = request.texts("user")[-1]
    return last.endswith("generate the updated <state_snapshot>.") or "Critically" in last


def prompts(request: Request) -> list[str]:
    """What the user said."""
    return [text for text in request.texts("user") if not text.startswith("<")]


def calls_since(request: Request, prompt: str) -> list[str]:
    """The tools that were called since the user said so."""
    contents = request.body["contents"]
    said = [n for n, one in enumerate(contents) if {"text": prompt} in one["parts"]]
    parts = [part for one in contents[said[-1] :] for part in one["parts"]]
    return [part["functionCall"]["name"] for part in parts if "functionCall" in part]


def blocks(request: Request) -> list[str]:
    """What kedgeline added, to words and to outputs."""
    return [text for text in (*request.texts(), *request.outputs) if "From kedgeline" in text]


def assert_put_back(block: str) -> None:
    assert block.endswith("</hook_context>")
    assert (block.count(RULES_BLOCK), block.count(LACKING_BLOCK)) == (1, 1)
    assert f'"{RULE}"' in block
    assert "lamp.txt" in block


def test_what_gemini_forgets_is_put_back_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    with serving(reply) as server:
        gemini = Gemini(tmp_path / "home", server)
        gemini.says(f"Mend the harbour light. {RULE}")
        first = server.requests[-1]
        assert blocks(first) == []
        assert "`recall` of the server kedgeline" in first.texts("user")[0]
        assert "mcp_kedgeline_recall" in json.dumps(first.body["tools"])

        gemini.says("Now the second lamp")
        calling, summarising, checking, right_after, last = server.requests[2:]
        for request in (calling, summarising, checking, right_after):
            assert blocks(request) == []
        assert is_summarising(summarising)
        assert is_summarising(checking)
        assert SUMMARY in last.texts()
        (block,) = blocks(last)
        assert block == last.outputs[-1]
        assert_put_back(block)

        gemini.says("And the third")
        assert server.requests[-1].texts("user")[-1] == "And the third"
        assert set(blocks(server.requests[-1])) == {block}

        found = gemini.status(turns=6)
        assert (found["host"], found["compactions"]) == ("gemini-cli", 1)
        assert found["last"]["score"] < found["last"]["score_with_put_back"]
        assert found["last"]["put_back_tokens"] > 0
        assert all(one["transcript_is_there"] for one in gemini.events)
        assert "kedgeline" not in gemini.told
        assert gemini.log == ""


def test_what_was_compressed_at_the_users_wish_is_put_back_with_the_next_word(
    tmp_path: Path,
) -> None:
    """From the settings of a project. Gemini CLI writes angle brackets as entities."""
    with serving(reply) as server:
        gemini = Gemini(tmp_path / "home", server, project=True)
        gemini.says(f"Mend the harbour light. {RULE} {BRACKETS}")
        gemini.says("/compress")
        assert any(is_summarising(request) for request in server.requests)
        gemini.says("Go on")
        said, added = server.requests[-1].texts("user")[-2:]
        assert said == "Go on"
        assert added.startswith("<hook_context>From kedgeline")
        assert RULE in added
        assert "/compress" not in added  # it is sent to the model as well
        assert BRACKETS.replace("<", "&lt;").replace(">", "&gt;") in added
        assert blocks(server.requests[-1]) == [added]

        gemini.says("And on")
        assert blocks(server.requests[-1]) == [added]
        assert server.requests[-1].texts("user")[-1] == "And on"
        assert said in server.requests[-1].texts("user")
        assert gemini.status(turns=4)["compactions"] == 1
        assert gemini.log == ""


def test_what_is_put_back_does_not_go_to_a_sub_agent(tmp_path: Path) -> None:
    with serving(delegating) as server:
        gemini = Gemini(tmp_path / "home", server)
        gemini.says(f"Mend the harbour light. {RULE}")
        gemini.says("Now the second lamp")
        delegated = [request for request in server.requests if not is_main(request)]
        assert any("looked" in output for request in delegated for output in request.outputs)
        assert [blocks(request) for request in delegated] == [[]] * len(delegated)
        (block,) = blocks(server.requests[-1])
        assert "third" in block
        assert_put_back(block)


def test_two_compressions_right_behind_each_other_put_back_one_block(tmp_path: Path) -> None:
    def filling(request: Request) -> Says:
        made = len(calls_since(request, asked)) if (asked := prompts(request)[-1]) else 0
        if not is_summarising(request) and asked.startswith("Now the second") and made < 3:
            return (shell(SECOND, FULL), shell(THIRD, FULL), shell(LOOKED))[made]
        return reply(request)

    with serving(filling) as server:
        gemini = Gemini(tmp_path / "home", server)
        gemini.says(f"Mend the harbour light. {RULE}")
        gemini.says("Now the second lamp")
        gemini.says("And the third")
        assert sum(map(is_summarising, server.requests)) > 2
        sent = "\n".join(blocks(server.requests[-1]))
        assert (sent.count(RULES_BLOCK), sent.count(LACKING_BLOCK)) == (1, 1)
