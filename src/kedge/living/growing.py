"""Which turns were written again with more in them: only the last of these is searched."""

from __future__ import annotations

from kedge.store import Entry


class Growing:
    """Sees the entries of a session pass, light ones too."""

    def __init__(self) -> None:
        self._last: dict[str, Entry] = {}
        """The last turn of each thread."""

    def instead_of(self, entry: Entry) -> int | None:
        """Number of the entry that had the same turn when less of it was known."""
        last = self._last.get(entry.thread)
        if entry.kind == "cut" and last is not None and entry.index <= last.index:
            del self._last[entry.thread]
        if entry.kind != "turn":
            return None
        self._last[entry.thread] = entry
        return last.number if last is not None and last.index == entry.index else None
