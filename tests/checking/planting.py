"""Small sessions in a SQLite store, and damage put into its database by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from kedgeline.model import Turn
from kedgeline.session.archive import LARGE
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from tests.turns import bash, edit, turn

LONG = "\n".join(f"line {number}: the harbour pilot waits" for number in range(120))
OTHER = "\n".join(f"row {number}: ropes and anchors" for number in range(160))
assert min(len(LONG), len(OTHER)) > LARGE


def turns() -> list[Turn]:
    return [
        turn(0, bash("make test", LONG), user="Please run the tests.", says="They pass."),
        turn(1, edit("src/harbour.py"), says="Changed the harbour."),
        turn(
            2, bash("make lint", OTHER), bash("ls", "a\nb"), user="And the linter?", says="Clean."
        ),
        turn(3, says="Nothing else to do.", user="What is left?"),
    ]


def session_in(store: Store, name: str = "demo") -> Session:
    """A session with turns, pins, an undone compaction and one that stands."""
    session = Session(name, store, window=4_000)
    for one in turns():
        session.append(one)
    session.pin("never push to main")
    session.pin("t1")
    session.unpin("t1")
    return session


@contextmanager
def kept(folder: Path, *names: str) -> Iterator[Store]:
    with closing(open_store(folder / "store")) as store:
        for name in names:
            session_in(store, name)
        yield store


def plant(folder: Path, statement: str, *values: Any) -> int:
    """Change the database behind the store's back; how many rows were changed."""
    with closing(apsw.Connection(str(folder / "store" / "kedgeline.db"))) as database:
        before = database.total_changes()
        database.execute(statement, values)
        return database.total_changes() - before


def asked(folder: Path, statement: str, *values: Any) -> Any:
    with closing(apsw.Connection(str(folder / "store" / "kedgeline.db"))) as database:
        return database.execute(statement, values).get
