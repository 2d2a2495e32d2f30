"""SQLite: its journal, versions of the tables, failing disks, forks, and what a query costs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import apsw
import pytest

from kedgeline.errors import FileRefused, StoreBusy, StoreFailed, UserError
from kedgeline.store import Entry, Kind, Passage, Phrase, Query
from kedgeline.store.sqlite import (
    APPLICATION,
    MIGRATIONS,
    Patience,
    Sqlite,
    SqliteStore,
    Step,
    match_expression,
    open_sqlite,
)
from kedgeline.store.sqlite_files import DATABASE, is_networked
from kedgeline.store.table_store import CANDIDATES
from tests.store.opened import asked_all, connection_of

WORD = Query(phrases=(Phrase(words=("word",)),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(open_sqlite(str(tmp_path / "store"))) as store:
        yield store


def add(store: SqliteStore, index: int, data: bytes = b"data", text: str = "") -> None:
    with store.writing("s") as writing:
        passages = [Passage(text=text)] if text else []
        writing.add(Entry(kind="turn", index=index, data=data), passages=passages)


# A write-ahead log only where it is safe.

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home/ann rw - nfs4 server:/home rw
31 30 0:27 / /home/ann/local rw - ext4 /dev/vdb rw
32 22 0:28 / /mnt/with\040blank rw - virtiofs share rw
33 22 0:29 / /mnt/cloud rw - fuse.sshfs me@host rw
34 22 0:30 / /mnt/stick rw - fuseblk /dev/sdb rw
35 22 0:31 / /mnt/twice rw - ext4 /dev/vdc rw
36 22 0:32 / /mnt/twice rw master:1 propagate_from:2 - cifs //host/share rw
37 22 0:33 / /mnt/nine rw - 9p share rw
a line that says nothing
""".splitlines()


@pytest.mark.parametrize(
    ("path", "networked"),
    [
        ("/var/lib/kedgeline", False),
        ("/home/ann/.kedgeline", True),
        ("/home/ann", True),
        ("/home/anna/.kedgeline", False),
        ("/home/ann/local/kedgeline", False),
        ("/mnt/with blank/kedgeline", True),
        ("/mnt/cloud/kedgeline", True),
        ("/mnt/stick/kedgeline", False),
        ("/mnt/twice/kedgeline", True),
        ("/mnt/nine/kedgeline", True),
        ("/mnt", False),
    ],
)
def test_the_mount_that_is_seen_decides(path: str, networked: bool) -> None:
    """opencode#14970, hermes#110848, claude-mem#3179: databases broken within a minute."""
    assert is_networked(Path(path), MOUNTS) is networked


def test_durable_waits_for_the_disk_and_fast_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def synchronous(name: str, durability: Any) -> tuple[str, int]:
        with closing(open_sqlite(str(tmp_path / name), durability=durability)) as store:
            connection = connection_of(store)
            assert connection.pragma("journal_mode") == store.database.journal
            return store.database.journal, connection.pragma("synchronous")

    normal, full, extra = 1, 2, 3
    assert synchronous("a", "durable") == ("wal", full)
    assert synchronous("a", "fast") == ("wal", normal)
    monkeypatch.setattr("kedgeline.store.sqlite.wanted_journal", lambda *_: "truncate")
    assert synchronous("b", "durable") == ("truncate", extra)
    assert synchronous("b", "fast") == ("truncate", full)  # or a power cut may damage it
    assert synchronous("a", "durable") == ("truncate", extra)  # no longer safe there


def test_a_refused_log_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, inner: apsw.Connection) -> None:
            self.inner = inner

        def pragma(self, name: str, *value: Any) -> object:
            refused = (name, *value) == ("journal_mode", "wal")
            return "delete" if refused else self.inner.pragma(name, *value)

    prepare = Sqlite.prepare
    monkeypatch.setattr(
        Sqlite,
        "prepare",
        lambda self, connection, path: prepare(self, Refusing(connection), path),  # type: ignore[arg-type]
    )
    with closing(open_sqlite(str(tmp_path / "store"))) as store:
        assert store.database.journal == "truncate"
        assert connection_of(store).pragma("journal_mode") == "truncate"


