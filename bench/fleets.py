"""How fast `kedgeline batch` goes through many sessions, with each engine and with more workers,
and in how much memory; and that all of them write the same rows."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.corpus import MEGABYTE, Watch, files_below, fingerprint
from bench.tables import Table
from kedgeline.batch.inputs import arrow_of
from kedgeline.errors import KedgelineError, UserError
from kedgeline.model import Value
from kedgeline.pipeline.read import read_all, write

TASKS = "stats,summary"
EVERY = 0.2
"""Seconds between two looks at the processes of a run."""
GROUP = 16
"""Rows of a row group: about ten megabytes."""
HEADER = (
    *("run", "inputs", "MB", "seconds", "of the processor", "inputs / s", "MB / s"),
    *("MB / s of the processor", "memory, MB", "rows"),
)
_ID = re.compile(rb"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-)")


class Run(Value, frozen=True):
    name: str
    inputs: int
    megabytes: float
    seconds: float
    """On the clock, on a machine that others may share."""
    processor: float
    """Seconds, of all its processes together, those of Ray among them."""
    memory: float
    """MB of all its processes together, at the most; what they share is counted once."""
    rows: str
    """Beginning of the hash of all rows, in the order of their sources."""


class Fleets(Value, frozen=True):
    version: str
    fingerprint: str
    cores: int
    files: tuple[Run, ...]
    parquet: tuple[Run, ...]


def measure(
    folder: Path,
    *,
    counts: Sequence[int],
    largest: float,
    gigabytes: float,
    runs: Sequence[tuple[str, int]],
    watch: Watch,
) -> Fleets:
    """`counts` are numbers of sessions; `runs` are engines, each with its workers; `largest` is KB
    of a session that is copied; gigabytes are those of a Parquet file, 0 for none."""
    files, parquet = [], []
    with TemporaryDirectory() as place:
        for sessions in filter(None, counts):
            watch(f"renaming sessions: {sessions:,}")
            inputs = _renamed(folder, Path(place, f"in{sessions}"), sessions, largest)
            for engine, workers in runs:
                watch(f"{sessions:,} sessions, {engine}, {workers} workers")
                out = Path(place, f"out{sessions}-{engine}-{workers}")
                files.append(_timed(inputs, out, engine, workers, TASKS))
        if gigabytes:
            watch("writing Parquet")
            file = Path(place, "rows.parquet")
            _parquet(folder, file, gigabytes)
            parquet.append(_timed(file, Path(place, "out"), "local", 2, "stats"))
    return Fleets(
        version=version("kedgeline"),
        fingerprint=fingerprint(folder),
        cores=os.cpu_count() or 1,
        files=tuple(files),
        parquet=tuple(parquet),
    )


def _renamed(folder: Path, to: Path, sessions: int, largest: float) -> Path:
    """Sessions of a folder again and again, under other names and with other ids."""
    small = (path for path in files_below(folder) if path.stat().st_size <= 1_000 * largest)
    paths = [path for path in small if _is_alone(path)]
    for number, path in zip(range(sessions), cycle(paths), strict=False):
        copy = to / str(number // 1_000) / f"{number}-{path.name}"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(_ID.sub(b"%08x" % number, path.read_bytes()))
    return to


def _is_alone(path: Path) -> bool:
    try:
        return len(read_all(path, counter=None)) == 1
    except KedgelineError:
        return False


def _parquet(folder: Path, file: Path, gigabytes: float) -> None:
    """Rows as training sets have them, as many as make a file of this size."""
    arrow = arrow_of(str(file))
    schema = arrow.schema([("session_id", arrow.string()), ("messages", arrow.string())])
    texts = [_messages(path) for path in files_below(folder) if _is_alone(path)]
    numbers, rows = count(), cycle([text for text in texts if text])
    with arrow.parquet.ParquetWriter(file, schema, compression="none", use_dictionary=False) as out:
        while file.stat().st_size < gigabytes * 1_000 * MEGABYTE:
            made = [
                {"session_id": f"s{next(numbers)}", "messages": next(rows)} for _ in range(GROUP)
            ]
            out.write_table(arrow.Table.from_pylist(made, schema=schema))


def _messages(path: Path) -> str:
    made = write(read_all(path, counter=None)[0], to="openai-chat").messages
    return json.dumps(made) if made else ""


def _timed(inputs: Path, out: Path, engine: str, workers: int, tasks: str) -> Run:
    words = [sys.executable, "-m", "kedgeline", "batch", str(inputs), "--out", str(out)]
    words += ["--do", tasks, "--engine", engine, "--workers", str(workers), "--json"]
    began = time.monotonic()
    process = subprocess.Popen([*words, "--format", "jsonl"], stdout=subprocess.PIPE)
    memory, spent = 0.0, dict[int, float]()
    while process.poll() is None:
        seen = list(_processes(process.pid))
        memory = max(memory, sum(one.memory for one in seen))
        spent |= {one.pid: one.processor for one in seen}
        time.sleep(EVERY)
    seconds = time.monotonic() - began
    assert process.stdout is not None
    if process.returncode:
        raise UserError(f"the engine {engine} failed: its error is above")
    done = json.loads(process.stdout.read())
    size = sum(
        one.stat().st_size for one in ([inputs] if inputs.is_file() else files_below(inputs))
    )
    return Run(
        name=f"{inputs.suffix[1:] or 'files'}, {tasks}, {engine}, {workers} workers",
        inputs=done["rows"] + done["errors"],
        megabytes=size / MEGABYTE,
        seconds=seconds,
        processor=sum(spent.values()),
        memory=memory,
        rows=_hashed(out),
    )


class _Process(NamedTuple):
    pid: int
    memory: float
    """MB; what processes share is divided among them."""
    processor: float
    """Seconds so far."""


def _processes(pid: int) -> Iterator[_Process]:
    """A process and all below it."""
    with suppress(OSError):  # it ended in between
        place = Path("/proc", str(pid))
        shared = re.search(r"Pss:\s+(\d+) kB", (place / "smaps_rollup").read_text())
        user, system = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
        ticks = int(user) + int(system)
        memory = int(shared[1]) * 1_024 / MEGABYTE if shared else 0.0
        yield _Process(pid, memory, ticks / os.sysconf("SC_CLK_TCK"))
        for task in (place / "task").iterdir():
            for below in (task / "children").read_text().split():
                yield from _processes(int(below))


def _hashed(out: Path) -> str:
    digest = hashlib.sha256()
    for line in sorted(_lines(out)):
        digest.update(line)
    return digest.hexdigest()[:12]


def _lines(out: Path) -> Iterator[bytes]:
    for shard in (out / "shards").glob("*.jsonl"):
        with shard.open("rb") as file:
            yield from (hashlib.sha256(line).digest() for line in file)


def tables(found: Fleets) -> list[Table]:
    grows = len({one.inputs for one in found.files}) > 1
    files = "fleets-growth" if grows else "fleets"
    made = ((files, found.files), ("fleets-parquet", found.parquet))
    return [Table(name, HEADER, _rows(runs)) for name, runs in made if runs]


def _rows(runs: Iterable[Run]) -> Iterator[tuple[str, ...]]:
    for one in runs:
        yield (
            one.name,
            f"{one.inputs:,}",
            f"{one.megabytes:,.0f}",
            f"{one.seconds:,.0f}",
            f"{one.processor:,.0f}",
            f"{one.inputs / one.seconds:,.1f}",
            f"{one.megabytes / one.seconds:,.1f}",
            f"{one.megabytes / one.processor:,.1f}",
            f"{one.memory:,.0f}",
            one.rows,
        )


def origin(found: Fleets) -> str:
    return (
        f"kedgeline {found.version}, {found.cores} cores. Sessions are copies of those of a folder "
        "with other names and ids; the last column is the beginning of a hash of all rows. The "
        "clock counts what others do on the machine, the processor does not; memory is that of all "
        f"processes of a run. Corpus: sha256 `{found.fingerprint}`."
    )
