"""Stores for the checks, opened as the library does or with something planted in them."""

from __future__ import annotations

from pathlib import Path

import apsw

from kedgeline.session.session import Session
from kedgeline.store import Durability, Store, open_store, sqlite
from kedgeline.store.sqlite import MIGRATIONS, Sqlite, SqliteStore, Step
from kedgeline.store.sqlite_files import Journal
from tests.torture.acts import WINDOW, act_of, do
from tests.torture.checking import Acknowledged

NAME = "tortured"
WARM = 30
"""Steps after which all is loaded that is loaded when it is needed first."""


def store_at(place: str, durability: Durability = "durable", *, planted_steps: int = 0) -> Store:
    """The store at a place; with so many migrations behind those that there are."""
    if "://" in place:
        return open_store(place, durability=durability)
    steps = (*MIGRATIONS, *map(planted_step, range(planted_steps)))
    return SqliteStore(Sqlite(place, durability, steps=steps), "")


def session_at(
    place: str, durability: Durability = "durable", *, name: str = NAME, planted_steps: int = 0
) -> Session:
    store = store_at(place, durability, planted_steps=planted_steps)
    found = Session(name, store, window=WINDOW)
    found._owns_store = True  # a plant may be in the store, so it is not opened by the session
    return found


def use_journal(journal: Journal) -> None:
    """What all stores of this process have from now on, wherever they are."""
    sqlite.wanted_journal = lambda *_: journal  # type: ignore[assignment]


def planted_step(number: int) -> Step:
    """A migration that copies what is there, as a real one would."""

    def step(database: apsw.Connection) -> None:
        database.execute(f"CREATE TABLE planted_{number} (number INTEGER, data BLOB)")
        database.execute(f"INSERT INTO planted_{number} SELECT number, data FROM entry")
        database.execute(f"CREATE TABLE after_{number} (done INTEGER)")

    return step


def planted_tables(path: str) -> tuple[int, int]:
    """How many planted migrations the database says it had, and how many tables there are."""
    database = apsw.Connection(path)
    try:
        tables = database.execute(
            "SELECT count(*) FROM sqlite_schema"
            " WHERE name LIKE 'planted\\_%' ESCAPE '\\' OR name LIKE 'after\\_%' ESCAPE '\\'"
        ).get
        return max(0, database.pragma("user_version") - len(MIGRATIONS)), tables
    finally:
        database.close()


def warm_up() -> None:
    """Load all that a worker needs, so that each that is forked has it."""
    with Session(NAME, open_store("memory:"), window=WINDOW) as session:
        for number in range(WARM):
            do(session, 0, act_of(0, number))
        if not session.compact().count:
            raise AssertionError("the sessions of these checks are not worth compacting any more")
        session.view("anthropic")


def prepared(folder: Path, seed: int, steps: int) -> list[Acknowledged]:
    """A store with a session of so many steps, and what was acknowledged of it."""
    done = []
    with session_at(str(folder), "fast") as session:
        for number in range(steps):
            act = act_of(seed, number)
            do(session, seed, act)
            head = session.store.head(session.name)
            done.append(Acknowledged(act, head.number, head.chain))
    return done
