"""Entries: what is written comes back, numbered and chained, as a whole or not at all."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from kedgeline.errors import BadName, StoreFailed
from kedgeline.store.protocol import Entry, Head, Passage, chain_of
from tests.store.conformance.fresh import SESSION, Fresh, added, expect, refusing, turn

WHOLE = Entry(
    kind="compaction",
    data=bytes(range(256)),
    at=1_700_000_000_000_000,
    thread="sub-agent",
    index=7,
    tokens=12,
    id="what it says",
    key="given by the caller",
    blobs=("one", "two"),
    said=("first", "second"),
)
BAD_NAMES = (
    *("", ".", "..", "../up", "a/b", "a\\b", "/etc", "a\0", "a\n", " a", "a ", "-a", ".a", "_a"),
    *("a.", "con", "NUL", "com1.txt", "ä", "ａ", "a" * 65, "a:b", "%2e%2e", "a\ud800"),
)
GOOD_NAMES = ("a", "A.b_c-d", "0", "a" * 64, "console", "a..b")
LARGE = 1_500_000


def an_entry_comes_back_as_it_was_given(fresh: Fresh) -> None:
    store = fresh.store()
    (entry,) = added(store, WHOLE, blobs={"one": b"1", "two": b""})
    expect(replace(entry, number=0, chain=""), WHOLE, "the entry that add gave back")
    expect(list(store.entries(SESSION)), [entry], "the entries")
    expect(store.entry(SESSION, 1), entry, "the entry by its number")
    expect(list(fresh.store().entries(SESSION)), [entry], "the entries after opening again")


def numbers_go_from_one_on_without_a_gap(fresh: Fresh) -> None:
    store = fresh.store()
    first = added(store, turn(0), turn(1, number=40, chain="not its chain"))
    second = added(fresh.store(), turn(2))
    other = added(store, turn(0), session="another")
    expect([entry.number for entry in first + second], [1, 2, 3], "numbers")
    expect([entry.number for entry in other], [1], "numbers of another session")
    expect([entry.number for entry in store.entries(SESSION)], [1, 2, 3], "numbers read")


def each_entry_is_chained_to_the_one_before(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0), WHOLE)
    added(store, turn(1))
    chain = ""
    for entry in store.entries(SESSION):
        chain = chain_of(entry, chain)
        expect(entry.chain, chain, f"the chain of entry {entry.number}")


def the_head_is_the_last_entry(fresh: Fresh) -> None:
    store = fresh.store()
    expect(store.head(SESSION), Head(), "the head of a session that is not there")
    last = added(store, turn(0), turn(1))[-1]
    expect(store.head(SESSION), Head(number=2, chain=last.chain), "the head")
    with store.writing(SESSION) as writing:
        last = writing.add(turn(2))
        expect(writing.head(SESSION), Head(number=3, chain=last.chain), "the head within a block")


def what_is_not_there_is_nothing(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0))
    expect(list(store.entries("nobody")), [], "entries of a session that is not there")
    expect(store.entry(SESSION, 2), None, "an entry behind the last")
    expect(store.entry(SESSION, 0), None, "an entry before the first")
    expect(store.entry("nobody", 1), None, "an entry of a session that is not there")
    expect(list(store.places("nobody")), [], "places of a session that is not there")
    expect(store.last_place("nobody"), None, "the last place of a session that is not there")
    expect(list(store.said("nobody", 5)), [], "messages of a session that is not there")
    expect(store.keyed("nobody", "key"), None, "a key of a session that is not there")
    expect(store.blob("no hash"), None, "a blob that is not there")


def a_block_that_raises_leaves_nothing(fresh: Fresh) -> None:
    store = fresh.store()
    kept = added(store, turn(0, said=("m0",)), blobs={"kept": b"kept"})
    with refusing("an error in the block"), store.writing(SESSION) as writing:
        more = turn(0, said=("m1",), blobs=("b",), key="k")
        writing.add(more, blobs={"b": b"b"}, passages=[Passage(text="gone")], instead_of=1)
        writing.add(Entry(kind="cut", index=0))
        raise BadName("session", "", "is one that this check made up")
    expect(list(store.entries(SESSION)), kept, "entries")
    expect([place.number for place in store.places(SESSION)], [1], "numbers of places")
    expect(list(store.said(SESSION, 9)), ["m0"], "messages")
    expect(store.keyed(SESSION, "k"), None, "the key")
    expect((store.blob("b"), store.blob("kept")), (None, b"kept"), "blobs")
    expect(added(store, turn(1))[0].number, 2, "the next number")


def an_error_that_is_caught_within_the_block_still_ends_it(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0))
    with refusing("the end of the block"), store.writing(SESSION) as writing:
        writing.add(turn(1))
        with suppress(StoreFailed, OverflowError):
            writing.add(turn(2, at=1 << 80))
    expect(store.head(SESSION).number, 1, "the number of entries")


def a_block_that_raises_makes_no_session(fresh: Fresh) -> None:
    store = fresh.store()
    with refusing("an error in the block"), store.writing(SESSION) as writing:
        writing.add(turn(0))
        raise BadName("session", "", "is one that this check made up")
    with store.writing("empty"):
        pass
    expect([info.name for info in store.sessions()], [], "sessions")


def a_block_sees_what_it_wrote(fresh: Fresh) -> None:
    with fresh.store().writing(SESSION) as writing:
        entry = writing.add(turn(0, said=("m",), key="k", blobs=("b",)), blobs={"b": b"data"})
        expect(list(writing.entries(SESSION)), [entry], "entries within the block")
        expect([place.number for place in writing.places(SESSION)], [1], "places within the block")
        expect(list(writing.said(SESSION, 1)), ["m"], "messages within the block")
        expect(writing.known(SESSION, ["m", "n"]), frozenset("m"), "known within the block")
        expect(writing.keyed(SESSION, "k"), 1, "the key within the block")
        expect(writing.blob("b"), b"data", "the blob within the block")


def a_key_is_used_once_in_a_session(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0, key="k"), turn(1), turn(2))
    expect(store.keyed(SESSION, "k"), 1, "the entry of a key")
    expect(store.keyed(SESSION, "other"), None, "a key that nobody used")
    expect(store.keyed(SESSION, ""), None, "no key at all")
    with refusing("a key that was used"):
        added(store, turn(3, key="k"))
    expect(store.head(SESSION).number, 3, "the number of entries after that")
    added(store, turn(0, key="k"), session="another")
    expect(store.keyed("another", "k"), 1, "the same key in another session")


def a_bad_name_is_refused_where_it_would_be_written(fresh: Fresh) -> None:
    store = fresh.store()
    for name in BAD_NAMES:
        with refusing(f"the name {name!r}", BadName), store.writing(name) as writing:
            writing.add(turn(0))
    for name in GOOD_NAMES:
        added(store, turn(0), session=name)
    expect({info.name for info in store.sessions()}, set(GOOD_NAMES), "sessions")


def names_that_differ_in_case_are_two(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0), session="Name")
    added(store, turn(0), turn(1), session="name")
    expect([store.head(name).number for name in ("Name", "name")], [1, 2], "entries")


def large_entries_are_kept_whole(fresh: Fresh) -> None:
    store = fresh.store()
    data = bytes(range(256)) * (LARGE // 256)
    added(store, *(turn(index, data=data, blobs=("b",)) for index in range(3)), blobs={"b": data})
    expect(store.blob("b") == data, True, "whether a large blob is whole")
    whole = [entry.data == data for entry in store.entries(SESSION)]
    expect(whole, [True] * 3, "whether large entries are whole")


def texts_may_hold_any_character(fresh: Fresh) -> None:
    """Unpaired surrogates, the character of code zero, and what looks like a quote."""
    store = fresh.store()
    for odd in ("a\0b", "\ud800", "x\udfffy", "'\"`;--", "\U0001f980é", "%_\\"):
        session = f"s{ord(odd[0])}"
        given = turn(0, thread=odd, id=odd, key=odd, said=(odd, "b"), blobs=(odd,))
        (entry,) = added(store, given, session=session, blobs={odd: b"data"})
        expect(list(fresh.store().entries(session, thread=odd)), [entry], f"entries with {odd!r}")
        expect(list(store.threads(session)), [odd], f"threads with {odd!r}")
        expect([p.id for p in store.places(session, thread=odd)], [odd], f"places with {odd!r}")
        expect(store.keyed(session, odd), 1, f"the key {odd!r}")
        expect(list(store.said(session, 2)), [odd, "b"], f"messages with {odd!r}")
        expect(store.known(session, [odd]), frozenset([odd]), f"known messages with {odd!r}")
        expect(store.blob(odd), b"data", f"the blob {odd!r}")
        expect(store.keyed(session, odd[:1]), 1 if odd[1:] == "" else None, f"a part of {odd!r}")
