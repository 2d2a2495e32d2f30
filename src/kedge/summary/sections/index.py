"""Names worth remembering, under the file or matter they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, sqrt

from kedge.model.summary import NameEntry, Place, Summary
from kedge.summary.items import THEN, Item

WARMTH = 2.5
"""Worth of a name by the root of its heat. Measured on real sessions: how often a name is used
later grows with the root, over ten powers of two."""

Home = tuple[str, Place]
"""The file or topic where a name counts most, and what is known of it there."""


def index(summary: Summary) -> Iterator[Item]:
    """Each name once, where it counts most; what hotter lines tell anyway is left to them."""
    heats = {name: entry.heat_at(summary.through) for name, entry in summary.names.items()}
    homes = {name: _home(entry) for name, entry in summary.names.items()}
    told = _told(summary, heats, homes)
    for name, entry in summary.names.items():
        topic, place = homes[name]
        if told.get(name, -1.0) >= (inf if topic else heats[name]):
            continue
        yield Item(
            "Index",
            name,
            (place.last,) if entry.places else entry.turns[-1:],
            THEN,
            worth=WARMTH * sqrt(heats[name]),
            detail=" ".join(part for part in (place.place, place.note) if part),
            topic=topic,
        )


def _home(entry: NameEntry) -> Home:
    return max(
        entry.places.items(), key=lambda one: (one[1].weight, one[1].last), default=("", Place())
    )


def _told(
    summary: Summary, heats: Mapping[str, float], homes: Mapping[str, Home]
) -> dict[str, float]:
    """What other lines tell, to the heat of the hottest that does: files that stand among the
    files, topics, and the folders above them."""
    told: dict[str, float] = {}
    for path in (*summary.files, *summary.reads):
        told[path] = told[path.rpartition("/")[2]] = inf
    for path in summary.files:
        told.update(dict.fromkeys(_folders(path), inf))
    for name, heat in heats.items():
        topic, _ = homes[name]
        for one in (topic, *_folders(topic), *_folders(name)):
            told[one] = max(told.get(one, 0.0), heat)
    return told


def _folders(path: str) -> Iterator[str]:
    above = path.rstrip("/").rpartition("/")[0]
    while above:
        yield above
        above = above.rpartition("/")[0]
