"""What a hook loads, reads and leaves behind: nothing of a project, nothing that others may write,
and nothing that is lost because something else failed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kedgeline import files as names
from kedgeline.errors import BadName
from kedgeline.hosts import hook as entry
from kedgeline.hosts import places
from kedgeline.hosts.hook import HOSTS, event_answered, is_busy
from kedgeline.hosts.places import named
from tests.claude import Records


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    return tmp_path / "state" / "kedgeline" / "hooks"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is started."""
    monkeypatch.setattr(entry, "start_worker", lambda event, folder: None)
    monkeypatch.setattr(entry, "is_busy", lambda folder: False)


def told(name: str, **fields: Any) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": "s1", **fields}).encode()


def run(
    data: bytes, *options: str, end: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Through a shell, as hosts do; `end` stands behind the line."""
    line = f'exec "$0" -P -m kedgeline "$@" {end}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *(options or ("hook",))],
        input=data,
        capture_output=True,
        timeout=30,
        check=False,
        cwd=cwd,
        env={**os.environ, **environment},
    )


def transcript(folder: Path) -> str:
    records = Records()
    records.user("Light the lamp. Never touch legacy/.")
    path = folder / "s1.jsonl"
    path.write_bytes(b"".join(records.lines))
    return str(path)


def wait(folder: Path) -> None:
    deadline = time.monotonic() + 20
    while is_busy(str(folder)) and time.monotonic() < deadline:
        time.sleep(0.01)


def test_nothing_of_the_project_is_loaded(tmp_path: Path, state: Path) -> None:
    project, marker = tmp_path / "project", tmp_path / "marker"
    project.mkdir()
    (project / "msgspec.py").write_text(f"open({str(marker)!r}, 'w')\nraise ImportError\n")
    run(told("PreCompact", transcript_path=transcript(tmp_path)), cwd=project)
    wait(state / "s1")
    assert not marker.exists()
    assert (state / "s1" / places.RULES).exists()


@pytest.mark.parametrize("words", [("hook",), ("statusline",)])
def test_a_host_that_does_not_listen_sees_no_failure(words: tuple[str, ...]) -> None:
    places.keep(places.folder_of("s1"), places.LACKING, b"the rule")
    done = run(told("UserPromptSubmit"), *words, end=">&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert places.kept(places.folder_of("s1"), places.LACKING) == "the rule"
    assert places.kept(places.folder_of("s1"), places.GIVEN) == ""
    assert "does not listen" in Path(places.home(), "log").read_text()


def test_a_host_whose_locale_has_no_umlauts_gets_them() -> None:
    places.keep(places.folder_of("s1"), places.STEERING, "Prüfe die Brücke".encode())
    status = {"compactions": 1, "last": {"score": 0.5, "score_with_put_back": 1}}
    places.keep(places.folder_of("s1"), places.STATUS, json.dumps(status).encode())
    done = run(told("PreCompact"), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout.decode()) == (0, "Prüfe die Brücke")
    line = run(told("Status"), "statusline", PYTHONIOENCODING="ascii")
    assert (line.returncode, "→" in line.stdout.decode()) == (0, True)


@pytest.mark.parametrize("on_path", [True, False])
def test_a_command_is_told_as_a_shell_of_the_host_can_run_it(on_path: bool) -> None:
    places.keep(places.folder_of("s1"), places.STEERING, b"ask `kedgeline recall lamp`")
    folder = Path(sys.executable).parent
    path = f"{folder}:/usr/bin:/bin" if on_path else "/usr/bin:/bin"
    told_back = run(told("PreCompact"), PATH=path).stdout.decode()
    assert told_back == f"ask `{'' if on_path else f'{folder}/'}kedgeline recall lamp`"


def test_a_failure_is_told_to_the_user_once(state: Path) -> None:
    """The database was broken, nothing was followed, and nobody was told."""
    (state.parents[2] / "store").write_text("no store")
    folder = places.folder_of("s1")
    places.keep(folder, places.LACKING, b"the rule")
    asked = told("UserPromptSubmit", transcript_path=transcript(state.parents[2]))
    run(asked)
    wait(Path(folder))
    first, second = run(asked).stdout, run(asked).stdout
    said = json.loads(first)["systemMessage"]
    assert said.startswith("kedgeline does not follow this session: ")
    assert said.endswith("kedgeline doctor`.")
    assert b"systemMessage" not in second


def test_a_worker_that_cannot_be_started_does_not_lose_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(event: object, folder: str) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(entry, "start_worker", broken)
    places.keep(places.folder_of("s1"), places.LACKING, b"the rule")
    assert "the rule" in event_answered(told("UserPromptSubmit", transcript_path="x"), HOSTS[0])


def test_a_worker_that_ends_with_an_error_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "msgspec.py").write_text("raise ImportError('no such lamp')\n")
    monkeypatch.setenv("PYTHONPATH", str(broken), prepend=os.pathsep)
    monkeypatch.setattr(entry, "PATIENCE", 20)
    begun = time.monotonic()
    event_answered(told("PreCompact", transcript_path=transcript(tmp_path)), HOSTS[0])
    assert time.monotonic() - begun < 10
    log = Path(places.home(), "log").read_text()
    assert "no such lamp" in log
    assert "the worker could not do it" in log


def test_folders_and_files_are_the_users_alone(state: Path) -> None:
    state.parent.mkdir(parents=True)
    state.parent.chmod(0o775)
    old = os.umask(0)
    try:
        places.keep(places.folder_of("s1"), places.RULES, b"the rule")
        places.add_line(places.folder_of("s1"), places.GIVEN, "rules 8")
        places.log("a line")
    finally:
        os.umask(old)
    below = [state.parent, *state.parent.rglob("*")]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in below}
    assert modes == {
        **dict.fromkeys(("kedgeline", "hooks", "s1"), 0o700),
        **dict.fromkeys(("log", places.RULES, places.GIVEN), 0o600),
    }


@pytest.mark.parametrize("name", [places.RULES, places.LACKING, places.STEERING, places.TAIL])
def test_what_others_may_write_is_not_read(name: str, tmp_path: Path) -> None:
    folder = places.folder_of("s1")
    path, other = Path(folder, name), tmp_path / "other"
    other.write_text("planted")
    places.keep(folder, name, b"planted")
    assert places.kept(folder, name) == "planted"
    path.chmod(0o666)
    assert places.kept(folder, name) == places.taken(folder, name) == ""
    path.symlink_to(other)
    assert places.kept(folder, name) == places.taken(folder, name) == ""
    os.mkfifo(path)
    assert places.kept(folder, name) == places.taken(folder, name) == ""
    places.keep(folder, name, b"planted")
    os.chmod(folder, 0o777)
    assert places.kept(folder, name) == ""
    assert Path(places.home(), "log").read_text().count("is not taken") == 7


def test_a_file_of_somebody_else_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = places.folder_of("s1")
    places.keep(folder, places.RULES, b"planted")
    monkeypatch.setattr(os, "getuid", lambda: 4_711)
    assert places.kept(folder, places.RULES) == ""
    with pytest.raises(PermissionError, match="somebody else"):
        places.folder_of("s1")


@pytest.mark.parametrize("planted", ["link", "open"])
def test_a_folder_that_others_made_is_not_used(planted: str, tmp_path: Path, state: Path) -> None:
    places.folder_of("s2")
    (tmp_path / "evil").mkdir()
    if planted == "link":
        (state / "s1").symlink_to(tmp_path / "evil")
    else:
        (state / "s1").mkdir()
        (state / "s1").chmod(0o777)
    with pytest.raises(OSError, match=r"others may write|Not a directory|symbolic"):
        places.folder_of("s1")
    done = run(told("PreCompact"))
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    folder, other = places.folder_of("s1"), tmp_path / "other"
    other.write_text("mine")
    for name in (places.GIVEN, places.RULES):
        Path(folder, name).symlink_to(other)
    with pytest.raises(OSError, match="symbolic"):
        places.add_line(folder, places.GIVEN, "x")
    places.keep(folder, places.RULES, b"x")
    assert other.read_text() == "mine"


@pytest.mark.parametrize("words", [("--host=claud",), ("--host", "x"), ("--host",)])
def test_a_host_that_nobody_knows_gets_no_answer(words: tuple[str, ...], state: Path) -> None:
    places.keep(places.folder_of("s1"), places.STEERING, b"Keep this")
    done = run(told("PreCompact"), "hook", *words)
    assert (done.returncode, done.stdout) == (0, b"")
    assert "is not a host" in (state / "log").read_text()


@pytest.mark.parametrize(
    "session",
    ["s1", "a.b-c_d", "x" * 64, "x" * 65, "con", "CON.txt", "lpt3", "com10", "a.", ".a", "é", ""],
)
def test_both_agree_on_what_may_be_a_name(session: str) -> None:
    """The hooks have the rules a second time, because they load nothing."""
    try:
        names.checked("session", session)
    except BadName:
        assert named(session) != session
    else:
        assert named(session) == session
    names.checked("session", named(session))


def test_what_was_before_a_clear_does_not_come_back(alone: None) -> None:
    folder = places.folder_of("s1")
    for name in (places.RULES, places.STEERING, places.LACKING, places.SUMMARY):
        places.keep(folder, name, b"the rule")
    assert event_answered(told("SessionStart", source="clear"), HOSTS[0]) == ""
    assert os.listdir(folder) == [places.CLEARED]
    assert places.kept(folder, places.CLEARED) == ""
    for event in (told("SessionStart", source="compact"), told("PreCompact")):
        assert event_answered(event, HOSTS[0]) == ""


@pytest.mark.parametrize("first", [(), (told("PreCompact"),)])
def test_what_an_earlier_summary_lacked_is_not_given_after_the_next(
    first: tuple[bytes, ...], alone: None
) -> None:
    places.keep(places.folder_of("s1"), places.LACKING, b"of before")
    events = (*first, told("SessionStart", source="compact"), told("UserPromptSubmit"))
    assert [event_answered(one, HOSTS[0]) for one in events] == [""] * len(events)


def test_a_compaction_that_came_to_nothing_loses_nothing(alone: None) -> None:
    places.keep(places.folder_of("s1"), places.LACKING, b"of before")
    assert event_answered(told("PreCompact"), HOSTS[0]) == ""
    assert "of before" in event_answered(told("UserPromptSubmit"), HOSTS[0])


def test_what_was_found_out_before_the_session_starts_anew_is_given_then(alone: None) -> None:
    """A worker was quicker than the host."""
    folder = places.folder_of("s1")
    places.keep(folder, places.RULES, b"the rule")
    event_answered(told("PreCompact"), HOSTS[0])
    places.keep(folder, places.LACKING, b"of now")
    answer = event_answered(told("SessionStart", source="compact"), HOSTS[0])
    assert "the rule" in answer
    assert "of now" in answer
    assert not os.path.exists(os.path.join(folder, places.COMPACTING))


@pytest.mark.parametrize("host", ["codex", "opencode"])
def test_what_a_summary_that_was_told_of_already_lacks_is_given(host: str, alone: None) -> None:
    """These tell of a compaction before they begin the session anew."""
    places.keep(places.folder_of("s1"), places.LACKING, b"of now")
    assert "of now" in event_answered(told("SessionStart", source="compact"), host)


def test_what_was_handed_over_is_noted(alone: None) -> None:
    folder = places.folder_of("s1")
    places.keep(folder, places.RULES, "Prüfe".encode())
    event_answered(told("SessionStart", source="compact"), HOSTS[0])
    places.keep(folder, places.LACKING, b"the lamp")
    for _ in range(2):
        event_answered(told("PostToolUse"), HOSTS[0])
    places.keep(folder, places.LACKING, b"more")
    event_answered(told("SessionStart", source="compact"), "codex")
    noted = places.kept(folder, places.GIVEN).splitlines()
    assert noted == ["rules 5", "lacking 8", "rules 5", "lacking 4"]
