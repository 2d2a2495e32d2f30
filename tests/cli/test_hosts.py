"""The front door: what works is said on one page, failures show where the user looks, and every
command says what it is for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline.cli.main import BANK_COMMANDS, COMMANDS
from kedgeline.hosts import places
from kedgeline.hosts.places import line_for
from kedgeline.hosts.worker import main as worker
from kedgeline.store.sqlite_files import DATABASE
from tests.cli.running import CODEX, LONG
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
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with Claude Code alone in it."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".claude").mkdir(parents=True)
    project.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(project)
    return home


def followed(session: str, **status: object) -> str:
    """A session that hooks know something of; the folder of what they know."""
    folder = places.folder_of(session)
    known = {"session": session, "host": "claude-code", "turns": 4, "at": 9.0, **status}
    places.keep(folder, places.STATUS, json.dumps(known).encode())
    return folder


def told(kedgeline: Line, *words: str, code: int = 0) -> str:
    return " ".join(kedgeline(*words, code=code).stdout.decode().split())


# What hooks know of sessions.


def test_a_session_is_shown_with_what_became_of_it(
    kedgeline: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert "kedgeline install claude-code" in told(kedgeline, "status")
    followed("morning", context_tokens=50_000, window=200_000)
    folder = followed("evening", compactions=1, last=LAST)
    places.keep(folder, places.PUT_BACK, b"- [Never] push to main\n")
    assert "50,000 (25%)" in told(kedgeline, "status")
    shown = told(kedgeline, "status", "evening")
    for words in (
        "answers 25% of what is asked, 100% with what was put back",
        *("120,000 → 2,700, 117,300 freed", "Which rule of the user holds since t0?"),
        "- [Never] push to main",
    ):
        assert words in shown
    found = {one["session"]: one for one in kedgeline.one("status")["sessions"]}["evening"]
    assert (found["last"], found["put_back"]) == (LAST, "- [Never] push to main")
    assert (found["turns"], found["window"]) == (4, None)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "evening")  # `/kedgeline:report` asks there
    assert "Which rule of the user holds since t0?" in told(kedgeline, "status")
    assert b"there is evening" in kedgeline("status", "night", code=3).stderr


def test_what_hooks_and_plugins_noted_goes_with_the_session(
    kedgeline: Line, tmp_path: Path
) -> None:
    kedgeline("add", "ses_1", CODEX)
    followed("ses_1")
    followed("morning")
    folder = tmp_path / "state" / "kedgeline" / "opencode"
    folder.mkdir(parents=True)
    going = ("ses_1.json", "ses_1.put-back", "ses_1.json.812-3", "ses_1.put-back.812-4")
    staying = ("ses_12.json", "ses_1.json.json", "my-ses_1.json", "ses_1.txt", "other.put-back")
    for name in (*going, *staying):
        (folder / name).write_text("{}")
    kedgeline("gc", "--match", "ses_1")
    assert len(list(folder.iterdir())) == len(going) + len(staying)  # nothing without --apply
    kedgeline("gc", "--match", "ses_1", "--apply")
    assert {path.name for path in folder.iterdir()} == set(staying)
    assert [one["session"] for one in kedgeline.one("status")["sessions"]] == ["morning"]


# What works, and what does not.


def checks(kedgeline: Line, code: int = 0) -> dict[str, str]:
    found = json.loads(kedgeline("doctor", "--json", code=code).stdout)
    assert found["works"] is (code == 0)
    return {f"{one['part']} {one['name']}": one["state"] for one in found["checks"]}


def test_the_doctor_says_what_is_installed_and_what_is_next(kedgeline: Line, home: Path) -> None:
    assert checks(kedgeline)["host Claude Code"] == "absent"
    assert "next: `kedgeline install claude-code`" in told(kedgeline, "doctor")
    kedgeline("install", "claude-code")
    assert checks(kedgeline)["host Claude Code"] == "works"
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"timeout": 10', '"timeout": 3'))
    assert checks(kedgeline, code=1)["host Claude Code"] == "broken"


def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker looks at a session, as hooks have it do."""
    words = ["work", "s1", "claude-code", LONG, places.folder_of("s1")]
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setattr("kedgeline.hosts.worker._limit_memory", lambda: None)
    worker()


@pytest.mark.parametrize(("why", "code"), [("nothing to compact: all fits", 0), ("late", 1)])
def test_a_conversation_too_short_to_compact_is_no_fault(
    kedgeline: Line, monkeypatch: pytest.MonkeyPatch, why: str, code: int
) -> None:
    for line in ("asked", f"left {why}"):
        places.add_line(places.folder_of("s1"), places.COMPACTIONS, line)
    looked_at(monkeypatch)
    assert checks(kedgeline, code=code)["compactions s1"] == ("broken" if code else "absent")
    assert why in told(kedgeline, "doctor", code=code)


def test_a_broken_database_shows_where_the_user_looks(
    kedgeline: Line, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at(monkeypatch)
    assert kedgeline.one("status")["sessions"][0]["failure"] is None
    (store / DATABASE).write_bytes(b"no database at all" * 100)
    for ending in ("-wal", "-shm"):
        (store / f"{DATABASE}{ending}").unlink(missing_ok=True)
    looked_at(monkeypatch)
    said = kedgeline("status", code=1).stderr.decode()
    assert "s1 is not followed" in said
    assert "kedgeline doctor" in said
    assert line_for({"session_id": "s1"}).startswith("kedgeline FAILED: ")
    broken = checks(kedgeline, code=1)
    assert (broken["store sessions"], broken["hooks s1"]) == ("broken", "broken")


def test_an_archive_goes_only_where_that_is_asked_for(kedgeline: Line, store: Path) -> None:
    kedgeline("add", "harbour", LONG)
    assert b"--purge` deletes them" in kedgeline("uninstall", "claude-code").stderr
    assert kedgeline.rows("sessions")
    view = Path(places.home()).parent / "openclaw" / "view.json"
    view.parent.mkdir(parents=True)
    view.write_text("[]")
    going = (store / DATABASE, view.parent)
    said = kedgeline("uninstall", "claude-code", "--purge", "--dry-run").stderr.decode()
    assert f"would delete {store / DATABASE}" in said
    assert all(path.exists() for path in going)
    kedgeline("uninstall", "claude-code", "--purge")
    assert not any(path.exists() for path in going)
    assert kedgeline.rows("sessions") == []


def test_every_command_says_what_it_is_for_with_an_example(kedgeline: Line) -> None:
    shown = kedgeline("--help").stdout.decode()
    assert all(panel in shown for panel in COMMANDS)
    every = [(command, ()) for panel in COMMANDS.values() for command, _ in panel]
    every += [(command, ("bank",)) for command, _ in BANK_COMMANDS]
    for command, parent in every:
        name = command.__name__.removesuffix("_command")
        said = kedgeline(*parent, name, "--help").stdout.decode()
        assert f"Example: `kedgeline {' '.join((*parent, name))}" in said, name
        assert "<bool>" not in said, name
        first = (command.__doc__ or "").splitlines()[0]
        assert first.endswith((".", ":")), name
