"""How far a job over many entries is, on stderr, once it takes long and a person is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from kedge.cli.output import SHOW_AFTER, console, harmless

if TYPE_CHECKING:
    from rich.progress import Progress

LOOK_EVERY = 0.1
"""Seconds between two movements of the bar."""


class Told(Protocol):
    def __call__(self, name: str, done: int, total: int) -> None: ...


@contextmanager
def progress() -> Iterator[Told]:
    """Something to tell how many entries of a session are done, and how many there are."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console(stderr=True), transient=True, disable=False) as bar:
        yield _Bar(bar)


def _nothing(name: str, done: int, total: int) -> None:
    """Nobody is watching."""


class _Bar:
    def __init__(self, bar: Progress) -> None:
        self._bar, self._task = bar, bar.add_task("", visible=False)
        self._next = time.monotonic() + SHOW_AFTER

    def __call__(self, name: str, done: int, total: int) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LOOK_EVERY
        self._bar.update(
            self._task, description=harmless(name), completed=done, total=total, visible=True
        )
