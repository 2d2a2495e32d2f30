"""Language models on the command line: which is asked, what is said of it, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from kedgeline.cli.models import choose_model, watch_model
from tests.conftest import EXAMPLES
from tests.redact.seeds import PREFIXED
from tests.test_cli_handoff import ran

LONG = str(EXAMPLES / "claude-code-long.jsonl")
KEY = PREFIXED["github"](Random(2))


@pytest.mark.parametrize("name", ["off", "OFF", "Off", " off ", ""])
def test_off_is_off_in_any_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEDGELINE_MODEL", name)
    assert choose_model(None, "model") is None
    assert choose_model(name, "judge") is None


def test_a_program_is_named_without_its_arguments_and_its_complaints_without_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANTERN_KEY", "wick9-harbour-4f9c1d27")
    code = "import os, sys; sys.exit('key=' + os.environ['LANTERN_KEY'])"
    model = f"command:{shlex.join([sys.executable, '-c', code, '--key', KEY])}"
    done = ran("compact", LONG, "--window", "32k", "--model", model, "--json")
    assert done.code == 0
    wording = json.loads(done.out)["wording"]
    name = f"command:{Path(sys.executable).name}"
    assert {wording["model"], *(call["model"] for call in wording["calls"])} == {name}
    assert "said 'key=[secret: LANTERN_KEY]'" in wording["why"]
    for secret in (KEY, "wick9", "--key"):
        assert secret not in done.out + done.err
    rehearsed = ran("compact", LONG, "--window", "32k", "--model", model, "--dry-run")
    assert KEY not in rehearsed.out + rehearsed.err


def test_a_request_that_was_never_sent_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic_ai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = ran("compact", LONG, "--window", "32k", "--model", "openai:gpt-5-mini", "--json")
    wording = json.loads(done.out)["wording"]
    assert (wording["fallback"], wording["calls"]) == ("not allowed", [])
    assert "OPENAI_API_KEY is not set" in wording["why"]


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_end_also_ends_the_program_that_a_model_is(name: str, tmp_path: Path) -> None:
    """It has a session of its own, so nobody else would."""
    note = tmp_path / "program"
    model = f"command:sh -c 'echo $$ > {note}; exec sleep 60'"
    command = [
        sys.executable,
        "-m",
        "kedgeline",
        "compact",
        LONG,
        "--window",
        "32k",
        "--model",
        model,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as kedgeline:
        try:
            for _ in range(1_000):
                if note.exists() and note.read_text().endswith("\n"):
                    break
                time.sleep(0.02)
            program = int(note.read_text())
            time.sleep(0.3)  # it may be ahead of the return of the call that has started it
            number = getattr(signal, name)
            kedgeline.send_signal(number)
            assert kedgeline.wait(20) == 128 + number
        finally:
            kedgeline.kill()
    for _ in range(100):
        if not alive(program):
            break
        time.sleep(0.02)
    assert not alive(program)


def test_who_has_other_plans_for_a_signal_keeps_them() -> None:
    def ours(number: int, _: object) -> None:
        raise AssertionError

    asked = choose_model("command:cat", "model")
    assert asked is not None
    before = signal.signal(signal.SIGTERM, ours)
    try:
        with watch_model(asked):
            assert signal.getsignal(signal.SIGTERM) is ours
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)
    with watch_model(asked):
        assert signal.getsignal(signal.SIGTERM) not in (before, ours)
    assert signal.getsignal(signal.SIGTERM) == before
