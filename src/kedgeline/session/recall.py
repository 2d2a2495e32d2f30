"""Recall: what the store finds for a query, and the lines that answer it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.errors import StoreDamaged
from kedgeline.model import ToolCall, Turn, Value
from kedgeline.session.archive import Damaged, check_session, command_of, field_text, unpacked
from kedgeline.session.query import Question
from kedgeline.store import Found, Phrase, Query, Store
from kedgeline.store.protocol import EAST

# What recall gives back.


class RecalledLine(Value, frozen=True):
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
    lines: tuple[RecalledLine, ...]
    """The lines that hold what was looked for, and those around them."""
    also: tuple[str, ...] = ()
    """Other sessions that have the same turn: forks."""
    relaxed: tuple[str, ...] = ()
    """What was asked for and does not stand here: nothing had all of it."""
    damage: str = ""
    """Why there are no lines, where the original cannot be read."""


# Where the words of a query stand in a text.

LETTER, BETWEEN = rf"[^\W_{EAST}]", r"[\W_]"
"""What words of several letters are made of, and what stands between words."""
_ASCII_RUN = re.compile(r"([\x00-\x7f]+(?![^\x00-\x7f]))")
WORD, EASTERN = re.compile(f"{LETTER}+"), re.compile(f"[{EAST}]")


Sought = Phrase | tuple[Phrase, ...]
"""A phrase, or a word in all its forms."""


class _Match(NamedTuple):
    phrase: int
    """Which phrase of the query it is."""
    start: int
    end: int


def matches(text: str, phrases: Sequence[Sought]) -> list[_Match]:
    """The places of every phrase, in the order of the text."""
    folded, origins = _folded(text)
    alone: dict[str, list[int]] = {}
    found: list[tuple[int, re.Match[str]]] = []
    for which, sought in enumerate(phrases):
        for phrase in sought if isinstance(sought, tuple) else (sought,):
            if len(phrase.words) == 1 and not phrase.prefix and not EASTERN.match(phrase.words[0]):
                alone.setdefault(phrase.words[0], []).append(which)
            else:
                found += ((which, one) for one in re.finditer(_pattern(phrase), folded))
    if alone:  # many words are looked for at once
        there = ((alone.get(one[0], ()), one) for one in WORD.finditer(folded))
        found += ((which, one) for many, one in there for which in many)
    hits = [
        _Match(which, origins[one.start()][0], origins[one.end() - 1][1]) for which, one in found
    ]
    return sorted(hits, key=lambda match: (match.start, match.end))


def _folded(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text in the form that the index has, and where each of its characters comes from: that
    form may have another length (ﬁ becomes fi, u and ¨ become ü)."""
    letters: list[str] = []
    origins: list[tuple[int, int]] = []
    base = 0
    for number, piece in enumerate(_ASCII_RUN.split(text)):
        behind = base + len(piece)
        if number % 2:
            letters.append(piece.lower())
            origins += zip(range(base, behind), range(base + 1, behind + 1), strict=True)
        start = base
        for end in range(base + 1, behind + 1) if number % 2 == 0 else ():
            if end < behind and unicodedata.combining(text[end]):
                continue  # a mark goes with the character before it
            made = unicodedata.normalize("NFKC", text[start:end]).casefold()
            letters.append(made)
            origins += [(start, end)] * len(made)
            start = end
        base = behind
    return "".join(letters), origins


def _pattern(phrase: Phrase) -> str:
    """Words side by side; in scripts without blanks each character is one."""
    east = [EASTERN.fullmatch(word) is not None for word in phrase.words]
    parts = [re.escape(phrase.words[0])]
    for place, word in enumerate(phrase.words[1:], 1):
        alone = east[place - 1] or east[place]
        parts.append(f"{BETWEEN}{'*' if alone else '+'}{re.escape(word)}")
    begin = "" if east[0] else f"(?<!{LETTER})"
    end = f"{LETTER}*" if phrase.prefix else "" if east[-1] else f"(?!{LETTER})"
    return f"{begin}{''.join(parts)}{end}"


# The lines of a text around what was looked for.

WIDTH = 240
"""Characters of a line that are shown: about three rows of a terminal."""
AHEAD = 80
"""Characters shown before the first match of a longer line."""
SLACK = 400
"""Characters looked at beside a passage, so that no word is looked at by half."""
FAR = 20_000
"""Characters looked at where the passage does not hold all: the index has no secrets, so a place is
off by what they had."""
MOST_PLACES, FEW_PLACES = 6, 2
"""Places shown of one passage; more would be a listing. Few where any word was enough."""


