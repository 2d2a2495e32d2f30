"""T-D4: system calls on the files of a store fail, once or from then on; then the disk is well
again, and the same process goes on."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from kedgeline.errors import KedgelineError, StoreFailed
from kedgeline.session.session import Session
from kedgeline.store.sqlite_files import COMPANIONS, DATABASE
from tests.torture.acts import Act, Kind, do
from tests.torture.checking import Acknowledged, compare
from tests.torture.outcome import Outcome
from tests.torture.places import prepared, session_at, warm_up
from tests.torture.tracing import Rule, Traced, counted
from tests.torture.workers import lines_of

CALLS = {
    "pwrite64": ("EIO", "ENOSPC", "EINTR"),
    "fdatasync": ("EIO", "ENOSPC", "EINTR"),
    "fsync": ("EIO", "EINTR"),
    "ftruncate": ("EIO", "ENOSPC"),
    "fallocate": ("ENOSPC",),
    "pread64": ("EIO",),
    "openat": ("EMFILE", "EACCES", "ENOSPC", "EINTR"),
    "unlink": ("EIO", "EACCES"),
}
"""What can go wrong with each."""
PREPARED = 30
KINDS: tuple[Kind, ...] = ("turn", "several", "words", "large", "image", "compact", "undo")
BITE = 0.2
"""Share of cases in which a call must have failed; the others were not reached, or made good."""
SHORT = 0.2
"""Share of cases in which a write is cut short instead: the files may not grow beyond a size."""


class Fault(NamedTuple):
    kind: Kind
    call: str
    error: str
    count: int
    lasts: bool

    def __str__(self) -> str:
        when = f"{self.count}{'+' if self.lasts else ''}"
        return f"{self.kind}, {self.call} {self.error or 'cut short'} at {when}"


def check(place: str, seed: int, cases: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    warm_up()
    template, folder = Path(place, "template"), Path(place, "store")
    done = prepared(template, seed, PREPARED)
    case = Case(folder, seed, done, plant)
    counts = {kind: case.counts(template, kind, Path(place, "log")) for kind in KINDS}
    while outcome.cases < cases:
        outcome.cases += 1
        outcome.acknowledged += len(done)
        fault = _drawn(random, counts)
        _copy(template, folder)
        outcome.wrong(*(f"{fault}: {wrong}" for wrong in case.run(fault)))
        if plant and outcome.violations:
            break
    outcome.measured = {"failed": case.failed}
    if case.failed < BITE * outcome.cases:
        outcome.wrong(f"void: only {case.failed} of {outcome.cases} faults were felt")
    return outcome


def _drawn(random: Random, counts: dict[Kind, dict[str, int]]) -> Fault:
    kind = random.choice(KINDS)
    if random.random() < SHORT:
        return Fault(kind, "write", "", random.randint(1_000, 400_000), lasts=True)
    call = random.choice([call for call in CALLS if counts[kind].get(call)])
    error = random.choice(CALLS[call])
    lasts = error != "EINTR" and random.random() < 0.5  # who is interrupted for ever waits for ever
    return Fault(kind, call, error, random.randint(1, counts[kind][call]), lasts)


def _copy(template: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)


class Case:
    """One step that meets a fault, and what the same process does afterwards."""

    def __init__(self, folder: Path, seed: int, done: list[Acknowledged], plant: str) -> None:
        self._folder, self._seed, self._done, self._plant = folder, seed, done, plant
        names = [DATABASE, *(f"{DATABASE}{ending}" for ending in COMPANIONS)]
        self._paths = [str(folder), *(str(folder / name) for name in names)]
        self.failed = 0
        """Cases in which the call said so."""

    def counts(self, template: Path, kind: Kind, log: Path) -> dict[str, int]:
        _copy(template, self._folder)
        fault = Fault(kind, "", "", 0, lasts=False)
        return counted(self._worker(fault), tuple(CALLS), log, self._paths)

    def run(self, fault: Fault) -> list[str]:
        injected = f"{fault.call}:error={fault.error}:when={fault.count}{'+' * fault.lasts}"
        rule = Rule([fault.call], inject=injected if fault.error else "", paths=self._paths)
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
        acts = self._acts(fault)
        if not wrong and first == ["went through"] and self._missing(acts[0]):
            wrong.append("the call returned, and what it wrote is not there")
        with session_at(str(self._folder)) as session:
            now = [*self._done, *map(Acknowledged, acts)]
            wrong += compare(session, self._seed, now).wrong
        return wrong

    def _missing(self, act: Act) -> bool:
        """Of a compaction; what was said is compared anyway."""
        if act.kind != "compact":
            return False
        with session_at(str(self._folder)) as session:
            after = session.store.entries(session.name, after=self._done[-1].number, light=True)
            return not {entry.kind for entry in after} & {"compaction", "attempt"}

    def _acts(self, fault: Fault) -> tuple[Act, Act]:
        first = len(self._done)
        return Act(first, fault.kind), Act(first + 1, "turn")

    def _worker(self, fault: Fault) -> Callable[[int, int], None]:
        act, further = self._acts(fault)

        def worker(pipe: int, waiting: int) -> None:
            limited = fault.call == "write" and not fault.error
            if limited:
                _limit(fault.count)
            session, told = self._first(act)
            if limited:
                _limit(resource.RLIM_INFINITY)
            os.write(pipe, f"{told}\n".encode())
            os.read(waiting, 1)
            with session or session_at(str(self._folder)) as session:
                self._second(session, act, further, told)
            os.write(pipe, b"done\n")

        return worker

    def _first(self, act: Act) -> tuple[Session | None, str]:
        """Make the step while things fail; an error must be one of ours."""
        session = None
        try:
            session = session_at(str(self._folder))
            do(session, self._seed, act)
        except StoreFailed as error:
            if self._plant == "swallowed":
                return session, "went through"
            return session, f"failed: {error}".replace("\n", " ")
        except KedgelineError as error:
            if session is not None:
                raise
            return None, f"refused: {error}".replace("\n", " ")
        return session, "went through"

    def _second(self, session: Session, act: Act, further: Act, told: str) -> None:
        """Nothing fails any more: the step is tried again, and there is another."""
        if told != "went through":
            do(session, self._seed, act)
        do(session, self._seed, further)


def _limit(size: int) -> None:
    """No file may grow beyond a size: a write across it is cut short, the next one fails."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
