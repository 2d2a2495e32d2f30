"""What follows from the entries: places, threads, messages; and reading them in part."""

from __future__ import annotations

from typing import Any

from kedgeline.store.protocol import Entry, Place, StoreReading
from tests.store.conformance.fresh import SESSION, Fresh, added, expect, turn


def _standing(store: StoreReading, **more: Any) -> list[tuple[int, int, int, int]]:
    return [
        (place.index, place.number, place.tokens, place.before)
        for place in store.places(SESSION, **more)
    ]


def turns_stand_at_their_index(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0), Entry(kind="words", index=1, tokens=99), turn(1), turn(2))
    expect(_standing(store), [(0, 1, 10, 0), (1, 3, 11, 10), (2, 4, 12, 21)], "places")
    last = Place(index=2, number=4, tokens=12, before=21, id="turn 2")
    expect(store.last_place(SESSION), last, "the last place")


def places_are_given_from_one_index_to_another(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, *map(turn, range(6)))
    expect([place.index for place in store.places(SESSION, first=2, last=4)], [2, 3, 4], "2 to 4")
    expect([place.index for place in store.places(SESSION, first=4)], [4, 5], "from 4 on")
    expect([place.index for place in store.places(SESSION, last=0)], [0], "up to 0")
    expect(list(store.places(SESSION, first=6)), [], "behind the last")


def a_turn_with_an_index_that_stood_takes_back_the_rest(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, *map(turn, range(4)))
    added(store, turn(1, tokens=100))
    expect(_standing(store), [(0, 1, 10, 0), (1, 5, 100, 10)], "places after a rewind")
    added(store, turn(2))
    expect(_standing(store)[2:], [(2, 6, 12, 110)], "the place behind it")
    added(store, turn(0, tokens=7))
    expect(_standing(store), [(0, 7, 7, 0)], "places after a rewind to the beginning")


def a_cut_ends_a_thread_before_an_index(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, *map(turn, range(4)), Entry(kind="cut", index=2))
    expect(_standing(store), [(0, 1, 10, 0), (1, 2, 11, 10)], "places after a cut")
    added(store, Entry(kind="cut", index=9), Entry(kind="pin", index=0), turn(2))
    expect(_standing(store)[2:], [(2, 8, 12, 21)], "the place after the cut")
    added(store, Entry(kind="cut", index=0))
    expect((_standing(store), store.last_place(SESSION)), ([], None), "after a cut of all")
    expect(store.head(SESSION).number, 9, "entries, which a cut leaves alone")


def indexes_may_leave_gaps(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(3), turn(7), turn(20))
    expect(_standing(store), [(3, 1, 13, 0), (7, 2, 17, 13), (20, 3, 30, 30)], "places")
    added(store, turn(5))
    expect(_standing(store), [(3, 1, 13, 0), (5, 4, 15, 13)], "places after a rewind")


def threads_stand_for_themselves(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0), turn(0, thread="z"), turn(0, thread="a"), turn(1), turn(1, thread="z"))
    expect(list(store.threads(SESSION)), ["z", "a"], "threads, in the order of their first turn")
    added(store, Entry(kind="cut", index=1, thread="z"))
    expect(_standing(store), [(0, 1, 10, 0), (1, 4, 11, 10)], "places of the main thread")
    expect(_standing(store, thread="z"), [(0, 2, 10, 0)], "places of the thread that was cut")
    expect(_standing(store, thread="a"), [(0, 3, 10, 0)], "places of the other")
    last = store.last_place(SESSION, thread="z")
    expect(last and last.number, 2, "the last place of the thread that was cut")
    added(store, Entry(kind="cut", index=0, thread="z"))
    expect(list(store.threads(SESSION)), ["a"], "threads in which turns stand")
    added(store, turn(0, thread="z"))
    expect(list(store.threads(SESSION)), ["a", "z"], "threads after one began again")


def sessions_do_not_mix(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0, said=("m",)), turn(1))
    added(store, turn(0, tokens=3, said=("n",)), Entry(kind="cut", index=0), session="another")
    expect(_standing(store), [(0, 1, 10, 0), (1, 2, 11, 10)], "places")
    expect(list(store.said(SESSION, 9)), ["m"], "messages")
    expect(store.known("another", ["m", "n"]), frozenset("n"), "messages of another session")


def messages_are_given_newest_last(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0, said=("a", "b")), turn(1), turn(2, said=("c",)))
    added(store, Entry(kind="cut", index=0), turn(0, said=("a", "d")))
    expect(list(store.said(SESSION, 3)), ["c", "a", "d"], "the last three")
    expect(list(store.said(SESSION, 99)), ["a", "b", "c", "a", "d"], "all")
    expect(list(store.said(SESSION, 0)), [], "none")
    expect(store.known(SESSION, ["a", "c", "x"]), frozenset("ac"), "those that are known")
    expect(store.known(SESSION, []), frozenset(), "known ones of none")
    many = [f"x{number}" for number in range(3_000)]
    expect(store.known(SESSION, [*many, "d"]), frozenset("d"), "known ones of many")


def entries_are_given_by_kind_thread_and_number(fresh: Fresh) -> None:
    store = fresh.store()
    pin, undo = Entry(kind="pin", index=1), Entry(kind="undo", index=1)
    added(store, turn(0), pin, turn(0, thread="z"), turn(1), undo, turn(2))

    def numbers(**chosen: Any) -> list[int]:
        return [entry.number for entry in store.entries(SESSION, **chosen)]

    expect(numbers(kinds=["pin", "undo"]), [2, 5], "pins and undos")
    expect(numbers(kinds=("turn",)), [1, 3, 4, 6], "turns")
    expect(numbers(kinds={"turn", "pin"}, after=2), [3, 4, 6], "turns and pins behind the second")
    expect(numbers(thread="z"), [3], "those of a thread")
    expect(numbers(thread=""), [1, 2, 4, 5, 6], "those of the main thread")
    expect(numbers(after=4), [5, 6], "those behind the fourth")
    expect(numbers(after=6), [], "those behind the last")
    expect(numbers(newest_first=True), [6, 5, 4, 3, 2, 1], "newest first")
    expect(numbers(newest_first=True, after=3), [6, 5, 4], "newest first, behind the third")
    expect(numbers(newest_first=True, kinds=["turn"], thread="z"), [3], "all at once")


def many_entries_come_in_order(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, *map(turn, range(1_000)))
    numbers = [entry.number for entry in store.entries(SESSION)]
    expect(numbers, list(range(1, 1_001)), "numbers")
    numbers = [entry.number for entry in store.entries(SESSION, newest_first=True, light=True)]
    expect(numbers, list(range(1_000, 0, -1)), "numbers, newest first")
    some = store.entries(SESSION)
    next(some)
    added(store, turn(1_000))  # whoever stops reading holds nobody up
    expect(store.head(SESSION).number, 1_001, "entries written while others are read")


def light_entries_leave_out_what_is_heavy(fresh: Fresh) -> None:
    store = fresh.store()
    added(store, turn(0, blobs=("b",), said=("m",), key="k", at=5), blobs={"b": b""})
    (light,) = store.entries(SESSION, light=True)
    expect((light.data, light.blobs, light.said), (b"", (), ()), "what is heavy")
    known = (light.kind, light.index, light.tokens, light.id, light.key, light.at, light.number)
    expect(known, ("turn", 0, 10, "turn 0", "k", 5, 1), "what is light")
    expect(light.chain, store.head(SESSION).chain, "the chain")
