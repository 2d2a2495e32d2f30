"""Rows of numbers known by a key: a million of them are some hundred megabytes, not a gigabyte."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from kedge.model import Usage

T = TypeVar("T", bound=Hashable)
KINDS = 4
"""Numbers that usage has."""


class Numbers(Generic[T]):
    """Values by small numbers, in the order in which they came first."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}

    def of(self, value: T) -> int:
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Message(NamedTuple):
    home: int
    model: int
    usage: Usage
    estimated: bool
    again: int = 0
    """Of the estimated input, what earlier messages had been sent already."""


class Messages:
    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._homes, self._models, self._sources = array("i"), array("i"), array("i")
        self._tokens, self._again = array("q"), array("q")
        self._estimated = bytearray()

    def put(self, keys: Sequence[int], message: Message, source: int) -> int:
        """Its row. Of one that came before under any of its keys, the better of both stays, where
        it was first."""
        known = (self._rows[key] for key in keys if key in self._rows)
        row = next(known, len(self._homes))
        for key in keys:
            self._rows.setdefault(key, row)
        if row == len(self._homes):
            self._homes.append(message.home)
            self._models.append(message.model)
            self._sources.append(source)
            self._tokens.extend(_numbers(message.usage))
            self._again.append(message.again)
            self._estimated.append(message.estimated)
        elif self._replaces(row, message, source):
            self._models[row], self._sources[row] = message.model, source
            self._tokens[KINDS * row : KINDS * (row + 1)] = array("q", _numbers(message.usage))
            self._again[row], self._estimated[row] = message.again, message.estimated
        return row

    def home(self, row: int) -> int:
        """Where a message was first."""
        return self._homes[row]

    def __len__(self) -> int:
        return len(self._homes)

    def _replaces(self, row: int, message: Message, source: int) -> bool:
        """What was reported replaces what was estimated; in one source the last replaces all
        before; from another source, what has more of the message."""
        if message.estimated != self._estimated[row]:
            return not message.estimated
        written = self._tokens[KINDS * row + 1]
        return source == self._sources[row] or message.usage.output > written

    def __iter__(self) -> Iterator[Message]:
        for row, home in enumerate(self._homes):
            given, output, read, write = self._tokens[KINDS * row : KINDS * (row + 1)]
            usage = Usage(input=given, output=output, cache_read=read, cache_write=write)
            estimated, again = bool(self._estimated[row]), self._again[row]
            yield Message(home, self._models[row], usage, estimated, again)


class Call(NamedTuple):
    home: int
    tool: int
    brought: int
    written: int


class Calls:
    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._homes, self._tools = array("i"), array("i")
        self._brought, self._written = array("q"), array("q")

    def put(self, key: int, call: Call) -> None:
        """The same call again stays where it was first, with what is known last."""
        row = self._rows.setdefault(key, len(self._homes))
        if row == len(self._homes):
            self._homes.append(call.home)
            self._tools.append(call.tool)
            self._brought.append(call.brought)
            self._written.append(call.written)
        else:
            self._brought[row] = max(call.brought, self._brought[row])
            self._written[row] = max(call.written, self._written[row])

    def __iter__(self) -> Iterator[Call]:
        rows = zip(self._homes, self._tools, self._brought, self._written, strict=True)
        return (Call(*row) for row in rows)


def _numbers(usage: Usage) -> tuple[int, int, int, int]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write
