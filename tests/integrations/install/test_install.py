"""`kedgeline install` and `uninstall`: all files of a host, or none, and back to the byte."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.errors import FileRefused, KedgelineError, OutputUnwritable
from kedgeline.hosts.install import BACKUP, HOSTS, Edit, Report, host_named, install, uninstall
from kedgeline.hosts.shared import InstallPlace, Launch
from tests.conftest import ROOT
from tests.integrations.install.wanted import KINDS, LAUNCH, place
from tests.line import Line

CLAUDE, GEMINI, OPENCODE, CODEX = map(
    host_named, ("claude-code", "gemini-cli", "opencode", "codex")
)
TEXT = '{\n  "model": "opus"\n}\n'
MOVED = Launch(("/usr/lib/new/kedgeline",))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with what somebody has there, one of its files behind a link, and a project that is no
    repository yet."""
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".claude" / "commands", home / ".codex", home / "dotfiles", project):
        folder.mkdir(parents=True)
    put(home / "dotfiles" / "claude.json", '{\n  // mine\n  "model": "opus"\n}\n')
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles" / "claude.json")
    put(home / ".claude.json", '{"userID": "x", "mcpServers": {  }}')
    put(home / ".claude" / "commands" / "mine.md", "mine")
    put(home / ".codex" / "config.toml", '# mine\nmodel = "gpt"\n')
    put(project / ".gemini" / "settings.json", '{\n  "mcpServers": { // mine\n  },\n}\n')
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.chdir(project)
    return home


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with what it holds, every folder, and none of the half-written."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: p.read_bytes() if p.is_file() else None for name, p in found.items()}


def whole(folder: Path) -> dict[str, bytes]:
    """Files alone, without those that a killed writer began."""
    return {
        name: data
        for name, data in tree(folder).items()
        if data is not None and not re.search(r"\.[0-9a-f]{16}$", name)
    }


def settings_alone(home: Path) -> Path:
    """Settings of Claude Code that are no link."""
    path = home / ".claude" / "settings.json"
    path.unlink()
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


def copy_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def left(report: Report) -> set[str]:
    return {Path(change.file).name for change in report.changes if change.action == "left"}


# As people and programs use it.


@pytest.mark.parametrize("where", [(), ("--project",)], ids=["user", "project"])
@pytest.mark.parametrize("host", [host.name for host in HOSTS])
def test_all_is_put_in_once_and_taken_out_to_the_byte(
    kedgeline: Line, tmp_path: Path, host: str, where: tuple[str, ...]
) -> None:
    before = whole(tmp_path)
    dry = kedgeline.one("install", host, *where, "--dry-run")
    assert dry["dry_run"] is True
    assert all(change["diff"] for change in dry["changes"])
    assert whole(tmp_path) == before
    made = kedgeline.one("install", host, *where)
    assert {change["action"] for change in made["changes"]} <= {"created", "changed"}
    assert made["next"]
    after = whole(tmp_path)
    again = kedgeline.one("install", host, *where)
    assert {change["action"] for change in again["changes"]} == {"unchanged"}
    kedgeline("uninstall", host, *where, "--dry-run")
    assert whole(tmp_path) == after
    kedgeline("uninstall", host, *where)
    assert whole(tmp_path) == before
    gone = kedgeline.one("uninstall", host, *where)
    assert {change["action"] for change in gone["changes"]} == {"unchanged"}


def test_a_person_reads_what_was_done_to_which_file(kedgeline: Line, home: Path) -> None:
    settings = settings_alone(home)
    said = kedgeline("install", "claude-code").stdout.decode()
    assert "Claude Code, for you, in all projects:" in said
    assert f"{settings}: 8 hooks added, status line added" in said
    assert f"as it was before: {settings}.kedgeline-backup" in said
    assert "next: start a new session" in said
    assert b"nothing to do" in kedgeline("install", "claude-code").stdout
    assert b"trust the new hooks" in kedgeline("install", "codex").stdout
    assert b"unknown host 'cursor'" in kedgeline("install", "cursor", code=2).stderr
    assert b"replaced but not advised" in kedgeline("install", "pi", "--advise", code=2).stderr


