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
from tests.conftest import EXAMPLES
from tests.line import Line

LONG = str(EXAMPLES / "claude-code-long.jsonl")


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


def followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker looks at a session, as hooks have it do."""
    words = ["work", "s1", "claude-code", LONG, places.folder_of("s1")]
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setattr("kedgeline.hosts.worker._limit_memory", lambda: None)
    worker()


def checks(kedgeline: Line, code: int = 0) -> dict[str, str]:
    found = json.loads(kedgeline("doctor", "--json", code=code).stdout)
    assert found["works"] is (code == 0)
    return {f"{one['part']} {one['name']}": one["state"] for one in found["checks"]}


def test_the_doctor_says_what_is_installed_and_what_is_next(kedgeline: Line, home: Path) -> None:
    assert checks(kedgeline)["host Claude Code"] == "absent"
    said = " ".join(kedgeline("doctor").stdout.decode().split())
    assert "not installed; next: `kedgeline" in said
    kedgeline("install", "claude-code")
    assert checks(kedgeline)["host Claude Code"] == "works"
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace('"timeout": 10', '"timeout": 3'))
    assert checks(kedgeline, code=1)["host Claude Code"] == "broken"


def test_a_broken_database_shows_where_the_user_looks(
    kedgeline: Line, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed(monkeypatch)
    assert kedgeline.one("status")["sessions"][0]["failure"] is None
    (store / DATABASE).write_bytes(b"no database at all" * 100)
    for ending in ("-wal", "-shm"):
        (store / f"{DATABASE}{ending}").unlink(missing_ok=True)
    followed(monkeypatch)
    said = kedgeline("status", code=1).stderr.decode()
    assert "s1 is not followed" in said
    assert "kedgeline doctor" in said
    assert line_for({"session_id": "s1"}).startswith("kedgeline FAILED: ")
    broken = checks(kedgeline, code=1)
    assert (broken["store sessions"], broken["hooks s1"]) == ("broken", "broken")


def test_an_archive_goes_only_where_that_is_asked_for(kedgeline: Line, store: Path) -> None:
    kedgeline("add", "harbour", LONG)
    said = kedgeline("uninstall", "claude-code").stderr.decode()
    assert "--purge` deletes them" in said
    assert kedgeline.rows("sessions")
    kedgeline("uninstall", "claude-code", "--purge")
    assert not (store / DATABASE).exists()
    assert kedgeline.rows("sessions") == []


def test_a_kept_session_is_known_by_how_its_name_begins(kedgeline: Line) -> None:
    kedgeline("add", "775cd62b-e1b9", LONG)
    turns = kedgeline.one("stats", LONG)["turns"]
    assert kedgeline.one("stats", "775cd")["turns"] == turns
    assert len(kedgeline.rows("turns", "775cd", "--last", "2")) == 2
    kedgeline("add", "775cd62b-ffff", LONG)
    assert b"775cd62b-ffff" in kedgeline("plan", "775cd", code=3).stderr


def test_a_compaction_says_which_window_it_took(kedgeline: Line) -> None:
    assert b"window 200,000 (that of claude-" in kedgeline("compact", LONG).stderr
    said = kedgeline("compact", LONG, "--window", "32k").stderr
    assert b"(that of" not in said
    wrong = kedgeline("compact", LONG, "--window", "10", code=2).stderr.decode()
    assert wrong.count("\n") == 1
    assert "write 32k, 200k or 1m" in wrong


def test_a_file_of_the_bank_beside_one_with_nearly_its_name_is_warned_of(
    kedgeline: Line, tmp_path: Path
) -> None:
    bank = ("--bank", str(tmp_path / "bank"))
    kedgeline("bank", "init", bank[1])
    assert b"decisionLog" in kedgeline("bank", "add", "decisions", "We sail.", *bank).stderr
    assert b"warning" not in kedgeline("bank", "add", "progress", "We sail.", *bank).stderr


def test_every_command_says_what_it_is_for_with_an_example(kedgeline: Line) -> None:
    shown = kedgeline("--help").stdout.decode()
    assert all(panel in shown for panel in COMMANDS)
    every = [(command, ()) for panel in COMMANDS.values() for command, _ in panel]
    every += [(command, ("bank",)) for command, _ in BANK_COMMANDS]
    for command, parent in every:
        name = command.__name__.rstrip("_")
        said = kedgeline(*parent, name, "--help").stdout.decode()
        assert f"Example: `kedgeline {' '.join((*parent, name))}" in said, name
        assert "<bool>" not in said, name
        first = (command.__doc__ or "").splitlines()[0]
        assert first.endswith((".", ":")), name
