"""Whether what an entry names was there before it."""

from __future__ import annotations

from kedge.archive import unpacked
from kedge.archive.packing import Blob
from kedge.living.values import Pin, Recorded
from kedge.model import Turn
from kedge.store import Entry

PLACED = ("turn", "words", "cut")


class Ranges:
    """Sees the entries of a session pass: turns without a gap, and nothing about what is not there.
    A view has a place for every turn up to the last, so that one far away would cost all memory."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}
        """How many stand in each thread."""
        self._kinds: dict[int, str] = {}
        """Of the entries that others are about, by number."""

    def fault(self, entry: Entry, blob: Blob) -> str:
        """What is wrong with the next entry; empty where nothing is."""
        count = self._turns.get(entry.thread, 0)
        if entry.kind in PLACED:
            if not 0 <= entry.index <= count:
                return "has no place behind the turns before it"
            if entry.kind == "turn":
                self._turns[entry.thread] = entry.index + 1
            elif entry.kind == "cut":
                self._turns[entry.thread] = entry.index
        if entry.kind in ("compaction", "pin"):
            self._kinds[entry.number] = entry.kind
        wanted = {"undo": "compaction", "unpin": "pin"}.get(entry.kind)
        if wanted is not None and self._kinds.get(entry.index) != wanted:
            return f"is about entry {entry.index}, which is no {wanted}"
        return _inside(entry, self._turns.get("", 0), blob)


def _inside(entry: Entry, count: int, blob: Blob) -> str:
    """The same for what the data of an entry says; `count` turns stand."""
    if entry.kind in ("turn", "words"):
        same = unpacked(entry.data, Turn, blob).index == entry.index
        return "" if same else "says that it stands elsewhere"
    if entry.kind == "compaction":
        plan = unpacked(entry.data, Recorded, blob).compaction.plan
        inside = 0 <= plan.cut <= count and plan.cut == entry.index
        again = all(0 <= one.turn < count for one in plan.repeated)
        return "" if inside and again else "folds turns that are not there"
    if entry.kind == "pin":
        pin = unpacked(entry.data, Pin, blob)
        inside = pin.turn < count and pin.entry < entry.number
        return "" if inside else "pins a turn that is not there"
    return ""