def test_json_keys_are_documented(kedgeline: Line) -> None:
    page = (ROOT / "docs" / "json.md").read_text("utf-8").partition("`kedgeline install --json`")[2]
    section = page.partition("\n## ")[0]
    report = kedgeline.one("install", "claude-code")
    assert [k for k in (*report, *report["changes"][0]) if f"`{k}`" not in section] == []


def test_a_choice_holds_until_another_is_made(kedgeline: Line, home: Path) -> None:
    plugin = home / ".config" / "opencode" / "plugins" / "kedgeline.ts"
    for words, expected in (((), 0), (("--room", "9000"), 9000), ((), 9000), (("--room", "0"), 0)):
        kedgeline("install", "opencode", *words)
        assert f"ROOM = {expected}" in plugin.read_text().replace("_", "")


def test_what_would_not_work_is_said(
    kedgeline: Line, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"disableAllHooks": true, "enabledPlugins": {"kedgeline@kedgeline": true},}'
    settings_alone(home).write_text(text)
    report = kedgeline.one("install", "claude-code")
    said = "\n".join(report["warnings"])
    assert "`disableAllHooks` is set" in said
    assert "reads plain JSON and ignores all of" in said
    assert "the plugin of kedgeline is enabled too" in said
    monkeypatch.setenv("PATH", "")
    second = "\n".join(kedgeline.one("install", "claude-code", "--project")["warnings"])
    assert "is installed for you in all projects too" in second
    assert "not on the PATH" in second
    enabled = '[plugins."kedgeline@kedgeline"]\nenabled = true\n'
    put(home / ".codex" / "config.toml", enabled)
    assert "the plugin of kedgeline" in "".join(kedgeline.one("install", "codex")["warnings"])
    monkeypatch.undo()


