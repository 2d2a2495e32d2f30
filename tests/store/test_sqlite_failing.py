"""When the disk fails, a process forks or another holds the lock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw
import pytest

from kedgeline.errors import StoreBusy, StoreFailed
from kedgeline.store.sqlite import SqliteStore, open_sqlite
from kedgeline.store.values import Entry, Passage, Phrase, Query

MORE = 1 << 20
"""Bytes of an entry that does not fit any more."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(str(tmp_path / "store"))
    yield store
    store.close()


def add(store: SqliteStore, index: int, data: bytes = b"data") -> None:
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=index, data=data))


def full(store: SqliteStore, *, pages: int = 1) -> apsw.Connection:
    """A disk that takes no further page, as far as this connection goes."""
    database = store._connections.current()
    database.pragma("max_page_count", pages)
    return database


def test_a_full_disk_is_reported_and_works_again_when_there_is_room(store: SqliteStore) -> None:
    """oh-my-pi#8596, kimi-code#2902: a partial record stayed, and a full disk stuck. T-D4."""
    add(store, 0)
    chain = store.head("s").chain
    failed = full(store)
    with pytest.raises(StoreFailed, match=r"no space is left.*appending the same again is safe"):
        add(store, 1, b"x" * MORE)
    assert store._connections.current() is not failed
    assert (store.head("s").number, store.head("s").chain) == (1, chain)
    add(store, 1, b"x" * MORE)
    assert [entry.number for entry in store.entries("s")] == [1, 2]
    assert list(store.problems()) == []


def test_an_error_that_is_caught_within_the_block_still_ends_it(store: SqliteStore) -> None:
    add(store, 0)
    full(store)

    def write() -> None:
        with store.writing("s") as writing:
            writing.add(Entry(kind="turn", index=1))
            with suppress(StoreFailed):
                writing.add(Entry(kind="turn", index=2, data=b"x" * MORE))

    with pytest.raises(StoreFailed, match="nothing of the block was written"):
        write()
    assert store.head("s").number == 1


def test_an_entry_that_cannot_be_written_whole_ends_the_block(store: SqliteStore) -> None:
    too_large = Passage(text="word", start=1 << 80)

    def write() -> None:
        with store.writing("s") as writing, suppress(OverflowError):
            writing.add(Entry(kind="turn", index=0), passages=[too_large])

    with pytest.raises(StoreFailed, match="could not be written"):
        write()
    assert store.head("s").number == 0


def test_a_commit_that_fails_is_not_just_tried_again(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second fsync may succeed although the first lost the pages: open anew, and look."""
    add(store, 0)
    database = store._connections.current()
    database.set_commit_hook(lambda: True)  # the commit becomes a rollback, with an error
    with pytest.raises(StoreFailed):
        add(store, 1)
    verified: list[str] = []
    verify = SqliteStore._verify
    monkeypatch.setattr(
        SqliteStore,
        "_verify",
        lambda self, block: (verified.append(block.session), verify(self, block)),
    )
    add(store, 1)
    add(store, 2)
    assert verified == ["s"]
    assert store._connections.current() is not database
    assert [entry.index for entry in store.entries("s")] == [0, 1, 2]


def test_after_a_failure_a_session_that_is_not_what_was_written_is_not_written_to(
    store: SqliteStore,
) -> None:
    add(store, 0)
    full(store)
    with pytest.raises(StoreFailed):
        add(store, 1, b"x" * MORE)
    store._connections.current().execute("UPDATE entry SET data = x'00'")
    with pytest.raises(StoreFailed, match="kedgeline fsck"):
        add(store, 1)


def test_a_lock_held_too_long_is_busy(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    first, second = open_sqlite(place), open_sqlite(place, wait=0.05)
    with first.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0))
        with pytest.raises(StoreBusy, match="try again"), second.writing("other"):
            pass
        assert second.head("s").number == 0
    with second.writing("s") as writing:
        assert writing.head("s").number == 1
    first.close()
    second.close()


def test_a_connection_is_not_carried_into_a_forked_process(store: SqliteStore) -> None:
    """Both would believe to hold the same locks."""
    add(store, 0)
    before = store._connections.current()
    child = os.fork()
    if child == 0:  # no exception may leave it, or pytest would run twice
        code = 1
        try:
            add(store, 1)
            code = 0 if store._connections.current() is not before else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    add(store, 2)
    assert [entry.index for entry in store.entries("s")] == [0, 1, 2]


def test_a_block_is_not_carried_into_a_forked_process(store: SqliteStore) -> None:
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                writing.add(Entry(kind="turn", index=1))
            except StoreFailed:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [entry.index for entry in store.entries("s")] == [0]


def test_a_block_is_not_used_by_another_thread(store: SqliteStore) -> None:
    refused: list[StoreFailed] = []

    def use(writing: object) -> None:
        try:
            writing.add(Entry(kind="turn", index=1))  # type: ignore[attr-defined]
        except StoreFailed as error:
            refused.append(error)

    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0))
        thread = Thread(target=use, args=(writing,))
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert store.head("s").number == 1


def test_a_damaged_database_is_reported_by_whoever_reads_it(store: SqliteStore) -> None:
    with store.writing("s") as writing:
        for index in range(200):
            writing.add(Entry(kind="turn", index=index), passages=[Passage(text=f"word{index}")])
    store.close()
    path = Path(store._connections.place) / "kedgeline.db"
    data = bytearray(path.read_bytes())
    data[8_192 : len(data) - 4_096] = b"\xff" * (len(data) - 12_288)
    path.write_bytes(bytes(data))
    again = open_sqlite(store._connections.place)
    with pytest.raises(StoreFailed, match="damaged"):
        list(again.entries("s"))
    with pytest.raises(StoreFailed):
        again.find(Query(phrases=(Phrase(words=("word7",)),)))
    assert any(not problem.repairable for problem in again.problems())
    again.close()


def test_a_database_that_opens_for_reading_only_is_not_kept_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it may not write, SQLite opens for reading by itself: once it may, so must the store
    (kimi-code#2902: a failure that stayed)."""
    store = open_sqlite(str(tmp_path / "store"))
    store.close()
    whole = apsw.Connection

    def reading(path: str, flags: int) -> apsw.Connection:
        return whole(path, flags=apsw.SQLITE_OPEN_READONLY)

    with monkeypatch.context() as patch:
        patch.setattr(apsw, "Connection", reading)
        with pytest.raises(StoreFailed, match="may not be written to"):
            open_sqlite(str(tmp_path / "store"))
    again = open_sqlite(str(tmp_path / "store"))
    with again.writing("s") as writing:
        writing.add(Entry(kind="about"))
    assert again.head("s").number == 1
    again.close()
