"""How long a host waits for `kedgeline hook`, from the start of the interpreter to its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

from bench.corpus import MEGABYTE, Watch, write_session
from bench.tables import Table
from kedgeline.model import Value

SIZES = (1, 10, 100)
"""MB of the session: a short one, a long one, one of some weeks."""
ROUNDS = 20
"""How often each event is told: the slowest but one is the 95th percentile."""
ADDED = 6
"""Lines that come between two events: a turn."""
EVENTS = ("Stop", "UserPromptSubmit", "PreCompact")
"""At every answer, at every word, and before a compaction, when the session is brought up to date
while the host waits."""
NAME = "bench"
LOOK_EVERY = 0.02


class Told(Value, frozen=True):
    megabytes: int
    event: str
    first: float
    """Milliseconds of the first time, when nothing is known of the session."""
    usual: float
    slow: float
    """The median, and the 95th percentile, once it is followed."""


class Hooks(Value, frozen=True):
    version: str
    start: float
    """Milliseconds that the interpreter takes to start and to end, with nothing to do."""
    told: tuple[Told, ...]


def measure(*, watch: Watch, sizes: tuple[int, ...] = SIZES, rounds: int = ROUNDS) -> Hooks:
    """The work that a call leaves behind is waited for before the next one is timed."""
    found: list[Told] = []
    for size in sizes:
        for event in EVENTS:
            watch(f"{event}, {size} MB")
            found.append(_told(size, event, rounds))
    start = [_timed([sys.executable, "-c", "pass"], b"", {}) for _ in range(rounds)]
    return Hooks(version=version("kedgeline"), start=median(start), told=tuple(found))


def _told(size: int, event: str, rounds: int) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        path = place / "session.jsonl"
        write_session(path, size * MEGABYTE)
        *lines, _ = path.read_bytes().rsplit(b"\n", ADDED * (rounds + 1) + 1)
        path.write_bytes(lines[0] + b"\n")
        environment = {"XDG_STATE_HOME": folder, "KEDGELINE_STORE": str(place / "store")}
        times = []
        for number in range(rounds + 1):
            times.append(_timed(_command(), _event(event, path), environment))
            _wait(place)
            added = lines[1 + number * ADDED : 1 + (number + 1) * ADDED]
            with path.open("ab") as file:
                file.write(b"".join(line + b"\n" for line in added))
    first, *others = times
    slow = sorted(others)[max(0, round(0.95 * len(others)) - 1)]
    return Told(megabytes=size, event=event, first=first, usual=median(others), slow=slow)


def _around(environment: dict[str, str]) -> dict[str, str]:
    """As an installation has it: modules are compiled once."""
    kept = {name: value for name, value in os.environ.items() if "BYTECODE" not in name}
    return {**kept, **environment}


def _command() -> list[str]:
    return [sys.executable, "-m", "kedgeline", "hook"]


def _event(name: str, path: Path) -> bytes:
    told = {"hook_event_name": name, "session_id": NAME, "transcript_path": str(path)}
    return json.dumps(told).encode()


def _timed(command: list[str], told: bytes, environment: dict[str, str]) -> float:
    """Milliseconds until the host may go on."""
    begun = time.perf_counter()
    subprocess.run(
        command,
        input=told,
        stdout=subprocess.DEVNULL,
        env=_around(environment),
        check=True,
    )
    return 1_000 * (time.perf_counter() - begun)


def _wait(place: Path) -> None:
    """Until the worker is done; it may just be starting."""
    from kedgeline.hosts.hook import is_busy

    while is_busy(str(place / "kedgeline" / "hooks" / NAME)):
        time.sleep(LOOK_EVERY)


HEADER = ("session", "event", "first time", "usual", "95 of 100 within", "goal")


def tables(found: Hooks) -> list[Table]:
    rows = [
        (
            f"{one.megabytes} MB",
            one.event,
            f"{one.first:.0f} ms",
            f"{one.usual:.0f} ms ({one.usual / found.start:.1f} starts)",
            f"{one.slow:.0f} ms",
            _goal(one),
        )
        for one in found.told
    ]
    return [Table("hook", HEADER, rows)]


def origin(found: Hooks) -> str:
    return f"kedgeline {found.version}; the interpreter alone takes {found.start:.0f} ms."


def _goal(one: Told) -> str:
    return "≤ 150 ms" if one.event != "PreCompact" else ""