def test_for_a_project_kedgeline_is_called_by_its_name(kedgeline: Line, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir()
    (project / "src").mkdir()
    os.chdir(project / "src")
    report = kedgeline.one("install", "claude-code", "--project")
    assert report["project"] == str(project)
    made = json.loads((project / ".claude" / "settings.json").read_text())
    assert made["hooks"]["Stop"][0]["hooks"][0]["command"] == "kedgeline"
    assert "statusLine" not in made  # it would take the place of everybody's own


def test_a_difference_shows_no_secret(kedgeline: Line, home: Path) -> None:
    key = "sk-ant-api03-" + "abcdefghij" * 4
    settings_alone(home).write_text(f'{{\n  "env": {{"K": "{key}"}}\n}}\n')
    shown = kedgeline("install", "claude-code", "--dry-run").stdout.decode()
    assert '+  "hooks": {' in shown
    assert key not in shown


# Whose files they are.


def test_files_that_a_person_changed_or_wrote_stay(home: Path) -> None:
    folder = home / ".claude" / "commands" / "kedgeline"
    mine = put(folder / "pin.md", "my own")
    install(CLAUDE, place(home))
    report = folder / "report.md"
    report.write_text(f"{report.read_text()}and more\n")
    for run in (install, uninstall):
        assert left(run(CLAUDE, place(home))) == {"pin.md", "report.md"}
    assert mine.read_text() == "my own"
    assert not (folder / "recall.md").exists()


def test_edits_of_an_extension_stay_and_are_named(home: Path) -> None:
    root = home / ".gemini" / "extensions" / "kedgeline"
    install(GEMINI, place(home))
    assert left(install(GEMINI, place(home)._replace(launch=MOVED))) == set()
    manifest, context = root / "gemini-extension.json", root / "KEDGELINE.md"
    assert json.loads(manifest.read_text())["mcpServers"]["kedgeline"]["command"] == MOVED.words[0]
    manifest.write_text(manifest.read_text().replace('"version"', '"excludeTools": [], "version"'))
    context.write_text(f"{context.read_text()}mine\n")
    for run in (install, uninstall):
        assert left(run(GEMINI, place(home))) == {"gemini-extension.json", "KEDGELINE.md"}


def test_an_extension_that_the_host_installed_is_left_to_it(home: Path) -> None:
    root = home / ".gemini" / "extensions" / "kedgeline"
    shutil.copytree(ROOT / "plugins" / "gemini-cli", root)
    put(root / ".gemini-extension-install.json", "{}")
    before = tree(home)
    for run in (install, uninstall):
        with pytest.raises(FileRefused, match="`gemini extensions uninstall kedgeline` takes it"):
            run(GEMINI, place(home))
    assert tree(home) == before


@pytest.mark.parametrize(
    ("name", "folder"),
    [("opencode", ".config/opencode"), ("gemini-cli", ".gemini/extensions/kedgeline")],
)
def test_a_plugin_that_was_copied_is_ours(home: Path, name: str, folder: str) -> None:
    host, before = host_named(name), tree(home)
    for installs in (True, False):
        shutil.copytree(ROOT / "plugins" / name, home / folder)
        if installs:
            assert left(install(host, place(home))) == set()
            assert {c.action for c in install(host, place(home)).changes} == {"unchanged"}
        uninstall(host, place(home))
        shutil.rmtree(home / folder, ignore_errors=True)
        for parent in (home / folder).parents[:2]:
            if parent != home and parent.is_dir():
                parent.rmdir()
        assert tree(home) == before


def test_a_home_that_is_a_repository_is_no_project(home: Path) -> None:
    install(CLAUDE, place(home))
    (home / ".git").mkdir()
    link = home.parent / "link"
    link.symlink_to(home)
    before = tree(home)
    for run, project in ((install, home), (uninstall, home), (install, link)):
        with pytest.raises(FileRefused, match="leave out --project"):
            run(CLAUDE, place(home, project=project))
    assert tree(home) == before


# Links, permissions, copies.


@pytest.mark.parametrize(
    "data",
    [
        *(text.encode() for text in KINDS.values()),
        b"\xef\xbb\xbf",
        b"{ }\r\n",
        b'\xef\xbb\xbf{\n  "model": "opus"\n}\n',
        b'{\r\n    "model": "opus"\r\n}\r\n',
        b'{\r\n "a": 1\n}',
    ],
)
def test_any_settings_come_back_to_the_byte(home: Path, data: bytes) -> None:
    settings = settings_alone(home)
    settings.write_bytes(data)
    install(CLAUDE, place(home))
    made = settings.read_bytes()
    assert made != data
    assert (
        b"\n" not in made.replace(b"\r\n", b"")
        or data.count(b"\n") != data.count(b"\r\n")
        or (b"\r\n" not in data)
    )
    assert made.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")
    install(CLAUDE, place(home)._replace(launch=MOVED))
    uninstall(CLAUDE, place(home))
    assert settings.read_bytes() == data


def test_a_copy_is_made_once_and_goes_when_it_is_of_no_more_use(home: Path) -> None:
    settings = settings_alone(home)
    for launch in (LAUNCH, MOVED):
        install(CLAUDE, place(home)._replace(launch=launch))
        assert copy_of(settings).read_text() == TEXT
        assert launch.words[0] in settings.read_text()
    assert {stat.S_IMODE(one.stat().st_mode) for one in (settings, copy_of(settings))} == {0o640}
    settings.write_text(settings.read_text().replace("opus", "sonnet"))
    uninstall(CLAUDE, place(home))
    assert settings.read_text() == TEXT.replace("opus", "sonnet")
    assert copy_of(settings).read_text() == TEXT
    install(CLAUDE, place(home))
    assert "sonnet" in copy_of(settings).read_text()
    uninstall(CLAUDE, place(home))
    assert not copy_of(settings).exists()


def test_a_file_that_was_not_there_is_private_and_goes_again(home: Path) -> None:
    settings = settings_alone(home)
    settings.unlink()
    assert install(CLAUDE, place(home)).changes[0].action == "created"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    uninstall(CLAUDE, place(home))
    assert not settings.exists()


def test_a_link_is_followed_and_stays_and_leads_out_of_no_project(home: Path) -> None:
    before = tree(home)
    (change, *_) = install(CLAUDE, place(home)).changes
    assert change.link == str(home / "dotfiles" / "claude.json")
    assert "kedgeline" in (home / "dotfiles" / "claude.json").read_text()
    assert (home / ".claude" / "settings.json").is_symlink()
    uninstall(CLAUDE, place(home))
    assert tree(home) == before
    project = home.parent / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").symlink_to(home / ".claude.json")
    with pytest.raises(FileRefused, match="leads out of the project"):
        install(CLAUDE, place(home, project=project))
    assert tree(home) == before


def test_in_a_project_no_copy_can_be_committed_and_folders_are_for_all(home: Path) -> None:
    before, project = tree(home), home.parent / "project"
    where, text = place(home, project=project), '{"hooks": {  }}'
    settings = put(project / ".claude" / "settings.json", text)
    (change, *_) = install(CLAUDE, where).changes
    assert not any(BACKUP in name for name in tree(project))
    assert change.backup is not None
    assert Path(change.backup).is_relative_to(home / ".local" / "state" / "kedgeline")
    assert Path(change.backup).read_text() == text
    assert stat.S_IMODE(Path(change.backup).stat().st_mode) == 0o600
    skill = project / ".claude" / "skills" / "kedgeline-recall"
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (skill, skill / "SKILL.md")]
    assert modes == [0o755, 0o644]
    assert uninstall(CLAUDE, where).changes[0].backup is None
    assert settings.read_text() == text
    assert {name for name in tree(home) if not name.startswith(".local")} == set(before)


