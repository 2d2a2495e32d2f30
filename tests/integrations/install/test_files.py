"""Files of hosts, written as one: links, permissions, copies, kills and failures."""

from __future__ import annotations

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
from kedgeline.hosts.install import BACKUP, Report, Step, host_named, install, uninstall
from kedgeline.hosts.shared import Launch, Place
from tests.integrations.install.wanted import LAUNCH, place

CLAUDE = host_named("claude-code")
TEXT = '{\n  "model": "opus"\n}\n'
KILLED = 9
"""What a child of the test exits with that stopped in the middle."""
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


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with plain settings alone."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plain" / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


def put(settings: Path, launch: Launch = LAUNCH) -> Report:
    return install(CLAUDE, place(settings.parents[1])._replace(launch=launch))


def take(settings: Path) -> Report:
    return uninstall(CLAUDE, place(settings.parents[1]))


def copy_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


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


def test_a_copy_is_made_once_and_goes_when_it_is_of_no_more_use(settings: Path) -> None:
    for launch in (LAUNCH, Launch(("/usr/lib/new/kedgeline",))):
        put(settings, launch)
        assert copy_of(settings).read_text() == TEXT
        assert launch.words[0] in settings.read_text()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (settings, copy_of(settings))}
    assert modes == {0o640}
    take(settings)
    assert settings.read_text() == TEXT
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]


def test_a_copy_of_what_differs_stays_and_the_next_installation_renews_it(settings: Path) -> None:
    put(settings)
    settings.write_text(settings.read_text().replace("opus", "sonnet"))
    take(settings)
    assert settings.read_text() == TEXT.replace("opus", "sonnet")
    assert copy_of(settings).read_text() == TEXT
    put(settings)
    assert "sonnet" in copy_of(settings).read_text()


def test_a_file_that_was_not_there_is_private_and_goes_again(settings: Path) -> None:
    settings.unlink()
    assert put(settings).changes[0].action == "created"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    take(settings)
    assert list(settings.parent.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf", b"{}", b"{ }\r\n"])
def test_a_file_with_nothing_in_it_comes_back_to_the_byte(settings: Path, data: bytes) -> None:
    settings.write_bytes(data)
    put(settings)
    assert settings.read_bytes() != data
    take(settings)
    assert settings.read_bytes() == data


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


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "read-only": (lambda path: path.chmod(0o444), r"read-only.*chmod u\+w"),
    "not UTF-8": (lambda path: path.write_bytes(b'{"a":\n"\xff"}'), "line 2: it is not UTF-8"),
    "UTF-16": (lambda path: path.write_bytes(TEXT.encode("utf-16")), "line 1: it is not UTF-8"),
    "cut off": (lambda path: path.write_bytes(b'{\n"a": 1\n'), "line 3: expected"),
    "a list": (lambda path: path.write_bytes(b'{"hooks": []}'), "`hooks` is a list and must be"),
    "two names": (lambda path: path.with_name("other").hardlink_to(path), "another name"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "no plain file"),
}


@pytest.mark.parametrize(("spoil", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_merged_is_refused_in_one_sentence(
    settings: Path, spoil: Callable[[Path], Any], why: str
) -> None:
    spoil(settings)
    before = tree(settings.parents[1])
    with pytest.raises(FileRefused, match=why) as raised:
        put(settings)
    assert str(settings) in str(raised.value)
    assert str(raised.value).endswith("nothing was written")
    assert tree(settings.parents[1]) == before


def test_a_file_where_a_folder_must_be_changes_nothing(home: Path) -> None:
    (home / ".claude" / "skills").write_text("")
    before = tree(home)
    with pytest.raises(FileRefused, match=r"skills' is no folder; move it away; nothing was"):
        install(CLAUDE, place(home))
    assert tree(home) == before


def test_what_somebody_else_writes_meanwhile_stays(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, others = Step.apply, [TEXT.replace("opus", "sonnet"), TEXT]

    def apply(self: Step, root: Path) -> None:
        if self.path == settings:
            settings.write_text(others.pop(0))
        real(self, root)

    with monkeypatch.context() as patch:
        patch.setattr(Step, "apply", apply)
        put(settings)
        assert "sonnet" in settings.read_text()
        assert "kedgeline" in settings.read_text()
        settings.unlink()
        copy_of(settings).unlink()
        patch.undo()
        put(settings)
        patch.setattr(Step, "apply", apply)
        with pytest.raises(FileRefused, match="changed it meanwhile"):
            take(settings)
    assert settings.read_text() == TEXT


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
    raise OSError(28, "No space left on device")


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


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), FileRefused("x", "why"), OutputUnwritable("why")]
)
def test_whatever_stops_it_all_is_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before, real, count = tree(home), Step.apply, [0]

    def apply(self: Step, root: Path) -> None:
        count[0] += 1
        real(self, root)
        if count[0] == 5:
            raise error

    monkeypatch.setattr(Step, "apply", apply)
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


def test_what_somebody_changed_meanwhile_is_not_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, real = home / ".claude.json", Step.apply

    def apply(self: Step, root: Path) -> None:
        real(self, root)
        if self.path == other:
            other.write_text('{"theirs": 1}')
            raise OutputUnwritable("why")

    monkeypatch.setattr(Step, "apply", apply)
    with pytest.raises(OutputUnwritable, match=r"taken back: .*\.claude\.json; "):
        install(CLAUDE, place(home))
    assert other.read_text() == '{"theirs": 1}'


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
