"""T-M2 and T-M3: one huge record, many images, and how fast entries get to the disk."""

from __future__ import annotations

import ctypes
import os
import time
from base64 import b64encode
from pathlib import Path
from random import Random

from kedgeline.model import Media
from kedgeline.store.sqlite import CACHE_KIBIBYTES
from kedgeline.store.sqlite_files import DATABASE
from tests.claude import Records, text, use
from tests.torture.acts import Act, turns_of
from tests.torture.outcome import Outcome
from tests.torture.places import session_at, warm_up
from tests.turns import bash, turn

IMAGE_BYTES, DISTINCT = 60_000, 10
"""Of one image; and how many there are that differ."""
MOST_TIMES = 4
"""Times the size of a record that it may take in memory."""
M_MMAP_THRESHOLD = -3
CACHE = CACHE_KIBIBYTES << 10
"""Bytes that a store has in memory whatever is written."""
OVERHEAD = 1.35
"""Bytes on disk for a byte of an image at the most: base64 does not get small again, and there are
pages."""
APPENDED = 300
"""Entries by which the speed is measured."""


def check(place: str, seed: int, megabytes: int, images: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    warm_up()
    outcome.cases = 4
    outcome.wrong(*_images(Path(place, "images"), seed, images, plant))
    outcome.acknowledged = images + APPENDED
    outcome.measured["appends_per_second"] = _speed(Path(place, "speed"), seed)
    for name, follows in (("appended", False), ("followed", True)):
        times = _times(Path(place, name), seed, megabytes, plant, follows=follows)
        outcome.measured[f"{name}_memory_per_byte"] = times
        if times > MOST_TIMES:
            outcome.wrong(f"{megabytes} MB that are {name} took {times:.1f} times their size")
    return outcome


def _images(place: Path, seed: int, count: int, plant: str) -> list[str]:
    """Images that come again are kept once."""
    random = Random(seed)
    different = [b64encode(random.randbytes(IMAGE_BYTES)).decode() for _ in range(DISTINCT)]
    with session_at(str(place), "fast") as session:
        for number in range(count):
            data = different[number % DISTINCT] + (str(number) if plant else "")
            media = (Media(mime="image/png", data=data),)
            session.append(turn(0, user=f"image {number}", media=media, tokens=10))
    size = (place / DATABASE).stat().st_size
    most = DISTINCT * IMAGE_BYTES * OVERHEAD + count * 4_096
    return [f"{count} images take {size} bytes, {most:.0f} at the most"] if size > most else []


def _speed(place: Path, seed: int) -> float:
    """Durable appends in a second."""
    made = [turns_of(seed, Act(number, "turn")) for number in range(APPENDED)]
    with session_at(str(place)) as session:
        session.append(turns_of(seed, Act(APPENDED, "turn")))
        began = time.monotonic()
        for turns in made:
            session.append(turns)
        return APPENDED / (time.monotonic() - began)


def _appended(place: Path, output: str, plant: str) -> None:
    with session_at(str(place), "fast") as session:
        copies = [output + str(number) for number in range(4 if plant else 0)]
        session.append(turn(0, bash("cat", output), user="show it", tokens=1))
        del copies


def _followed(place: Path, source: Path, plant: str) -> None:
    copies = [source.read_bytes() for _ in range(4 if plant else 0)]
    with session_at(str(place), "fast") as session:
        session.follow(source)
    del copies


def _times(place: Path, seed: int, megabytes: int, plant: str, *, follows: bool) -> float:
    """How many times the size of one output a child takes in memory that appends it, or follows a
    file that has it."""
    size = megabytes << 20
    child = os.fork()
    if not child:
        code = 1
        try:
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)  # else what is free stays ours
            line = f"{Random(seed).random()} is the value of one of many lines of a long output\n"
            output = line * (size // len(line))
            place.mkdir()
            if follows:
                source = _written(place / "session.jsonl", output)
                before, size = _resident(), source.stat().st_size
                _followed(place / "store", source, plant)
            else:
                before = _resident() - size
                _appended(place / "store", output, plant)
            (place / "peak").write_text(str((_peak() - before - CACHE) / size))
            with session_at(str(place / "store"), "fast") as session:
                code = int(session.transcript().turns[0].tool_results[0].output != output)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return float("inf") if status else float((place / "peak").read_text())


def _written(path: Path, output: str) -> Path:
    records = Records()
    records.user("show it")
    records.assistant("m1", use("t1", command="cat it"))
    records.result("t1", output)
    records.assistant("m2", text("done"))
    path.write_bytes(b"".join(records.lines))
    return path


def _resident() -> int:
    """Bytes of memory that this process has; from now on the most of it is counted anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    """Bytes of memory that this process had at the most."""
    return _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) << 10
