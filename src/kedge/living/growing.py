"""Which turns were written again with more in them: only the last of these is searched."""

from __future__ import annotations

from kedge.living.journal import Journal
from kedge.model import Turn
from kedge.store import Entry, Place


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


def grown(before: Turn, now: Turn) -> bool:
    """Whether a turn is one that was there before, with no less in it."""
    asked, words = before.user_message, now.user_message
    calls = [(call.id, call.tool, call.parameters) for call in now.tool_calls]
    results = {one.call_id: (one.output, one.error) for one in now.tool_results}
    return (
        (words.startswith(asked) if asked else not words)
        and now.assistant_response.startswith(before.assistant_response)
        and [(call.id, call.tool, call.parameters) for call in before.tool_calls]
        == calls[: len(before.tool_calls)]
        and all(results.get(one.call_id) == (one.output, one.error) for one in before.tool_results)
    )


def written(journal: Journal, index: int, number: int) -> Turn:
    """A turn by the number of its entry, whether it stands or not."""
    return journal.turn(Place(index=index, number=number, tokens=0, before=0, id=""))
