"""`kedgeline export`, `import`, `fsck` and `gc`, as a user calls them."""

from __future__ import annotations

import json
import os
import stat
from contextlib import closing
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from kedgeline.cli.options import bytes_given, days_given, expanded
from kedgeline.cli.sessions import export, fsck, gc, import_command
from kedgeline.errors import (
    FileRefused,
    KedgelineError,
    NoSuchSession,
    OutputUnwritable,
    SourceUnreadable,
    UserError,
)
from kedgeline.files import Folder, folder_below
from kedgeline.session.archive import as_bytes, hash_of
from kedgeline.session.session import Session
from kedgeline.store.protocol import open_store
from tests.checking.planting import LONG, kept, plant

app = typer.Typer()
for name, command in (("export", export), ("import", import_command), ("fsck", fsck), ("gc", gc)):
    app.command(name)(expanded(command))


@pytest.fixture
def place(tmp_path: Path) -> str:
    with kept(tmp_path, "demo", "ci-1"):
        return str(tmp_path / "store")


def run(*words: str, code: int = 0, given: bytes = b"") -> Result:
    result = CliRunner().invoke(app, list(words), input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def refused(kind: type[KedgelineError], *words: str) -> str:
    with pytest.raises(kind) as error:
        run(*words)
    return str(error.value)


def test_a_session_goes_out_to_a_file_and_comes_in_again(place: str, tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    result = run("export", "demo", str(file), "--store", place)
    assert "originals as they are" in result.stderr
    assert result.stdout == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    refused(UserError, "import", str(file), "--store", place)
    assert "(it was demo)" in run("import", str(file), "--as", "copy", "--store", place).stderr
    with closing(open_store(place)) as store:
        assert list(store.entries("copy")) == list(store.entries("demo"))


def test_stdout_and_stdin_do_as_well(place: str, tmp_path: Path) -> None:
    data = run("export", "demo", "--store", place).stdout_bytes
    done = run("import", "-", "--store", str(tmp_path / "other"), "--json", given=data)
    assert json.loads(done.stdout) == {
        "session": "demo",
        "origin": "demo",
        "entries": 7,
        "texts": 2,
        "redacted": False,
    }


def test_an_export_replaces_one_as_a_whole(place: str, tmp_path: Path) -> None:
    file = tmp_path / "demo.jsonl"
    file.write_bytes(b"an older one\n")
    file.chmod(0o644)
    told = json.loads(run("export", "demo", str(file), "--json", "--store", place).stdout)
    assert told["bytes"] == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_export_that_fails_leaves_what_was_there(place: str, tmp_path: Path) -> None:
    """T-D4: nothing of ours is lost or half written."""
    file = tmp_path / "demo.jsonl"
    file.write_bytes(b"an older one\n")
    plant(tmp_path, "DELETE FROM blob WHERE hash = ?", hash_of(as_bytes(LONG)))
    refused(KedgelineError, "export", "demo", str(file), "--store", place)
    assert file.read_bytes() == b"an older one\n"
    assert {path.name for path in tmp_path.iterdir()} == {"demo.jsonl", "store"}


def test_no_link_is_followed_and_nothing_else_is_overwritten(place: str, tmp_path: Path) -> None:
    """T-S3."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    link, twin, folder, pipe = (tmp_path / name for name in ("link", "twin", "folder", "pipe"))
    link.symlink_to(precious)
    os.link(precious, twin)
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (link, twin, folder, pipe):
        refused(FileRefused, "export", "demo", str(path), "--store", place)
    assert precious.read_text() == "mine"
    assert "symbolic link" in refused(FileRefused, "export", "demo", str(link), "--store", place)
    refused(FileRefused, "export", "demo", str(tmp_path / "none" / "x"), "--store", place)


def test_a_full_disk_is_said_and_leaves_nothing(place: str, tmp_path: Path) -> None:
    with folder_below(tmp_path) as folder:
        assert folder is not None
        with pytest.raises(OutputUnwritable, match="no space"):
            _half(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"store"}


def _half(folder: Folder) -> None:
    with folder.replacing("x") as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")


def test_what_cannot_be_is_said_in_a_sentence(place: str, tmp_path: Path) -> None:
    refused(NoSuchSession, "export", "dmo", str(tmp_path / "x"), "--store", place)
    assert not (tmp_path / "x").exists()
    refused(SourceUnreadable, "import", str(tmp_path / "none"), "--store", place)
    (tmp_path / "notes.txt").write_text("hello\n")
    refused(FileRefused, "import", str(tmp_path / "notes.txt"), "--store", place)
    assert "--json needs a FILE" in run("export", "demo", "--json", code=2).stderr


def test_secrets_are_left_out_when_asked(place: str, tmp_path: Path) -> None:
    secret = "ghp_" + "Zx81kQ0vNn3aWm5RtYu7Pb2cDe4FgHj6LsTo"
    with closing(open_store(place)) as store:
        Session("demo", store).append({"role": "user", "content": f"use {secret}"})
    for name, flags in (("whole", []), ("clean", ["--redacted"])):
        file = str(tmp_path / name)
        run("export", "demo", file, *flags, "--store", place)
        run("import", file, "--as", name, "--store", place)
    with closing(open_store(place)) as store:
        assert secret in str(Session("whole", store).transcript())
        assert secret not in str(Session("clean", store).transcript())


def test_fsck_says_what_is_damaged_and_what_was_repaired(place: str, tmp_path: Path) -> None:
    assert "2 sessions checked; nothing is damaged" in run("fsck", "--store", place).stdout
    plant(tmp_path, "DELETE FROM blob WHERE hash = ?", hash_of(as_bytes(LONG)))
    plant(tmp_path, "DELETE FROM place WHERE session='demo'")
    told = run("fsck", "--store", place, "--json", code=1).stdout.splitlines()
    assert {json.loads(line)["repairable"] for line in told} == {True, False}
    shown = run("fsck", "--store", place, code=1).stdout
    assert "`kedgeline fsck --repair` can repair" in shown
    repaired = run("fsck", "--repair", "--store", place, "--json", code=1).stdout.splitlines()
    assert {json.loads(line)["repaired"] for line in repaired} == {True, False}
    left = run("fsck", "--session", "demo", "--store", place, code=1).stdout
    assert "demo t0 (entry 1)" in left
    assert "1 session checked; 1 damaged" in left
    refused(NoSuchSession, "fsck", "--session", "none", "--store", place)


def test_fsck_that_repairs_all_exits_with_0(place: str, tmp_path: Path) -> None:
    plant(tmp_path, "DELETE FROM words")
    assert "repaired" in run("fsck", "--repair", "--store", place).stdout


def test_gc_removes_nothing_unless_told(place: str) -> None:
    shown = run("gc", "--match", "ci-*", "--store", place)
    assert "1 session and 0 loose texts would be deleted" in shown.stdout
    assert "ci-1" in shown.stdout
    without = run("gc", "--apply", "--store", place)
    assert "no rule is given" in without.stderr
    assert "nothing to delete; 2 sessions kept" in without.stdout
    with closing(open_store(place)) as store:
        assert len(store.sessions()) == 2


def test_gc_removes_what_was_shown(place: str) -> None:
    told = json.loads(run("gc", "--match", "ci-*", "--apply", "--json", "--store", place).stdout)
    assert (told["applied"], told["removed"], told["kept"]) == (True, ["ci-1"], 1)
    with closing(open_store(place)) as store:
        assert [info.name for info in store.sessions()] == ["demo"]
    assert "nothing is damaged" in run("fsck", "--store", place).stdout


def test_times_and_sizes_are_read_as_people_write_them() -> None:
    assert [days_given(one) for one in ("90d", "90", "12w", "36h", "1y")] == [90, 90, 84, 1.5, 365]
    sizes = ("100MB", "100m", "1.5 GB", "500kB", "7")
    assert [bytes_given(one) for one in sizes] == [10**8, 10**8, 1_500_000_000, 500_000, 7]
    for wrong in ("", "soon", "-3d", "9" * 20, "1e9"):
        for parse in (days_given, bytes_given):
            with pytest.raises(typer.BadParameter):
                parse(wrong)
