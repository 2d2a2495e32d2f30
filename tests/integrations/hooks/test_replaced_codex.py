"""The real Codex, its session compacted between two runs: the model reads what we wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integrations.hooks.responses_server import Request, Says, serving
from tests.integrations.hooks.test_codex import LIGHT, RULE, Codex, is_summarising

pytestmark = pytest.mark.hosts

CALLS = 8
OURS = "<kedgeline-summary>"


def works(request: Request) -> Says:
    if len(request.outputs) < CALLS and request.texts("user")[-1].startswith("Mend"):
        command = {"cmd": f"echo lamp {len(request.outputs)}; seq 1 900"}
        return Says(tool="exec_command", arguments=command, input_tokens=LIGHT)
    return Says("Mended.", input_tokens=LIGHT)


def test_a_session_that_is_resumed_reads_what_was_written(tmp_path: Path) -> None:
    with serving(works) as server:
        codex = Codex(tmp_path, server)
        codex.says(f"Mend the harbour light. {RULE}")
        codex.says("Now the quay")
        before = len(json.dumps(server.requests[-1].body["input"]))
        for count, words in enumerate(("Go on", "And on"), 1):
            told = codex.kedgeline("apply", "--host", "codex", "--room", "3000", "--keep", "lamp 3")
            assert told["tokens_after"] < told["tokens_before"]
            codex.says(words)
            request = server.requests[-1]
            said = "\n".join(request.texts("user"))
            assert len(json.dumps(request.body["input"])) < 0.8 * before
            assert said.count(RULE) >= 1
            assert said.count("word for word:\nlamp 3\n") == 1, count
            assert said.count("<environment_context>") == 1
        assert not any(map(is_summarising, server.requests))
