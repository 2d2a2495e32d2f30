"""T-D1: a worker is killed at a random moment, again and again on the same store."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from kedgeline.store import Durability
from kedgeline.store.sqlite_files import DATABASE, Journal
from tests.torture.acts import Act, act_of
from tests.torture.checking import Acknowledged, compare
from tests.torture.outcome import Outcome
from tests.torture.places import NAME, planted_tables, session_at, store_at, use_journal, warm_up
from tests.torture.workers import forked, lines_of, work

KILLS = 8
"""Of one store: sessions stay small, so that looking at all of one is quick."""
BEFORE = (4, 9)
"""Least and most acknowledgements before a kill."""
NEAR, FAR = 0.004, 0.06
"""Seconds after the last of these: within a write, and within a compaction."""
MIGRATED = 4
"""Every so many kills, a migration is what is killed."""
MIGRATION_SECONDS = 0.012
REOPEN_SECONDS = 2.0
"""Within which a store must be open again."""


def check(
    place: str,
    seed: int,
    cases: int,
    durability: Durability = "durable",
    journal: Journal = "wal",
    plant: str = "",
) -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    batch = 0
    warm_up()
    use_journal(journal)
    while outcome.cases < cases:
        batch += 1
        one = Batch(place, random.randrange(1 << 30), durability, plant, batch)
        for number in range(min(KILLS, cases - outcome.cases)):
            outcome.cases += 1
            migrates = number % MIGRATED == MIGRATED - 1 and not one.shared
            outcome.wrong(*(one.migration(random) if migrates else one.kill(random)))
            if plant and outcome.violations:
                return outcome
        outcome.acknowledged += len(one.done)
    return outcome


class Batch:
    """One store, or one session of a shared one, and what was acknowledged of it."""

    def __init__(
        self, place: str, seed: int, durability: Durability, plant: str, number: int
    ) -> None:
        self.shared = "://" in place
        self._place = place if self.shared else mkdtemp(dir=place)
        self._name = f"{NAME}-{seed}-{number}"
        self._seed, self._durability, self._plant = seed, durability, plant
        self._next = 0
        self._steps = 0
        self.done: list[Acknowledged] = []

    def kill(self, random: Random) -> list[str]:
        first, wanted = self._next, random.randint(*BEFORE)
        later = random.uniform(0, NEAR if random.random() < 0.7 else FAR)

        def worker(pipe: int) -> None:
            with session_at(
                self._place, self._durability, name=self._name, planted_steps=self._steps
            ) as session:
                work(session, self._seed, first, pipe, self._plant)

        said = _killed(worker, wanted, later)
        wrong = [line for line in said if line.startswith("!")]
        for line in said:
            if not line.startswith("!"):
                number, entry, chain = line.split()
                act = act_of(self._seed, int(number))
                self.done.append(Acknowledged(act, int(entry), chain.strip("-")))
                self._next = int(number) + 1
        return wrong + self._look(act_of(self._seed, self._next))

    def migration(self, random: Random) -> list[str]:
        """Kill the one who opens a store of an older version."""
        wanted = self._steps + 1

        def worker(pipe: int) -> None:
            os.write(pipe, b"ready\n")
            store_at(self._place, self._durability, planted_steps=wanted).close()

        _killed(worker, 1, random.uniform(0, MIGRATION_SECONDS))
        version, tables = planted_tables(str(Path(self._place, DATABASE)))
        wrong = []
        if version not in (self._steps, wanted) or tables != 2 * version:
            wrong.append(f"half a migration: version {version} and {tables} tables")
        self._steps = wanted
        return wrong + self._look(None)

    def _look(self, under_way: Act | None) -> list[str]:
        began = time.monotonic()
        with session_at(
            self._place, self._durability, name=self._name, planted_steps=self._steps
        ) as session:
            session.store.head(self._name)
            seconds = time.monotonic() - began
            verdict = compare(session, self._seed, self.done, under_way)
            if verdict.further and under_way:
                head = session.store.head(self._name)
                self.done.append(Acknowledged(under_way, head.number, head.chain))
                self._next += 1
        slow = [f"it took {seconds:.1f} s to open"] if seconds > REOPEN_SECONDS else []
        return verdict.wrong + slow


def _killed(worker: Callable[[int], None], wanted: int, later: float) -> list[str]:
    """Whole lines that a worker wrote before it was killed, some time after it wrote so many."""
    process, pipe = forked(worker)
    said = lines_of(pipe, wanted)
    time.sleep(later)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return said + lines_of(pipe)
