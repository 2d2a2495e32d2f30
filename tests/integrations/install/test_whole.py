"""Several files written as one: all of them or none, also where the machine stops in between."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.errors import FileRefused, KedgelineError, OutputUnwritable
from kedgeline.hosts import files
from kedgeline.hosts.install import Step, host_named, install, uninstall
from kedgeline.hosts.shared import Place
from tests.integrations.install.wanted import place

CLAUDE = host_named("claude-code")
KILLED = 9
FULL = OSError(28, "No space left on device")
WRITING = ("fchmod", "fsync", "rename", "mkdir", "unlink")
"""What changes a disk, or is done right before that."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with settings, one of them behind a link, and files of others."""
    home = tmp_path / "home"
    (home / ".claude" / "commands").mkdir(parents=True)
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text('{\n  // mine\n  "model": "opus"\n}\n')
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles" / "claude.json")
    (home / ".claude.json").write_text('{"userID": "x", "mcpServers": {  }}')
    (home / ".claude" / "commands" / "mine.md").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return home


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with what it holds, every folder, and none of the half-written."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: p.read_bytes() if p.is_file() else None for name, p in found.items()}


class Counted:
    """Something else done instead of the call with this number, and of those behind it."""

    def __init__(self, patch: pytest.MonkeyPatch, instead: Callable[[], None]) -> None:
        self.left = -1
        self.again = False
        for name in WRITING:
            patch.setattr(os, name, self._counting(getattr(os, name), instead))

    def _counting(self, real: Any, instead: Callable[[], None]) -> Any:
        def call(*words: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 or (self.again and self.left < 0):
                instead()
            return real(*words, **named)

        return call


def _full() -> None:
    raise FULL


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


def copied(home: Path) -> Path:
    first = home.with_name(f"copy{len(os.listdir(home.parent))}")
    shutil.copytree(home, first, symlinks=True)
    return first


def renewed(home: Path, first: Path) -> None:
    shutil.rmtree(home)
    shutil.copytree(first, home, symlinks=True)


def failing(home: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """A failure with the last file."""
    real, count = Step.apply, [0]

    def apply(self: Step, root: Path) -> None:
        count[0] += 1
        real(self, root)
        if count[0] == 5:
            raise error

    monkeypatch.setattr(Step, "apply", apply)
    install(CLAUDE, place(home))


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), FileRefused("x", "why"), OutputUnwritable("why")]
)
def test_whatever_stops_it_all_is_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = tree(home)
    with pytest.raises(type(error)) as raised:
        failing(home, monkeypatch, error)
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


def test_what_somebody_changed_meanwhile_is_not_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = home / ".claude.json"
    real = Step.apply

    def apply(self: Step, root: Path) -> None:
        real(self, root)
        if self.file.path == other:
            other.write_text('{"theirs": 1}')
            raise OutputUnwritable("why")

    monkeypatch.setattr(Step, "apply", apply)
    with pytest.raises(OutputUnwritable, match=r"taken back: .*\.claude\.json; "):
        install(CLAUDE, place(home))
    assert other.read_text() == '{"theirs": 1}'


def test_a_file_where_a_folder_must_be_is_seen_before_anything_is_written(home: Path) -> None:
    (home / ".claude" / "skills").write_text("")
    before = tree(home)
    for dry_run in (True, False):
        with pytest.raises(FileRefused, match=r"skills' is no folder; move it away; nothing was"):
            install(CLAUDE, place(home), dry_run=dry_run)
    assert tree(home) == before


@pytest.mark.parametrize("folder", [".", "dotfiles", ".claude", ".claude/commands"])
def test_a_read_only_folder_is_seen_before_anything_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Root may write anywhere: what the system would say to others is said here."""
    closed, real = home / folder, os.access

    def access(path: Any, mode: int) -> bool:
        return real(path, mode) and not (mode & os.W_OK and Path(path) == closed)

    before = tree(home)
    monkeypatch.setattr(os, "access", access)
    why = r"read-only; allow writing with chmod u\+w .*nothing was written"
    with pytest.raises(FileRefused, match=why):
        install(CLAUDE, place(home))
    assert tree(home) == before
    monkeypatch.setattr(os, "access", real)
    install(CLAUDE, place(home))
    if folder.startswith(".claude"):
        return  # what is to be taken out stands in folders of its own there
    made = tree(home)
    monkeypatch.setattr(os, "access", access)
    with pytest.raises(FileRefused, match="its folder is read-only"):
        uninstall(CLAUDE, place(home))
    assert tree(home) == made


def killed_at(stop: int, run: Callable[..., Any], where: Place) -> bool:
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


def whole_after_kills(home: Path, monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    """After a kill each file is old or new, and both commands lead to where they always do."""
    monkeypatch.setattr(files, "STALE_SECONDS", -1)
    before = {name: data for name, data in tree(home).items() if data is not None}
    install(CLAUDE, place(home))
    made = tree(home)
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
                assert tree(home) == made
            uninstall(CLAUDE, place(home))
            left = {name: data for name, data in tree(home).items() if data is not None}
            assert left == before
        assert seen > 10 // every


def test_a_kill_between_files_leaves_whole_ones_that_can_be_gone_on_with(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_after_kills(home, monkeypatch, 9)


@pytest.mark.torture
def test_a_kill_at_any_call_leaves_whole_files_that_can_be_gone_on_with(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_after_kills(home, monkeypatch, 1)


def test_half_written_files_of_the_killed_go_when_they_are_old(home: Path) -> None:
    old = home / f".{'.claude.json'}.{'0' * 16}"
    young = old.with_name(f"..claude.json.{'1' * 16}")
    other = old.with_name(f".claude.json.{'0' * 16}")
    for path in (old, young, other):
        path.write_text("half")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    install(CLAUDE, place(home), dry_run=True)
    assert old.exists()
    install(CLAUDE, place(home))
    assert [path.exists() for path in (old, young, other)] == [False, True, True]
