"""Sessions, blobs and owners: what is kept, listed, dropped, and whose it is."""

from __future__ import annotations

from kedgeline.errors import BadName
from kedgeline.store.protocol import Entry, Head, Passage, Query, SessionInfo, Store
from tests.store.conformance.fresh import (
    SESSION,
    Fresh,
    added,
    expect,
    indexes,
    refusing,
    sought,
    turn,
    written,
)

OWNERS = ("", "ann", "Ann", "bob ' OR '1'='1", "ä/..\\*\0")


def a_blob_is_stored_once(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0, blobs=("h",)), blobs={"h": b"first"})
    added(store, turn(1, blobs=("h",)), blobs={"h": b"second"})
    added(store, turn(0, blobs=("h",)), session="another")
    expect(store.blob("h"), b"first", "the blob")
    expect([info.bytes for info in store.sessions()], [1 + 5, 2 + 5], "bytes of the sessions")


def sessions_are_listed_with_what_they_hold(fresh: Fresh) -> None:
    store = fresh.store()
    expect(list(store.sessions()), [], "sessions of an empty store")
    record = Entry(kind="compaction", data=b"123", at=20)
    added(store, turn(0, at=30), turn(1, at=10), record, Entry(kind="undo", index=3, at=15))
    added(store, turn(0, thread="z", at=5, tokens=500), turn(1, at=7, tokens=2, blobs=("b",)))
    added(store, turn(2, at=1, tokens=1, blobs=("b", "c")), blobs={"b": b"bb", "c": b"ccc"})
    wanted = SessionInfo(
        name=SESSION,
        entries=7,
        turns=3,
        tokens=10 + 2 + 1,
        compactions=1,
        first=30,
        last=1,
        bytes=(1 + 1 + 3 + 0) + (1 + 1) + 1 + 2 + 3,
    )
    expect(list(store.sessions()), [wanted], "sessions")


def the_session_written_to_last_is_listed_first(fresh: Fresh) -> None:
    store = fresh.store()
    for session in ("one", "two", "three", "one"):
        added(store, turn(store.head(session).number), session=session)
    expect([info.name for info in store.sessions()], ["one", "three", "two"], "sessions")


def a_session_without_turns_is_listed(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, Entry(kind="words", data=b"12", at=4))
    wanted = SessionInfo(
        name=SESSION, entries=1, turns=0, tokens=0, compactions=0, first=4, last=4, bytes=2
    )
    expect(list(store.sessions()), [wanted], "sessions")


def a_session_that_went_on_is_not_dropped(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0))
    seen = store.head(SESSION)
    added(store, turn(1))
    expect(store.drop(SESSION, head=seen), False, "whether a session that went on is gone")
    expect(store.head(SESSION).number, 2, "its entries")
    expect(store.drop(SESSION, head=store.head(SESSION)), True, "whether it is gone as it was seen")
    expect(store.head(SESSION).number, 0, "its entries")
    expect(store.drop(SESSION), True, "whether one that is not there is gone")


def a_dropped_session_is_gone(fresh: Fresh) -> None:
    store = fresh.store()
    for session in (SESSION, "another"):
        entry = turn(0, said=("m",), key="k", blobs=("b", session))
        blobs = {"b": b"shared", session: b"own"}
        added(store, entry, session=session, blobs=blobs, passages=[Passage(text="word")])
    store.drop(SESSION)
    expect([info.name for info in store.sessions()], ["another"], "sessions")
    expect(store.head(SESSION), Head(), "the head")
    expect(list(store.entries(SESSION)), [], "entries")
    expect(list(store.places(SESSION)), [], "places")
    expect(list(store.said(SESSION, 9)), [], "messages")
    expect(store.keyed(SESSION, "k"), None, "the key")
    expect([each.session for each in store.find(sought("word"))], ["another"], "passages")
    expect(dict(store.loose()), {SESSION: 3}, "blobs that nobody needs")
    expect(list(store.problems()), [], "problems")
    expect([entry.number for entry in added(store, turn(0))], [1], "numbers of a new one")
    with refusing("dropping a bad name", BadName):
        store.drop("../up")
    store.drop("nobody")
    expect(len(store.sessions()), 2, "sessions after dropping one that is not there")


