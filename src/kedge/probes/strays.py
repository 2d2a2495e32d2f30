"""Lines of a text that no fact holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kedge.model import Entry


def strays(shown: Sequence[Entry], known: Iterable[Entry]) -> Iterator[Entry]:
    """Entries that stand in a text and are not among those that the facts give, word for word.

    `known` are all that could stand there, with and without their details. The turns are compared
    where an entry has its own; names of one topic share the marks of their line."""
    there = {_matter(entry) for entry in known}
    for entry in shown:
        if _matter(entry) not in there:
            yield entry


def _matter(entry: Entry) -> tuple[object, ...]:
    turns = () if entry.section == "Index" else entry.turns
    return (entry.section, entry.text, entry.action, entry.topic, entry.detail, turns)
