"""What the agent sees although an entry of the summary is gone: it is said elsewhere as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kedge.bench.probes.compacting import Good
from kedge.bench.probes.mutations import MODIFIED
from kedge.bench.probes.wording import quoted_words
from kedge.matching import holds
from kedge.model import Entry
from kedge.summary import entries_of

CURRENT = ("Now: ", "Asked last")
"""How the line of the current request begins."""


def said_elsewhere(entry: Entry, good: Good) -> bool:
    """The user's words beside the summary, a rule in the request that is worked on, a name in the
    row of its file or another entry, an error in the words of another tool."""
    if entry.section == "Session Intent":
        return stands_beside(entry, good.beside)
    if entry.section == "Standing Instructions":
        return stands_beside(entry, (*good.beside, *_request(entries_of(good.text))))
    if entry.section == "Index":
        return named_again(entry, entries_of(good.text))
    if entry.section == "Error Context":
        return told_by_another(entry, entries_of(good.text))
    return False


def stands_beside(entry: Entry, beside: Iterable[str]) -> bool:
    words = quoted_words(entry.text)
    return bool(words) and any(holds(text, words) for text in beside)


def _request(entries: Iterable[Entry]) -> Iterator[str]:
    """The line of the request that is worked on, or was worked on last."""
    return (
        entry.text
        for entry in entries
        if entry.section == "Session Intent" and entry.text.startswith(CURRENT)
    )


def named_again(entry: Entry, entries: Iterable[Entry]) -> bool:
    """A name of a file in the row of that file; one that belongs to none, in any other entry."""
    if entry.topic:
        rows = (row for row in entries if row.section == MODIFIED and row.text == entry.topic)
        return any(holds(row.detail, entry.text) for row in rows)
    lines = (f"{one.topic} {one.text} {one.detail}" for one in entries if one != entry)
    return any(holds(line, entry.text) for line in lines)


def told_by_another(entry: Entry, entries: Iterable[Entry]) -> bool:
    """Whether all words of it stand, in their order, in another entry of its section."""
    words = entry.text.split()
    return any(
        other.section == entry.section and other.text != entry.text and _in_order(words, other)
        for other in entries
    )


def _in_order(words: Sequence[str], other: Entry) -> bool:
    left = iter(other.text.split())
    return all(word in left for word in words)
