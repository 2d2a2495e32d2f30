"""A store with a bug around one in memory that has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kedgeline.store.protocol import Store
from kedgeline.store.sqlite import open_memory
from kedgeline.store.values import Entry


class Planted:
    """A store that does what another does, but for what a subclass changes."""

    def __init__(self, inner: Any, place: str, owner: str) -> None:
        self.inner, self.place, self.owner = inner, place, owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def sql(self, statement: str, *values: object) -> list[Any]:
        return list(self.inner._connections.current().execute(statement, values))

    def add(self, writing: Any, entry: Entry, **more: Any) -> Entry:
        """What `add` does within a block."""
        written: Entry = writing.add(entry, **more)
        return written

    @contextmanager
    def writing(self, session: str) -> Iterator[Any]:
        with self.inner.writing(session) as writing:
            yield PlantedWriting(self, writing)


class PlantedWriting:
    def __init__(self, planted: Planted, writing: Any) -> None:
        self.planted, self.inner = planted, writing

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def add(self, entry: Entry, **more: Any) -> Entry:
        return self.planted.add(self.inner, entry, **more)


PLANTED: dict[str, Callable[[str, str], Store]] = {}


def bug(planted: type[Planted]) -> type[Planted]:
    def opening(place: str, owner: str) -> Any:
        return planted(open_memory(f"memory:{planted.__name__} {place}", owner=owner), place, owner)

    PLANTED[planted.__name__] = opening
    return planted


def altered(name: str, **methods: Callable[..., Any]) -> None:
    """A bug whose methods take the store and what it would have been given."""
    bug(type(name, (Planted,), methods))
