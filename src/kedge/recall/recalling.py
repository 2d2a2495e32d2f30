"""A query answered: what the store found, shown in the originals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedge.archive import Damaged, unpacked
from kedge.archive.passages import command_of, field_text
from kedge.model import ToolCall, Turn
from kedge.recall.context import Context, context
from kedge.recall.finding import Hit, answered
from kedge.recall.originals import check_session
from kedge.recall.values import Recalled
from kedge.store import Entry, Found, Phrase, Query, Store

TITLE = 100
"""Characters of a title."""

Clean = Callable[[Turn], Turn]
"""Takes secrets out of a turn."""

_KINDS = {"user": "message", "answer": "answer", "thinking": "thinking"}


def recall(
    store: Store, query: Query, *, lines: int = 2, clean: Clean | None = None
) -> tuple[Recalled, ...]:
    """The originals that answer a query, best first, with so many lines around each match. With
    `clean` the lines are of turns that went through it as a whole: a line alone does not show that
    it is a part of a secret."""
    for session in query.sessions:
        check_session(store, session)
    answer = answered(store, query)
    originals = _Originals(store, clean)
    return tuple(
        _recalled(originals, hit, query.phrases, lines, relaxed=answer.relaxed)
        for hit in answer.hits
    )


class _Originals:
    """Turns by their entries, each read once: several texts of one may have been found."""

    def __init__(self, store: Store, clean: Clean | None) -> None:
        self._store, self._clean = store, clean
        self._read: dict[tuple[str, int], tuple[Entry, Turn]] = {}

    def read(self, found: Found) -> tuple[Entry, Turn]:
        key = (found.session, found.number)
        if key not in self._read:
            entry = self._store.entry(*key)
            if entry is None:
                raise Damaged(f"entry {found.number} of session {found.session!r} is gone")
            turn = unpacked(entry.data, Turn, self._store.blob)
            self._read[key] = (entry, self._clean(turn) if self._clean else turn)
        return self._read[key]

    def stands(self, found: Found) -> bool:
        """Words that nobody has answered yet stand behind the last turn."""
        places = self._store.places(
            found.session, thread=found.thread, first=found.index, last=found.index
        )
        if places:
            return places[0].number == found.number
        entry = self._store.entry(found.session, found.number)
        return entry is not None and entry.kind == "words"


def _recalled(
    originals: _Originals, hit: Hit, phrases: Sequence[Phrase], lines: int, *, relaxed: bool
) -> Recalled:
    found = hit.found
    title, output, damage = "", "", ""
    shown = Context((), ())
    stands = originals.stands(found)
    mark = _mark(found) if stands else f"#{found.number}"
    try:
        _, turn = originals.read(found)
        title, output = _title(turn, found.field), _output(turn, found.field, mark)
        text = field_text(turn, found.field)
        shown = context(text, found.start, found.size, phrases, lines=lines)
    except Damaged as error:
        damage = str(error)
    return Recalled(
        session=found.session,
        mark=mark,
        turn=found.index,
        thread=found.thread,
        number=found.number,
        stands=stands,
        at=found.at,
        who=found.who,
        field=found.field,
        title=title,
        output=output,
        error=found.error,
        score=found.score,
        together=hit.together,
        start=found.start,
        lines=shown.lines,
        also=hit.also,
        relaxed=tuple(_typed(phrases[number]) for number in shown.missing) if relaxed else (),
        damage=damage,
    )


def _mark(found: Found) -> str:
    return f"{found.thread}/t{found.index}" if found.thread else f"t{found.index}"


def _typed(phrase: Phrase) -> str:
    return " ".join(phrase.words) + "*" * phrase.prefix


def _title(turn: Turn, field: str) -> str:
    if field in _KINDS:
        return _KINDS[field]
    name, _, place = field.partition(":")
    if name == "note":
        return turn.notes[int(place)].kind.replace("_", " ")
    call = _call(turn, field)
    if call is None:
        return "output"
    about = command_of(call) or ", ".join(call.paths()) or _first_text(call)
    line = " ".join(f"{call.tool} {about[: 4 * TITLE]}".split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1]}…"


def _first_text(call: ToolCall) -> str:
    return next((text for text in call.parameters.values() if isinstance(text, str)), "")


def _call(turn: Turn, field: str) -> ToolCall | None:
    """The call that a text belongs to."""
    name, _, place = field.partition(":")
    if name == "call":
        return turn.tool_calls[int(place)]
    if name in ("result", "error", "reason"):
        call_id = turn.tool_results[int(place)].call_id
        return next((call for call in turn.tool_calls if call.id == call_id), None)
    return None


def _output(turn: Turn, field: str, mark: str) -> str:
    name, _, place = field.partition(":")
    if name not in ("call", "result", "error", "reason"):
        return ""
    if name == "call":
        return f"{mark}.{place}"
    call_id = turn.tool_results[int(place)].call_id
    calls = (number for number, call in enumerate(turn.tool_calls) if call.id == call_id)
    return next((f"{mark}.{number}" for number in calls), f"{mark}:{call_id}")
