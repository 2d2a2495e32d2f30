"""Turns put together from what was said before and what came: for shapes that cannot be written
back, and for turns that were built elsewhere."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.model import Message, ResultRef, ToolResult, Transcript, Turn


def merged(last: Turn | None, waiting: Turn | None, found: Transcript) -> Transcript:
    """What was read alone, behind the last turn and the words that wait: results go to the calls
    of that turn, and words to the answer. A turn that is put together has no layout."""
    several = [*found.turns, *((found.pending,) if found.pending else ())]
    if several:
        several[0], late = _without_late(several[0], last)
        last = _with(last, late) if last is not None and late else last
    first = several[0] if several else Turn()
    first = answering(first, waiting) if waiting is not None else first
    turns = (first, *found.turns[1:]) if found.turns else ()
    pending = found.pending if found.turns else None if first.is_blank else first
    before = (last,) if last is not None else ()
    numbered = (replace(turn, index=n) for n, turn in enumerate((*before, *turns)))
    pending = replace(pending, index=len(before) + len(turns)) if pending else None
    return replace(found, turns=tuple(numbered), pending=pending)


def answering(turn: Turn, words: Turn) -> Turn:
    """A turn with the words before it, unless it has them already."""
    given = f"{turn.user_message}\n\n"
    if words.user_message and given.startswith(f"{words.user_message}\n\n"):
        return turn
    said = (words.user_message, turn.user_message)
    laid = bool(words.messages and turn.messages)
    return replace(
        turn,
        user_message="\n\n".join(text for text in said if text),
        notes=(*words.notes, *turn.notes),
        media=(*words.media, *turn.media),
        messages=(*words.messages, *turn.messages) if laid else (),
        tokens=0,
    )


def _without_late(turn: Turn, last: Turn | None) -> tuple[Turn, tuple[ToolResult, ...]]:
    """A turn without the results that answer calls of the one before it, and these."""
    own = {call.id for call in turn.tool_calls}
    open_calls = {call.id for call in last.tool_calls} - own if last is not None else set()
    late = tuple(one for one in turn.tool_results if one.call_id in open_calls)
    if not late:
        return turn, ()
    rest = tuple(one for one in turn.tool_results if one.call_id not in open_calls)
    return replace(turn, tool_results=rest, messages=(), tokens=0), late


def _with(turn: Turn, late: tuple[ToolResult, ...]) -> Turn:
    """A turn with further results. Its layout stays, with a message for them at its end: thinking
    is sent back as it was sealed, or not at all."""
    have = len(turn.tool_results)
    parts = tuple(ResultRef(position=have + n) for n in range(len(late)))
    laid = (*turn.messages, Message(role="tool", parts=parts)) if turn.messages else ()
    return replace(turn, tool_results=(*turn.tool_results, *late), messages=laid, tokens=0)
