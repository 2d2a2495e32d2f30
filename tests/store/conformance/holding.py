"""Holding a session: one writer at a time, and nobody sees half of what it writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

from kedgeline.store.protocol import Store
from tests.store.conformance.fresh import SESSION, Fresh, Unfit, added, expect, refusing, turn

WRITERS, BLOCKS, IN_BLOCK = 4, 10, 3
WAIT_SECONDS = 60.0


def writers_in_threads_lose_nothing(fresh: Fresh) -> None:
    """Each with a store of its own."""
    stores = [fresh.store() for _ in range(WRITERS)]
    _write_from_threads(stores)
    _expect_all(fresh.store())


def one_store_serves_several_threads(fresh: Fresh) -> None:
    store = fresh.store()
    _write_from_threads([store] * WRITERS)
    _expect_all(store)


def _write_from_threads(stores: list[Store]) -> None:
    together = Barrier(WRITERS)  # so that each has a thread of its own

    def write(writer: int) -> None:
        together.wait(WAIT_SECONDS)
        for block in range(BLOCKS):
            with stores[writer].writing(SESSION) as writing:
                for part in range(IN_BLOCK):
                    said = f"{writer} {block} {part}"
                    index = writing.head(SESSION).number
                    writing.add(turn(index, tokens=1, id=said, said=(said,)))

    with ThreadPoolExecutor(WRITERS) as pool:
        for done in [pool.submit(write, writer) for writer in range(WRITERS)]:
            done.result(WAIT_SECONDS)


def _expect_all(store: Store) -> None:
    entries = list(store.entries(SESSION))
    count = WRITERS * BLOCKS * IN_BLOCK
    expect([entry.number for entry in entries], list(range(1, count + 1)), "numbers")
    blocks = [entry.id.rpartition(" ")[0] for entry in entries]
    together = [len(set(blocks[at : at + IN_BLOCK])) for at in range(0, count, IN_BLOCK)]
    expect(together, [1] * (WRITERS * BLOCKS), "blocks whose entries stand together")
    expect(len({entry.id for entry in entries}), count, "different entries")
    expect([place.before for place in store.places(SESSION)], list(range(count)), "tokens before")
    expect(list(store.said(SESSION, count)), [entry.id for entry in entries], "messages")
    expect(list(store.problems()), [], "problems")


def a_reader_never_sees_half_a_block(fresh: Fresh) -> None:
    """It sees what was before, or waits, or sees all of it."""
    store, reader = fresh.store(), fresh.store()
    added(store, turn(0))
    started = Event()

    def read() -> tuple[int, int, bytes | None]:
        started.set()
        number = reader.head(SESSION).number
        return number, len(list(reader.entries(SESSION))), reader.blob("b")

    with ThreadPoolExecutor(1) as pool:
        with store.writing(SESSION) as writing:
            writing.add(turn(1, blobs=("b",)), blobs={"b": b"data"})
            seen = pool.submit(read)
            started.wait(WAIT_SECONDS)
            writing.add(turn(2))
        number, _, _ = seen.result(WAIT_SECONDS)
    if number not in (1, 3):
        raise Unfit(f"a reader saw {number} of 3 entries while they were written")
    expect(reader.head(SESSION).number, 3, "entries after the block")


def a_session_is_not_held_twice_by_one_thread(fresh: Fresh) -> None:
    store = fresh.store()
    with store.writing(SESSION) as writing:
        writing.add(turn(0))
        with refusing("a block within a block"), store.writing(SESSION) as again:
            again.add(turn(1))
    expect(store.head(SESSION).number, 1, "the number of entries")


def nothing_is_written_when_the_block_is_over(fresh: Fresh) -> None:
    store = fresh.store()
    with store.writing(SESSION) as writing:
        writing.add(turn(0))
    with refusing("an entry after the block"):
        writing.add(turn(1))
    expect(store.head(SESSION).number, 1, "the number of entries")
