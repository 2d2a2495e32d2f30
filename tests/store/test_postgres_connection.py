"""Reaching a server: addresses, what is said when it fails, and whom it belongs to."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest

from kedgeline.errors import BadSettings, KedgelineError, MissingExtra, StoreBusy, StoreFailed
from kedgeline.store import Entry, Passage, Phrase, Query
from kedgeline.store import postgres_connection as connections
from kedgeline.store.postgres import PostgresStore, open_postgres
from kedgeline.store.postgres_connection import arguments, shown
from kedgeline.store.protocol import open_store
from tests.postgres_server import Server

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
        assert shown(arguments(address)) == address


def test_a_password_in_a_message_is_taken_out() -> None:
    held = connections.Connections(f"postgresql://me:{SECRET}@host/name", "durable")
    error = psycopg.OperationalError(f"cannot log in\nwith {SECRET}.")
    assert "cannot log in with ***; nothing was written" in str(held.failure(error))


def test_an_address_without_a_scheme_of_ours_is_refused() -> None:
    with pytest.raises(BadSettings, match="write postgresql://user@host:5432/name"):
        open_postgres("mysql://host/name")


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
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

    with pytest.raises(StoreFailed, match="the connection was lost; nothing was written; try"):
        write()
    assert store.head("s").number == 1


def test_an_error_that_was_hidden_in_the_block_comes_out_at_its_end(store: PostgresStore) -> None:
    def write() -> None:
        with store.writing("s") as writing, suppress(StoreFailed):
            writing.add(Entry(kind="about", at=2**70))

    with pytest.raises(StoreFailed, match="out of range"):
        write()
    assert store.sessions() == []


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
    failed: list[str] = []

    def write(session: str, first: str, second: str) -> None:
        with closing(open_postgres(postgres)) as store:
            try:
                with store.writing(session) as writing:
                    for hash in (first, second):
                        writing.add(Entry(kind="about", blobs=(hash,)), blobs={hash: b"data"})
                        both.wait(10)
            except StoreFailed as error:
                failed.append(str(error))

    threads = [
        threading.Thread(target=write, args=("s", "x", "y")),
        threading.Thread(target=write, args=("t", "y", "x")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_every_statement_names_the_owner(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-S10; librefang#6497: one user's summary reached another."""
    asked: set[str] = set()
    answer = connections.answer

    def recorded(connection: Any, query: str, given: Any) -> Any:
        asked.add(query)
        return answer(connection, query, given)

    monkeypatch.setattr(connections, "answer", recorded)
    turn = Entry(kind="turn", index=0, key="k", said=("m",), blobs=("b",))
    add(store, turn, blobs={"b": b"b"}, passages=[Passage(text="word")], instead_of=7)
    list(store.entries("s", kinds=("turn",), thread="", newest_first=True, light=True))
    list(store.entries("s"))
    store.entry("s", 1), store.places("s", last=3), store.last_place("s"), store.threads("s")
    store.said("s", 1), store.known("s", ["m"]), store.keyed("s", "k"), store.blob("b")
    store.find(Query(phrases=(Phrase(words=("word",)),))), store.sessions(), store.loose()
    store.reindex("s", [(1, [Passage(text="other")])])
    store.ask("DELETE FROM place WHERE owner = :owner")
    assert store.repair()
    store.drop("s"), store.sweep()
    tables = re.compile(r"(?:FROM|JOIN|INTO|UPDATE) (entry|session|place|said|link|blob|passage)")
    named = {query for query in asked if tables.search(query)}
    assert len(named) > 25
    for query in named:
        assert "%(owner)s" in query


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
