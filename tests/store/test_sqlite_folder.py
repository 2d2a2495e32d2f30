"""The folder of a store: private, ours, and no link followed (T-S3)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kedgeline.errors import FileRefused, StoreFailed
from kedgeline.store.protocol import Entry, Passage
from kedgeline.store.sqlite import open_sqlite
from kedgeline.store.sqlite_files import COMPANIONS


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def write(place: Path) -> None:
    store = open_sqlite(str(place))
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0), passages=[Passage(text="word")])
    store.close()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_all_that_is_made_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    """strands#2937: a predictable path that others could read. T-S3."""
    place = tmp_path / "upper" / "store"
    before = os.umask(mask)
    try:
        store = open_sqlite(str(place))
        with store.writing("s") as writing:
            writing.add(Entry(kind="turn", index=0))
        names = {path.name: mode(path) for path in place.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert names == {"kedgeline.db": 0o600, "kedgeline.db-wal": 0o600, "kedgeline.db-shm": 0o600}
    assert (mode(place), mode(place.parent)) == (0o700, 0o700)


def test_a_journal_is_private_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kedgeline.store.sqlite.wanted_journal", lambda *_: "truncate")
    store = open_sqlite(str(tmp_path / "store"))
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0))
        assert mode(tmp_path / "store" / "kedgeline.db-journal") == 0o600
    store.close()


def test_a_database_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    write(tmp_path / "store")
    (tmp_path / "store" / "kedgeline.db").chmod(0o644)
    write(tmp_path / "store")
    assert mode(tmp_path / "store" / "kedgeline.db") == 0o600


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o770, 0o702])
def test_a_folder_that_others_write_to_is_refused(tmp_path: Path, bits: int) -> None:
    """A shared temporary folder is one of these."""
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(bits)
    with pytest.raises(FileRefused, match="others may write"):
        open_sqlite(str(place))
    assert list(place.iterdir()) == []


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """agentwire#648, codegraph#280: a link led the state elsewhere. T-S3."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(FileRefused, match="symbolic link"):
        open_sqlite(str(tmp_path / "link"))
    assert list((tmp_path / "real").iterdir()) == []


def test_links_may_lead_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link" / "store")
    assert (tmp_path / "real" / "store" / "kedgeline.db").is_file()


@pytest.mark.parametrize(
    "name", ["kedgeline.db", *(f"kedgeline.db{ending}" for ending in COMPANIONS)]
)
@pytest.mark.parametrize("kind", ["link", "dangling", "hardlink", "pipe", "folder"])
def test_nothing_else_is_taken_for_a_file_of_ours(tmp_path: Path, name: str, kind: str) -> None:
    place, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    place.mkdir(mode=0o700)
    elsewhere.write_bytes(b"precious")
    planted = place / name
    if kind == "hardlink":
        planted.hardlink_to(elsewhere)
    elif kind == "pipe":
        os.mkfifo(planted)
    elif kind == "folder":
        planted.mkdir()
    else:
        planted.symlink_to(elsewhere if kind == "link" else tmp_path / "nowhere")
    with pytest.raises(FileRefused):
        open_sqlite(str(place))
    assert elsewhere.read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()


def test_what_belongs_to_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "store")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(FileRefused, match="somebody else"):
        open_sqlite(str(tmp_path / "store"))


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 99, b"x"])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "store"
    place.mkdir(mode=0o700)
    (place / "kedgeline.db").write_bytes(content)
    with pytest.raises(FileRefused):
        open_sqlite(str(place))
    assert (place / "kedgeline.db").read_bytes() == content


@pytest.mark.parametrize("bad", ["", "a\0b", "file/store"])
def test_a_place_that_can_be_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    tmp_path.chmod(0o777)  # the place "" is the folder itself
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises((FileRefused, StoreFailed)):
        open_sqlite(bad)


def test_sqlite_itself_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is put there after we have looked."""
    write(tmp_path / "store")
    (tmp_path / "other").mkdir(mode=0o700)
    link = tmp_path / "other" / "kedgeline.db"
    link.symlink_to(tmp_path / "store" / "kedgeline.db")
    monkeypatch.setattr("kedgeline.store.sqlite.guarded_database", lambda _: link)
    with pytest.raises(StoreFailed, match="cannot be opened"):
        open_sqlite(str(tmp_path / "other"))
