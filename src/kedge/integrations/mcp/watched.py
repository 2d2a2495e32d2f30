"""A store in which nothing is written any more once nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, cast

from kedge.store import Store, Writing

Check = Callable[[], None]
"""Raises once nobody waits."""


class Abandoned(BaseException):
    """Nobody waits for the compaction: it ends, and nothing is written. It is no failure of the
    model, which would leave a compaction without its words."""


class Waited:
    """Whether somebody still waits for what a thread does: threads cannot be stopped."""

    def __init__(self) -> None:
        self._over = Event()

    def end(self) -> None:
        self._over.set()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def check(self) -> None:
        if self._over.is_set():
            raise Abandoned


class Watched:
    """Another store, but for what is written in it."""

    def __init__(self, store: Store, check: Check) -> None:
        self._store, self._check = store, check

    def as_store(self) -> Store:
        return cast(Store, self)

    @contextmanager
    def writing(self, session: str) -> Iterator[Writing]:
        """What was added in a block is only there if somebody still waits at its end."""
        with self._store.writing(session) as writing:
            yield writing
            self._check()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
