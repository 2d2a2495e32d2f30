"""How fast sessions are read, as ratios within one run, and how much memory it takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec

from bench.corpus import MEGABYTE, Origin, Watch, child, fingerprint, write_session
from bench.tables import Table, origin_line
from kedgeline.errors import SourceUnreadable
from kedgeline.model import Value
from kedgeline.pipeline.read import stream
from kedgeline.tokens import Exact, tokens_of

ROUNDS = 5
"""Each measure is taken this often, in turn with the others; the best counts, since other work on
the machine can only slow it down."""


class Throughput(Value, frozen=True):
    origin: Origin
    files: int
    megabytes: float
    turns: int
    decode: float
    """MB/s of decoding every line with msgspec into plain objects, and nothing else."""
    read: float
    """MB/s of raw file into turns."""
    read_with_tokens: float
    """MB/s of raw file into turns with exact o200k counts."""
    peak_memory: float
    """MB, of a process that reads all files into turns one after the other."""
    large_megabytes: float
    large_turns: int
    large_speed: float
    """MB/s of the large synthetic session through `kedgeline stats`, start of the interpreter
    included.
    """
    large_memory: float
    """MB, peak of that process."""

    @property
    def ratio(self) -> float:
        """How much slower reading is than decoding alone."""
        return self.decode / self.read


def measure(folder: Path, *, large: int, rounds: int = ROUNDS, watch: Watch) -> Throughput:
    """Measure over all `.jsonl` files of a folder and one synthetic session of `large` bytes."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise SourceUnreadable(str(folder), "no .jsonl files there")
    size = sum(path.stat().st_size for path in files)
    turns = sum(1 for _ in _turns(files))
    best = {"decode": float("inf"), "read": float("inf"), "tokens": float("inf")}
    work: dict[str, Callable[[], None]] = {
        "decode": lambda: _decode(files),
        "read": lambda: _exhaust(files),
        "tokens": lambda: _count(files),
    }
    for number in range(rounds):
        for name, run in work.items():
            watch(f"round {number + 1} of {rounds}: {name}")
            best[name] = min(best[name], _seconds(run))
    watch("memory")
    memory, _ = child(["-c", _READ_ALL, *map(str, files)])
    watch(f"a session of {large / MEGABYTE:,.0f} MB")
    large_turns, large_size, large_memory, large_seconds = _large(large)
    return Throughput(
        origin=_origin(folder, files),
        files=len(files),
        megabytes=size / MEGABYTE,
        turns=turns,
        decode=size / MEGABYTE / best["decode"],
        read=size / MEGABYTE / best["read"],
        read_with_tokens=size / MEGABYTE / best["tokens"],
        peak_memory=memory,
        large_megabytes=large_size / MEGABYTE,
        large_turns=large_turns,
        large_speed=large_size / MEGABYTE / large_seconds,
        large_memory=large_memory,
    )


def _origin(folder: Path, files: list[Path]) -> Origin:
    """The best of several rounds is no mean, and nothing is drawn."""
    return Origin(
        version=version("kedgeline"),
        fingerprint=fingerprint(folder, files),
        files=len(files),
        sessions=None,
        seed=None,
        resamples=0,
    )


_READ_ALL = """
import sys
from kedgeline import stream
for name in sys.argv[1:]:
    for turn in stream(name):
        pass
"""


def _turns(files: list[Path]) -> Iterator[object]:
    for path in files:
        yield from stream(path)


def _exhaust(files: list[Path]) -> None:
    for _ in _turns(files):
        pass


def _decode(files: list[Path]) -> None:
    decode = msgspec.json.Decoder().decode
    for path in files:
        with path.open("rb") as file:
            for line in file:
                try:
                    decode(line)
                except msgspec.DecodeError:
                    continue


def _count(files: list[Path]) -> None:
    counter = Exact()
    for path in files:
        for turn in stream(path):
            tokens_of(turn, counter)


def _seconds(run: Callable[[], None]) -> float:
    """Processor time: what else the machine does counts as little as can be."""
    begun = time.process_time()
    run()
    return time.process_time() - begun


def _large(size: int) -> tuple[int, int, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        turns = write_session(path, size)
        memory, seconds = child(["-m", "kedgeline", "stats", "--json", str(path)])
        return turns, path.stat().st_size, memory, seconds


def tables(found: Throughput) -> list[Table]:
    rows = [
        ("sessions", f"{found.files} files, {found.megabytes:,.1f} MB, {found.turns:,} turns", ""),
        ("msgspec decoding of every line, alone", f"{found.decode:,.0f} MB/s", ""),
        ("raw file into turns", f"{found.read:,.0f} MB/s", ""),
        ("decoding alone is faster by", f"{found.ratio:.2f} ×", "≤ 3"),
        ("raw file into turns with exact tokens", f"{found.read_with_tokens:,.0f} MB/s", ""),
        ("peak memory of reading all of them", f"{found.peak_memory:,.0f} MB", ""),
        (
            f"`kedgeline stats` on one session of {found.large_megabytes:,.0f} MB "
            f"({found.large_turns:,} turns): peak memory",
            f"{found.large_memory:,.0f} MB",
            "≤ 256 MB",
        ),
        ("the same: speed, tokens counted", f"{found.large_speed:,.0f} MB/s", ""),
    ]
    return [Table("throughput", ("measure", "value", "goal"), rows)]


def origin(found: Throughput) -> str:
    return origin_line(found.origin)
