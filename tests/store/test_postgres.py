"""PostgreSQL: addresses, lost connections, what the server is asked, and its tables."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest

from kedgeline.errors import (
    BadSettings,
    KedgelineError,
    MissingExtra,
    StoreBusy,
    StoreFailed,
    UserError,
)
from kedgeline.store import Entry, Passage, open_store
from kedgeline.store import postgres as backend
from kedgeline.store.postgres import (
    MIGRATIONS,
    Postgres,
    PostgresStore,
    arguments,
    open_postgres,
    shown_address,
)
from tests.postgres_server import Server
from tests.store.opened import asked_all

SECRET = "hunter2-and-more"


@pytest.fixture
def store(postgres: str) -> Iterator[PostgresStore]:
    with closing(open_postgres(postgres)) as store:
        yield store


def add(store: PostgresStore, *entries: Entry, session: str = "s", **more: Any) -> None:
    with store.writing(session) as writing:
        for entry in entries:
            writing.add(entry, **more)


def everything_said(error: BaseException | None) -> str:
    said = ""
    while error is not None:
        said += f"{error!r} {error} "
        error = error.__cause__ or error.__context__
    return said


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/name?connect_timeout=1",
        f"postgresql://me:{SECRET}%zz@127.0.0.1/name",
        f"postgresql://me:{SECRET}@[::1/name",
        f"postgresql://me@127.0.0.1:1/name?password={SECRET}&sslpassword={SECRET}",
        f"postgresql://me@127.0.0.1:1/name?nothing={SECRET}",
        f"postgresql://me:{SECRET}\0@127.0.0.1:1/name",
        f"host=127.0.0.1 port=1 password={SECRET}",
    ],
)
def test_no_error_tells_the_password(address: str) -> None:
    with pytest.raises(KedgelineError) as raised:
        open_postgres(address)
    assert SECRET not in everything_said(raised.value)


def test_a_store_is_shown_without_its_password(postgres: str) -> None:
    with closing(open_postgres(postgres.replace("kedgeline@", f"kedgeline:{SECRET}@"))) as store:
        assert SECRET not in repr(store)
        assert "postgresql://kedgeline@/" in repr(store)
        with store.writing("s") as writing:
            assert SECRET not in repr(writing)


def test_an_address_is_shown_so_that_it_leads_there_again() -> None:
    for address in (
        "postgresql://me@host:5433/name",
        "postgresql://host/name",
        "postgresql:///name?host=/a/folder",
    ):
        assert shown_address(arguments(address)) == address


def test_a_password_in_a_message_is_taken_out() -> None:
    held = Postgres(f"postgresql://me:{SECRET}@host/name", "durable", 1.0)
    error = psycopg.OperationalError(f"cannot log in\nwith {SECRET}.")
    assert "cannot log in with ***; nothing was written" in str(held.translated(error))


def test_an_address_without_a_scheme_of_ours_is_refused() -> None:
    with pytest.raises(BadSettings, match="write postgresql://user@host:5432/name"):
        open_postgres("mysql://host/name")


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "psycopg", None)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'kedgeline[postgres]'")):
        open_postgres("postgresql://host/name")


def test_whoever_waits_too_long_is_told(store: PostgresStore, postgres: str) -> None:
    add(store, Entry(kind="about"))
    with closing(open_store(postgres, wait=0.1)) as other, store.writing("s") as writing:
        with pytest.raises(StoreBusy, match=r"held it for 0\.1 seconds"), other.writing("s"):
            pass
        with pytest.raises(StoreBusy):
            other.sweep()
        add(other, Entry(kind="about"), session="another")
        writing.add(Entry(kind="about"))
    assert (store.head("s").number, store.head("another").number) == (2, 1)


def test_a_connection_that_was_ended_meanwhile_is_made_anew(
    store: PostgresStore, postgres_server: Server
) -> None:
    add(store, Entry(kind="about"))
    postgres_server.stop()
    with pytest.raises(StoreFailed, match="cannot be reached"):
        store.head("s")
    with pytest.raises(StoreFailed, match="check the address"), store.writing("s"):
        pass
    postgres_server.start()
    add(store, Entry(kind="about"))
    assert store.head("s").number == 2


def test_a_block_whose_backend_was_killed_leaves_nothing(
    store: PostgresStore, postgres_server: Server
) -> None:
    add(store, Entry(kind="about"))

    def write() -> None:
        with store.writing("s") as writing:
            writing.add(Entry(kind="about"))
            postgres_server.ask(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name = 'kedgeline'"
            )
            with suppress(StoreFailed):  # whoever hides it is told again
                writing.add(Entry(kind="about"))

    with pytest.raises(StoreFailed, match="nothing of the block was written; try"):
        write()
    assert store.head("s").number == 1


@pytest.mark.parametrize(
    ("durability", "default", "used"),
    [("durable", "off", "on"), ("durable", "remote_apply", "remote_apply"), ("fast", "on", "off")],
)
def test_durability_is_what_was_asked_for(
    durability: Any, default: str, used: str, postgres: str
) -> None:
    """Whatever the server does by itself, unless that is safer."""
    address = f"{postgres}&options=-c%20synchronous_commit%3D{default}"
    with closing(open_postgres(address, durability=durability)) as store:
        assert store.ask("SHOW synchronous_commit") == [(used,)]


def test_a_sweep_takes_nothing_that_a_writer_is_about_to_need(
    store: PostgresStore, postgres: str
) -> None:
    add(store, Entry(kind="about", blobs=("b",)), blobs={"b": b"data"}, session="gone")
    store.drop("gone")
    assert store.loose() == {"b": 4}
    with closing(open_postgres(postgres)) as other:
        sweeping = threading.Thread(target=other.sweep)
        with store.writing("s") as writing:
            writing.add(Entry(kind="about", blobs=("b",)), blobs={"b": b"data"})
            sweeping.start()
            time.sleep(0.05)
        sweeping.join()
    assert store.blob("b") == b"data"
    assert list(store.problems()) == []


def test_two_who_write_the_same_blobs_do_not_wait_in_a_circle(postgres: str) -> None:
    both = threading.Barrier(2)

    def write(session: str, *hashes: str) -> None:
        with closing(open_postgres(postgres)) as store, store.writing(session) as writing:
            for hash in hashes:
                writing.add(Entry(kind="about", blobs=(hash,)), blobs={hash: b"data"})
                both.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for written in [pool.submit(write, *one) for one in ("sxy", "tyx")]:
            written.result()


def test_every_statement_names_the_owner(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-S10; librefang#6497: one user's summary reached another."""
    asked: set[str] = set()

    def recorded(run: Callable[..., Any]) -> Callable[..., Any]:
        def recording(self: Postgres, connection: Any, sql: str, values: Any) -> Any:
            asked.add(sql)
            return run(self, connection, sql, values)

        return recording

    for name in ("rows", "many"):
        monkeypatch.setattr(Postgres, name, recorded(getattr(Postgres, name)))
    asked_all(store)
    add(store, Entry(kind="turn", index=0))
    store.ask("DELETE FROM place WHERE owner = :owner")
    assert store.repair()
    tables = re.compile(r"(?:FROM|JOIN|INTO|UPDATE) (entry|session|place|said|link|blob|passage)")
    named = {query for query in asked if tables.search(query)}
    assert len(named) > 25
    for query in named:
        assert ":owner" in query


