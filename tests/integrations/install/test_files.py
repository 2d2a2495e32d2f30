"""Files of hosts: links, permissions, copies, and what is left when the machine stops."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kedgeline import files as guarded_files
from kedgeline.errors import FileRefused, OutputUnwritable
from kedgeline.hosts import files
from kedgeline.hosts import install as steps
from kedgeline.hosts.claude_code import HOST
from kedgeline.hosts.files import Found, copy_of, found
from kedgeline.hosts.install import Ground, _planned
from kedgeline.hosts.shared import Piece
from tests.integrations.install.wanted import place

TEXT = '{\n  "model": "opus"\n}\n'
KILLED = 9
"""What a child of the test exits with that stopped in the middle."""


def settings_in(home: Path) -> Piece:
    return HOST.pieces(place(home))[0]


def put(home: Path, data: bytes = TEXT.encode(), mode: int = 0o640) -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(data)
    path.chmod(mode)
    return path


def install(home: Path) -> steps.Step:
    step = _planned(settings_in(home), Ground(), reduce=None)
    step.apply(home / ".claude")
    return step


def uninstall(home: Path) -> None:
    _planned(settings_in(home), Ground(), removing=True).apply(home / ".claude")


def test_a_copy_is_made_once_and_goes_when_it_is_of_no_more_use(tmp_path: Path) -> None:
    path = put(tmp_path)
    install(tmp_path)
    assert copy_of(path).read_text() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(copy_of(path).stat().st_mode) == 0o640
    install(tmp_path)
    assert copy_of(path).read_text() == TEXT
    uninstall(tmp_path)
    assert path.read_text() == TEXT
    assert list(path.parent.iterdir()) == [path]


def test_a_copy_of_what_differs_stays_and_the_next_installation_renews_it(tmp_path: Path) -> None:
    path = put(tmp_path)
    install(tmp_path)
    path.write_text(path.read_text().replace("opus", "sonnet"))
    uninstall(tmp_path)
    assert path.read_text() == TEXT.replace("opus", "sonnet")
    assert copy_of(path).read_text() == TEXT
    install(tmp_path)
    assert "sonnet" in copy_of(path).read_text()


def test_an_update_keeps_the_copy_from_before(tmp_path: Path) -> None:
    path = put(tmp_path)
    install(tmp_path)
    path.write_text(
        path.read_text().replace("/home/ada/.local/bin/kedgeline", "/usr/lib/old/kedgeline")
    )
    assert install(tmp_path).action == "changed"
    assert "/usr/lib/old" not in path.read_text()
    assert copy_of(path).read_text() == TEXT
    uninstall(tmp_path)
    assert path.read_text() == TEXT


def test_a_file_that_was_not_there_is_private_and_goes_again(tmp_path: Path) -> None:
    step = install(tmp_path)
    assert step.action == "created"
    assert stat.S_IMODE((tmp_path / ".claude" / "settings.json").stat().st_mode) == 0o600
    uninstall(tmp_path)
    assert list((tmp_path / ".claude").iterdir()) == []


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf", b"{}", b"{ }\r\n"])
def test_a_file_with_nothing_in_it_comes_back_to_the_byte(tmp_path: Path, data: bytes) -> None:
    path = put(tmp_path, data)
    install(tmp_path)
    assert path.read_bytes() != data
    uninstall(tmp_path)
    assert path.read_bytes() == data


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text(TEXT)
    (tmp_path / ".claude").mkdir()
    link = tmp_path / ".claude" / "settings.json"
    link.symlink_to(Path("..") / "dotfiles" / "claude.json")
    change = install(tmp_path).change()
    assert change.link == str(dotfiles / "claude.json")
    assert link.is_symlink()
    assert "kedgeline" in (dotfiles / "claude.json").read_text()
    uninstall(tmp_path)
    assert link.is_symlink()
    assert [path.read_text() for path in dotfiles.iterdir()] == [TEXT]


def test_a_link_out_of_a_project_is_refused(tmp_path: Path) -> None:
    project, secret = tmp_path / "project", tmp_path / "elsewhere.json"
    (project / ".claude").mkdir(parents=True)
    secret.write_text("{}")
    (project / ".claude" / "settings.json").symlink_to(secret)
    piece = HOST.pieces(place(tmp_path, project=project))[0]
    with pytest.raises(FileRefused, match="leads out of the project"):
        _planned(piece, Ground(project), reduce=None)
    assert secret.read_text() == "{}"


def test_a_read_only_file_is_refused_and_kept(tmp_path: Path) -> None:
    path = put(tmp_path, mode=0o444)
    with pytest.raises(FileRefused, match=r"read-only.*chmod u\+w"):
        install(tmp_path)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a":\n"\xff"}', "line 2: it is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "line 1: it is not UTF-8"),
        (b'{\n"a": 1\n', "line 3: expected"),
        (b'{"hooks": []}', "`hooks` is a list and must be an object; correct it"),
    ],
)
def test_what_cannot_be_merged_is_refused_in_one_sentence(
    tmp_path: Path, data: bytes, why: str
) -> None:
    path = put(tmp_path, data)
    with pytest.raises(FileRefused) as raised:
        install(tmp_path)
    assert str(path) in str(raised.value)
    assert why in str(raised.value)
    assert str(raised.value).endswith("nothing was written")
    assert path.read_bytes() == data
    assert not copy_of(path).exists()


def test_a_folder_in_its_place_and_a_second_name_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path)
    (tmp_path / "second").hardlink_to(path)
    with pytest.raises(FileRefused, match="another name"):
        install(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileRefused, match="no plain file"):
        install(tmp_path)


def test_a_change_in_between_is_merged_too(tmp_path: Path) -> None:
    path = put(tmp_path)
    step = _planned(settings_in(tmp_path), Ground(), reduce=None)
    path.write_text(TEXT.replace("opus", "sonnet"))
    step.apply(tmp_path)
    assert "sonnet" in path.read_text()
    assert "kedgeline" in path.read_text()


def test_a_file_that_somebody_filled_meanwhile_is_not_removed(tmp_path: Path) -> None:
    install(tmp_path)
    step = _planned(settings_in(tmp_path), Ground(), removing=True)
    path = tmp_path / ".claude" / "settings.json"
    path.write_text(TEXT)
    with pytest.raises(FileRefused, match="changed it meanwhile"):
        step.apply(tmp_path)
    assert path.read_text() == TEXT


def test_a_disk_without_room_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path)
    step = _planned(settings_in(tmp_path), Ground(), reduce=None)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(guarded_files, "_settle", full)
    with pytest.raises(OutputUnwritable, match="no space left"):
        step.apply(tmp_path)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_text() == TEXT


def stopped_everywhere(path: Path, write: Callable[[], None]) -> set[bytes]:
    """What a file holds after a process was killed at each line of the writing, one after the
    other."""
    sources = {guarded_files.__file__, files.__file__, __file__}
    seen: set[bytes] = set()
    before = path.read_bytes()
    for stop in range(1, 1_000):
        path.write_bytes(before)
        child = os.fork()
        if not child:
            left = [stop]

            def trace(frame: FrameType, event: str, _: Any, left: list[int] = left) -> Any:
                if frame.f_code.co_filename not in sources:
                    return None
                left[0] -= event == "line"
                if not left[0]:
                    os._exit(KILLED)
                return trace

            os.fsync = lambda _: None  # a kill is no loss of power
            sys.settrace(trace)
            write()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        seen.add(path.read_bytes())
        if os.waitstatus_to_exitcode(status) == 0:
            return seen
    raise AssertionError("it never ends")


def test_a_kill_at_any_line_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    path = put(tmp_path)
    file = found(path, None)
    seen = stopped_everywhere(path, lambda: files.write(file, lambda _: b"{}\n", keep=b"old"))
    assert seen == {TEXT.encode(), b"{}\n"}


def test_a_writer_that_writes_in_place_is_seen(tmp_path: Path) -> None:
    """A planted bug."""
    path = put(tmp_path)

    def in_place() -> None:
        with open(path, "wb") as file:
            file.write(b"{}")
            file.flush()
            file.write(b"\n")

    assert stopped_everywhere(path, in_place) - {TEXT.encode(), b"{}\n"} == {b"", b"{}"}


def test_a_file_is_found_by_its_name_and_by_where_it_is(tmp_path: Path) -> None:
    path = put(tmp_path)
    assert found(path, None) == Found(path, path, found(path, None).held, None, copy_of(path))
    assert found(tmp_path / "none" / "there", tmp_path).held is None
