"""What runs a batch: a process per core, or Ray Data. Both run the same function, and both
schedule and retry as they see fit."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, Protocol, TypeVar

from kedgeline.batch.inputs import Source
from kedgeline.errors import MissingExtra

T = TypeVar("T")
Work = Callable[[Sequence[Source]], T]

AHEAD = 2
"""Batches handed out per worker: one under way, and one that waits."""
PR_SET_PDEATHSIG = 1
TASKS_PER_WORKER = 64
"""Batches that one process does before another takes its place: what Python does not give back is
given back then."""


class Engine(Protocol):
    def map(self, work: Work[T], batches: Sequence[Sequence[Source]]) -> Iterator[T]:
        """The work done for every batch, in the order in which they end."""


class Local:
    """A process per core."""

    def __init__(self, workers: int = 0, address: str = "") -> None:
        self._workers = workers or len(os.sched_getaffinity(0))

    def map(self, work: Work[T], batches: Sequence[Sequence[Source]]) -> Iterator[T]:
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

    def map(self, work: Work[T], batches: Sequence[Sequence[Source]]) -> Iterator[T]:
        try:
            import ray
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
            items = ray.data.from_items([{"batch": list(one)} for one in batches])
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
        return {"said": self._work(row["batch"])}


ENGINES: dict[str, Callable[[int, str], Engine]] = {"local": Local, "ray": Ray}
