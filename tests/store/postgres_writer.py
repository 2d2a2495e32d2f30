"""Processes that write at once: `python -m tests.store.postgres_writer ADDRESS PROCESSES COUNT`."""

from __future__ import annotations

import os
import sys

from kedgeline.store import Entry
from kedgeline.store.postgres import open_postgres
from tests.store.postgres_faults import SESSION
from tests.torture.workers import forked


def write(address: str, name: str, count: int) -> None:
    """What was confirmed is told on stdout, after it was."""
    store = open_postgres(address)
    for part in range(count):
        with store.writing(SESSION) as writing:
            index = writing.head(SESSION).number
            written = writing.add(Entry(kind="turn", index=index, data=f"{name} {part}".encode()))
        os.write(1, f"{written.number} {name} {part}\n".encode())
    store.close()


def succeeded(children: list[int]) -> bool:
    return all(os.waitpid(child, 0)[1] == 0 for child in children)


def main() -> None:
    address, processes, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    store = open_postgres(address)
    with store.writing(SESSION) as writing:
        writing.add(Entry(kind="about", data=b"parent 0"))
    connection = store.ask("SELECT pg_backend_pid()")
    with store.writing(SESSION) as writing:
        writing.add(Entry(kind="about", data=b"parent 1"))
        child = os.fork()
        if child == 0:
            raise SystemExit  # out of the block, which is the parent's to end
        assert succeeded([child])
    assert succeeded([forked(lambda _: store.close())[0]])
    assert store.ask("SELECT pg_backend_pid()") == connection
    names = [f"w{number}" for number in range(processes)]
    writers = [forked(lambda _, name=name: write(address, name, count)) for name in names]
    assert succeeded([process for process, _ in writers])
    assert store.head(SESSION).number == processes * count + 2
    store.close()


if __name__ == "__main__":
    main()