# Versions of the tables: forward step by step, never back (T-D11).


def opened(place: Path, *more: Step) -> SqliteStore:
    return SqliteStore(Sqlite(str(place), "fast", steps=(*MIGRATIONS, *more)), "")


def filled(place: Path) -> None:
    with closing(opened(place)) as store:
        add(store, 0, b"kept")


def asked(place: Path, sql: str) -> Any:
    with closing(apsw.Connection(str(place / DATABASE))) as database:
        return database.execute(sql).fetchall()


def with_colour(database: apsw.Connection) -> None:
    database.execute("ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")


def with_shape(database: apsw.Connection) -> None:
    database.execute("ALTER TABLE session ADD COLUMN shape TEXT NOT NULL DEFAULT 'round'")


def breaking(database: apsw.Connection) -> None:
    with_shape(database)
    raise RuntimeError("killed in the middle")


def test_a_new_store_has_the_last_version_and_our_mark(tmp_path: Path) -> None:
    filled(tmp_path)
    assert asked(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert asked(tmp_path, "PRAGMA application_id") == [(APPLICATION,)]
    assert asked(tmp_path, "PRAGMA auto_vacuum") == [(2,)]


def test_a_migration_goes_on_after_the_step_that_broke_and_loses_nothing(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(RuntimeError):
        opened(tmp_path, with_colour, breaking)
    assert asked(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS) + 1,)]
    columns = "SELECT name FROM pragma_table_info('session')"
    assert asked(tmp_path, columns)[-1] == ("colour",)
    with closing(opened(tmp_path, with_colour, with_shape)) as store:
        assert [entry.data for entry in store.entries("s")] == [b"kept"]
    assert asked(tmp_path, columns)[-2:] == [("colour",), ("shape",)]


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    filled(tmp_path)
    opened(tmp_path, with_colour).close()
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(UserError, match="upgrade kedgeline: nothing was changed"):
        open_sqlite(str(tmp_path))
    assert (tmp_path / DATABASE).read_bytes() == before
    assert not (tmp_path / f"{DATABASE}-wal").exists()


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs (x)", "PRAGMA application_id = 7"])
def test_a_database_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, statement: str
) -> None:
    asked(tmp_path, statement)
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(FileRefused, match="another program"):
        open_sqlite(str(tmp_path))
    assert (tmp_path / DATABASE).read_bytes() == before