class Context(NamedTuple):
    lines: tuple[RecalledLine, ...]
    missing: tuple[int, ...]
    """Phrases that do not stand here."""


class _Range(NamedTuple):
    start: int
    end: int


def context(
    text: str, start: int, size: int, phrases: Sequence[Sought], *, lines: int, any: bool = False
) -> Context:
    """The lines that hold the phrases, with so many around each; with `any` those of the passage
    that hold most of them."""
    if not text:
        return Context((), tuple(range(len(phrases))))
    found = _near(text, start, size, phrases, any=any)
    chosen = _chosen(text, found, FEW_PLACES if any else MOST_PLACES)
    if not chosen:
        first = _first_words(text, start)
        chosen = [_Range(_line_start(text, first), _line_end(text, first))]
    shown = sorted({one for place in chosen for one in _around(text, place, lines)})
    there = {match.phrase for match in found}
    missing = tuple(number for number in range(len(phrases)) if number not in there)
    return Context(tuple(_lines(text, shown, found)), missing)


def _near(
    text: str, start: int, size: int, phrases: Sequence[Sought], *, any: bool
) -> list[_Match]:
    """Matches in the passage, or where it lacks some, in what is near it."""
    best: list[_Match] = []
    for slack in (0, SLACK, FAR, len(text)):
        begin, end = max(0, start - slack), min(len(text), start + size + slack)
        found = [
            match._replace(start=match.start + begin, end=match.end + begin)
            for match in matches(text[begin:end], phrases)
        ]
        if len({match.phrase for match in found}) > len({match.phrase for match in best}):
            best = found
        if len({match.phrase for match in best}) == len(phrases) or (any and best):
            break
    return best


def _chosen(text: str, found: Sequence[_Match], most: int) -> list[_Range]:
    """Lines that together hold every phrase, those that hold most of them first."""
    places: dict[_Range, set[int]] = {}
    for match in found:
        place = _Range(_line_start(text, match.start), _line_end(text, match.end - 1))
        places.setdefault(place, set()).add(match.phrase)
    left = {match.phrase for match in found}
    chosen: list[_Range] = []
    while left and len(chosen) < most:
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


def _lines(text: str, shown: Sequence[_Range], found: Sequence[_Match]) -> Iterator[RecalledLine]:
    number, at = 1, 0
    for start, end in shown:
        number += text.count("\n", at, start)
        at = start
        yield _line(text, number, _Range(start, _without_return(text, start, end)), found)


def _line(text: str, number: int, line: _Range, found: Sequence[_Match]) -> RecalledLine:
    inside = [match for match in found if match.start < line.end and match.end > line.start]
    begin = line.start
    if line.end - line.start > WIDTH and inside:
        begin = max(line.start, min(inside[0].start - AHEAD, line.end - WIDTH))
    end = min(line.end, begin + WIDTH)
    return RecalledLine(
        number=number,
        text=text[begin:end],
        spans=_spans(inside, _Range(begin, end)),
        column=begin - line.start,
        cut=end < line.end,
    )


def _spans(found: Sequence[_Match], shown: _Range) -> tuple[tuple[int, int], ...]:
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


# What a store finds: what has all words first, then what has any; each turn once.

ASKED_FOR = 4
"""Passages asked of the store for one answer: equal turns of forks become one."""
MOST_ASKED = 400
"""Passages asked for at most to that end: each costs a look into a table."""


class _Hit(NamedTuple):
    found: Found
    together: bool = False
    any: bool = False
    """Whether any word was enough."""
    also: tuple[str, ...] = ()


def _answered(store: Store, query: Query) -> list[_Hit]:
    """The best passages for a query, one a turn: those that have all of it, then those that have
    what is in quotes and any of the other words. More than the query's limit, as copies of a
    conversation become one."""
    wide = replace(query, limit=max(query.limit, min(query.limit * ASKED_FOR, MOST_ASKED)))
    hits: list[_Hit] = []
    if not isinstance(query, Question) or not query.asks:
        hits = _strictly(store, replace(wide, topic=()), enough=query.limit)
    if query.topic and len(hits) < query.limit and (not hits or len(query.phrases) > 1):
        quoted = query.quoted if isinstance(query, Question) else query.phrases
        wide = replace(wide, phrases=quoted)
        some = store.find(wide) or (store.find(replace(wide, topic=())) if quoted else ())
        hits = _grouped(hits + [_Hit(found, any=True) for found in some])
    return hits


