"""A folder of sessions, and what a report says of it so that others can measure the same."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kedgeline.batch.inputs import PARQUET, sessions_in, sources_of
from kedgeline.errors import NotATranscript, SourceUnreadable
from kedgeline.model import Transcript, Value
from kedgeline.pipeline.read import read_all
from kedgeline.tokens import EXACT
from kedgeline.tokens import Counter as CountingCounter

# Means over sessions, with intervals.

RESAMPLES = 1_000
SEED = 1
"""Any number: the same one gives the same intervals."""
OUTSIDE = 0.025
"""Share of the resampled means beyond either end of an interval."""

Scores = Mapping[str, float]
"""By measure; one that has nothing to measure is not there."""
Part = tuple[str, float, int]
"""A session, the sum of what was found in it, and over how many things."""


class Mean(Value, frozen=True):
    mean: float
    low: float
    high: float
    """Ends of the 95 % interval."""
    over: int
    """How many things: cuts, lines, turns, sessions."""


class Resampling:
    """Sessions drawn again and again: the same draws for everything measured on them."""

    def __init__(
        self, sessions: Iterable[str], *, seed: int = SEED, resamples: int = RESAMPLES
    ) -> None:
        self._sessions = sorted(set(sessions))
        chance, every = random.Random(seed), range(len(self._sessions))
        self._draws = [
            Counter(chance.choices(every, k=len(every))) for _ in range(resamples if every else 0)
        ]
        """How often each session is in each resample."""

    def mean(self, parts: Iterable[Part]) -> Mean | None:
        """The sum of all parts over the number of things; none where there is no thing."""
        sums = self._sums(parts)
        total, things = sum(value for value, _ in sums), sum(count for _, count in sums)
        if not things:
            return None
        found = []
        for draw in self._draws:
            value = count = 0.0
            for place, times in draw.items():
                value += times * sums[place][0]
                count += times * sums[place][1]
            if count:
                found.append(value / count)
        found = sorted(found) or [total / things]
        edge = int(len(found) * OUTSIDE)
        return Mean(mean=total / things, low=found[edge], high=found[-1 - edge], over=things)

    def _sums(self, parts: Iterable[Part]) -> list[tuple[float, int]]:
        values: defaultdict[str, list[float]] = defaultdict(list)
        counts: Counter[str] = Counter()
        for session, value, count in parts:
            values[session].append(value)
            counts[session] += count
        return [(sum(values[one]), counts[one]) for one in self._sessions]


def mean_of(parts: Iterable[Part], *, seed: int = SEED, resamples: int = RESAMPLES) -> Mean | None:
    """One mean over the sessions of its parts; none where there is no thing."""
    listed = list(parts)
    drawn = Resampling((session for session, _, _ in listed), seed=seed, resamples=resamples)
    return drawn.mean(listed)


def means(
    rows: Sequence[tuple[str, Scores]],
    measures: Iterable[str],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> dict[str, Mean]:
    """The mean of each measure over rows of scores, each given with its session."""
    drawn = Resampling((session for session, _ in rows), seed=seed, resamples=resamples)
    found = {
        measure: drawn.mean((one, scores[measure], 1) for one, scores in rows if measure in scores)
        for measure in measures
    }
    return {measure: mean for measure, mean in found.items() if mean is not None}


Watch = Callable[[str], None]


class Origin(Value, frozen=True):
    """What numbers were measured with, and on what."""

    version: str
    """Of kedgeline."""
    fingerprint: str
    """SHA-256 over the names and sizes of all files of the folder."""
    files: int
    """That are sessions."""
    sessions: int | None
    """With turns; none where sessions are not told apart."""
    seed: int | None
    """Of the intervals; none where nothing is drawn."""
    resamples: int


class Session(NamedTuple):
    """One session of a file below the folder."""

    file: str
    """Its path, as seen from the folder."""
    number: int
    """Which, where a file holds several."""
    transcript: Transcript

    @property
    def key(self) -> str:
        """Tells it from all others of the folder."""
        return f"{self.file} {self.number}"


class Corpus:
    """Every session with turns below a folder; counts what it has given."""

    def __init__(
        self, folder: Path, *, watch: Watch, counter: CountingCounter | None = EXACT
    ) -> None:
        self.folder, self._watch, self._counter = folder, watch, counter
        self.paths = files_below(folder)
        self.files = self.sessions = 0

    def __iter__(self) -> Iterator[Session]:
        """Files that are no sessions are passed over."""
        for path in self.paths:
            name = path.relative_to(self.folder).as_posix()
            self._watch(name)
            number = -1
            for number, transcript in enumerate(self._transcripts(path)):
                if transcript.turns:
                    self.sessions += 1
                    yield Session(name, number, transcript)
            self.files += number >= 0

    def _transcripts(self, path: Path) -> Iterator[Transcript]:
        groups = sources_of([path]) if path.suffix == PARQUET else ()
        rows = (row.source for group in groups for row in sessions_in(group))
        for source in rows if groups else [path]:
            with suppress(NotATranscript, SourceUnreadable):
                yield from read_all(source or path, counter=self._counter)

    def origin(self) -> Origin:
        """Of means over the sessions that were given."""
        return Origin(
            version=version("kedgeline"),
            fingerprint=fingerprint(self.folder, self.paths),
            files=self.files,
            sessions=self.sessions,
            seed=SEED,
            resamples=RESAMPLES,
        )


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def fingerprint(folder: Path, paths: Sequence[Path] | None = None) -> str:
    """SHA-256 over the names and sizes of files: all below the folder, or those given."""
    chosen = files_below(folder) if paths is None else paths
    listed = sorted((path.relative_to(folder).as_posix(), path.stat().st_size) for path in chosen)
    text = "".join(f"{name}\0{size}\n" for name, size in listed)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


# Work in a process of its own, with what it took.

MEGABYTE = 1_000_000


def child(arguments: list[str]) -> tuple[float, float]:
    """Run Python in a process of its own: peak memory in MB, and seconds."""
    begun = time.monotonic()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SourceUnreadable(" ".join(arguments), f"it exited with {process.returncode}")
    return used.ru_maxrss * 1024 / MEGABYTE, time.monotonic() - begun


# A Claude Code session of any size, invented, for measuring only.

BLOCK_TURNS = 200
"""Turns written once and repeated with new ids: writing gigabytes must not take longer than reading
them."""
MARK = b"@@@@@@@@"
"""Stands in every id of the block for the number of the repetition."""


def write_session(path: Path, size: int) -> int:
    """Write a session of at least `size` bytes; how many turns it has."""
    block = b"".join(_line(record) for turn in range(BLOCK_TURNS) for record in _turn(turn))
    repetitions = -(-size // len(block))
    with path.open("wb") as file:
        for number in range(repetitions):
            file.write(block.replace(MARK, b"%08d" % number))
    return repetitions * BLOCK_TURNS


def _turn(turn: int) -> list[dict[str, Any]]:
    """The records of one turn, with the proportions of real ones: two fifths of the bytes repeat
    the tool's output, a fifth is progress."""
    call = f"toolu_{MARK.decode()}{turn:04d}"
    path = f"/home/sam/harbor/src/berths/module_{turn % 37}.py"
    body = "\n".join(
        f"{line:>6}→    berth_{line} = assign(vessel={line * turn}, pier='{turn % 7}')"
        for line in range(1, 60 + turn % 40)
    )
    records: list[dict[str, Any]] = []
    if turn % 20 == 0:
        text = f"Now look at module {turn % 37} and make the assignment of berths fair."
        records.append(_record("user", turn, 0, {"role": "user", "content": text}))
    thinking = {
        "type": "thinking",
        "thinking": "The pier decides first. " * 8,
        "signature": "x" * 300,
    }
    use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": path}}
    records.append(_record("assistant", turn, 1, _message(turn, thinking)))
    records.append(_record("assistant", turn, 2, _message(turn, use)))
    records.append(_progress(turn, body))
    result = {"type": "tool_result", "tool_use_id": call, "content": body}
    answered = _record("user", turn, 4, {"role": "user", "content": [result]})
    answered["toolUseResult"] = {"type": "text", "file": {"filePath": path, "content": body}}
    records.append(answered)
    return records


def _message(turn: int, block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 1_000 * turn, "output_tokens": 200}
    return {
        "id": f"msg_{MARK.decode()}{turn:04d}",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [block],
        "usage": usage,
    }


def _record(kind: str, turn: int, step: int, message: dict[str, Any]) -> dict[str, Any]:
    return {**_common(turn, step), "type": kind, "message": message}


def _progress(turn: int, body: str) -> dict[str, Any]:
    data = {"type": "bash_progress", "output": "", "fullOutput": body[: len(body) // 2]}
    return {**_common(turn, 3), "type": "progress", "data": data}


def _common(turn: int, step: int) -> dict[str, Any]:
    return {
        "uuid": f"{MARK.decode()}-{turn:04d}-{step}",
        "parentUuid": f"{MARK.decode()}-{turn:04d}-{step - 1}" if step else "before",
        "isSidechain": False,
        "cwd": "/home/sam/harbor",
        "sessionId": "00000000-0000-4000-8000-000000000000",
        "version": "2.1.0",
        "gitBranch": "main",
        "timestamp": f"2026-01-01T00:{turn % 60:02d}:0{step}.000Z",
    }


def _line(record: dict[str, Any]) -> bytes:
    return msgspec.json.encode(record) + b"\n"
