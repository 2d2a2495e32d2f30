"""Damage to a database: seen, told apart, and made good where the entries allow it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kedgeline.store.sqlite import SqliteStore, open_sqlite
from kedgeline.store.sqlite_connection import DATABASE, PAGE_BYTES
from kedgeline.store.values import Entry, Found, Passage, Phrase, Place, Problem, Query

WORD = Query(phrases=(Phrase(words=("word",)),))
PASSAGES = [(number, [Passage(text=f"word {number}")]) for number in range(1, 6)]

REPAIRABLE = {
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
LOST = {
    "an entry that is missing": "DELETE FROM entry WHERE number = 2",
    "a last entry that is missing and a chain": "UPDATE entry SET chain = 'x' WHERE number = 5",
    "an entry that was changed": "UPDATE entry SET data = x'00' WHERE number = 3",
    "a time that was changed": "UPDATE entry SET at = 1 WHERE number = 3",
    "messages that were changed": "UPDATE entry SET said = '[\"m9\"]' WHERE number = 3",
    "an entry that cannot be read": "UPDATE entry SET said = '[' WHERE number = 3",
    "a thread that is a number": "UPDATE entry SET thread = 7 WHERE number = 3",
    "entries in another order": (
        "UPDATE entry SET number = 99 WHERE number = 2; "
        "UPDATE entry SET number = 2 WHERE number = 3; "
        "UPDATE entry SET number = 3 WHERE number = 99"
    ),
    "a blob that is missing": "DELETE FROM blob",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_sqlite(str(tmp_path / "store"), durability="fast")
    with store.writing("s") as writing:
        for number, passages in PASSAGES:
            index = (number - 1) % 4
            writing.add(
                Entry(kind="turn", index=index, tokens=number, said=(f"m{number}",), blobs=("b",)),
                passages=passages,
                blobs={"b": b"blob"},
            )
        writing.add(Entry(kind="turn", index=1, tokens=6))
        writing.add(Entry(kind="turn", index=2, tokens=7))
    yield store
    store.close()


def damage(store: SqliteStore, statement: str) -> None:
    database = store._connections.current()
    database.config(1010, 0)  # the shadow tables of the words may be written to
    database.execute(statement)


def state(store: SqliteStore) -> tuple[list[Place], list[str], object, dict[str, int], list[Found]]:
    return (
        list(store.places("s")),
        list(store.said("s", 99)),
        store.sessions(),
        dict(store.loose()),
        list(store.find(WORD)),
    )


@pytest.mark.parametrize("what", REPAIRABLE)
def test_what_follows_from_the_entries_is_made_good(store: SqliteStore, what: str) -> None:
    before = state(store)
    damage(store, REPAIRABLE[what])
    found = list(store.problems())
    assert found
    assert all(problem.repairable for problem in found)
    assert store.repair() == found
    store.reindex("s", PASSAGES)
    assert list(store.problems()) == []
    assert state(store) == before


@pytest.mark.parametrize("what", LOST)
def test_what_is_lost_is_said_and_not_made_up(store: SqliteStore, what: str) -> None:
    damage(store, LOST[what])
    lost = [problem for problem in store.problems() if not problem.repairable]
    assert any(problem.where.startswith("s entry ") for problem in lost)
    assert {problem.where for problem in lost if " " not in problem.where} <= {"s"}
    before = list(store._connections.current().execute("SELECT * FROM entry ORDER BY rank"))
    store.repair()
    assert list(store._connections.current().execute("SELECT * FROM entry ORDER BY rank")) == before
    assert [problem for problem in store.problems() if not problem.repairable] == lost


def test_a_table_whose_first_page_is_gone_is_given_up(store: SqliteStore, tmp_path: Path) -> None:
    """Range after range of all rows that there could be was tried, for ever."""
    database = store._connections.current()
    page = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'blob'").get
    store.close()
    path = tmp_path / "store" / DATABASE
    data = bytearray(path.read_bytes())
    data[(page - 1) * PAGE_BYTES : page * PAGE_BYTES] = b"\x55" * PAGE_BYTES
    path.write_bytes(data)
    with closing(open_sqlite(str(tmp_path / "store"))) as damaged:
        told = [problem.what for problem in damaged.repair()]
        assert "7 entries and 0 large texts are whole" in told[0]
        assert damaged.head("s").number == 7


def test_what_is_wrong_with_one_owner_is_not_told_to_another(store: SqliteStore) -> None:
    other = open_sqlite(store._connections.place, owner="other")
    damage(store, "DELETE FROM place WHERE owner = ''")
    assert list(other.problems()) == []
    assert list(other.repair()) == []
    assert [problem.where for problem in store.problems()] == ["s"]
    other.close()


def test_looking_for_problems_can_be_stopped_at_any_time(store: SqliteStore) -> None:
    damage(store, "UPDATE entry SET at = 1")
    found: Problem = next(iter(store.problems()))
    assert found.where == "s entry 1"
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=3))