def _strictly(store: Store, query: Query, *, enough: int) -> list[_Hit]:
    """Turns with all of it; first those in which it stands as it was typed."""
    phrase = _joined(query.phrases)
    first = store.find(replace(query, phrases=(phrase,))) if phrase else ()
    together = [_Hit(found, together=True) for found in first]
    if len(hits := _grouped(together)) >= enough:
        return hits
    return _grouped(together + [_Hit(found) for found in store.find(query)])


def _joined(phrases: Sequence[Phrase]) -> Phrase | None:
    """All words as one phrase; none where that would be another question, or the same."""
    if len(phrases) < 2 or any(phrase.prefix for phrase in phrases[:-1]):
        return None
    joined = tuple(word for phrase in phrases for word in phrase.words)
    return Phrase(words=joined, prefix=phrases[-1].prefix)


def _grouped(hits: Iterable[_Hit]) -> list[_Hit]:
    """One hit a turn: the best, with the other sessions that have the same turn."""
    groups: dict[tuple[str, str, int], list[_Hit]] = {}
    for hit in hits:
        found = hit.found
        same = found.id or f"{found.session}\0{found.number}"
        groups.setdefault((same, found.thread, found.index), []).append(hit)
    return [_one(group) for group in groups.values()]


def _one(group: Sequence[_Hit]) -> _Hit:
    first = group[0]
    others = dict.fromkeys(hit.found.session for hit in group)
    return first._replace(also=tuple(name for name in others if name != first.found.session))


# A query answered: what the store found, shown in the originals.

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
    originals = _Originals(store, clean)
    shown: list[Recalled] = []
    for hit in _answered(store, query):
        if len(shown) == query.limit:
            break
        one = _recalled(originals, hit, query, lines)
        place = next((n for n, other in enumerate(shown) if _is_copy(one, other)), None)
        if place is None:
            shown.append(one)
        else:
            also = dict.fromkeys((*shown[place].also, one.session, *one.also))
            shown[place] = replace(shown[place], also=tuple(also))
    return tuple(shown)


def _is_copy(one: Recalled, other: Recalled) -> bool:
    """Whether both are the same words of one conversation: what replaces a host's compaction keeps
    its messages as a session of its own, named after the one that hooks follow."""
    names = one.session, other.session
    alike = names[0] != names[1] and (names[0] in names[1] or names[1] in names[0])
    first, second = ((it.who, it.title, it.start, it.lines) for it in (one, other))
    return alike and first == second


class _Originals:
    """Turns by their entries, each read once: several texts of one may have been found."""

    def __init__(self, store: Store, clean: Clean | None) -> None:
        self._store, self._clean = store, clean
        self._read: dict[tuple[str, int], Turn] = {}

    def read(self, found: Found) -> Turn:
        key = (found.session, found.number)
        if key not in self._read:
            entry = self._store.entry(*key)
            if entry is None:
                raise Damaged(f"entry {found.number} of session {found.session!r} is gone")
            turn = unpacked(entry.data, Turn, self._store.blob)
            self._read[key] = self._clean(turn) if self._clean else turn
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


def _recalled(originals: _Originals, hit: _Hit, query: Query, lines: int) -> Recalled:
    found = hit.found
    title, output, damage = "", "", ""
    shown = Context((), ())
    stands = originals.stands(found)
    mark = _mark(found) if stands else f"#{found.number}"
    try:
        turn = originals.read(found)
        title, output = _title(turn, found.field), _output(turn, found.field, mark)
        text = field_text(turn, found.field)
        quoted = query.quoted if isinstance(query, Question) else query.phrases
        sought: Sequence[Sought] = query.phrases
        if hit.any:
            sought = (*query.topic, *quoted)
        shown = context(text, found.start, found.size, sought, lines=lines, any=hit.any)
    except StoreDamaged as error:
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
        relaxed=_lacking(query, shown.missing) if hit.any else (),
        damage=damage,
    )


def _mark(found: Found) -> str:
    return f"{found.thread}/t{found.index}" if found.thread else f"t{found.index}"


def _lacking(query: Query, missing: Sequence[int]) -> tuple[str, ...]:
    """Words of the topic as they were typed; the names that they make up say nothing more."""
    typed = {word for phrase in query.phrases for word in phrase.words}
    words = [query.topic[number][0].words for number in missing if number < len(query.topic)]
    return tuple(word for word, *more in words if not more and word in typed)


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
