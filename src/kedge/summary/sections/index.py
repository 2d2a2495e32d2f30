"""Names worth remembering, under the file or matter they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kedge.model.summary import NameEntry, Summary
from kedge.summary.items import THEN, Item

HALF_LIFE = 0.35
"""Share of a session after which a name counts half: what is far back is rarely used again."""


def index(summary: Summary) -> Iterator[Item]:
    listed = {part for path in (*summary.files, *summary.reads) for part in (path, _base(path))}
    for name, entry in summary.names.items():
        if name in listed:
            continue  # it stands among the files
        topic, place = max(
            entry.places.items(), key=lambda one: (one[1].weight, one[1].last), default=("", None)
        )
        detail = " ".join(part for part in (place.place, place.note) if part) if place else ""
        yield Item(
            "Index",
            name,
            entry.turns[-1:],
            THEN,
            worth=salience(entry, summary.through),
            detail=detail,
            topic=topic,
        )


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def salience(entry: NameEntry, through: int) -> float:
    """How likely a name is used again: by how recent, how often and how it was used."""
    age = (through - entry.last) / max(1, through + 1)
    recency: float = 0.5 ** (age / HALF_LIFE)
    return math.log2(1 + entry.weight) * recency + math.log2(1 + entry.count) * 0.5 * recency
