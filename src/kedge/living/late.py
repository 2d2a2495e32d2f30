"""Results that come when the next turn has begun."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.formats.turns.assembly import LOOKBACK
from kedge.living.journal import Journal
from kedge.model import Transcript, Turn


def reopened(journal: Journal, last: Turn, alone: Transcript) -> Sequence[Turn]:
    """The turns before the last one from the one on that still waits for a result of what comes,
    which was read `alone`. None where no such turn is near, or a compaction stands for it."""
    wanted = _without_call(alone) - {call.id for call in last.tool_calls}
    if not wanted or last.index == 0:
        return ()
    folded = journal.folded()
    first = max(0, last.index - LOOKBACK, folded.index if folded else 0)
    before = list(journal.turns(first, last.index - 1))
    for number, turn in enumerate(before):
        calls = {call.id for call in turn.tool_calls}
        if wanted & (calls - {result.call_id for result in turn.tool_results}):
            return before[number:]
    return ()


def _without_call(alone: Transcript) -> set[str]:
    """The calls that results answer which are not among what came. An id that was made while the
    results were read names no call."""
    turns = [*alone.turns, *([alone.pending] if alone.pending else ())]
    given = {
        result.call_id
        for turn in turns
        for result in turn.tool_results
        if not (result.wire and result.wire.get("made_id"))
    }
    return given - {call.id for turn in turns for call in turn.tool_calls}
