"""`kedgeline status` and `kedgeline statusline`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline.hosts import places
from kedgeline.hosts.places import line_for
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


def test_where_nothing_is_followed_it_says_how_to_begin(kedgeline: Line) -> None:
    assert b"kedgeline install claude-code" in kedgeline("status").stdout


def test_a_session_without_a_compaction_is_shown(kedgeline: Line) -> None:
    followed("evening", context_tokens=50_000, window=200_000)
    assert b"50,000 (25%)" in b" ".join(kedgeline("status").stdout.split())


def test_what_the_summary_of_the_host_lacks_is_named(kedgeline: Line) -> None:
    followed("evening", compactions=1, last=LAST)
    told = " ".join(kedgeline("status", "evening").stdout.decode().split())
    assert "answers 25% of what is asked, 100% with what was put back" in told
    assert "120,000 → 2,700, 117,300 freed" in told
    assert "Which rule of the user holds since t0?" in told


def test_json_has_the_keys_of_the_reference(kedgeline: Line) -> None:
    followed("evening", compactions=1, last=LAST)
    (found,) = json.loads(kedgeline("status", "--json").stdout)["sessions"]
    assert found["last"] == LAST
    assert (found["session"], found["turns"], found["window"]) == ("evening", 4, None)


def test_a_session_that_nobody_follows_is_an_error(kedgeline: Line) -> None:
    followed("evening")
    assert b"there is evening" in kedgeline("status", "morning", code=3).stderr


def test_what_hooks_noted_goes_with_the_session(kedgeline: Line) -> None:
    kedgeline("add", "evening", str(ROOT / "examples" / "codex.jsonl"))
    followed("evening")
    followed("morning")
    kedgeline("gc", "--match", "evening", "--apply")
    (left,) = json.loads(kedgeline("status", "--json").stdout)["sessions"]
    assert left["session"] == "morning"


def test_what_the_plugin_for_opencode_kept_goes_with_the_session(
    kedgeline: Line, tmp_path: Path
) -> None:
    kedgeline("add", "ses_1", str(ROOT / "examples" / "codex.jsonl"))
    folder = tmp_path / "kedgeline" / "opencode"
    folder.mkdir(parents=True)
    going = ("ses_1.json", "ses_1.put-back", "ses_1.json.812-3", "ses_1.put-back.812-4")
    staying = ("ses_12.json", "ses_1.json.json", "my-ses_1.json", "ses_1.txt", "other.put-back")
    for name in (*going, *staying):
        (folder / name).write_text("{}")
    kedgeline("gc", "--match", "ses_1")
    assert len(list(folder.iterdir())) == len(going) + len(staying)  # nothing without --apply
    kedgeline("gc", "--match", "ses_1", "--apply")
    assert {path.name for path in folder.iterdir()} == set(staying)


def test_what_was_put_back_can_be_read(kedgeline: Line) -> None:
    followed("evening", compactions=1, last=LAST)
    folder = places.folder_of("evening")
    places.keep(folder, places.PUT_BACK, b"- [Never] push to main\n")
    assert b"- [Never] push to main" in kedgeline("status", "evening").stdout
    (found,) = json.loads(kedgeline("status", "--json").stdout)["sessions"]
    assert found["put_back"] == "- [Never] push to main"


def test_what_was_saved_on_outputs_is_counted(kedgeline: Line) -> None:
    followed("evening")
    folder = places.folder_of("evening")
    for line in ("9000 1500", "7000 1000", "never", "1 2 3"):
        places.add_line(folder, places.REDUCED, line)
    assert b"13,500 tokens" in kedgeline("status", "evening").stdout
    assert "13,500 saved on outputs" in line_for({"session_id": "evening"})
