"""The real pi with its compaction replaced by its threshold, again and again in new processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integrations.hooks.looping import RULE, SUMMARY, Model, Program, texts
from tests.models.server import Server, serving

pytestmark = pytest.mark.hosts

OURS = "<kedgeline-summary>"
SETTINGS = {"compaction": {"enabled": True, "reserveTokens": 10_000, "keepRecentTokens": 2_000}}


def model() -> Model:
    return Model("bash", '{"command": "COMMAND"}', 2, "context summarization assistant")


class Pi(Program):
    def __init__(self, home: Path, server: Server) -> None:
        agent = home / "agent"
        surroundings = {"PI_CODING_AGENT_DIR": str(agent), "PI_OFFLINE": "1"}
        super().__init__("pi", home, surroundings, "--room", "3000")
        harbour = {"id": "harbour", "contextWindow": 40_000, "maxTokens": 1_000}
        provider = {"baseUrl": f"{server.address}/v1", "api": "openai-completions", "apiKey": "x"}
        models = {"providers": {"harbour": {**provider, "models": [harbour]}}}
        (agent / "models.json").write_text(json.dumps(models))
        (agent / "settings.json").write_text(json.dumps(SETTINGS))
        self.extension = agent / "extensions" / "kedgeline.ts"

    def says(self, prompt: str) -> None:
        self.run(*(self.binary, "-p", "-c", "--provider", "harbour", "--model", "harbour", prompt))


@pytest.mark.parametrize("works", [True, False])
def test_again_and_again_in_one_session(tmp_path: Path, works: bool) -> None:
    played = model()
    with serving(rule=played) as server:
        pi = Pi(tmp_path / "home", server)
        if not works:
            text = pi.extension.read_text()
            pi.extension.write_text(text.replace('"host-compact"', '"no-such-command"'))
        for words in (f"Mend the harbour light. {RULE}", "Now the quay", "And the pier"):
            played.calls = 8
            pi.says(words)
        pi.says("Go on")
        sent, found = texts(server.requests[-1]), pi.noted()
    assert any(map(played.is_summarising, server.requests)) != works
    if not works:
        assert SUMMARY in sent
        return
    assert found
    assert found["replaced"]
    assert not found["left"]
    assert sent.count(OURS) == 1
    assert RULE in sent
    assert "Mend the harbour light" in sent
