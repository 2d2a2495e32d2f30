"""The real Codex, its session compacted between two runs, and amid a run by the relay: the model
reads what we wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline.hosts import relay as relaying
from kedgeline.hosts.places import replaced_in
from kedgeline.hosts.relay import MARK, PROMPT, Relay
from tests.integrations.hooks.responses_server import Request, Says, serving
from tests.integrations.hooks.test_codex import FULL, LIGHT, RULE, Codex, is_summarising
from tests.loopback import running

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


@pytest.mark.parametrize("works", [True, False])
def test_amid_a_run_the_relay_answers_or_the_model_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    calls = iter(range(2 * CALLS))

    def rule(request: Request) -> Says:
        """As full as what it is sent, and at work for many calls."""
        if request.texts("user")[-1].startswith(MARK):
            return Says("The harbour light is being mended.", input_tokens=LIGHT)
        tokens = FULL if len(json.dumps(request.body["input"])) > FULL else LIGHT
        if (number := next(calls, None)) is None:
            return Says("Mended.", input_tokens=LIGHT)
        command = {"cmd": f"echo lamp {number}; seq 1 4000"}
        return Says(tool="exec_command", arguments=command, input_tokens=tokens)

    if not works:
        monkeypatch.setattr(relaying, "REPLACE_SECONDS", 0.0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    with serving(rule) as server, running(Relay(f"{server.address}/v1")) as relay:  # type: ignore[type-var]
        codex = Codex(tmp_path, server)
        path = codex.home / "config.toml"
        text = path.read_text().replace(f"{server.address}/v1", relay.address)
        path.write_text(f'compact_prompt = "{PROMPT}"\n{text}')
        codex.says(f"Mend the harbour light. {RULE}")
        codex.says("Go on")
        asked = [one for one in server.requests if one.texts("user")[-1].startswith(MARK)]
        said = "\n".join(server.requests[-1].texts("user"))
    assert bool(asked) == (not works)
    assert (relaying.OURS in said) == works
    assert RULE in said
    if works:
        found = replaced_in(str(tmp_path / "state" / "kedgeline" / "hooks" / codex.session))
        assert found
        assert found["replaced"] >= 1
