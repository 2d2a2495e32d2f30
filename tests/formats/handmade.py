"""Small transcripts written by hand, read straight through a format, and damaged in every way."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from kedgeline.formats.intake import Head
from kedgeline.formats.log import Log
from kedgeline.formats.registry import Format
from kedgeline.model import Note, Turn

TOO_EARLY = "0001-01-01T00:00:00+14:00"
"""A time that has no place in UTC."""
WRONG: tuple[Any, ...] = (
    None, 0, -1, 2.5, True, "", "x", TOO_EARLY, [], {}, [None], {"type": []}, 10**20
)  # fmt: skip
"""Values of every type, to stand where another is expected."""


class Was(NamedTuple):
    turns: list[Turn]
    log: Log

    @property
    def everything(self) -> list[Turn]:
        """The turns, and what stands unanswered behind them."""
        return [*self.turns, *self.log.pending.values()]

    @property
    def notes(self) -> list[tuple[str, str]]:
        return [(note.kind, note.text) for turn in self.everything for note in turn.notes]

    def standing(self) -> list[Turn]:
        """The turns that stand in the end, as a transcript would have them."""
        kept: list[Turn] = []
        for turn in self.turns:
            del kept[turn.index :]
            kept.append(turn)
        return kept[: self.log.lengths[0, ""]]


def lines(records: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def read(format: Format, data: bytes) -> Was:
    log = Log()
    parts = [part + b"\n" for part in data.split(b"\n")]
    parts[-1] = parts[-1].removesuffix(b"\n")
    return Was(list(format.read(filter(None, parts), log)), log)


def notes(turn: Turn, kind: str) -> list[str]:
    return [note.text for note in turn.notes if isinstance(note, Note) and note.kind == kind]


def check_damage(format: Format, data: bytes, *, seed: int = 7, rounds: int = 150) -> None:
    """Read the data cut anywhere and with bytes changed; whatever comes out must be storable."""
    chance = random.Random(seed)
    step = max(1, len(data) // 600)
    damaged = [data[:cut] for cut in range(0, len(data), step)]
    for _ in range(rounds):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 4, 16))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        damaged.append(bytes(changed))
    for one in damaged:
        format.sniff(Head(one))
        was = read(format, one)
        msgspec.json.encode((was.everything, was.log.compactions, was.log.changes))


def check_wrong_types(format: Format, records: list[Any], *, as_lines: bool = True) -> None:
    """Read the records with each field in turn replaced by a value of another type, or missing."""
    for path in _paths(records):
        for wrong in WRONG:
            changed = msgspec.json.decode(msgspec.json.encode(records))
            _put(changed, path, wrong)
            data = lines(changed) if as_lines else msgspec.json.encode(changed[0])
            format.sniff(Head(data))
            was = read(format, data)
            msgspec.json.encode((was.everything, was.log.compactions, was.log.changes))


def _paths(value: Any) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        steps = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    else:
        return []
    return [(key, *rest) for key, inner in steps for rest in ((), *_paths(inner))]


def _put(value: Any, path: tuple[Any, ...], wrong: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = wrong
