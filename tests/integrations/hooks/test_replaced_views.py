"""The real OpenClaw and Cline, which ask for the view of each request: it is ours, it stays the
same from request to request and from process to process, and without an answer nothing changes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.integrations.hooks.looping import RULE, Model, Program, texts
from tests.models.server import Server, serving

pytestmark = pytest.mark.hosts


class OpenClaw(Program):
    def __init__(self, home: Path, server: Server) -> None:
        config = home / ".openclaw" / "openclaw.json"
        super().__init__("openclaw", home, {"OPENCLAW_CONFIG_PATH": str(config)})
        model = {"id": "harbour", "name": "harbour", "contextWindow": 128_000, "maxTokens": 1_000}
        provider = {"baseUrl": f"{server.address}/v1", "apiKey": "x", "api": "openai-completions"}
        settings = {
            "models": {"providers": {"harbour": {**provider, "models": [model]}}},
            "agents": {"defaults": {"model": {"primary": "harbour/harbour"}}},
            "plugins": {
                "slots": {"contextEngine": "kedgeline"},
                "entries": {"kedgeline": {"enabled": True}},
            },
        }
        config.write_text(json.dumps(settings))
        self.view = home / ".openclaw" / "extensions" / "kedgeline" / "view.js"

    def says(self, prompt: str) -> None:
        self.run(self.binary, "agent", "--local", "--session-id", "s1", "-m", prompt)


class Cline(Program):
    def __init__(self, home: Path, server: Server) -> None:
        super().__init__("cline", home, {"CLINE_TELEMETRY_DISABLED": "1"})
        address = f"{server.address}/v1"
        self.run(
            *(self.binary, "auth", "-p", "openai-compatible", "-k", "x", "-m", "harbour"),
            *("-b", address),
        )
        folder = home / ".cline" / "plugins" / "kedgeline"
        self.view, index = folder / "view.js", folder / "index.js"
        index.write_text(index.read_text().replace("LIMIT = 100_000", "LIMIT = 12_000"))

    def says(self, prompt: str) -> None:
        self.run(
            *(self.binary, "--json", "-P", "openai-compatible", "-m", "harbour"),
            *("--compaction", "off", prompt),
        )


@contextmanager
def ended(home: Path) -> Iterator[None]:
    """Cline leaves a process behind that serves its hub."""
    try:
        yield
    finally:
        for about in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = about.read_bytes()
            except OSError:
                continue
            if b"--cline-hub-daemon" in words and str(home).encode() in words:
                os.kill(int(about.parent.name), signal.SIGTERM)


def sizes(server: Server) -> list[int]:
    return [len(texts(one)) for one in server.requests]


LONG = "It stands on the quay. " * 3_000


@pytest.mark.parametrize("works", [True, False])
def test_openclaw(tmp_path: Path, works: bool) -> None:
    model = Model("exec", '{"command": "COMMAND"}')
    with serving(rule=model) as server:
        claw = OpenClaw(tmp_path / "home", server)
        if not works:
            claw.view.write_text(claw.view.read_text().replace("host-compact", "no-such-command"))
        for number in range(4):
            model.calls = 2
            claw.says(f"Mend lamp {number}. {RULE} {LONG}")
        sent = texts(server.requests[-1])
        found = claw.noted()
    assert RULE in sent
    if works:
        assert found
        assert found["replaced"]
        assert not found["left"]
        assert sizes(server)[-1] < 0.8 * max(sizes(server))
        assert "Mend lamp 0." in sent
    else:
        assert found is None


@pytest.mark.parametrize("works", [True, False])
def test_cline(tmp_path: Path, works: bool) -> None:
    model = Model("run_commands", '{"commands": ["COMMAND"]}')
    with serving(rule=model) as server, ended(tmp_path):
        cline = Cline(tmp_path / "home", server)
        if not works:
            cline.view.write_text(cline.view.read_text().replace("host-compact", "no-such-command"))
        model.calls = 24
        cline.says(f"Mend the harbour light. {RULE}")
        sent, found = texts(server.requests[-1]), cline.noted()
        grown = [later - earlier for earlier, later in pairwise(sizes(server))]
    assert RULE in sent
    if works:
        assert found
        assert found["replaced"]
        assert not found["left"]
        assert len([one for one in grown if one < 0]) == found["replaced"]
    else:
        assert found is None
        assert min(grown) > 0