@pytest.mark.parametrize("owner", ["", "a\0b", "half \ud800", "\\0", "me@example.org", "ö" * 200])
def test_an_owner_may_be_any_text(owner: str, postgres: str) -> None:
    with closing(open_postgres(postgres, owner=owner)) as store:
        add(store, Entry(kind="about"))
        assert [each.name for each in store.sessions()] == ["s"]
    with closing(open_postgres(postgres, owner=owner + "x" if len(owner) < 200 else "")) as other:
        assert other.sessions() == []


def test_an_owner_that_fits_no_index_is_refused(postgres: str) -> None:
    with pytest.raises(BadSettings, match="it has 201 characters; use 200 at the most"):
        open_postgres(postgres, owner="x" * 201)


# The tables.


@pytest.fixture
def empty(postgres_server: Server) -> Iterator[str]:
    """Address of a database without tables."""
    name = postgres_server.database()
    yield postgres_server.address(name)
    postgres_server.drop(name)


def ask(address: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_those_who_open_it_first_make_the_tables_once(empty: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for opened in [pool.submit(open_postgres, empty) for _ in range(4)]:
            opened.result().close()
    assert ask(empty, "SELECT number FROM kedgeline.version") == [(len(MIGRATIONS),)]


def test_tables_are_changed_whole_or_not_at_all(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-D11."""
    with closing(open_postgres(empty)) as store:
        add(store, Entry(kind="about", data=b"kept"))
    known = len(MIGRATIONS)
    better = "ALTER TABLE kedgeline.entry ADD more integer;"
    broken = (*MIGRATIONS, better + "SELECT 1 / 0")
    monkeypatch.setattr(backend, "MIGRATIONS", broken)
    with pytest.raises(StoreFailed, match="division by zero"):
        open_postgres(empty)
    assert ask(empty, "SELECT number FROM kedgeline.version") == [(known,)]
    monkeypatch.setattr(backend, "MIGRATIONS", (*broken[:-1], better))
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