@pytest.mark.parametrize("run", range(3))
def test_many_may_open_a_new_store_at_once(tmp_path: Path, run: int) -> None:
    def write(number: int) -> None:
        with closing(open_sqlite(str(tmp_path / "store"))) as store:
            add(store, number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    with closing(open_sqlite(str(tmp_path / "store"))) as store:
        assert store.head("s").number == 16


def test_a_refusal_without_waiting_is_retried() -> None:
    """SQLite lets one of two fail at once that both would write the first page."""
    tries: list[int] = []

    def step() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise apsw.BusyError("database is locked")

    Patience(1.0).retry(step)
    assert len(tries) == 3


# When the disk fails, a process forks or another holds the lock.

MORE = b"x" * (1 << 20)
"""Data of an entry that does not fit any more."""


def full(store: SqliteStore) -> apsw.Connection:
    """A disk that takes no further page, as far as this connection goes."""
    connection: apsw.Connection = connection_of(store)
    connection.pragma("max_page_count", 1)
    return connection


def test_a_full_disk_is_reported_and_works_again_when_there_is_room(store: SqliteStore) -> None:
    """oh-my-pi#8596, kimi-code#2902: a partial record stayed, and a full disk stuck. T-D4."""
    add(store, 0)
    head = store.head("s")
    failed = full(store)
    with pytest.raises(StoreFailed, match=r"no space is left.*appending the same again is safe"):
        add(store, 1, MORE)
    assert connection_of(store) is not failed
    assert store.head("s") == head
    add(store, 1, MORE)
    assert [entry.number for entry in store.entries("s")] == [1, 2]
    assert list(store.problems()) == []


def test_a_commit_that_fails_is_an_error_and_the_database_is_opened_anew(
    store: SqliteStore,
) -> None:
    """A second fsync may succeed although the first lost the pages."""
    add(store, 0)
    connection = connection_of(store)
    connection.set_commit_hook(lambda: True)  # the commit becomes a rollback, with an error
    with pytest.raises(StoreFailed):
        add(store, 1)
    add(store, 1)
    assert connection_of(store) is not connection
    assert [entry.index for entry in store.entries("s")] == [0, 1]


def test_a_lock_held_too_long_is_busy(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with closing(open_sqlite(place)) as first, closing(open_sqlite(place, wait=0.05)) as second:
        with first.writing("s") as writing:
            writing.add(Entry(kind="turn", index=0))
            with pytest.raises(StoreBusy, match="try again"), second.writing("other"):
                pass
            assert second.head("s").number == 0
        with second.writing("s") as writing:
            assert writing.head("s").number == 1


def _in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:  # no exception may leave it, or pytest would run twice
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_connection_is_not_carried_into_a_forked_process(store: SqliteStore) -> None:
    """Both would believe to hold the same locks."""
    add(store, 0)
    before = connection_of(store)

    def in_child() -> bool:
        add(store, 1)
        return connection_of(store) is not before

    assert _in_child(in_child) == 0
    add(store, 2)
    assert [entry.index for entry in store.entries("s")] == [0, 1, 2]


def _refused(writing: Any) -> bool:
    try:
        writing.add(Entry(kind="turn", index=1))
    except StoreFailed:
        return True
    return False


def test_a_block_is_not_used_by_another_process_or_thread(store: SqliteStore) -> None:
    refused: list[bool] = []
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0))
        assert _in_child(lambda: _refused(writing)) == 0
        thread = Thread(target=lambda: refused.append(_refused(writing)))
        thread.start()
        thread.join()
    assert refused == [True]
    assert [entry.index for entry in store.entries("s")] == [0]


def test_a_damaged_database_is_reported_by_whoever_reads_it(store: SqliteStore) -> None:
    for index in range(200):
        add(store, index, text=f"word{index}")
    store.close()
    path = Path(store.place) / DATABASE
    data = bytearray(path.read_bytes())
    data[8_192 : len(data) - 4_096] = b"\xff" * (len(data) - 12_288)
    path.write_bytes(bytes(data))
    with closing(open_sqlite(store.place)) as again:
        with pytest.raises(StoreFailed, match="damaged"):
            list(again.entries("s"))
        with pytest.raises(StoreFailed):
            again.find(Query(phrases=(Phrase(words=("word7",)),)))
        assert list(again.problems())


