"""Sub-agents on the command line: their own turns are shown, and linked with the call for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kedgeline.cli.main import app
from tests.integrations.hooks.delegating import Delegating


def kedgeline(*words: str) -> str:
    done = CliRunner().invoke(app, words, env={"COLUMNS": "100", "NO_COLOR": "1"})
    assert done.exit_code == 0, done.output
    return done.stdout


def rows(*words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kedgeline(*words, "--json").splitlines()]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    made = Delegating(tmp_path)
    made.asks("Mend the harbour.", "I begin.")
    agent = made.delegates("c1", "Find the buoy", "Look for the buoy.", "a1111")
    agent.ends("It is red.")
    made.handed_back("c1", "a1111", "It is red.")
    made.says("It is found.")
    made.write()
    kedgeline("add", "harbor", str(made.path))
    return made.path


def test_a_call_for_a_sub_agent_and_its_turns_name_each_other(store: Path) -> None:
    for source in ("harbor", str(store)):
        told = kedgeline("turns", source, "--agents")
        assert "Find the buoy  → a1111/t0" in told
        assert "a1111 · started in t1" in told
        every = rows("turns", source, "--agents")
        assert {(row["agent"], row["delegated_by"]) for row in every} == {("", ""), ("a1111", "c1")}


def test_a_sub_agents_own_turn_is_shown_with_the_call_that_started_it(store: Path) -> None:
    assert "→ a1111/t0" in kedgeline("show", "harbor", "t1")
    own = kedgeline("show", "harbor", "a1111/t0")
    assert "started in c1" in own
    assert "It is red." in own
    (row,) = rows("show", "harbor", "a1111/t0")
    assert (row["agent"], row["delegated_by"]) == ("a1111", "c1")
