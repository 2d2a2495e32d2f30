"""A batch: find the sources, leave out what is done, give the rest to an engine, note what is done.

The engine decides what runs where; a source is done as a whole by one worker, which writes its rows
itself. What an interrupted batch had written and not noted is removed, and done again."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from filelock import FileLock, Timeout
from msgspec.structs import replace

from kedgeline.batch.inputs import InputSession, InputSource, sessions_in, sources_of
from kedgeline.batch.shards import (
    Format,
    Record,
    Shards,
    Target,
    begin,
    error_row,
    note,
    records,
    sources_done,
    sweep,
    target_of,
    written,
)
from kedgeline.batch.tasks import SCHEMA_VERSION, TaskSettings, columns_of, row_of
from kedgeline.errors import KedgelineError, MissingExtra, UnknownName, UserError
from kedgeline.model import Value

T = TypeVar("T")

BATCH_BYTES = 8 << 20
"""Of sources that one worker is given at once: small ones together, as each hand-over costs."""
BATCH_SOURCES = 64


class BatchJob(Value, frozen=True):
    """What is done with what, and where it goes."""

    inputs: tuple[str, ...]
    out: str
    settings: TaskSettings
    engine: str = "local"
    workers: int = 0
    """Processes; 0 means one per core."""
    address: str = ""
    """Of a Ray cluster; empty for one of its own."""
    format: Format = "parquet"
    store: str = ""
    """A store whose sessions are read too."""
    sessions: tuple[str, ...] = ()
    """Patterns for their names."""
    owner: str = ""
    limit: int | None = None
    sample: float | None = None
    seed: int = 1

    def about(self) -> str:
        """What makes two jobs the same: a folder is gone on with only by the job that began it."""
        made = self.settings
        parts = [
            "+".join(made.tasks),
            f"window {made.window:,}, {made.tokens:,} tokens, {made.provider}, {self.format}",
            *(f"only {name}" for name in made.formats),
            f"schema {SCHEMA_VERSION}",
        ]
        return ", ".join(parts)


class Done(NamedTuple):
    """How a batch ended."""

    sources: int
    """All that the inputs name."""
    skipped: int
    """Of these, done by an earlier run."""
    rows: int
    errors: int
    bytes: int
    seconds: float


class Progress:
    """How far a batch is, and how long the rest takes."""

    def __init__(self, left: Sequence[InputSource]) -> None:
        self.of, self.of_bytes = len(left), sum(one.size for one in left)
        self.sources = self.bytes = self.rows = self.errors = 0
        self.seconds = 0.0
        self._work = self._squares = self._products = 0.0
        """Over the sources that are done: seconds, bytes by bytes, and bytes by seconds."""

    def add(self, record: Record) -> None:
        self.sources += 1
        self.bytes += record.bytes
        self.rows += record.rows
        self.errors += len(record.errors)
        self._work += record.seconds
        self._squares += record.bytes**2
        self._products += record.bytes * record.seconds

    @property
    def left(self) -> float:
        """Seconds, at the rate so far. The small sources come last, and each costs something
        however small it is: a line is fitted to the seconds of those that are done."""
        if not self._work:
            return 0.0
        spread = self.sources * self._squares - self.bytes**2
        slope = (self.sources * self._products - self.bytes * self._work) / spread if spread else 0
        slope = min(max(0.0, slope), self._work / max(1, self.bytes))
        each = (self._work - slope * self.bytes) / self.sources
        rest = slope * (self.of_bytes - self.bytes) + each * (self.of - self.sources)
        return self.seconds * rest / self._work


class Planned(NamedTuple):
    every: list[InputSource]
    left: list[InputSource]
    """Those that are still to be done."""
    kept: list[Record]
    """What is done and stays."""


def planned(job: BatchJob) -> Planned:
    folder = target_of(job.out)
    known = records(folder, job.about())
    every = sources_of(
        job.inputs,
        store=job.store,
        sessions=job.sessions,
        owner=job.owner,
        limit=job.limit,
        sample=job.sample,
        seed=job.seed,
    )
    for one in every:
        record = known.get(one.key)
        if record and record.stamp != one.stamp and _is_unchanged(one, record, job):
            known[one.key] = replace(record, stamp=one.stamp)
    done = sources_done(known, every, written(folder))
    left = [one for one in every if one.key not in done]
    return Planned(every, left, [known[name] for name in sorted(done)])


def _is_unchanged(source: InputSource, record: Record, job: BatchJob) -> bool:
    """Whether a source that was written again, copied or checked out says what it said."""
    if record.bytes != source.size or record.errors:
        return False
    digest = sha256()
    try:
        for session in sessions_in(source, store=job.store, owner=job.owner):
            digest.update(session.sha256.encode())
    except Exception:  # noqa: BLE001 (a worker will say what is wrong with it)
        return False
    return digest.hexdigest() == record.sha256


def run(job: BatchJob, *, watch: Callable[[Progress], None] = lambda progress: None) -> Done:
    """Do a batch to its end. What an earlier run of the same job did is not done again."""
    engine, began = engine_of(job), time.monotonic()
    with _alone(job.out):
        folder = target_of(job.out)
        every, left, kept = planned(job)
        sweep(folder, kept)
        begin(folder, job.about())
        now = Progress(left)
        for done in engine.map(partial(_work, job), batches(left)):
            note(folder, done)
            for record in done:
                now.add(record)
            now.seconds = time.monotonic() - began
            watch(now)
    skipped, spent = len(every) - len(left), time.monotonic() - began
    return Done(len(every), skipped, now.rows, now.errors, now.bytes, spent)


def map(
    paths: Iterable[str | os.PathLike[str]],
    fn: Callable[[InputSession], T],
    *,
    engine: str = "local",
    workers: int = 0,
    address: str = "",
) -> Iterator[T]:
    """A function of one's own over every session, in no order. It runs in other processes: what it
    returns must be small, and it must be importable there. A session that cannot be read raises."""
    chosen = _engine(engine, workers, address)
    for found in chosen.map(partial(_apply, fn), batches(sources_of(paths))):
        yield from found


def _apply(fn: Callable[[InputSession], T], sources: Sequence[InputSource]) -> list[T]:
    return [fn(session) for source in sources for session in sessions_in(source)]


def batches(sources: Iterable[InputSource]) -> list[list[InputSource]]:
    """Sources as they are handed out: the large ones first and alone, so that none of them is begun
    last, and the small ones together."""
    found: list[list[InputSource]] = []
    size = 0
    for source in sorted(sources, key=lambda one: (-one.size, one.key)):
        full = (
            size + source.size > BATCH_BYTES or len(found[-1]) >= BATCH_SOURCES if found else True
        )
        if full:
            found.append([])
            size = 0
        found[-1].append(source)
        size += source.size
    return found


def _work(job: BatchJob, sources: Sequence[InputSource]) -> list[Record]:
    """What a worker does: the rows of some sources, written before they are told."""
    folder = target_of(job.out)
    shards = Shards(folder, columns_of(job.settings), job.format)
    found = [_record(job, folder, shards, source) for source in sources]
    shards.flush()
    return found


def _record(job: BatchJob, folder: Target, shards: Shards, source: InputSource) -> Record:
    began, rows, digest = time.monotonic(), 0, sha256()
    files: dict[str, None] = {}
    errors: list[str] = []

    def broken(problem: Exception, session: str = "") -> None:
        errors.append(_reason(problem))
        files[error_row(folder, source, session, errors[-1])] = None

    try:
        for session in sessions_in(source, store=job.store, owner=job.owner):
            digest.update(session.sha256.encode())
            try:
                row = row_of(session, source.key, job.settings)
            except Exception as problem:  # noqa: BLE001 (one broken session stops no other)
                broken(problem, session.name)
                continue
            if row is not None:
                files[shards.add(row)] = None
                rows += 1
    except Exception as problem:  # noqa: BLE001 (one broken input stops no other)
        broken(problem)
    return Record(
        source=source.key,
        stamp=source.stamp,
        sha256=digest.hexdigest(),
        rows=rows,
        shards=tuple(files),
        errors=tuple(errors),
        seconds=round(time.monotonic() - began, 3),
        bytes=source.size,
    )


def _reason(problem: Exception) -> str:
    if isinstance(problem, KedgelineError):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"


def engine_of(job: BatchJob) -> Engine:
    return _engine(job.engine, job.workers, job.address)


def _engine(name: str, workers: int, address: str) -> Engine:
    if name not in ENGINES:
        raise UnknownName("engine", name, known=tuple(ENGINES))
    return ENGINES[name](workers, address)


@contextmanager
def _alone(out: str) -> Iterator[None]:
    """One batch at a time writes into a folder that is here."""
    if "://" in out:
        yield
        return
    Path(out).mkdir(parents=True, exist_ok=True)
    lock = FileLock(Path(out, ".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UserError(
            f"another batch writes into {out}; wait for it, or give another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()


# What runs a batch: a process per core, or Ray Data. Both run the same function, and both
# schedule and retry as they see fit.

Work = Callable[[Sequence[InputSource]], T]

AHEAD = 2
"""Batches handed out per worker: one under way, and one that waits."""
PR_SET_PDEATHSIG = 1
TASKS_PER_WORKER = 64
"""Batches that one process does before another takes its place: what Python does not give back is
given back then."""


class Engine(Protocol):
    def map(self, work: Work[T], batches: Sequence[Sequence[InputSource]]) -> Iterator[T]:
        """The work done for every batch, in the order in which they end."""


class Local:
    """A process per core."""

    def __init__(self, workers: int = 0, address: str = "") -> None:
        self._workers = workers or len(os.sched_getaffinity(0))

    def map(self, work: Work[T], batches: Sequence[Sequence[InputSource]]) -> Iterator[T]:
        waiting = iter(batches)
        context = multiprocessing.get_context(
            "spawn"
        )  # a fork would copy what is loaded and locked
        with ProcessPoolExecutor(
            min(self._workers, max(1, len(batches))),
            mp_context=context,
            initializer=_end_with,
            initargs=(os.getpid(),),
            max_tasks_per_child=TASKS_PER_WORKER,
        ) as pool:
            running: set[Future[T]] = set()
            try:
                while True:
                    while len(running) < AHEAD * self._workers and (batch := next(waiting, None)):
                        running.add(pool.submit(work, batch))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for one in done:
                        yield one.result()
            finally:
                for one in running:
                    one.cancel()


def _end_with(parent: int) -> None:
    """A worker whose batch was killed ends too, instead of waiting for work for ever. An interrupt
    is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before this was said
        os._exit(1)


