"""Processes that write, and what they tell of it."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import count

from kedgeline.session.session import Session
from kedgeline.store.tables import Block
from tests.torture.acts import act_of, do

TORN_SECONDS = 0.012
"""Between the two transactions of a planted bug."""


def forked(worker: Callable[[int], None]) -> tuple[int, Pipe]:
    """A process that does this and ends, and what it writes. An error in it is a line that begins
    with an exclamation mark."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, Pipe(reading)
    code = 1
    try:
        os.close(reading)
        worker(writing)
        code = 0
    except BaseException:  # noqa: BLE001 whatever it is, the one who reads the pipe is told
        os.write(writing, f"!{traceback.format_exc()!r}\n".encode())
    finally:
        os._exit(code)


class Pipe:
    """Whole lines from a process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, b""
        self._over = False

    def lines(self) -> Iterator[str]:
        """Until the process ends; what is not a whole line then was not said."""
        while not self._over:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                yield line.decode("utf-8")
            found = os.read(self._descriptor, 65_536)
            self._rest += found
            if not found:
                self._over = True
                os.close(self._descriptor)


def lines_of(pipe: Pipe, wanted: int | None = None) -> list[str]:
    """So many lines; all that are left where none is said."""
    said: list[str] = []
    if wanted == 0:
        return said
    for line in pipe.lines():
        said.append(line)
        if len(said) == wanted:
            break
    return said


def work(session: Session, seed: int, first: int, pipe: int, plant: str = "") -> None:
    """Make one step after the other, and acknowledge each when its call has returned."""
    if plant == "two transactions":
        plant_two_transactions()
    for number in count(first):
        act = act_of(seed, number)
        if plant == "early":
            os.write(pipe, b"%d -1 -\n" % number)
        do(session, seed, act)
        if plant != "early":
            head = session.store.head(session.name)
            os.write(pipe, f"{number} {head.number} {head.chain or '-'}\n".encode())


def plant_two_transactions() -> None:
    """Entries are committed before the texts that they refer to."""
    whole = Block.finish

    def torn(self: Block) -> None:
        self.connection.execute("COMMIT")
        time.sleep(TORN_SECONDS)
        self.connection.execute("BEGIN IMMEDIATE")
        whole(self)

    Block.finish = torn  # type: ignore[method-assign]