def only_loose_blobs_are_swept(fresh: Fresh) -> None:
    store, bob = fresh.store(), fresh.store("bob")
    added(store, turn(0, blobs=("a",)), blobs={"a": b"a", "loose": b"12345"})
    added(bob, turn(0, blobs=("loose",)), blobs={"loose": b"12345"})
    expect(dict(store.loose()), {"loose": 5}, "loose blobs")
    expect((store.sweep(), store.sweep()), (1, 0), "how many were swept")
    expect((store.blob("a"), store.blob("loose")), (b"a", None), "blobs")
    expect(bob.blob("loose"), b"12345", "the blob of another owner")
    store.drop(SESSION)
    expect((store.blob("a"), dict(store.loose())), (b"a", {"a": 1}), "blobs after a drop")
    expect((store.sweep(), store.blob("a")), (1, None), "blobs after a drop and a sweep")
    added(store, turn(0, blobs=("a",)), blobs={"a": b"again"})
    expect((store.blob("a"), dict(store.loose())), (b"again", {}), "a blob that came again")


def a_rewound_turn_keeps_its_blobs(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0, blobs=("a",)), turn(0), blobs={"a": b"a"})
    expect((dict(store.loose()), store.sweep()), ({}, 0), "loose blobs")


def owners_see_nothing_of_each_other(fresh: Fresh) -> None:
    """librefang#6497, hermes#38788: summaries of one user shown to another. T-S10."""
    stores = [fresh.store(owner) for owner in OWNERS]
    for number, store in enumerate(stores):
        expect(store.owner, OWNERS[number], "the owner of the store")
        for index in range(number + 1):
            entry = turn(index, said=(f"m{number}",), key=f"k{index}", thread="t" * (index % 2))
            passage = Passage(text=f"shared own{number}", error=True)
            data = {"h": b"%d" % number, "loose": b"x" * number}
            added(store, entry, blobs=data, passages=[passage])
    for number, store in enumerate([*stores, *map(fresh.store, OWNERS)]):
        _expect_own(store, number % len(OWNERS))
    stores[1].drop(SESSION)
    expect(stores[1].sweep(), 2, "blobs swept")
    stores[2].reindex(SESSION, [(1, [Passage(text="shared own2")]), (2, []), (3, [])])
    expect(len(stores[2].find(sought("shared"))), 1, "turns after a reindex")
    for number in (0, 3, 4):
        _expect_own(stores[number], number)
    expect(list(fresh.store("stranger").sessions()), [], "sessions of a stranger")
    expect(list(fresh.store("stranger").find(Query())), [], "passages of a stranger")


def _expect_own(store: Store, number: int) -> None:
    count = number + 1
    who = f"of owner {number}"
    expect([info.entries for info in store.sessions()], [count], f"sessions {who}")
    expect(store.head(SESSION).number, count, f"the head {who}")
    expect(len(list(store.entries(SESSION))), count, f"entries {who}")
    expect(store.entry(SESSION, count + 1), None, f"an entry more {who}")
    expect([p.index for p in store.places(SESSION)], list(range(0, count, 2)), f"places {who}")
    expect(list(store.threads(SESSION)), ["t"] * (count > 1), f"threads {who}")
    expect(list(store.said(SESSION, 99)), [f"m{number}"] * count, f"messages {who}")
    known = store.known(SESSION, [f"m{other}" for other in range(len(OWNERS))])
    expect(known, frozenset([f"m{number}"]), f"known messages {who}")
    expect(store.keyed(SESSION, f"k{count}"), None, f"a key more {who}")
    expect(store.blob("h"), b"%d" % number, f"the blob {who}")
    expect(dict(store.loose()), {"h": 1, "loose": number}, f"loose blobs {who}")
    found = store.find(sought("shared", limit=99))
    expect(sorted(indexes(found)), list(range(count)), f"turns found {who}")
    for other in range(len(OWNERS)):
        hits = store.find(sought(f"own{other}", sessions=(SESSION,), errors=True))
        expect(len(hits), count if other == number else 0, f"words of {other} found {who}")
    expect(list(store.problems()), [], f"problems {who}")


def a_sound_store_has_no_problems(fresh: Fresh) -> None:
    store = fresh.store()
    written(store, "one", "two", "three")
    added(store, turn(1, blobs=("b",), said=("m", "n"), thread="z"), blobs={"b": b"b"})
    added(store, Entry(kind="cut", index=2), turn(1), turn(5), session="another")
    added(store, Entry(kind="cut", index=0, thread="z"))
    expect(list(store.problems()), [], "problems")
    expect(list(store.repair()), [], "what was repaired")
    expect(indexes(store.find(sought("two"))), [1], "turns found after that")
    expect([place.number for place in store.places(SESSION)], [1, 2, 3], "places after that")
