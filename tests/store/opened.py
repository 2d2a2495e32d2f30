"""A store's own connection, to look at the database or to damage it; and all that it is asked."""

from __future__ import annotations

from typing import Any

from kedgeline.store import Entry, Passage, Phrase, Query
from kedgeline.store.table_store import TableStore

WORD = Phrase(words=("word",))


def connection_of(store: TableStore) -> Any:
    """The one that the next call will use."""
    with store.database.taken() as connection:
        return connection


def asked_all(store: TableStore) -> None:
    """Everything that a store can be asked, so that every statement is executed."""
    turn = Entry(kind="turn", index=0, key="k", said=("m",), blobs=("b",))
    with store.writing("s") as writing:
        writing.add(turn, blobs={"b": b"b"}, passages=[Passage(text="word")], instead_of=7)
    list(store.entries("s")), store.entry("s", 1), store.head("s"), store.threads("s")
    list(store.entries("s", kinds=("turn",), thread="", newest_first=True, light=True))
    store.places("s"), store.places("s", last=3), store.last_place("s"), store.said("s", 1)
    store.known("s", ["m"]), store.keyed("s", "k"), store.blob("b")
    store.find(Query(phrases=(WORD,)))
    store.find(Query(phrases=(WORD,), sessions=("s",), since=0, who="tool"))
    store.find(Query(topic=((WORD,),)))
    store.reindex("s", [(1, [Passage(text="other")])])
    store.sessions(), list(store.problems()), store.drop("s"), store.loose(), store.sweep()