def test_a_database_that_opens_for_reading_only_is_not_kept_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it may not write, SQLite opens for reading by itself: once it may, so must the store
    (kimi-code#2902: a failure that stayed)."""
    open_sqlite(str(tmp_path / "store")).close()
    whole = apsw.Connection
    with monkeypatch.context() as patch:
        patch.setattr(
            apsw, "Connection", lambda path, flags: whole(path, flags=apsw.SQLITE_OPEN_READONLY)
        )
        with pytest.raises(StoreFailed, match="may not be written to"):
            open_sqlite(str(tmp_path / "store"))
    with closing(open_sqlite(str(tmp_path / "store"))) as again:
        add(again, 0)
        assert again.head("s").number == 1


# Damage to what is derived from the entries, and to pages.

PASSAGES = [(number, [Passage(text=f"word {number}")]) for number in range(1, 6)]
DERIVED = {
    "a place that was cut": "INSERT INTO place VALUES ('', 's', '', 9, 1, 1, 1, 9, 'x')",
    "a place that is missing": "DELETE FROM place WHERE turn = 1",
    "a place of another entry": "UPDATE place SET number = 1 WHERE turn = 2",
    "tokens that do not add up": "UPDATE place SET before = before + 1 WHERE turn = 2",
    "a count that is wrong": "UPDATE place SET ahead = ahead + 1 WHERE turn = 2",
    "a thread that is no more": "UPDATE place SET thread = 'z' WHERE turn = 2",
    "places of no session": "INSERT INTO place VALUES ('', 'ghost', '', 0, 1, 1, 0, 0, 'x')",
    "a message that is missing": "DELETE FROM said WHERE id = 'm2'",
    "a message that is another": "UPDATE said SET id = 'other' WHERE id = 'm2'",
    "a message too many": "INSERT INTO said VALUES ('', 's', 99, 'm99')",
    "a message elsewhere": "UPDATE said SET position = 99 WHERE id = 'm4'",
    "a link that is missing": "DELETE FROM link",
    "a link too many": "INSERT INTO link VALUES ('', 's', 'nowhere')",
    "a session that is not listed": "DELETE FROM session",
    "a size that is wrong": "UPDATE session SET bytes = 77",
    "a rank that is wrong": "UPDATE session SET rank = 0",
    "a session listed without entries": "INSERT INTO session VALUES ('', 'ghost', 99, 0)",
    "a passage of no entry": "UPDATE passage SET number = 99 WHERE number = 2",
    "a passage of another time": "UPDATE passage SET at = 99 WHERE number = 2",
    "a passage of another turn": "UPDATE passage SET turn = 99 WHERE number = 2",
    "words of no passage": "DELETE FROM passage WHERE number = 2",
    "a passage without words": "DELETE FROM words WHERE rowid = 2 << 16",
    "words that are gone": "DELETE FROM words_data WHERE id > 10; DELETE FROM words_idx",
}


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with a rewind, messages, blobs and passages."""
    with closing(open_sqlite(str(tmp_path / "store"), durability="fast")) as store:
        with store.writing("s") as writing:
            for number, passages in PASSAGES:
                index, said = (number - 1) % 4, (f"m{number}",)
                entry = Entry(kind="turn", index=index, tokens=number, said=said, blobs=("b",))
                writing.add(entry, passages=passages, blobs={"b": b"blob"})
            writing.add(Entry(kind="turn", index=1, tokens=6))
            writing.add(Entry(kind="turn", index=2, tokens=7))
        yield store


def damage(store: SqliteStore, statement: str) -> None:
    connection = connection_of(store)
    connection.config(1010, 0)  # the shadow tables of the words may be written to
    connection.execute(statement)


@pytest.mark.parametrize("what", DERIVED)
def test_what_is_derived_from_the_entries_is_rebuilt(turns: SqliteStore, what: str) -> None:
    def state() -> list[object]:
        told = (turns.places("s"), turns.said("s", 99), turns.sessions(), turns.find(WORD))
        return [*map(list, told), dict(turns.loose())]

    before = state()
    damage(turns, DERIVED[what])
    found = list(turns.problems())
    assert found
    assert all(problem.repairable for problem in found)
    assert turns.repair()
    turns.reindex("s", PASSAGES)
    assert list(turns.problems()) == []
    assert state() == before


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM entry WHERE number = 2", "UPDATE entry SET said = '[' WHERE number = 3"],
)
def test_nothing_is_derived_from_entries_of_which_some_are_lost(
    turns: SqliteStore, statement: str
) -> None:
    """The places remember more than the entries do."""
    before = list(turns.places("s"))
    damage(turns, statement)
    found = list(turns.problems())
    assert found
    assert not any(problem.repairable for problem in found)
    assert list(turns.repair()) == []
    assert list(turns.places("s")) == before


def test_a_lost_turn_keeps_its_place(turns: SqliteStore) -> None:
    """Where the table of places was damaged too, the view of the repaired store had no sign that a
    turn is missing."""
    before = [(place.index, place.number) for place in turns.places("s")]
    number = before[1][1]
    damage(turns, f"DELETE FROM entry WHERE number = {number}; DELETE FROM place")
    turns.rebuild({"s"})
    after = [(place.index, place.number) for place in turns.places("s")]
    assert [index for index, _ in after] == [index for index, _ in before]
    assert turns.entry("s", after[1][1]) is None


def test_a_table_whose_first_page_is_gone_is_given_up(turns: SqliteStore, tmp_path: Path) -> None:
    """Range after range of all rows that there could be was tried, for ever."""
    page = connection_of(turns).execute("SELECT rootpage FROM sqlite_schema WHERE name='blob'").get
    turns.close()
    path = tmp_path / "store" / DATABASE
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4_096 : page * 4_096] = b"\x55" * 4_096
    path.write_bytes(data)
    with closing(open_sqlite(str(tmp_path / "store"))) as damaged:
        told = [problem.what for problem in damaged.repair()]
        assert "7 entries and 0 large texts are whole" in told[0]
        assert damaged.head("s").number == 7


def test_rows_that_are_damaged_are_not_copied_by_the_repair(
    turns: SqliteStore, tmp_path: Path
) -> None:
    """SQLite copies a whole table byte by byte where it can: the repaired database was as damaged
    as the old one, and could not be read at all."""
    before = list(turns.places("s"))
    page = connection_of(turns).execute("SELECT rootpage FROM sqlite_schema WHERE name='place'").get
    turns.close()
    path = tmp_path / "store" / DATABASE
    data = bytearray(path.read_bytes())
    start = (page - 1) * 4_096
    last = start + int.from_bytes(data[start + 12 : start + 14])  # a cell: its size, its header
    data[last + 2] = 0xE7  # its owner, a column of the key, is longer than the row
    path.write_bytes(data)
    with closing(open_sqlite(str(tmp_path / "store"))) as damaged:
        assert [one.repairable for one in damaged.problems() if one.where == "database"] == [True]
        assert damaged.repair()
        damaged.reindex("s", PASSAGES)
        assert list(damaged.problems()) == []
        assert list(damaged.places("s")) == before


def test_what_is_wrong_with_one_owner_is_not_told_to_another(turns: SqliteStore) -> None:
    damage(turns, "DELETE FROM place WHERE owner = ''")
    with closing(open_sqlite(turns.place, owner="other")) as other:
        assert list(other.problems()) == []
        assert list(other.repair()) == []
    assert [problem.where for problem in turns.problems()] == ["s"]


# What is asked of a long session costs what it costs of a short one; every statement names the
# owner (T-S10).

MARKS: tuple[tuple[Kind, ...], ...] = (
    ("pin", "unpin"),
    ("compaction", "undo"),
    ("compaction", "attempt", "undo", "fork"),
    ("call",),
)
NEWEST: tuple[tuple[Kind, ...], ...] = (("turn", "cut", "words"), ("about",))
Question = tuple[tuple[Kind, ...], str | None, bool]
SHORT, LONG = 100, 3_000


def grown(store: SqliteStore, turns: int) -> str:
    """A session that begins with its own entries; all others are a sub-agent's."""
    session = f"s{turns}"
    with store.writing(session) as writing:
        for kind in ("about", "turn", "words", "pin", "compaction", "call", "fork"):
            writing.add(Entry(kind=kind))
        for index in range(turns):
            writing.add(Entry(kind="turn", thread="sub", index=index))
    return session


def steps(store: SqliteStore, session: str, question: Question) -> int:
    """How much SQLite does to find the first entry."""
    kinds, thread, newest = question
    connection, taken = connection_of(store), 0

    def counted(event: dict[str, dict[str, int]]) -> None:
        nonlocal taken
        taken += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, counted)
    next(store.entries(session, kinds=kinds, thread=thread, newest_first=newest), None)
    connection.trace_v2(0)
    return taken


