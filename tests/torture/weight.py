"""T-M2 and T-M3: one huge record, many images, and how fast entries get to the disk."""

from __future__ import annotations

import os
import resource
import time
from base64 import b64encode
from pathlib import Path
from random import Random

from kedge.model import Media
from kedge.store.sqlite.folder import DATABASE
from tests.torture.acts import Act, turns_of
from tests.torture.outcome import Outcome
from tests.torture.places import session_at, warm_up
from tests.turns import bash, turn

IMAGE_BYTES, DISTINCT = 60_000, 10
"""Of one image; and how many there are that differ."""
MOST_TIMES = 4
"""Times the size of a record that it may take in memory."""
OVERHEAD = 1.35
"""Bytes on disk for a byte of an image at the most: base64 does not get small again, and there are
pages."""
APPENDED = 300
"""Entries by which the speed is measured."""


def check(place: str, seed: int, megabytes: int, images: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    warm_up()
    outcome.cases = 3
    outcome.wrong(*_images(Path(place, "images"), seed, images, plant))
    outcome.acknowledged = images + APPENDED
    outcome.measured["appends_per_second"] = _speed(Path(place, "speed"), seed)
    times = _record(Path(place, "record"), seed, megabytes, plant)
    outcome.measured["memory_per_byte"] = times
    if times > MOST_TIMES:
        outcome.wrong(f"a record of {megabytes} MB took {times:.1f} times its size in memory")
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


def _record(place: Path, seed: int, megabytes: int, plant: str) -> float:
    """Memory that a child takes for one output of a size, and how many times that size it is."""
    size = megabytes << 20
    child = os.fork()
    if not child:
        code = 1
        try:
            line = f"{Random(seed).random()} is the value of one of many lines of a long output\n"
            output = line * (size // len(line))
            with session_at(str(place), "fast") as session:
                before = _peak()
                copies = [output + str(number) for number in range(4 if plant else 0)]
                session.append(turn(0, bash("cat", output), user="show it", tokens=1))
                del copies
                (place / "peak").write_text(str((_peak() - before + size) / size))
            with session_at(str(place), "fast") as session:
                code = int(session.transcript().turns[0].tool_results[0].output != output)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        return float("inf")
    return float((place / "peak").read_text())


def _peak() -> int:
    """Bytes of memory that this process had at the most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