class Ray:
    """Ray Data, on this machine or on a cluster: items → map_batches → what each batch says."""

    def __init__(self, workers: int = 0, address: str = "") -> None:
        self._workers, self._address = workers, address

    def map(self, work: Work[T], batches: Sequence[Sequence[InputSource]]) -> Iterator[T]:
        try:
            import ray
            import ray.data  # which needs more packages than ray alone
        except ImportError as error:
            raise MissingExtra("the engine ray", "ray") from error
        if not batches:
            return
        started = not ray.is_initialized()
        if started:
            ray.init(
                address=self._address or None,
                num_cpus=None if self._address else self._workers or None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                include_dashboard=False,
            )
        try:
            ray.data.DataContext.get_current().enable_progress_bars = False
            logging.getLogger("ray.data").setLevel(logging.ERROR)  # we say how far it is
            items = ray.data.from_items([{"batch": msgspec.json.encode(one)} for one in batches])
            for row in items.repartition(len(batches)).map(_Said(work)).iter_rows():
                yield row["said"]
        finally:
            if started:
                ray.shutdown()


class _Said:
    """The work as Ray Data calls it."""

    def __init__(self, work: Work[Any]) -> None:
        self._work = work

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"said": self._work(msgspec.json.decode(row["batch"], type=list[InputSource]))}


ENGINES: dict[str, Callable[[int, str], Engine]] = {"local": Local, "ray": Ray}
