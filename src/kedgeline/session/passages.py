"""What recall gives back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from kedgeline.errors import NoSuchSession, UserError
from kedgeline.model import ToolCall, ToolResult, Turn, Value
from kedgeline.session.archive import OUTPUT, unpacked
from kedgeline.store import Entry, Phrase, Store, words


class Line(Value, frozen=True):
    """A line of an original, or the part of a long one around what was looked for."""

    number: int
    """In its text, from 1 on."""
    text: str
    """As it stands there."""
    spans: tuple[tuple[int, int], ...] = ()
    """What was looked for: from one character of `text` to before another."""
    column: int = 0
    """Characters of the line that are left out before `text`."""
    cut: bool = False
    """Whether the line goes on behind `text`."""


class Recalled(Value, frozen=True):
    """A turn in which a query was found: the best place in it."""

    session: str
    mark: str
    """Of the turn, as `original` takes it: t12; explore-1/t3 in the thread of a sub-agent; #57, by
    its entry, where the turn no longer stands."""
    turn: int
    """Index of the turn."""
    thread: str
    """Id of a sub-agent; empty for the main conversation."""
    number: int
    """Of the entry."""
    stands: bool
    """Whether the turn still stands: a rewind may have taken it back."""
    at: int
    """Microseconds since 1970, UTC."""
    who: str
    """user, agent, tool or client."""
    field: str
    """Which text of the turn it is, as `kedgeline.session.archive` names it."""
    title: str
    """One line: the tool and what it was about, or what kind of text it is."""
    output: str
    """Mark of the call with its output, as `original` takes it; empty where no call is meant."""
    error: bool
    """Whether the call failed."""
    score: float
    """As the store has it; comparable within one answer."""
    together: bool
    """Whether all words were found next to each other, in the order they were asked for."""
    start: int
    """Where the passage begins in its text, in characters."""
    lines: tuple[Line, ...]
    """The lines that hold what was looked for, and those around them."""
    also: tuple[str, ...] = ()
    """Other sessions that have the same turn: forks."""
    relaxed: tuple[str, ...] = ()
    """What was asked for and does not stand here: nothing had all of it."""
    damage: str = ""
    """Why there are no lines, where the original cannot be read."""


class Original(Value, frozen=True):
    """A turn as it was, or one call of it."""

    session: str
    mark: str
    turn: Turn
    call: ToolCall | None = None
    """The one that was asked for; None for the whole turn, or for a result without its call."""
    result: ToolResult | None = None

    @property
    def text(self) -> str:
        """What the tool gave back; empty for a whole turn."""
        return "" if self.result is None else self.result.output or self.result.error or ""


# Originals by their marks.

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


# Where the words of a query stand in a text.

_CHUNK = re.compile("[A-Za-z0-9\u0080-\U0010ffff]+")
"""What stands between two characters that are part of no word."""


class Placed(NamedTuple):
    word: str
    start: int
    end: int


class Match(NamedTuple):
    phrase: int
    """Which phrase of the query it is."""
    start: int
    end: int


def placed(text: str) -> Iterator[Placed]:
    """The words of a text as the index has them, with where they stand in it."""
    for chunk in _CHUNK.finditer(text):
        piece, start = chunk[0], chunk.start()
        if piece.isascii():
            yield Placed(piece.lower(), start, chunk.end())
        else:
            for word, begin, end in _inside(piece):
                yield Placed(word, start + begin, start + end)


def matches(text: str, phrases: Sequence[Phrase]) -> list[Match]:
    """The places of every phrase, in the order of the text."""
    hits = _plain(text, phrases) if text.isascii() else _any(text, phrases)
    return sorted(hits, key=lambda match: (match.start, match.end))


def _plain(text: str, phrases: Sequence[Phrase]) -> list[Match]:
    """In ASCII alone, which most texts are, a word is a run of letters and digits: there is no need
    to take the text apart."""
    lowered = text.lower()
    return [
        Match(which, found.start(), found.end())
        for which, phrase in enumerate(phrases)
        if all(map(str.isascii, phrase.words))
        for found in re.finditer(_pattern(phrase), lowered)
    ]


def _pattern(phrase: Phrase) -> str:
    end = "[a-z0-9]*" if phrase.prefix else "(?![a-z0-9])"
    return f"(?<![a-z0-9]){'[^a-z0-9]+'.join(map(re.escape, phrase.words))}{end}"


def _any(text: str, phrases: Sequence[Phrase]) -> list[Match]:
    found = list(placed(text))
    places: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        places.setdefault(one.word, []).append(number)
    return [
        Match(which, found[begin].start, found[begin + len(phrase.words) - 1].end)
        for which, phrase in enumerate(phrases)
        for begin in _begins(phrase, places, len(found))
        if _stands(phrase, found, begin)
    ]


def _begins(phrase: Phrase, places: dict[str, list[int]], many: int) -> Sequence[int]:
    if phrase.prefix and len(phrase.words) == 1:
        return range(many)
    return places.get(phrase.words[0], ())


def _stands(phrase: Phrase, found: Sequence[Placed], begin: int) -> bool:
    there = found[begin : begin + len(phrase.words)]
    if len(there) < len(phrase.words):
        return False
    *before, last = (one.word for one in there)
    if tuple(before) != phrase.words[:-1]:
        return False
    return last.startswith(phrase.words[-1]) if phrase.prefix else last == phrase.words[-1]


def _inside(chunk: str) -> Iterator[tuple[str, int, int]]:
    """Words of a chunk that normalising may change in length: ﬁ becomes fi, u and ¨ become ü."""
    letters: list[str] = []
    origins: list[tuple[int, int]] = []
    for start, end in _clusters(chunk):
        made = unicodedata.normalize("NFKC", chunk[start:end]).casefold()
        letters.append(made)
        origins.extend([(start, end)] * len(made))
    flat, at = "".join(letters), 0
    for word in words(chunk):
        begin = flat.find(word, at)
        if begin < 0:  # what composes over more than marks, as Korean in single letters does
            yield word, 0, len(chunk)
        else:
            at = begin + len(word)
            yield word, origins[begin][0], origins[at - 1][1]


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """A character with the marks behind it."""
    start = 0
    for place in range(1, len(text)):
        if not unicodedata.combining(text[place]):
            yield start, place
            start = place
    yield start, len(text)


# The lines of a text around what was looked for.

WIDTH = 240
"""Characters of a line that are shown: about three rows of a terminal."""
AHEAD = 80
"""Characters shown before the first match of a longer line."""
SLACK = 400
"""Characters looked at beside a passage, so that no word is looked at by half."""
FAR = 20_000
"""Characters looked at where the passage does not hold all: where something was taken out of the
index, a place can be off by as much."""
MOST_PLACES = 6
"""Places shown of one passage; more would be a listing."""


class Context(NamedTuple):
    lines: tuple[Line, ...]
    missing: tuple[int, ...]
    """Phrases that do not stand here."""


class _Range(NamedTuple):
    start: int
    end: int


def context(text: str, start: int, size: int, phrases: Sequence[Phrase], *, lines: int) -> Context:
    """The lines that hold the phrases, with so many around each."""
    if not text:
        return Context((), tuple(range(len(phrases))))
    found = _found(text, start, size, phrases)
    chosen = _chosen(text, found)
    if not chosen:
        first = _first_words(text, start)
        chosen = [_Range(_line_start(text, first), _line_end(text, first))]
    shown = sorted({one for place in chosen for one in _around(text, place, lines)})
    there = {match.phrase for match in found}
    missing = tuple(number for number in range(len(phrases)) if number not in there)
    return Context(tuple(_lines(text, shown, found)), missing)


def _found(text: str, start: int, size: int, phrases: Sequence[Phrase]) -> list[Match]:
    """Matches in the passage, or where it lacks some, in what is near it."""
    best: list[Match] = []
    for slack in (0, SLACK, FAR):
        begin, end = max(0, start - slack), min(len(text), start + size + slack)
        found = [
            match._replace(start=match.start + begin, end=match.end + begin)
            for match in matches(text[begin:end], phrases)
        ]
        if len({match.phrase for match in found}) > len({match.phrase for match in best}):
            best = found
        if len({match.phrase for match in best}) == len(phrases):
            break
    return best


def _chosen(text: str, found: Sequence[Match]) -> list[_Range]:
    """Lines that together hold every phrase, those that hold most of them first."""
    places: dict[_Range, set[int]] = {}
    for match in found:
        place = _Range(_line_start(text, match.start), _line_end(text, match.end - 1))
        places.setdefault(place, set()).add(match.phrase)
    left = {match.phrase for match in found}
    chosen: list[_Range] = []
    while left and len(chosen) < MOST_PLACES:
        best = max(places, key=lambda place: len(places[place] & left))
        chosen.append(best)
        left -= places[best]
    return chosen


def _around(text: str, place: _Range, lines: int) -> Iterator[_Range]:
    """The lines of a place and so many on both sides."""
    start, end = place
    for _ in range(lines):
        start = _line_start(text, start - 1) if start > 0 else start
        end = _line_end(text, end + 1) if end + 1 < len(text) else end
    while start <= end:
        stop = _line_end(text, start)
        yield _Range(start, stop)
        start = stop + 1


def _lines(text: str, shown: Sequence[_Range], found: Sequence[Match]) -> Iterator[Line]:
    number, at = 1, 0
    for start, end in shown:
        number += text.count("\n", at, start)
        at = start
        yield _line(text, number, _Range(start, _without_return(text, start, end)), found)


def _line(text: str, number: int, line: _Range, found: Sequence[Match]) -> Line:
    inside = [match for match in found if match.start < line.end and match.end > line.start]
    begin = line.start
    if line.end - line.start > WIDTH and inside:
        begin = max(line.start, min(inside[0].start - AHEAD, line.end - WIDTH))
    end = min(line.end, begin + WIDTH)
    return Line(
        number=number,
        text=text[begin:end],
        spans=_spans(inside, _Range(begin, end)),
        column=begin - line.start,
        cut=end < line.end,
    )


def _spans(found: Sequence[Match], shown: _Range) -> tuple[tuple[int, int], ...]:
    """What to mark, as it stands in what is shown; marks that touch each other become one."""
    spans: list[tuple[int, int]] = []
    for match in found:
        begin = max(match.start, shown.start) - shown.start
        end = min(match.end, shown.end) - shown.start
        if begin >= end:
            continue
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return tuple(spans)


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, max(0, place)) + 1


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _without_return(text: str, start: int, end: int) -> int:
    return end - 1 if end > start and text[end - 1] == "\r" else end


def _first_words(text: str, start: int) -> int:
    """Where the first line begins that is not empty."""
    piece = text[start : start + SLACK]
    return min(start + len(piece) - len(piece.lstrip()), max(0, len(text) - 1))
