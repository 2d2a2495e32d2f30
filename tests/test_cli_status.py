"""`kedge status` and `kedge statusline`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedge.integrations.hooks import places
from tests.conftest import ROOT
from tests.line import Line

LAST = {
    "turn": 3,
    "tokens_before": 120_000,
    "tokens_after": 2_700,
    "summary_tokens": 220,
    "score": 0.25,
    "critical_failures": 2,
    "unanswered": ["Which rule of the user holds since t0?"],
    "put_back_tokens": 255,
    "score_with_put_back": 1.0,
    "at": 1.0,
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")


def followed(session: str, **status: object) -> None:
    known = {"session": session, "host": "claude-code", "turns": 4, "at": 9.0, **status}
    places.keep(places.folder_of(session), places.STATUS, json.dumps(known).encode())


def test_where_nothing_is_followed_it_says_how_to_begin(kedge: Line) -> None:
    assert b"kedge install claude-code" in kedge("status").stdout


def test_a_session_without_a_compaction_is_shown(kedge: Line) -> None:
    followed("evening", context_tokens=50_000, window=200_000)
    assert b"50,000 (25%)" in b" ".join(kedge("status").stdout.split())


def test_what_the_summary_of_the_host_lacks_is_named(kedge: Line) -> None:
    followed("evening", compactions=1, last=LAST)
    told = " ".join(kedge("status", "evening").stdout.decode().split())
    assert "0.25 → 1.00" in told
    assert "Which rule of the user holds since t0?" in told


def test_json_has_the_keys_of_the_reference(kedge: Line) -> None:
    followed("evening", compactions=1, last=LAST)
    (found,) = json.loads(kedge("status", "--json").stdout)["sessions"]
    assert found["last"] == LAST
    assert (found["session"], found["turns"], found["window"]) == ("evening", 4, None)


def test_a_session_that_nobody_follows_is_an_error(kedge: Line) -> None:
    followed("evening")
    assert b"there is evening" in kedge("status", "morning", code=3).stderr


def test_what_hooks_noted_goes_with_the_session(kedge: Line) -> None:
    kedge("add", "evening", str(ROOT / "examples" / "codex.jsonl"))
    followed("evening")
    followed("morning")
    kedge("gc", "--match", "evening", "--apply")
    (left,) = json.loads(kedge("status", "--json").stdout)["sessions"]
    assert left["session"] == "morning"