def test_a_long_session_is_not_walked(store: SqliteStore) -> None:
    short, long = grown(store, SHORT), grown(store, LONG)
    questions: list[Question] = [(kinds, None, new) for kinds in MARKS for new in (True, False)]
    questions += [(kinds, "", True) for kinds in NEWEST]
    walked = [one for one in questions if 2 * steps(store, short, one) < steps(store, long, one)]
    assert walked == []


STATEMENT = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE)\b")
OF_ALL_OWNERS = (
    "SELECT count(*) FROM sqlite_schema",  # is the database empty?
    "SELECT count(*) FROM words_docsize",  # words that are nobody's
    "SELECT 1 FROM passage WHERE id BETWEEN",  # ids are one row for all owners
    "INSERT INTO words (words) VALUES ('optimize')",  # merges the index
    "SELECT 1 FROM words_docsize WHERE words_docsize.id = passage.id",  # within one that does
    "FROM words WHERE words MATCH :match",  # the owner's mark is in what is matched
    "FROM json_each(:match) WHERE EXISTS (SELECT 1 FROM words WHERE words MATCH value)",  # the same
)


def test_what_is_executed_names_the_owner(tmp_path: Path) -> None:
    """Statements as SQLite gets them, whatever they were put together from."""
    seen: set[str] = set()
    store = open_sqlite(str(tmp_path / "store"), owner="ann")
    connection_of(store).trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: seen.add(event["sql"]))
    asked_all(store)
    store.close()
    index = re.compile(r"^--|'main'|\"main\"")  # what the index of words does within itself
    ours = {sql for sql in seen if STATEMENT.search(sql) and not index.search(sql)}
    assert len(ours) > 20
    ownerless = [sql for sql in ours if "owner" not in sql]
    assert [sql for sql in ownerless if not any(each in sql for each in OF_ALL_OWNERS)] == []


