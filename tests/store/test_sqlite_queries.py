"""Every statement of the store in a folder asks for the owner (T-S10)."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

from kedgeline.store.sqlite import expression, open_sqlite
from kedgeline.store.table_store import CANDIDATES
from kedgeline.store.values import Entry, Passage, Phrase, Query

STATEMENT = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE)\b")
OF_ALL_OWNERS = (
    "SELECT count(*) FROM sqlite_schema",  # is the database empty?
    "SELECT count(*) FROM words_docsize",  # words that are nobody's
    "DELETE FROM words WHERE rowid IN (SELECT id FROM words_docsize",  # the same, taken out
    "SELECT 1 FROM passage WHERE id BETWEEN",  # ids are one row for all owners
    "INSERT INTO words (words) VALUES ('optimize')",  # merges the index
    "SELECT 1 FROM words_docsize WHERE words_docsize.id = passage.id",  # within one that does
    "INSERT OR IGNORE INTO main.",  # rows of a damaged database, taken over as they stand
)


def test_what_is_executed_names_the_owner(tmp_path: Path) -> None:
    """Statements as SQLite gets them, whatever they were put together from."""
    seen: set[str] = set()

    def trace(event: dict[str, str]) -> None:
        seen.add(event["sql"])

    store = open_sqlite(str(tmp_path / "store"), owner="ann")
    store._connections.current().trace_v2(apsw.SQLITE_TRACE_STMT, trace)
    with store.writing("s") as writing:
        writing.add(
            Entry(kind="turn", index=0, key="k", said=("m",), blobs=("b",)),
            blobs={"b": b"b"},
            passages=[Passage(text="word")],
            instead_of=7,
        )
    list(store.entries("s", kinds=["turn"], thread="", newest_first=True))
    store.find(Query(phrases=(Phrase(words=("word",)),), sessions=("s",), since=0, who="tool"))
    store.places("s"), store.last_place("s"), store.threads("s"), store.said("s", 1)
    store.known("s", ["m"]), store.keyed("s", "k"), store.blob("b"), store.entry("s", 1)
    store.sessions(), list(store.problems()), store.reindex("s", [(1, [Passage(text="word")])])
    store.drop("s"), store.loose(), store.sweep(), store.head("s")
    store.close()
    index = re.compile(r"^--|'main'|\"main\"")  # what the index of words does within itself
    ours = {sql for sql in seen if STATEMENT.search(sql) and not index.search(sql)}
    assert len(ours) > 20
    ownerless = [sql for sql in ours if "owner" not in sql]
    assert [sql for sql in ownerless if not any(each in sql for each in OF_ALL_OWNERS)] == []


def test_words_are_quoted_for_the_index() -> None:
    """CVE-2025-67644: keys of a filter became part of a statement. T-S4."""
    query = Query(
        phrases=(Phrase(words=('a" OR b', "c-d*")), Phrase(words=("^(",))),
        files=(Phrase(words=("x.py",), prefix=True),),
    )
    text = expression("", query)
    assert text.endswith('AND text : "a or b c d" AND files : "x py" *')


def test_only_the_newest_candidates_are_ranked(tmp_path: Path) -> None:
    """So a word that stands everywhere costs no more in a large archive than in a small one."""
    store = open_sqlite(str(tmp_path / "store"), durability="fast")
    with store.writing("s") as writing:
        for index in range(CANDIDATES + 10):
            text = "word word word" if index in (5, CANDIDATES) else "word and more"
            writing.add(Entry(kind="turn", index=index), passages=[Passage(text=text)])
    found = store.find(Query(phrases=(Phrase(words=("word",)),), limit=2))
    assert [each.index for each in found] == [CANDIDATES, CANDIDATES + 9]
    store.close()


def test_room_is_given_back(tmp_path: Path) -> None:
    store = open_sqlite(str(tmp_path / "store"), durability="fast")
    with store.writing("s") as writing:
        writing.add(Entry(kind="turn", index=0, blobs=("b",)), blobs={"b": b"x" * 5_000_000})
    path = tmp_path / "store" / "kedgeline.db"
    store.sweep()
    assert path.stat().st_size > 5_000_000
    store.drop("s")
    assert store.sweep() == 1
    assert path.stat().st_size < 500_000
    assert (tmp_path / "store" / "kedgeline.db-wal").stat().st_size == 0
    store.close()


def test_owners_whose_words_collide_are_still_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words narrow a search; the table says whose a passage is."""
    monkeypatch.setattr("kedgeline.store.tables._hashed", lambda *_: "same")
    ann, bob = (open_sqlite(str(tmp_path / "store"), owner=owner) for owner in ("ann", "bob"))
    for store, sessions in ((ann, ("one", "two")), (bob, ("two", "three"))):
        for session in sessions:
            with store.writing(session) as writing:
                entry = Entry(kind="turn", index=0, id=f"{store.owner} {session}")
                writing.add(entry, passages=[Passage(text="word")])
    everything = Query(phrases=(Phrase(words=("word",)),))
    assert [each.id for each in ann.find(everything)] == ["ann two", "ann one"]
    assert [each.id for each in bob.find(everything)] == ["bob three", "bob two"]
    assert [each.id for each in bob.find(Query(sessions=("two",)))] == ["bob two"]
    assert list(bob.find(Query(sessions=("one",)))) == []
    ann.close()
    bob.close()
