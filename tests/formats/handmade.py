"""Small transcripts written by hand, read straight through a format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from kedgeline.formats.log import Log
from kedgeline.formats.registry import Format
from kedgeline.model import Note, Turn


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
