"""Versions of the tables: forward step by step, never back (T-D11)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from kedgeline.errors import FileRefused, UserError
from kedgeline.store.sqlite import SqliteStore, open_sqlite
from kedgeline.store.sqlite_connection import APPLICATION, MIGRATIONS, Connections, Step, patiently
from kedgeline.store.values import Entry


def opened(place: Path, *more: Step) -> SqliteStore:
    return SqliteStore(Connections(str(place), "fast", steps=(*MIGRATIONS, *more)), owner="")


def filled(place: Path) -> None:
    store = opened(place)
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0, data=b"kept"))
    store.close()


def pragma(place: Path, name: str) -> object:
    database = apsw.Connection(str(place / "kedgeline.db"))
    value = database.pragma(name)
    database.close()
    return value


def with_colour(database: apsw.Connection) -> None:
    database.execute("ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")


def with_shape(database: apsw.Connection) -> None:
    database.execute("ALTER TABLE session ADD COLUMN shape TEXT NOT NULL DEFAULT 'round'")


def colours(place: Path) -> list[str]:
    database = apsw.Connection(str(place / "kedgeline.db"))
    names = [row[1] for row in database.execute("PRAGMA table_info(session)")]
    database.close()
    return names


def test_a_new_store_has_the_last_version_and_our_mark(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    assert pragma(tmp_path / "store", "user_version") == len(MIGRATIONS)
    assert pragma(tmp_path / "store", "application_id") == APPLICATION
    incremental = 2
    assert pragma(tmp_path / "store", "auto_vacuum") == incremental


def test_steps_lead_to_the_last_version_and_lose_nothing(tmp_path: Path) -> None:
    filled(tmp_path / "store")
    store = opened(tmp_path / "store", with_colour, with_shape)
    assert [entry.data for entry in store.entries("s")] == [b"kept"]
    store.close()
    assert colours(tmp_path / "store")[-2:] == ["colour", "shape"]
    assert pragma(tmp_path / "store", "user_version") == len(MIGRATIONS) + 2


def test_a_step_that_breaks_leaves_the_version_before_it(tmp_path: Path) -> None:
    def breaking(database: apsw.Connection) -> None:
        with_shape(database)
        raise RuntimeError("killed in the middle")

    filled(tmp_path / "store")
    with pytest.raises(RuntimeError):
        opened(tmp_path / "store", with_colour, breaking)
    assert pragma(tmp_path / "store", "user_version") == len(MIGRATIONS) + 1
    assert "shape" not in colours(tmp_path / "store")
    store = opened(tmp_path / "store", with_colour, with_shape)  # goes on from there
    assert [entry.data for entry in store.entries("s")] == [b"kept"]
    store.close()


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "store"
    filled(place)
    opened(place, with_colour).close()
    before = (place / "kedgeline.db").read_bytes()
    with pytest.raises(UserError, match="upgrade kedgeline: nothing was changed"):
        open_sqlite(str(place))
    assert (place / "kedgeline.db").read_bytes() == before
    assert not (place / "kedgeline.db-wal").exists()


@pytest.mark.parametrize("statement", ["CREATE TABLE theirs (x)", "PRAGMA application_id = 7"])
def test_a_database_of_another_program_is_refused_and_left_alone(
    tmp_path: Path, statement: str
) -> None:
    place = tmp_path / "store"
    place.mkdir(mode=0o700)
    database = apsw.Connection(str(place / "kedgeline.db"))
    database.execute(statement)
    database.close()
    before = (place / "kedgeline.db").read_bytes()
    with pytest.raises(FileRefused, match="another program"):
        open_sqlite(str(place))
    assert (place / "kedgeline.db").read_bytes() == before


def write(place: Path, number: int) -> None:
    store = open_sqlite(str(place))
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=number))
    store.close()


@pytest.mark.parametrize("run", range(3))
def test_many_may_open_a_new_store_at_once(tmp_path: Path, run: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(write, tmp_path / "store", number) for number in range(16)]:
            done.result()
    store = open_sqlite(str(tmp_path / "store"))
    assert store.head("s").number == 16
    store.close()


def test_a_refusal_without_waiting_is_waited_out() -> None:
    """SQLite lets one of two fail at once that both would write the first page."""
    tries: list[int] = []

    def step() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise apsw.BusyError("database is locked")

    patiently(step, 1.0)
    assert len(tries) == 3
