"""A place of its own for each check, and how a check says what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from kedgeline.errors import KedgelineError
from kedgeline.store.protocol import Entry, Found, Passage, Phrase, Query, Store, words

Opening = Callable[[str, str], Store]
"""Opens the store at a place for an owner."""
SESSION = "a-session"


class Unfit(AssertionError):
    """A store does not do what it must."""


class Fresh:
    """A place that nobody has used, and the stores that were opened there."""

    def __init__(self, open_: Opening, place: str) -> None:
        self._open, self._place = open_, place
        self._opened: list[Store] = []

    def store(self, owner: str = "") -> Store:
        """The store of an owner; each call opens it again."""
        store = self._open(self._place, owner)
        self._opened.append(store)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for store in self._opened:
            store.close()


Check = Callable[[Fresh], None]


def expect(actual: object, wanted: object, what: str) -> None:
    if actual != wanted:
        raise Unfit(f"{what}: {actual!r} where {wanted!r} was to be")


@contextmanager
def refusing(what: str, kind: type[KedgelineError] = KedgelineError) -> Iterator[None]:
    """What is done within must be refused with one of our errors."""
    try:
        yield
    except kind:
        return
    raise Unfit(f"{what} was not refused")


def turn(index: int, **more: Any) -> Entry:
    fields: dict[str, Any] = {"tokens": 10 + index, "id": f"turn {index}", "data": b"%d" % index}
    return Entry(kind="turn", index=index, **(fields | more))


def added(store: Store, *entries: Entry, session: str = SESSION, **more: Any) -> list[Entry]:
    """Entries written in one block, as they are given back."""
    with store.writing(session) as writing:
        return [writing.add(entry, **more) for entry in entries]


def written(store: Store, *texts: str, session: str = SESSION, first: int = 0, **more: Any) -> None:
    """A turn with one passage for each text."""
    with store.writing(session) as writing:
        for index, text in enumerate(texts, first):
            writing.add(turn(index, at=index), passages=[Passage(text=text, **more)])


def phrase(text: str, *, prefix: bool = False) -> Phrase:
    return Phrase(words=tuple(words(text)), prefix=prefix)


def sought(*texts: str, **more: Any) -> Query:
    """A query for phrases."""
    return Query(phrases=tuple(map(phrase, texts)), **more)


def indexes(found: Sequence[Found]) -> list[int]:
    return [each.index for each in found]
