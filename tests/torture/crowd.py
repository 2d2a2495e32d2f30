"""T-D7: many processes write to one session, while it is compacted and writers are killed."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any, NamedTuple

from kedgeline.errors import KedgelineError, StoreFailed
from kedgeline.session.session import Session
from kedgeline.store import Durability, Store, Writing
from tests.torture.acts import PER_ACT, Act, do, marks_in, pieces_of
from tests.torture.outcome import Outcome
from tests.torture.places import NAME, session_at, warm_up
from tests.torture.workers import forked, lines_of

SPACING = 1_000
"""Numbers that a writer has for its steps."""
KILL_SECONDS = (0.05, 0.3)
"""Least and most between two kills."""
COMPACT_SECONDS = 0.3
"""Between two compactions."""
MOST_WAITED = 60.0
"""Seconds that a writer waits for the first compaction."""


def check(
    place: str,
    seed: int,
    writers: int,
    each: int,
    durability: Durability = "fast",
    kills: int = 8,
    inherited: bool = False,
    plant: str = "",
) -> Outcome:
    """`inherited`: the writers were forked from one who had the session open."""
    outcome = Outcome(seed)
    warm_up()
    crowd = Crowd(Path(place), seed, each, durability, plant)
    if inherited:
        crowd.inherit()
    compactor, pipe = forked(lambda _: crowd.compact())
    crowd.run(writers, kills, Random(seed))
    with suppress(ProcessLookupError, ChildProcessError):  # it ended by itself: it says why
        os.kill(compactor, signal.SIGKILL)
        os.waitpid(compactor, 0)
    outcome.wrong(*lines_of(pipe))
    outcome.cases = writers * each
    outcome.acknowledged = sum(len(crowd.acknowledged(writer)) for writer in range(writers))
    outcome.wrong(*crowd.wrong, *crowd.compared(writers))
    if kills and not (crowd.killed and crowd.compactions):
        outcome.wrong("void: nobody was killed, or nothing compacted")
    outcome.measured = {
        "kills": crowd.killed,
        "compactions": crowd.compactions,
        "compactions_refused": crowd.refused(),
        "load": os.getloadavg()[0],
    }
    steps = [step for writer in range(writers) for step in crowd.acknowledged(writer)]
    for name, taken in (("wait", [s.wait for s in steps]), ("append", [s.whole for s in steps])):
        shares = quantiles(taken, n=100)
        outcome.measured |= {f"{name}_p50_ms": shares[49], f"{name}_p99_ms": shares[-1]}
    return outcome


class Step(NamedTuple):
    """A call that returned."""

    number: int
    wait: float
    """Milliseconds until it held the session."""
    whole: float
    """Milliseconds until it returned."""


class Crowd:
    """Writers that each leave a line in a file of their own when a call has returned."""

    def __init__(
        self, place: Path, seed: int, each: int, durability: Durability, plant: str
    ) -> None:
        self._place, self._seed, self._each = place, seed, each
        self._durability, self._plant = durability, plant
        self.wrong: list[str] = []
        self.killed = self.compactions = 0
        self._inherited: Session | None = None

    def inherit(self) -> None:
        """Open a session before there are writers; they all use it."""
        self._inherited = self._session()
        self._inherited.store.head(NAME)

    def run(self, writers: int, kills: int, random: Random) -> None:
        """Start them, kill some, start these again, and wait for all."""
        alive = {self._started(writer): writer for writer in range(writers)}
        next_kill = time.monotonic() + random.uniform(*KILL_SECONDS)
        while alive:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process in alive:
                writer = alive.pop(process)
                if os.WIFSIGNALED(status):
                    alive[self._started(writer)] = writer
                elif status:
                    self.wrong.append(f"writer {writer} ended: {self._errors(writer)}")
            elif kills and time.monotonic() > next_kill:
                os.kill(random.choice(list(alive)), signal.SIGKILL)
                kills, self.killed = kills - 1, self.killed + 1
                next_kill = time.monotonic() + random.uniform(*KILL_SECONDS)
            else:
                time.sleep(0.01)

    def acknowledged(self, writer: int) -> list[Step]:
        """What is no whole line was not said."""
        with suppress(FileNotFoundError):
            lines = self._log(writer).read_text("ascii").split("\n")[:-1]
            return [Step(int(n), float(wait), float(all)) for n, wait, all in map(str.split, lines)]
        return []

    def compact(self) -> None:
        """Compact, and now and then take it back, until killed."""
        with self._session() as session:
            for number in count():
                time.sleep(COMPACT_SECONDS)
                kind = "undo" if number % 4 == 3 else "compact"
                try:
                    do(session, self._seed, Act(number, kind))
                except StoreFailed as error:  # what it folded was taken back, or it had to wait
                    with self._refusals.open("a", encoding="utf-8") as log:
                        log.write(f"{error}\n")
                else:
                    self._compacted.touch()

    def compared(self, writers: int) -> list[str]:
        """Every step is there once; those of a writer in their order; the numbers have no gap."""
        with self._session() as session:
            wrong = [f"problem: {problem}" for problem in session.store.problems()]
            entries = list(session.store.entries(NAME, light=True))
            found = marks_in(session.transcript())
            session.view("anthropic")
        if [entry.number for entry in entries] != list(range(1, len(entries) + 1)):
            wrong.append("the numbers have a gap")
        self.compactions = sum(entry.kind == "compaction" for entry in entries)
        there = Counter(found)
        by_writer: dict[int, list[str]] = {}
        for mark in found:
            by_writer.setdefault(int(mark[1:]) // PER_ACT // SPACING, []).append(mark)
        for writer in range(writers):
            acts = [self._act(writer, number) for number in range(self._each)]
            wanted = [piece.mark for act in acts for piece in pieces_of(self._seed, act)]
            lost = [mark for mark in wanted if not there[mark]]
            twice = [mark for mark in wanted if there[mark] > 1]
            if lost or twice:
                wrong.append(f"writer {writer}: lost {lost[:3]}, twice {twice[:3]}")
            elif by_writer[writer] != wanted:
                wrong.append(f"writer {writer}: what it wrote is not in its order")
        return wrong

    def _act(self, writer: int, number: int) -> Act:
        return Act(writer * SPACING + number, "words" if writer % 2 else "turn")

    def _started(self, writer: int) -> int:
        return forked(lambda pipe: self._write(writer))[0]

    def _session(self) -> Session:
        return session_at(str(self._place / "store"), self._durability)

    def _write(self, writer: int) -> None:
        """Go on behind the last step that is known to be written. Whether one more was, only the
        store knows: so each step has a key."""
        done = self.acknowledged(writer)
        log = os.open(self._log(writer), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._mend(log, writer)
        try:
            with self._inherited or self._session() as session:
                waits = timed(session.store)
                if self._plant in PLANTS:
                    PLANTS[self._plant](session.store)
                for number in range(len(done), self._each):
                    if number == self._each // 2 and not self._plant:
                        self._wait_for_a_compaction()
                    act, began = self._act(writer, number), time.monotonic()
                    try:
                        do(session, self._seed, act, key=str(act.number))
                    except StoreFailed:
                        if not self._plant:
                            raise
                    whole = time.monotonic() - began
                    os.write(log, f"{number} {waits.pop() * 1e3} {whole * 1e3}\n".encode())
        except KedgelineError as error:
            Path(f"{self._log(writer)}-error").write_text(str(error), "utf-8")
            raise

    def _wait_for_a_compaction(self) -> None:
        """Where the machine is busy, the writers would be done before the first one is made."""
        latest = time.monotonic() + MOST_WAITED
        while not self._compacted.exists() and time.monotonic() < latest:
            time.sleep(0.01)

    def _mend(self, log: int, writer: int) -> None:
        """Take back half a line, which the kill left."""
        text = self._log(writer).read_bytes()
        os.ftruncate(log, text.rfind(b"\n") + 1)

    def _errors(self, writer: int) -> str:
        path = Path(f"{self._log(writer)}-error")
        return path.read_text("utf-8") if path.exists() else "no error was written"

    @property
    def _compacted(self) -> Path:
        return self._place / "compacted"

    @property
    def _refusals(self) -> Path:
        return self._place / "refusals"

    def refused(self) -> int:
        """How often a compaction could not be made."""
        if not self._refusals.exists():
            return 0
        return len(self._refusals.read_text("utf-8").splitlines())

    def _log(self, writer: int) -> Path:
        return self._place / f"writer-{writer}"


def timed(store: Store) -> list[float]:
    """Seconds that each call waited until it held the session."""
    waits: list[float] = []
    whole = store.writing

    @contextmanager
    def writing(session: str) -> Iterator[Writing]:
        began = time.monotonic()
        with whole(session) as held:
            waits.append(time.monotonic() - began)
            yield held

    store.writing = writing  # type: ignore[method-assign]
    return waits


def number_before_locking(store: Store) -> None:
    """A planted bug: the number of the next entry is looked up before the session is held."""
    whole = store.writing

    @contextmanager
    def writing(session: str) -> Iterator[Writing]:
        head = store.head(session)
        with whole(session) as held:
            held._head = head  # type: ignore[attr-defined]
            yield held

    store.writing = writing  # type: ignore[method-assign]


def begin_without_locking(store: Store) -> None:
    """A planted bug: the lock comes with the first write, behind what was read."""

    def begin(connection: Any, *_: object) -> None:
        connection.execute("BEGIN")

    store.database.begin = begin  # type: ignore[attr-defined]


PLANTS = {"numbers": number_before_locking, "unlocked": begin_without_locking}
