"""T-D2: a worker is killed at every system call that changes a file, of each scenario."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from kedgeline.errors import KedgelineError
from kedgeline.store.sqlite_files import DATABASE, Journal
from tests.torture.acts import Act, do
from tests.torture.checking import Acknowledged, compare
from tests.torture.outcome import Outcome
from tests.torture.places import planted_tables, prepared, session_at, use_journal, warm_up
from tests.torture.scenarios import STEPS, left_wrong, play, prepare
from tests.torture.tracing import Rule, Traced, counted
from tests.torture.workers import lines_of

CALLS = (
    *("write", "pwrite64", "pwritev", "fsync", "fdatasync", "ftruncate", "fallocate"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "openat", "mkdir", "mkdirat"),
)
PREPARED = 100
"""Steps that were acknowledged before the one that is killed."""
SHUFFLE = 7_919
"""A prime: by its multiples, some of the calls are as good as all in other places."""


def check(
    place: str, seed: int, scenario: str, journal: Journal = "wal", most: int = 0, plant: str = ""
) -> Outcome:
    """`most`: of the calls, so many at the most; 0 is all."""
    outcome = Outcome(seed)
    warm_up()
    use_journal(journal)
    template = Path(place, "template")
    done = [] if scenario == "create" else prepared(template, seed, PREPARED)
    prepare(scenario, template, seed)
    crash = Crash(Path(place), scenario, seed, done, plant)
    for call, count in crash.calls()[: most or None]:
        outcome.cases += 1
        said, wrong = crash.at(call, count)
        outcome.acknowledged += len(done) + said
        outcome.wrong(*(f"{scenario} at {call} {count}: {each}" for each in wrong))
        if plant and outcome.violations:
            break
    return outcome


class Crash:
    """One scenario, on copies of one store."""

    def __init__(
        self, place: Path, scenario: str, seed: int, done: list[Acknowledged], plant: str
    ) -> None:
        self._place, self._scenario, self._seed = place, scenario, seed
        self._done, self._plant = done, plant
        self._folder = place / "store"
        self._acts = [Act(len(done) + n, kind) for n, kind in enumerate(STEPS[scenario])]
        self._steps = int(scenario == "migrate")

    def calls(self) -> list[tuple[str, int]]:
        """Every call that is made, by its name and which of its name it is."""
        self._copy()
        counts = counted(self._worker(), CALLS, self._place / "log")
        found = [(call, n + 1) for call, most in sorted(counts.items()) for n in range(most)]
        return sorted(found, key=lambda each: found.index(each) * SHUFFLE % len(found))

    def at(self, call: str, count: int) -> tuple[int, list[str]]:
        """How much was acknowledged before the call, and what is wrong afterwards."""
        self._copy()
        rule = Rule([call], inject=f"{call}:signal=KILL:when={count}")
        traced = Traced(self._worker(), rule)
        said = lines_of(traced.pipe)
        if traced.ended() != signal.SIGKILL:
            return len(said), []  # it made fewer of these calls than before
        return len(said), self._looked(said)

    def _copy(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if (self._place / "template").exists():
            shutil.copytree(self._place / "template", self._folder)

    def _worker(self) -> Callable[[int, int], None]:
        def worker(pipe: int, _: int) -> None:
            if self._plant == "early":
                os.write(pipe, b"0\n")
            with session_at(str(self._folder), planted_steps=self._steps) as session:
                for place, act in enumerate(self._acts):
                    do(session, self._seed, act)
                    if not self._plant:
                        os.write(pipe, b"%d\n" % place)
                play(self._scenario, session, self._folder)

        return worker

    def _looked(self, said: list[str]) -> list[str]:
        wrong = [line for line in said if line.startswith("!")]
        reached = len(said) - len(wrong)
        now = [*self._done, *map(Acknowledged, self._acts[:reached])]
        under_way = self._acts[reached] if reached < len(self._acts) else None
        if self._steps:
            version, tables = planted_tables(str(self._folder / DATABASE))
            if tables != 2 * version:
                wrong.append(f"half a migration: version {version} and {tables} tables")
        try:
            with session_at(str(self._folder), planted_steps=self._steps) as session:
                wrong += compare(session, self._seed, now, under_way).wrong
                wrong += left_wrong(self._scenario, session, self._folder)
                do(session, self._seed, Act(len(self._done) + len(self._acts), "turn"))
        except KedgelineError as error:
            wrong.append(f"the store cannot be used: {error}")
        return wrong
