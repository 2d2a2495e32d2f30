"""What is asked of a long session costs what it costs of a short one: no question walks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from kedgeline.store.sqlite import SqliteStore, open_sqlite
from kedgeline.store.values import Entry, Kind

MARKS: tuple[tuple[Kind, ...], ...] = (
    ("pin", "unpin"),
    ("compaction", "undo"),
    ("compaction", "attempt", "undo", "fork"),
    ("call",),
)
NEWEST: tuple[tuple[Kind, ...], ...] = (("turn", "cut", "words"), ("about",))
Question = tuple[tuple[Kind, ...], str | None, bool]
SHORT, LONG = 100, 3_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(str(tmp_path / "store"), durability="fast")
    yield store
    store.close()


def grown(store: SqliteStore, turns: int) -> str:
    """A session that begins with its own entries; all others are a sub-agent's."""
    session = f"s{turns}"
    with store.writing(session) as writing:
        for kind in ("about", "turn", "words", "pin", "compaction", "call", "fork"):
            writing.add(Entry(kind=kind))
        for index in range(turns):
            writing.add(Entry(kind="turn", thread="sub", index=index))
    return session


def steps(
    store: SqliteStore, session: str, kinds: tuple[Kind, ...], thread: str | None, newest: bool
) -> int:
    """How much SQLite does to find the first entry."""
    database = store._connections.current()
    taken = 0

    def counted(event: dict[str, dict[str, int]]) -> None:
        nonlocal taken
        taken += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    database.trace_v2(apsw.SQLITE_TRACE_PROFILE, counted)
    next(store.entries(session, kinds=kinds, thread=thread, newest_first=newest), None)
    database.trace_v2(0)
    return taken


def plans(store: SqliteStore, kinds: tuple[Kind, ...], thread: str | None) -> list[str]:
    """How SQLite goes about it, each way once."""
    asked: list[tuple[str, Any]] = []
    database = store._connections.current()

    def noted(_: object, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    database.exec_trace = noted
    list(store.entries("s", kinds=kinds, thread=thread, newest_first=True))
    database.exec_trace = None
    rows = [
        row
        for sql, values in asked
        for row in database.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    ]
    return sorted({row[3] for row in rows} - {"MERGE (UNION ALL)", "LEFT", "RIGHT"})


@pytest.mark.parametrize("kinds", MARKS)
def test_marks_are_found_by_their_kind(store: SqliteStore, kinds: tuple[Kind, ...]) -> None:
    where = "owner=? AND session=? AND kind=? AND number>? AND number<?"
    assert plans(store, kinds, None) == [f"SEARCH entry USING INDEX entry_kind ({where})"]


@pytest.mark.parametrize("kinds", NEWEST)
def test_the_newest_of_a_thread_is_found_by_it(store: SqliteStore, kinds: tuple[Kind, ...]) -> None:
    where = "owner=? AND session=? AND thread=? AND kind=? AND number>? AND number<?"
    assert plans(store, kinds, "") == [f"SEARCH entry USING INDEX entry_thread ({where})"]


def test_all_entries_are_read_in_their_order(store: SqliteStore) -> None:
    by_number = "USING INDEX sqlite_autoindex_entry_1"
    questions: list[tuple[tuple[Kind, ...], str | None]] = [
        ((), None),
        ((), "sub"),
    ]
    for kinds, thread in questions:
        (plan,) = plans(store, kinds, thread)
        assert by_number in plan


def different(store: SqliteStore) -> list[object]:
    """Questions that take longer the longer a session is."""
    short, long = grown(store, SHORT), grown(store, LONG)
    marks: list[Question] = [(kinds, None, newest) for kinds in MARKS for newest in (True, False)]
    questions = [*marks, *((kinds, "", True) for kinds in NEWEST)]
    return [
        (*one, few, many)
        for one in questions
        if 2 * (few := steps(store, short, *one)) < (many := steps(store, long, *one))
    ]


def test_a_long_session_is_not_walked(store: SqliteStore) -> None:
    assert different(store) == []
