"""A process that adds, compacts and takes back is killed at a random moment, again and again."""

from __future__ import annotations

import os
import signal
import time
from itertools import count
from pathlib import Path
from random import Random
from tempfile import mkdtemp

from tests.bank.torture.acts import compact, do, kind_of, prepared, wrong_in
from tests.bank.torture.plants import PLANTS
from tests.torture.outcome import Outcome
from tests.torture.workers import forked, lines_of

KILLS = 20
"""Of one bank: it stays small, so that looking at all of it is quick."""
PREPARED = 20
BEFORE = (0, 5)
"""Least and most acknowledgements before a kill."""
LATER = 0.012
"""Seconds after the last of these: within a step."""


def check(place: str, seed: int, cases: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    _warm_up(Path(mkdtemp(dir=place)) / "bank")
    while outcome.cases < cases:
        bank = Path(mkdtemp(dir=place)) / "bank"
        one = Killing(bank, random.randrange(1 << 30), plant)
        for _ in range(min(KILLS, cases - outcome.cases)):
            outcome.cases += 1
            outcome.wrong(*one.kill(random))
            if plant and outcome.violations:
                return outcome
        outcome.acknowledged += len(one.expected)
    return outcome


class Killing:
    """One bank, and what was acknowledged of it."""

    def __init__(self, bank: Path, seed: int, plant: str) -> None:
        self._bank, self._seed, self._plant = bank, seed, plant
        self.expected = prepared(bank, PREPARED)
        self._next = 0

    def kill(self, random: Random) -> list[str]:
        process, pipe = forked(self._work)
        said = lines_of(pipe, random.randint(*BEFORE))
        time.sleep(random.uniform(0, LATER))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        said += lines_of(pipe)
        wrong = [line for line in said if line.startswith("!")]
        for line in said:
            if not line.startswith("!"):
                self._acknowledged(int(line))
        return wrong + self._look()

    def _work(self, pipe: int) -> None:
        PLANTS.get(self._plant, PLANTS[""])()
        for number in count(self._next):
            if self._plant == "early":
                os.write(pipe, b"%d\n" % number)
            do(self._bank, kind_of(self._seed, number), f"entry-{number}")
            if self._plant != "early":
                os.write(pipe, b"%d\n" % number)

    def _acknowledged(self, number: int) -> None:
        if kind_of(self._seed, number) == "append":
            self.expected.append(f"entry-{number}")
        self._next = number + 1

    def _look(self) -> list[str]:
        under_way = f"entry-{self._next}" if kind_of(self._seed, self._next) == "append" else ""
        wrong, more = wrong_in(self._bank, self.expected, under_way)
        if more:
            self._acknowledged(self._next)
        return wrong


def _warm_up(bank: Path) -> None:
    """Load what is loaded with the first use, before anyone is forked."""
    prepared(bank, PREPARED)
    do(bank, "undo", "")
    from kedge.bank.files import held

    with held(bank) as files:
        compact(files)