def test_words_are_quoted_for_the_index() -> None:
    """CVE-2025-67644: keys of a filter became part of a statement. T-S4."""
    query = Query(
        phrases=(Phrase(words=("a", "or", "b")),), files=(Phrase(words=("x", "py"), prefix=True),)
    )
    text = match_expression("", query)
    assert text.startswith('text : "a or b" AND owner : (')
    assert text.endswith(' AND files : "x py" *')


def test_only_the_newest_candidates_are_ranked(tmp_path: Path) -> None:
    """So a word that stands everywhere costs no more in a large archive than in a small one."""
    with closing(open_sqlite(str(tmp_path / "store"), durability="fast")) as store:
        with store.writing("s") as writing:
            for index in range(CANDIDATES + 10):
                text = "word word word" if index in (5, CANDIDATES) else "word and more"
                writing.add(Entry(kind="turn", index=index), passages=[Passage(text=text)])
        found = store.find(Query(phrases=(Phrase(words=("word",)),), limit=2))
        assert [each.index for each in found] == [CANDIDATES, CANDIDATES + 9]


def test_room_is_given_back(tmp_path: Path) -> None:
    with closing(open_sqlite(str(tmp_path / "store"), durability="fast")) as store:
        with store.writing("s") as writing:
            writing.add(Entry(kind="turn", index=0, blobs=("b",)), blobs={"b": b"x" * 5_000_000})
        path = tmp_path / "store" / DATABASE
        store.sweep()
        assert path.stat().st_size > 5_000_000
        store.drop("s")
        assert store.sweep() == 1
        assert path.stat().st_size < 500_000
        assert (tmp_path / "store" / f"{DATABASE}-wal").stat().st_size == 0
