"""The real pi with its compaction replaced: by its threshold, by hand, again in new processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kedgeline.hosts.places import replaced_in
from kedgeline.model import Usage
from tests.integrations.hooks.opencode_program import texts
from tests.models.server import Line, Request, Says, Server, serving

pytestmark = pytest.mark.hosts

RULE = "Never push to main."
OURS = "<kedgeline-summary>"
SUMMARY = "The harbour light is being mended."
WINDOW, SCALE, SECONDS = 40_000, 2, 90
SETTINGS = {"compaction": {"enabled": True, "reserveTokens": 10_000, "keepRecentTokens": 2_000}}


def binary() -> str:
    if found := os.environ.get("KEDGELINE_PI_BINARY", "") or shutil.which("pi"):
        return found
    pytest.skip("pi is not here: it needs Node 22, or set KEDGELINE_PI_BINARY")


def is_summarising(request: Request) -> bool:
    return "context summarization assistant" in request.text


class Model:
    """It calls a tool so many times as the newest request says, and is as full as what it is
    sent."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, request: Request) -> Line:
        usage = Usage(input=SCALE * len(request.text) // 4, output=20)
        if is_summarising(request):
            return Says(SUMMARY, usage=usage)
        if self.calls:
            self.calls -= 1
            command = json.dumps({"command": f"echo lamp {self.calls}; seq 1 900"})
            return Says(tool=command, called="bash", ending="tool call", usage=usage)
        return Says("Mended.", usage=usage)


class Pi:
    """One session of pi with a home of its own, and kedgeline installed into it."""

    def __init__(self, home: Path, server: Server, model: Model) -> None:
        self._home, self._model, self._binary = home, model, binary()
        agent = home / "agent"
        agent.mkdir(parents=True)
        (home / "work").mkdir()
        harbour = {"id": "harbour", "contextWindow": WINDOW, "maxTokens": 1_000}
        provider = {"baseUrl": f"{server.address}/v1", "api": "openai-completions", "apiKey": "x"}
        models = {"providers": {"harbour": {**provider, "models": [harbour]}}}
        (agent / "models.json").write_text(json.dumps(models))
        (agent / "settings.json").write_text(json.dumps(SETTINGS))
        node = Path(self._binary).parent
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "PATH": os.pathsep.join((str(node), os.environ["PATH"])),
            "PI_CODING_AGENT_DIR": str(agent),
            "PI_OFFLINE": "1",
            "XDG_STATE_HOME": str(home / "state"),
            "KEDGELINE_STORE": str(home / "store"),
        }
        self._run(sys.executable, "-m", "kedgeline", "install", "pi", "--room", "3000")
        self.extension = agent / "extensions" / "kedgeline.ts"

    def says(self, prompt: str, calls: int = 0) -> None:
        self._model.calls = calls
        self._run(
            *(self._binary, "-p", "-c", "--provider", "harbour", "--model", "harbour", prompt)
        )

    def _run(self, *words: str) -> None:
        done = subprocess.run(
            words,
            cwd=self._home / "work",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def noted(self) -> Path | None:
        """The folder with what was noted of its compactions."""
        found = [*(self._home / "state" / "kedgeline" / "hooks").glob("*/replaced")]
        return found[0].parent if found else None


def test_again_and_again_in_one_session(tmp_path: Path) -> None:
    model = Model()
    with serving(rule=model) as server:
        pi = Pi(tmp_path / "home", server, model)
        pi.says(f"Mend the harbour light. {RULE}", calls=8)
        pi.says("Now the quay", calls=8)
        pi.says("And the pier", calls=8)
        pi.says("Go on")
        assert not any(map(is_summarising, server.requests))
        assert pi.noted
        found = replaced_in(str(pi.noted))
        assert found
        assert found["replaced"] >= 2
        assert not found["left"]
        sent = "\n".join(texts(server.requests[-1]))
        assert sent.count(OURS) == 1
        assert RULE in sent
        assert "Mend the harbour light" in sent
        kept = {one.name for one in (tmp_path / "home" / "agent" / "sessions").rglob("*.jsonl")}
        assert any(pi.noted.name in name for name in kept)


def test_without_an_answer_pi_compacts_by_itself(tmp_path: Path) -> None:
    model = Model()
    with serving(rule=model) as server:
        pi = Pi(tmp_path / "home", server, model)
        text = pi.extension.read_text()
        pi.extension.write_text(text.replace('"host-compact"', '"no-such-command"'))
        pi.says(f"Mend the harbour light. {RULE}", calls=8)
        pi.says("Now the quay", calls=8)
        pi.says("Go on")
        assert any(map(is_summarising, server.requests))
        assert SUMMARY in "\n".join(texts(server.requests[-1]))