# What keeps it from being written, and what stops it on the way.

REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "read-only": (lambda path: path.chmod(0o444), r"read-only.*chmod u\+w"),
    "not UTF-8": (lambda path: path.write_bytes(b'{"a":\n"\xff"}'), "line 2: it is not UTF-8"),
    "cut off": (lambda path: path.write_bytes(b'{\n"a": 1\n'), "line 3: expected"),
    "a list": (lambda path: path.write_bytes(b'{"hooks": []}'), "`hooks` is a list and must be"),
    "two names": (lambda path: path.with_name("other").hardlink_to(path), "another hard link"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "not a plain file"),
    "no folder": (
        lambda path: (path.parent / "skills").write_text(""),
        "skills' is not a folder; move it away",
    ),
}


@pytest.mark.parametrize(("spoil", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_merged_is_refused_in_one_sentence(
    kedgeline: Line, home: Path, spoil: Callable[[Path], Any], why: str
) -> None:
    spoil(settings_alone(home))
    before = tree(home)
    said = kedgeline("install", "claude-code", code=3).stderr.decode()
    assert re.search(why, said)
    assert str(home / ".claude") in said
    assert said.endswith("nothing was written\n")
    assert said.count("\n") == 1
    assert tree(home) == before


def test_what_somebody_else_writes_meanwhile_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, real = settings_alone(home), Edit.apply

    def apply(self: Edit, root: Path) -> None:
        if self.piece.path == settings:
            settings.write_text(theirs)
        real(self, root)

    for run, theirs in ((install, '{"theirs": 1}'), (uninstall, '{"theirs": 2}')):
        with monkeypatch.context() as patch:
            patch.setattr(Edit, "apply", apply)
            with pytest.raises(FileRefused, match="somebody else changed it meanwhile; "):
                run(CLAUDE, place(home))
        assert settings.read_text() == theirs
        assert ("kedgeline" in (home / ".claude.json").read_text()) is (run is uninstall)
        install(CLAUDE, place(home))


class Counted:
    """Something else done instead of the call with this number, and of those behind it."""

    def __init__(self, patch: pytest.MonkeyPatch, instead: Callable[[], None]) -> None:
        self.left = -1
        self.again = False
        for name in ("fchmod", "fsync", "rename", "mkdir", "unlink"):
            patch.setattr(os, name, self._counting(getattr(os, name), instead))

    def _counting(self, real: Any, instead: Callable[[], None]) -> Any:
        def call(*words: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 or (self.again and self.left < 0):
                instead()
            return real(*words, **named)

        return call


def _full() -> None:
    raise OSError(28, "No space left on device")


def copied(home: Path) -> Path:
    first = home.with_name(f"copy{len(os.listdir(home.parent))}")
    shutil.copytree(home, first, symlinks=True)
    return first


def renewed(home: Path, first: Path) -> None:
    shutil.rmtree(home)
    shutil.copytree(first, home, symlinks=True)


@pytest.mark.parametrize("run", [install, uninstall], ids=["install", "uninstall"])
def test_a_failure_anywhere_takes_all_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    if run is uninstall:
        install(CLAUDE, place(home))
    before, first = tree(home), copied(home)
    counted = Counted(monkeypatch, _full)
    failed = []
    for counted.left in range(1, 200, 3):
        stop = counted.left
        try:
            run(CLAUDE, place(home))
        except KedgelineError as error:
            failed.append(str(error))
            assert tree(home) == before, stop
        else:
            if counted.left > 0:
                break
            renewed(home, first)  # somebody else's failure: a half-written file that stayed
    assert len(failed) > 5
    for said in failed:
        assert said.count("no space left on device; all files are as they were") == 1, said


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OutputUnwritable("why")])
def test_whatever_stops_it_all_is_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before, real, count = tree(home), Edit.apply, [0]

    def apply(self: Edit, root: Path) -> None:
        count[0] += 1
        real(self, root)
        if count[0] == 5:
            raise error

    monkeypatch.setattr(Edit, "apply", apply)
    with pytest.raises(type(error)) as raised:
        install(CLAUDE, place(home))
    assert tree(home) == before
    if isinstance(error, KedgelineError):
        assert "why; all files are as they were" in str(raised.value)


def test_what_cannot_be_taken_back_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch, _full)
    counted.left, counted.again = 12, True
    with pytest.raises(OutputUnwritable) as raised:
        install(CLAUDE, place(home))
    assert "these were written and could not be taken back: " in str(raised.value)
    assert f"{home}/.claude/settings.json" in str(raised.value)
    assert "`kedgeline uninstall claude-code` takes out what is of kedgeline" in str(raised.value)


