"""System calls on the files of a bank fail, once or from then on; then the disk is well again, and
the same process goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from kedge.errors import KedgeError
from tests.bank.torture.acts import Kind, do, prepared, wrong_in
from tests.bank.torture.plants import PLANTS
from tests.torture.outcome import Outcome
from tests.torture.tracing import Rule, Traced, counted
from tests.torture.workers import lines_of

CALLS = {
    "write": ("EIO", "ENOSPC", "EINTR", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "renameat": ("EIO", "ENOSPC", "EACCES"),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "unlinkat": ("EIO", "EACCES"),
    "openat": ("EMFILE", "EACCES", "ENOSPC", "EINTR", "EIO"),
    "read": ("EIO",),
    "flock": ("ENOLCK", "EINTR"),
    "fchmod": ("EPERM",),
}
"""What can go wrong with each."""
PREPARED = 20
KINDS: tuple[Kind, ...] = ("append", "compact", "undo")
BITE = 0.2
"""Share of cases in which a call must have failed."""
MARK, FURTHER = "new-entry", "further"


class Fault(NamedTuple):
    kind: Kind
    call: str
    error: str
    count: int
    lasts: bool


def check(place: str, seed: int, cases: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    case = Case(Path(place), plant)
    counts = {kind: case.counts(kind) for kind in KINDS}
    while outcome.cases < cases:
        outcome.cases += 1
        outcome.acknowledged += PREPARED
        fault = _drawn(random, counts)
        outcome.wrong(*(f"{fault}: {wrong}" for wrong in case.run(fault)))
        if plant and outcome.violations:
            break
    outcome.measured = {"failed": case.failed}
    if case.failed < BITE * outcome.cases and not plant:
        outcome.wrong(f"void: only {case.failed} of {outcome.cases} faults were felt")
    return outcome


def _drawn(random: Random, counts: dict[Kind, dict[str, int]]) -> Fault:
    kind = random.choice(KINDS)
    call = random.choice([call for call in CALLS if counts[kind].get(call)])
    error = random.choice(CALLS[call])
    lasts = error != "EINTR" and random.random() < 0.5  # who is interrupted for ever waits for ever
    return Fault(kind, call, error, random.randint(1, counts[kind][call]), lasts)


class Case:
    """One step that meets a fault, and what the same process does afterwards."""

    def __init__(self, place: Path, plant: str) -> None:
        self._template, self._bank, self._log = place / "template", place / "bank", place / "log"
        self._expected = prepared(self._template, PREPARED)
        self._plant = plant
        self.failed = 0
        """Cases in which the call said so."""

    def counts(self, kind: Kind) -> dict[str, int]:
        self._copy()
        fault = Fault(kind, "", "", 0, lasts=False)
        return counted(self._worker(fault), tuple(CALLS), self._log, self._paths())

    def run(self, fault: Fault) -> list[str]:
        self._copy()
        injected = f"{fault.call}:error={fault.error}:when={fault.count}{'+' * fault.lasts}"
        rule = Rule([fault.call], inject=injected, paths=self._paths())
        traced = Traced(self._worker(fault), rule)
        first = lines_of(traced.pipe, 1)
        self.failed += first != ["went through"]
        traced.detach()
        traced.go()
        said = first + lines_of(traced.pipe)
        traced.ended()
        wrong = [line for line in said if line.startswith("!")]
        if len(said) != 2 and not wrong:
            wrong.append(f"the worker ended early: {said}")
        expected = [*self._expected, *([MARK] if fault.kind == "append" else []), FURTHER]
        return wrong + wrong_in(self._bank, expected)[0]

    def _paths(self) -> list[str]:
        own = self._bank / ".kedge"
        names = ("activeContext.md", "activeContext.archive.md", "archived.md")
        ours = ("lock", "journal.json", "new-journal", "new-copy", "new-0", "new-1", "new-2")
        paths = [self._bank, own, *(self._bank / n for n in names), *(own / n for n in ours)]
        return [str(path) for path in paths]

    def _copy(self) -> None:
        shutil.rmtree(self._bank, ignore_errors=True)
        shutil.copytree(self._template, self._bank)

    def _worker(self, fault: Fault) -> Callable[[int, int], None]:
        def worker(pipe: int, waiting: int) -> None:
            PLANTS[self._plant]()
            told = "went through"
            try:
                do(self._bank, fault.kind, MARK)
            except KedgeError as error:  # any other is a violation: the pipe is told
                told = f"failed: {error}".replace("\n", " ")
            os.write(pipe, f"{told}\n".encode())
            os.read(waiting, 1)
            if told != "went through" and not _there(self._bank, fault.kind):
                do(self._bank, fault.kind, MARK)
            do(self._bank, "append", FURTHER)
            os.write(pipe, b"done\n")

        return worker


def _there(bank: Path, kind: Kind) -> bool:
    """Whether the entry is there though the call failed: only its folder could not be synced."""
    return kind == "append" and f"### {MARK}\n".encode() in (bank / "activeContext.md").read_bytes()
