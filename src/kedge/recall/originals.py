"""Originals by their marks."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import NamedTuple

from kedge.archive import OUTPUT, unpacked
from kedge.errors import NoSuchSession, UserError
from kedge.model import ToolCall, ToolResult, Turn
from kedge.recall.values import Original
from kedge.store import Entry, Store

NEAR = 5
"""Names shown where one is not known."""

_PLAIN = re.compile(r"(?:t?(\d{1,9})|#(\d{1,12}))(?:\.(\d{1,6})|:(.+))?", re.DOTALL)
_THREAD = re.compile(r"(.+)/(t\d{1,9}.*)", re.DOTALL)


class _Mark(NamedTuple):
    thread: str
    turn: int | None
    number: int | None
    place: int | None
    call_id: str


def original(store: Store, session: str, mark: str) -> Original:
    """A turn by its mark, t12, or what one call of it gave back: t12.0 is the first, t12:toolu_1
    the one with that id. A sub-agent's turn is explore-1/t3; #57 is the entry of that number, also
    where its turn no longer stands."""
    check_session(store, session)
    if mark.startswith(OUTPUT):
        return _output(store, session, mark)
    asked = _parsed(mark)
    entry = _entry(store, session, asked)
    turn = unpacked(entry.data, Turn, store.blob)
    if asked.place is None and not asked.call_id:
        return Original(session=session, mark=mark, turn=turn)
    call, result = _called(turn, asked, mark)
    return Original(session=session, mark=mark, turn=turn, call=call, result=result)


def _output(store: Store, session: str, mark: str) -> Original:
    """What a call gave back, where something shorter stands in its turn."""
    number = store.keyed(session, mark)
    entry = store.entry(session, number) if number is not None else None
    if entry is None:
        raise UserError(f"session {session!r} has kept no {mark[:80]!r} apart from its turn")
    turn = unpacked(entry.data, Turn, store.blob)
    return Original(
        session=session, mark=mark, turn=turn, call=turn.tool_calls[0], result=turn.tool_results[0]
    )


def check_session(store: Store, session: str) -> None:
    if store.head(session).number == 0:
        names = [info.name for info in store.sessions()]
        raise NoSuchSession(session, known=tuple(get_close_matches(session, names, n=NEAR)))


def _parsed(mark: str) -> _Mark:
    text = mark.strip().removeprefix("[").removesuffix("]")
    thread = ""
    found = _PLAIN.fullmatch(text)
    if found is None and (inside := _THREAD.fullmatch(text)) is not None:
        thread, found = inside[1], _PLAIN.fullmatch(inside[2])
    if found is None:
        raise UserError(f"{mark[:80]!r} is no mark of a turn; write t12, or t12.0 for a call of it")
    turn, number, place, call_id = found.groups()
    return _Mark(thread, _number(turn), _number(number), _number(place), call_id or "")


def _number(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _entry(store: Store, session: str, asked: _Mark) -> Entry:
    if asked.number is not None:
        entry = store.entry(session, asked.number)
        if entry is None or entry.kind not in ("turn", "words"):
            raise UserError(f"entry {asked.number} of session {session!r} is no turn")
        return entry
    index = asked.turn or 0
    places = store.places(session, thread=asked.thread, first=index, last=index)
    entry = store.entry(session, places[0].number) if places else None
    if entry is None:
        last = store.last_place(session, thread=asked.thread)
        there = f"the last is t{last.index}" if last else "it has none"
        whose = f" of {asked.thread!r}" if asked.thread else ""
        raise UserError(f"session {session!r} has no turn t{index}{whose}; {there}")
    return entry


def _called(turn: Turn, asked: _Mark, mark: str) -> tuple[ToolCall | None, ToolResult | None]:
    calls = turn.tool_calls
    if asked.place is not None and asked.place < len(calls):
        return calls[asked.place], turn.result_of(calls[asked.place])
    if asked.call_id:
        call = next((call for call in calls if call.id == asked.call_id), None)
        results = turn.tool_results
        result = next((one for one in results if one.call_id == asked.call_id), None)
        if call is not None or result is not None:
            return call, result
    there = f"it has t{turn.index}.0 to t{turn.index}.{len(calls) - 1}" if calls else "it made none"
    raise UserError(f"{mark[:80]!r} is no call of turn t{turn.index}; {there}")
