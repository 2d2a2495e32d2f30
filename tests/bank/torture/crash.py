"""A process is killed at every system call that changes a file, of each kind of step."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from tests.bank.torture.acts import Kind, do, prepared, wrong_in
from tests.bank.torture.plants import PLANTS
from tests.torture.outcome import Outcome
from tests.torture.tracing import Rule, Traced, counted
from tests.torture.workers import lines_of

CALLS = (
    *("write", "fsync", "ftruncate", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("openat", "mkdir", "mkdirat", "fchmod", "fchmodat", "fchown", "fchownat", "flock", "close"),
)
PREPARED = 20
SHUFFLE = 7_919
"""A prime: by its multiples, some of the calls are as good as all in other places."""
SCENARIOS: dict[str, tuple[Kind, ...]] = {
    "append": ("append", "append"),
    "compact": ("compact",),
    "undo": ("undo",),
    "recover": ("compact",),
}
"""Each with its steps. `recover`: one is killed who finishes what another one left."""


def check(place: str, seed: int, scenario: str, most: int = 0, plant: str = "") -> Outcome:
    """`most`: of the calls, so many at the most; 0 is all."""
    outcome = Outcome(seed)
    crash = Crash(Path(place), scenario, plant)
    if plant == "no recovery":
        PLANTS[plant]()  # who looks at what was left is who recovers
    for call, count in crash.calls()[: most or None]:
        outcome.cases += 1
        said, wrong = crash.at(call, count)
        outcome.acknowledged += PREPARED + said
        outcome.wrong(*(f"{scenario} at {call} {count}: {each}" for each in wrong))
        if plant and outcome.violations:
            break
    return outcome


class Crash:
    """One scenario, on copies of one bank."""

    def __init__(self, place: Path, scenario: str, plant: str) -> None:
        self._template, self._bank, self._log = place / "template", place / "bank", place / "log"
        self._expected = prepared(self._template, PREPARED)
        self._steps = SCENARIOS[scenario]
        self._plant = plant
        self._marks = [f"new-entry-{n}" for n in range(len(self._steps))]
        do(self._template, "compact", "")
        if scenario != "undo":
            do(self._template, "undo", "")
        if scenario == "recover":
            self._half_done()

    def calls(self) -> list[tuple[str, int]]:
        """Every call that is made, by its name and which of its name it is."""
        self._copy()
        counts = counted(self._worker(), CALLS, self._log)
        found = [(call, n + 1) for call, most in sorted(counts.items()) for n in range(most)]
        return sorted(found, key=lambda each: found.index(each) * SHUFFLE % len(found))

    def at(self, call: str, count: int) -> tuple[int, list[str]]:
        """How much was acknowledged before the call, and what is wrong afterwards."""
        self._copy()
        traced = Traced(self._worker(), Rule([call], inject=f"{call}:signal=KILL:when={count}"))
        said = lines_of(traced.pipe)
        traced.ended()
        wrong = [line for line in said if line.startswith("!")]
        reached = len(said) - len(wrong)
        added = self._marks if "append" in self._steps else []
        expected = [*self._expected, *added[:reached]]
        under_way = added[reached] if reached < len(added) else ""
        return reached, wrong + wrong_in(self._bank, expected, under_way)[0]

    def _half_done(self) -> None:
        """Leave a bank behind in which a compaction is committed, and one file replaced."""
        self._copy()
        steps = self._steps
        for count in range(1, 40):
            rule = Rule(["rename", "renameat", "renameat2"], "")
            inject = f"renameat:signal=KILL:when={count}"
            self._copy()
            traced = Traced(self._worker(), rule._replace(inject=inject))
            lines_of(traced.pipe)
            if traced.ended() != signal.SIGKILL:
                raise AssertionError("there was no moment at which it was half done")
            if (self._bank / ".kedge" / "journal.json").exists():
                break
        assert steps == self._steps
        shutil.rmtree(self._template)
        shutil.copytree(self._bank, self._template)

    def _copy(self) -> None:
        shutil.rmtree(self._bank, ignore_errors=True)
        shutil.copytree(self._template, self._bank)

    def _worker(self) -> Callable[[int, int], None]:
        def worker(pipe: int, _: int) -> None:
            PLANTS[self._plant]()
            for kind, mark in zip(self._steps, self._marks, strict=True):
                do(self._bank, kind, mark)
                os.write(pipe, b"done\n")

        return worker
