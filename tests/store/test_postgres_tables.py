"""The tables: made, changed, checked and repaired; and what is searched in them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from kedgeline.errors import StoreFailed, UserError
from kedgeline.store import Entry, Passage
from kedgeline.store import postgres_connection as schema
from kedgeline.store.postgres import PostgresStore, open_postgres
from tests.postgres_server import Server


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    with closing(open_postgres(postgres)) as store:
        yield store


@pytest.fixture
def empty(postgres_server: Server) -> Iterator[str]:
    """Address of a database without tables."""
    name = postgres_server.database()
    yield postgres_server.address(name)
    postgres_server.drop(name)


def add(store: PostgresStore, *entries: Entry, session: str = "s", **more: Any) -> None:
    with store.writing(session) as writing:
        for entry in entries:
            writing.add(entry, **more)


def ask(address: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_those_who_open_it_first_make_the_tables_once(empty: str) -> None:
    failed: list[BaseException] = []

    def open_() -> None:
        try:
            open_postgres(empty).close()
        except StoreFailed as error:
            failed.append(error)

    threads = [threading.Thread(target=open_) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert ask(empty, "SELECT number FROM kedgeline.version") == [(len(schema.MIGRATIONS),)]


def test_tables_are_changed_whole_or_not_at_all(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-D11."""
    with closing(open_postgres(empty)) as store:
        add(store, Entry(kind="about", data=b"kept"))
    known = len(schema.MIGRATIONS)
    better = "ALTER TABLE kedgeline.entry ADD more integer;"
    broken = (*schema.MIGRATIONS, better + "SELECT 1 / 0")
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(StoreFailed, match="division by zero"):
        open_postgres(empty)
    assert ask(empty, "SELECT number FROM kedgeline.version") == [(known,)]
    monkeypatch.setattr(schema, "MIGRATIONS", (*broken[:-1], better))
    with closing(open_postgres(empty)) as store:
        assert [entry.data for entry in store.entries("s")] == [b"kept"]
    assert ask(empty, "SELECT number FROM kedgeline.version") == [(known + 1,)]


def test_tables_of_a_newer_kedgeline_are_left_alone(empty: str) -> None:
    open_postgres(empty).close()
    ask(empty, "UPDATE kedgeline.version SET number = 99")
    ask(empty, "DROP TABLE kedgeline.place")
    with pytest.raises(UserError, match="has schema 99"):
        open_postgres(empty)
    assert ask(empty, "SELECT to_regclass('kedgeline.place')::text") == [(None,)]


def test_whoever_may_not_make_tables_is_told(empty: str) -> None:
    ask(empty, "CREATE ROLE guest LOGIN")
    try:
        with pytest.raises(StoreFailed, match=r"permission denied.*ask whoever runs the server"):
            open_postgres(empty.replace("kedgeline@", "guest@"))
    finally:
        ask(empty, "DROP ROLE guest")


DAMAGE = {
    "DELETE FROM kedgeline.place": "the turns that stand",
    "UPDATE kedgeline.place SET before = 7": "the turns that stand",
    "DELETE FROM kedgeline.said": "its messages",
    "UPDATE kedgeline.said SET id = 'x'": "its messages",
    "UPDATE kedgeline.passage SET number = 9": "a passage belongs to no entry",
    "UPDATE kedgeline.passage SET at = 9": "a passage belongs to no entry",
    "DELETE FROM kedgeline.session": "its line in the list",
    "UPDATE kedgeline.session SET bytes = 1": "its line in the list",
    "DELETE FROM kedgeline.passage": "",
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_indexes_are_made_anew(statement: str, store: PostgresStore, postgres: str) -> None:
    turn = Entry(kind="turn", index=0, tokens=5, said=("a", "b\0"), thread="\ud800")
    add(store, turn, Entry(kind="turn", index=1, said=("c",)), passages=[Passage(text="word")])
    before = (store.head("s"), store.places("s"), store.threads("s"), store.said("s", 9))
    ask(postgres, statement)
    problems = list(store.problems())
    wanted = DAMAGE[statement]
    assert [problem.what.startswith(wanted) for problem in problems] == [True] * bool(wanted)
    assert store.repair() == problems
    assert list(store.problems()) == []
    assert before == (store.head("s"), store.places("s"), store.threads("s"), store.said("s", 9))
    add(store, Entry(kind="turn", index=2))
    assert store.head("s").number == 3


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE kedgeline.entry SET data = 'other' WHERE number = 1", "chain is broken"),
        ("DELETE FROM kedgeline.entry WHERE number = 2", "entries are missing"),
        ("DELETE FROM kedgeline.blob", "the blob b that it refers to is missing"),
    ],
)
def test_what_is_lost_is_told_and_not_repaired(
    statement: str, what: str, store: PostgresStore, postgres: str
) -> None:
    add(store, *(Entry(kind="about", blobs=("b",)) for _ in range(3)), blobs={"b": b"b"})
    ask(postgres, statement)
    told = [problem for problem in store.problems() if not problem.repairable]
    assert any(what in problem.what for problem in told)
    store.repair()
    assert [problem for problem in store.problems() if not problem.repairable] == told


def rows_read(store: PostgresStore, index: int) -> int:
    """By one append, in all tables and indexes."""
    sums = "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM"
    counts = []
    for _ in range(2):
        store.ask("SELECT pg_stat_force_next_flush()")
        counts.append(int(next(iter(store.ask(f"{sums} pg_stat_user_tables")))[0]))
        turn = Entry(kind="turn", index=index, said=(f"m{index}",), key=f"k{index}")
        if len(counts) == 1:
            add(store, turn, passages=[Passage(text="a word")])
    return counts[1] - counts[0]


def test_an_append_reads_no_more_in_a_long_session(store: PostgresStore) -> None:
    """Before the server has counted its rows, too."""
    few = rows_read(store, 0)
    add(store, *(Entry(kind="turn", index=index) for index in range(1, 400)))
    assert rows_read(store, 400) <= few + 300


def test_names_may_be_too_long_for_an_index(store: PostgresStore) -> None:
    long = "\ud800\0ö" * 10_000
    add(store, Entry(kind="turn", index=0, thread=long, key=long, said=(long,), id=long))
    assert store.threads("s") == [long]
    assert store.keyed("s", long) == 1
    assert store.known("s", [long, "other"]) == {long}
    assert [place.id for place in store.places("s", thread=long)] == [long]
