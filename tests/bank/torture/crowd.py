"""Many processes add to one bank, while it is compacted and processes are killed."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from kedge.bank.files import held
from tests.bank.torture.acts import (
    ACTIVE,
    ARCHIVE,
    append,
    compact,
    marks_in,
    undo,
    whole,
    wrong_in,
)
from tests.bank.torture.plants import PLANTS
from tests.torture.outcome import Outcome
from tests.torture.workers import forked

KILL_SECONDS = (0.05, 0.3)
"""Least and most between two kills."""
COMPACT_SECONDS = 0.1
"""Between two compactions."""
UNDONE = 0.1
"""Share of compactions that are taken back."""
WAIT = 300
"""Seconds that a writer waits on a machine that has much else to do."""
COMPACTOR = -1


def check(
    place: str, seed: int, writers: int, each: int, kills: int = 8, plant: str = ""
) -> Outcome:
    return checked(Crowd(Path(place), each, plant), seed, writers, kills)


def checked(crowd: Crowd, seed: int, writers: int, kills: int) -> Outcome:
    outcome = Outcome(seed)
    crowd.run(writers, kills, Random(seed))
    outcome.cases = writers * crowd.each
    waits = sorted(wait for n in range(writers) for _, wait in crowd.acknowledged(n)) or [0.0]
    outcome.acknowledged = len(waits)
    outcome.wrong(*crowd.wrong, *crowd.compared(writers))
    outcome.measured = {
        "kills": crowd.killed,
        "compactions": crowd.compactions,
        "compactor_held": len(crowd.acknowledged(COMPACTOR)),
        "looks": crowd.looks,
        "wait_p50_ms": waits[len(waits) // 2] / 1_000,
        "wait_p99_ms": waits[len(waits) * 99 // 100] / 1_000,
        "wait_longest_ms": waits[-1] / 1_000,
    }
    return outcome


class Crowd:
    """Writers that each leave a line in a file of their own when a call has returned."""

    ordered = True
    """Whether the files have the entries in the order in which they were written."""

    def __init__(self, place: Path, each: int, plant: str) -> None:
        self._place, self.each, self._plant = place, each, plant
        self._bank = place / "bank"
        self._bank.mkdir()
        self.wrong: list[str] = []
        self.killed = self.compactions = self.looks = 0

    def run(self, writers: int, kills: int, random: Random) -> None:
        """Start them, kill some, start these again, look at the files all the time, and wait."""
        alive = {self._started(writer): writer for writer in (*range(writers), COMPACTOR)}
        next_kill = time.monotonic() + random.uniform(*KILL_SECONDS)
        while set(alive.values()) != {COMPACTOR}:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process in alive:
                writer = alive.pop(process)
                if os.WIFSIGNALED(status):
                    alive[self._started(writer)] = writer
                elif status:
                    self.wrong.append(f"writer {writer} ended: {self._errors(writer)}")
                    self._finished(alive, writer)
            elif kills and time.monotonic() > next_kill:
                os.kill(random.choice(list(alive)), signal.SIGKILL)
                kills, self.killed = kills - 1, self.killed + 1
                next_kill = time.monotonic() + random.uniform(*KILL_SECONDS)
            else:
                self.looks += 1
                self.wrong += self._look()
                time.sleep(0.01)
        for process in alive:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def _finished(self, alive: dict[int, int], writer: int) -> None:
        if writer == COMPACTOR:
            alive[self._started(writer)] = writer

    def acknowledged(self, writer: int) -> list[tuple[int, float]]:
        """Numbers, each with the microseconds it waited for the lock. What is no whole line was not
        said."""
        with suppress(FileNotFoundError):
            lines = self._log(writer).read_text("ascii").split("\n")[:-1]
            return [(int(number), float(wait)) for number, wait in map(str.split, lines)]
        return []

    def compared(self, writers: int) -> list[str]:
        """Every entry is there once, and those of a writer are in their order."""
        with held(self._bank) as files:
            self.compactions = max((each.number for each in files.history()), default=0)
        wrong, found = self._found()
        there = Counter(found)
        for writer in range(writers):
            wanted = [f"{writer}/{number}" for number in range(self.each)]
            lost = [mark for mark in wanted if not there[mark]]
            twice = [mark for mark in wanted if there[mark] > 1]
            mine = [mark for mark in found if mark.startswith(f"{writer}/")]
            if lost or twice:
                wrong.append(f"writer {writer}: {len(lost)} lost {lost[:3]}, twice {twice[:3]}")
            elif self.ordered and mine != wanted:
                wrong.append(f"writer {writer}: what it wrote is not in its order")
        return wrong

    def _started(self, writer: int) -> int:
        return forked(lambda pipe: self._work(writer))[0]

    def _work(self, writer: int) -> None:
        PLANTS[self._plant]()
        try:
            self._compact() if writer == COMPACTOR else self._write(writer)
        except BaseException as error:
            Path(f"{self._log(writer)}-error").write_text(repr(error), "utf-8")
            raise

    def _compact(self) -> None:
        """Compact, and now and then take it back, until killed."""
        random = Random(time.monotonic())
        log = self._opened_log(COMPACTOR)
        while True:
            time.sleep(COMPACT_SECONDS)
            began = time.monotonic()
            self._compact_once(undoes=random.random() < UNDONE)
            os.write(log, f"0 {(time.monotonic() - began) * 1e6:.0f}\n".encode())

    def _write(self, writer: int) -> None:
        """Go on behind the last entry that is known to be written; whether one more was, only the
        bank knows."""
        done = len(self.acknowledged(writer))
        log = self._opened_log(writer)
        for number in range(done, self.each):
            wait = self._add(writer, number, again=number == done)
            os.write(log, f"{number} {wait * 1e6:.0f}\n".encode())

    def _add(self, writer: int, number: int, *, again: bool) -> float:
        """The seconds that it waited. `again`: it may be there already."""
        mark = f"{writer}/{number}"
        began = time.monotonic()
        with held(self._bank, wait=WAIT) as files:
            wait = time.monotonic() - began
            texts = (files.read(ACTIVE), files.read(ARCHIVE)) if again else ()
            if not any(mark in marks_in(text) for text in texts):
                append(files, mark)
        return wait

    def _compact_once(self, *, undoes: bool) -> None:
        with held(self._bank, wait=WAIT) as files:
            (undo if undoes else compact)(files)

    def _look(self) -> list[str]:
        """What is wrong at this moment, while others write."""
        return whole(self._bank)

    def _found(self) -> tuple[list[str], list[str]]:
        """What is wrong in the end, and all entries in their order."""
        with held(self._bank) as files:
            found = [*marks_in(files.read(ARCHIVE)), *marks_in(files.read(ACTIVE))]
        return wrong_in(self._bank, found)[0], found

    def _opened_log(self, writer: int) -> int:
        """Without half a line, which a kill may have left."""
        log = os.open(self._log(writer), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        os.ftruncate(log, self._log(writer).read_bytes().rfind(b"\n") + 1)
        return log

    def _errors(self, writer: int) -> str:
        path = Path(f"{self._log(writer)}-error")
        return path.read_text("utf-8") if path.exists() else "no error was written"

    def _log(self, writer: int) -> Path:
        return self._place / f"writer-{writer}"