KILLED = 9
"""What a child of the test exits with that stopped in the middle."""


def killed_at(stop: int, run: Callable[..., Any], where: InstallPlace) -> bool:
    """Whether a process that was to be killed at a call had ended before it."""
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as patch:
            Counted(patch, lambda: os._exit(KILLED)).left = stop
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            run(CLAUDE, where)
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def kills(home: Path, run: Callable[..., Any], every: int) -> Iterator[int]:
    """The same home, with the command killed in it at one call after the other."""
    first = copied(home)
    for stop in range(1, 400, every):
        renewed(home, first)
        if killed_at(stop, run, place(home)):
            return
        yield stop
    raise AssertionError("it never ends")


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.torture)])
def test_a_kill_between_files_leaves_whole_ones_that_can_be_gone_on_with(
    home: Path, every: int
) -> None:
    """After a kill each file is old or new, and both commands lead to where they always do."""
    before = whole(home)
    install(CLAUDE, place(home))
    made = whole(home)
    uninstall(CLAUDE, place(home))
    for run, start in ((install, None), (uninstall, install)):
        if start:
            start(CLAUDE, place(home))
        seen = 0
        for _ in kills(home, run, every):
            seen += 1
            for name, data in tree(home).items():
                if name in made:
                    assert data in (before.get(name), made[name]), name
            if seen % 2:
                install(CLAUDE, place(home))
                assert whole(home) == made
            uninstall(CLAUDE, place(home))
            assert whole(home) == before
        assert seen > 10 // every
