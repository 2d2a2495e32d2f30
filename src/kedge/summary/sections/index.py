"""Names worth remembering, under the file or matter they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model.summary import Summary
from kedge.summary.items import THEN, Item
from kedge.summary.state import cooled


def index(summary: Summary) -> Iterator[Item]:
    """Each name once, where it counts most."""
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
            (place.last,) if place else entry.turns[-1:],
            THEN,
            worth=cooled(entry.heat, summary.through - entry.last),
            detail=detail,
            topic=topic,
        )


def _base(path: str) -> str:
    return path.rpartition("/")[2]
