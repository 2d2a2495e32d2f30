"""The Story: what was said and done, exchange by exchange, as much of it as there is room for.

Everything that could be told is a line with one or more renditions, each longer than the last. One
order says which line is raised by one rendition next: by value per token, less what the lines
before it have told already. The order knows no budget, so what stands in a smaller room stands in a
larger one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import exp, log2
from pkgutil import get_data
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import msgspec

from kedgeline.errors import BadSettings
from kedgeline.model import Called, Level, Requested, Stated
from kedgeline.model.summary import Summary
from kedgeline.settings import own_weights
from kedgeline.summary.state import Item
from kedgeline.text.prose import announces, cut, letters, names_in, one_line

# What a line of the Story is worth to whoever goes on: a few signals that can be measured, each
# with a weight (`weights.json`). `kedgeline bench fit` holds them against what sessions used later.

HALF_LIFE = 24
"""Turns after which being recent counts half."""
REUSED_MOST = 4
"""Names of a line used again later, beyond which more say no more."""
TYPED_MOST = 6
"""Statements of a message that somebody typed; a longer one was pasted, or is a client's template.
"""
QUOTED_MOST = 240
"""Characters of a first request up to which the intent quotes it whole."""
POOR = 4
"""Words from which a sentence says something by itself."""

_NUMBER = re.compile(r"\d")
_TERM = re.compile(r"[^\W\d_]\w{2,}|\d+(?:\.\d+)*")
_REASONS = re.compile(
    r"\b(?:because|since|so that|therefore|due to|caused?|reason|why|instead|rather than|but"
    r"|however|although|unless|only|never|always|must|otherwise|means|turns out|root cause"
    r"|the (?:issue|problem|bug|fix|key|real)|note|warning|caveat|important|decided|chose|simpler"
    r"|risk|missing|wrong|broken|no longer|fallback|falls back|by default|remaining|still)\b"
)
"""In small letters: without regard to case it takes four times as long."""
_THEN = re.compile(r"\b(?:pending|next steps?|current work|remaining|to ?do)\b", re.IGNORECASE)
"""In the heads of another system's summary: how it stood when that was written."""
_SAYS_NOTHING = (
    "the and for that this with you can could would should have has had are was were will not but "
    "our your its from into out all any some one two also just now then than when where what "
    "which who why how there here they them these those been being does did doing get got let "
    "like want need make made use used using file files code new run way see"
)
_COMMON = frozenset(_SAYS_NOTHING.split())


class Weights(msgspec.Struct, frozen=True):
    """By what a line counts more, as the exponent of a factor."""

    of: str
    """The date, and where they are from."""
    signals: dict[str, float]
    """Those that can be fitted. Lines of an answer have none, and all other kinds are against them.
    """
    given: dict[str, float]
    """By hand: of what is too rare to be fitted, and of the user's words, which are told whether or
    not somebody says them again."""

    @property
    def all(self) -> dict[str, float]:
        return {**self.given, **self.signals}


@lru_cache(maxsize=1)
def weights() -> Weights:
    """Those of a file of the user's, which must have all that ours have; without one, ours."""
    data = get_data("kedgeline.summary", "weights.json") or b""
    ours = msgspec.json.decode(data, type=Weights)
    if (found := own_weights()) is None:
        return ours
    place, data = found
    try:
        own = msgspec.json.decode(data, type=Weights)
    except msgspec.DecodeError as error:
        raise BadSettings(place, f"it is not a file of weights: {error}") from error
    if missing := ours.all.keys() - own.all.keys():
        raise BadSettings(place, f"it has no weight for {', '.join(sorted(missing))}")
    return own


_OF = TypeVar("_OF")
_T = TypeVar("_T")
_P = ParamSpec("_P")
LAST = 4
"""What is remembered: of a compaction the state at two standings, and that of the one before."""
KNOWN_TEXTS = 8_192
"""Texts whose terms are remembered: a session says the same lines at each compaction."""


def remembered(
    make: Callable[Concatenate[_OF, _P], _T],
) -> Callable[Concatenate[_OF, _P], _T]:
    """Keeps what was made of the last summaries: a rendering is tried in several rooms."""
    known: list[tuple[_OF, object, _T]] = []

    def found(of: _OF, /, *rest: _P.args, **more: _P.kwargs) -> _T:
        for one, how, made in tuple(known):
            if one is of and how == (rest, more):
                return made
        made = make(of, *rest, **more)
        known[:] = [(of, (rest, more), made), *known[: LAST - 1]]
        return made

    return found


@lru_cache(maxsize=KNOWN_TEXTS)
def terms_in(text: str) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(_TERM.findall(text.casefold())) - _COMMON


class Sight(NamedTuple):
    """What is known of a name."""

    often: float
    """How often it was said or used; older times count less."""
    last: int
    """The newest turn of them."""


_NEVER = Sight(0.0, -1)


@remembered
def names_of(summary: Summary) -> dict[str, dict[str, None]]:
    """The names in each statement."""
    return {one.text: names_in(one.text) for one in summary.statements}


@remembered
def sights_of(summary: Summary) -> dict[str, Sight]:
    """The names in what was asked, said and done, those used most and last first."""
    sights: dict[str, Sight] = {}
    known = names_of(summary)
    for turn, text in _told(summary):
        counts = 0.5 ** ((summary.through - turn) / HALF_LIFE)
        for name in known[text] if text in known else names_in(text):
            before = sights.get(name, _NEVER)
            sights[name] = Sight(before.often + counts, max(before.last, turn))
    return dict(sorted(sights.items(), key=lambda one: one[1], reverse=True))


def _told(summary: Summary) -> Iterator[tuple[int, str]]:
    for one in summary.statements:
        if one.where != "thought":
            yield one.turn, one.text
    for call in summary.calls:
        yield call.turn, f"{call.what} {call.path} {call.about}"
    for request in summary.requests:
        yield request.turn, request.text[:4_000]


class Worth:
    """Knows a summary's turns: which of them are recent, and which names come again later."""

    def __init__(self, summary: Summary, given: Mapping[str, float] | None = None) -> None:
        self._given = weights().all if given is None else given
        self._last = summary.through
        asked = summary.asked
        self._current = max((one.turn for one in asked), default=0)
        short = {one.turn for one in asked[:1] if len(one.text) <= QUOTED_MOST}
        self._quoted = {self._current, *short}
        self._steps = {one.turn for one in summary.requests} - {one.turn for one in asked}
        self._sights = sights_of(summary)
        self._names = names_of(summary)
        self._last_calls = {(call.what, call.path): call.turn for call in summary.calls}
        self._long = Counter(one.turn for one in summary.statements if one.where == "said")

    def of(self, one: Requested | Stated | Called) -> float:
        return exp(
            sum(self._given[name] * much for name, much in self.signals(one).items() if much)
        )

    def signals(self, one: Requested | Stated | Called) -> dict[str, float]:
        """What is measured of it."""
        found = {
            "recent": 0.5 ** ((self._last - one.turn) / HALF_LIFE),
            "current": float(one.turn >= self._current),
        }
        if isinstance(one, Called):
            last = one.turn >= self._last_calls[one.what, one.path]
            states = {name: float(last and one.state == name) for name in ("failed", "refused")}
            return found | {one.kind: 1.0, "again": float(not last)} | states
        if isinstance(one, Requested):
            return found | {"user": 1.0, "step": float(one.scope == "step")}
        return found | (self._heard(one) if one.where == "said" else self._stated(one))

    def _heard(self, said: Stated) -> dict[str, float]:
        return {
            "user": 1.0,
            "step": float(said.turn in self._steps),
            "value": float(bool(said.matter)),
            "quoted": float(said.turn in self._quoted),
            "code": float(said.code),
            "poor": float(len(terms_in(said.text)) < POOR and not _NUMBER.search(said.text)),
            "pasted": log2(max(1.0, self._long[said.turn] / TYPED_MOST)),
        }

    def _stated(self, said: Stated) -> dict[str, float]:
        text = said.text
        names = self._names[text] if text in self._names else names_in(text)
        past = said.where == "summary" and _THEN.search(said.head) is not None
        reused = sum(self._sights.get(name, _NEVER).last > said.turn for name in names)
        return {
            said.where: 1.0,
            "code": float(said.code),
            "listed": float(bool(said.head)),
            "reasons": float(_REASONS.search(text.lower()) is not None),
            "names": float(bool(names)),
            "reused": float(min(REUSED_MOST, reused)),
            "numbers": float(_NUMBER.search(text) is not None),
            "announces": float(announces(text) or past),
            "poor": float(not names and len(terms_in(text)) < POOR),
            "leads": float(text.endswith(":")),
            "asks": float(text.endswith("?")),
        }


ASKED_RUNGS = (300, 900, 1_400, 1_900, 2_400, 3_000)
"""Characters of the user's words, rendition by rendition: only what is long is shortened."""
CALL_RUNGS = (
    *((100, 80, 0), (100, 160, 160), (260, 320, 330), (260, 320, 500)),
    *((600, 320, shown) for shown in (800, 1_150, *range(1_500, 4_001, 500))),
)
"""Characters of a command, of what an edit did, and of what came of the call. With larger steps a
room of 2,000 tokens was left with a tenth to spare."""
CUT_EDIT = 500
"""Characters from which on a part of an edit's lines can be read."""
CODE_RUNGS = (160, 500, 900)
HEAD_MOST = 120
"""Characters of what introduces a statement."""
CHARACTERS = 3.8
"""Of a token, about: candidates are compared by it, and only what is chosen is counted."""
FRAME = 4
"""Tokens around a line: its mark and its turn."""
RUNG_WORTH = (1.0, 0.8, 0.29, 0.29, *3 * (0.145,), *6 * (0.05,))
"""What a longer rendition adds, against the shortest."""
LENGTH = 0.8
"""How much length counts against value: at 1 only short lines would be taken."""
NOVELTY = 0.62
"""Share of a line's value that is lost where all its words are told already."""
NEWS = 0.5
"""Share of a line's words that a reader must not have yet, for it to tell something."""
FEWEST_NEW = 4
"""Words of a line that must be new in any case: `Done.` is no news."""
LIST_MOST = 600
"""Characters up to which a list is told whole or not at all: items picked out of it say little."""
PASSAGE_MOST = 350
"""Characters up to which sentences that stand together are told together."""
FINDERS = ("Agent", "Sub-agent", "Plan")
MOST_LINES = 8_000
"""Lines that are compared, the newest; statements and calls of older turns have been folded away
more than once."""
VOICES = {
    "said": "User",
    "answer": "Agent",
    "narration": "Agent",
    "thought": "Agent, thinking",
    "report": "Sub-agent",
    "plan": "Plan",
    "summary": "Earlier summary",
    "refusal": "User, refusing",
}
QUOTED = ("User", "Asked")
OVERTAKEN = 0.05
"""What a value is worth that the user gave anew since."""
_GAP, _NEXT = " … ", " · "


class Line(NamedTuple):
    turn: int
    place: int
    voice: str
    """Whose words; empty for a call."""
    rungs: tuple[str, ...]
    value: float
    head: str = ""
    item: bool = False
    """Whether it stands in a list: told behind a point instead of a blank."""
    end: int = 0
    """The place of its last statement."""


class Raise(NamedTuple):
    """One step of the order: a line, and the rendition it is raised to."""

    line: int
    rung: int
    tokens: float
    """More than before, about."""


class Story:
    """All that could be told of a summary's turns, and the order in which it is."""

    def __init__(self, lines: Sequence[Line], known: Iterable[str] = ()) -> None:
        self.lines = lines
        self._known = frozenset(known)

    def order(self, beside: Iterable[Item] = ()) -> tuple[int, Iterator[Raise]]:
        """How many steps there are, and the steps, for somebody who has these items before them:
        what they quote of a turn is not told again, and what they say otherwise is told last."""
        known = set(self._known)
        quoted: dict[int, str] = {}
        for item in beside:
            known |= terms_in(item.text)
            text = letters(item.text)
            for turn in item.turns:
                quoted[turn] = f"{quoted.get(turn, '')} {text}"
        left = [
            number
            for number, line in enumerate(self.lines)
            if line.turn not in quoted or letters(_first_words(line)) not in quoted[line.turn]
        ]
        steps = sum(len(self.lines[number].rungs) for number in left)
        return steps, _ordered(self.lines, left, known)

    def items(self, steps: Iterable[Raise]) -> Iterator[Item]:
        """The lines that these steps tell, one a turn and voice."""
        raised: dict[int, int] = {}
        for step in steps:
            raised[step.line] = step.rung
        told: list[str] = []
        before: Line | None = None
        heads: set[str] = set()
        for number in sorted(raised):
            line = self.lines[number]
            text = line.rungs[raised[number]]
            goes_on = before is not None and _same(before, line)
            if told and not goes_on and before is not None:
                yield _item(before, told)
                told = []
            if goes_on:
                adjoins = before is not None and line.place == before.end + 1
                told.append(_NEXT if line.item else " " if adjoins else _GAP)
            heads = heads if goes_on else set()
            if line.head and line.head not in heads:
                told.append(f"{line.head} ")
                heads.add(line.head)
            told.append(text)
            before = line
        if told and before is not None:
            yield _item(before, told)


def _first_words(line: Line) -> str:
    """All of what was said; of a call its beginning, which longer renditions have as well."""
    return line.rungs[0] if line.voice else line.rungs[0].partition("…")[0]


def levels_of(summary: Summary, told: Iterable[Item]) -> dict[int, Level]:
    """For each turn that a summary knows, how much of it the Story tells."""
    shown: dict[int, str] = {}
    for item in told:
        for turn in item.turns if item.section == "Story" else ():
            shown[turn] = f"{shown.get(turn, '')} {item.text}"
    found: dict[int, Level] = {}
    for line in story_of(summary).lines:
        there = line.rungs[0].rstrip('…`"') in shown.get(line.turn, "")
        if line.turn not in shown:
            found[line.turn] = "mention"
        elif there or line.voice == VOICES["thought"]:  # words are what was said aloud
            found.setdefault(line.turn, "words and calls")
        else:
            found[line.turn] = "statements"
    return found


def line_position(line: int) -> int:
    """Of a line among all that a rendering chooses from: items have those from 0 on."""
    return -1 - line


@remembered
def story_of(summary: Summary) -> Story:
    """The Story of a summary."""
    return Story(lines_of(summary))


def findings_of(summary: Summary, known: Iterable[str]) -> Story:
    """What the agents said that somebody does not know who has these texts before them."""
    told: set[str] = set().union(*map(terms_in, known))
    lines = (line for line in lines_of(summary) if line.voice in FINDERS)
    return Story([line for line in lines if _is_news(line, told)], told)


def _same(before: Line, line: Line) -> bool:
    return bool(line.voice) and (before.turn, before.voice) == (line.turn, line.voice)


def _item(line: Line, told: Sequence[str]) -> Item:
    text = "".join(told)
    text = f'"{text}"' if line.voice in QUOTED else text
    return Item("Story", f"{line.voice}: {text}" if line.voice else text, (line.turn,))


def lines_of(summary: Summary, worth: Worth | None = None) -> list[Line]:
    """In the order of the turns: the user's words, what the agent thought and said, what it did.
    What was said more than once is told where it was said last."""
    worth = worth or Worth(summary)
    overtaken = summary.overtaken()
    elsewhere = {one.text for one in summary.values_now()}
    elsewhere |= {rule.text for rule in summary.instructions if rule.lasts}
    heard = {one.turn for one in summary.statements if one.where == "said"}
    names = _short_names({*summary.files, *summary.reads, *(one.path for one in summary.calls)})
    lines = [
        *(_asked(one, worth) for one in summary.requests if one.turn not in heard),
        *(
            _said(one, worth, overtaken)
            for one in summary.statements[-MOST_LINES:]
            if one.text not in elsewhere
        ),
    ]
    once = {(line.voice, line.head, line.rungs): line for line in lines}
    calls = (_called(one, worth.of(one), names) for one in summary.calls[-MOST_LINES:])
    ordered = sorted((*once.values(), *calls), key=lambda line: (line.turn, line.place))
    return [_together(lines) for lines in _passages(ordered)]


def _passages(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Lists that are short enough in whole, else one by one; and sentences as far as they go."""
    start = 0
    while start < len(lines):
        end = start + 1
        first, size = lines[start], len(lines[start].rungs[0])
        most = LIST_MOST if first.head else PASSAGE_MOST
        while end < len(lines) and _goes_on(lines[end - 1], lines[end]):
            size += len(lines[end].rungs[0])
            if size > most and not first.head:
                break
            end += 1
        whole = size <= most or not first.head
        yield from [lines[start:end]] if whole else ([line] for line in lines[start:end])
        start = end


def _goes_on(before: Line, line: Line) -> bool:
    words = line.voice not in QUOTED and len(before.rungs) == len(line.rungs) == 1
    return (
        words and _same(before, line) and before.head == line.head and line.place == before.end + 1
    )


def _together(lines: Sequence[Line]) -> Line:
    """As dense as its lines are: what is longer is worth more, by as much as length counts."""
    if len(lines) == 1:
        return lines[0]
    first = lines[0]
    text = (_NEXT if first.item else " ").join(line.rungs[0] for line in lines)
    value = sum(line.value for line in lines) / len(lines) * len(lines) ** LENGTH
    return first._replace(rungs=(text,), value=value, end=lines[-1].end)


def told_of(summary: Summary, call: Called) -> Line:
    """One call as the Story tells it."""
    return _called(call, 0.0, _short_names({*summary.files, *summary.reads, call.path}))


def _short_names(paths: Iterable[str]) -> dict[str, str]:
    """For each file the end of its path that no other file has: full paths stand in the table."""
    ends: dict[str, list[str]] = {}
    for path in paths:
        ends.setdefault(path.rpartition("/")[2], []).append(path)
    return {
        path: end if len(found) == 1 else "/".join(path.split("/")[-2:])
        for end, found in ends.items()
        for path in found
    }


def _asked(request: Requested, worth: Worth) -> Line:
    words = one_line(request.text)
    rungs = (cut(words, most) for most in ASKED_RUNGS)
    voice = "User" if request.by == "user" else "Asked"
    return Line(request.turn, -1, voice, tuple(dict.fromkeys(rungs)), worth.of(request), end=-1)


def _said(said: Stated, worth: Worth, overtaken: Mapping[Stated, Stated]) -> Line:
    text = one_line(said.text)
    if said.code:
        rungs = tuple(dict.fromkeys(f"`{cut(text, most)}`" for most in CODE_RUNGS))
    elif said.where == "said":
        rungs = tuple(dict.fromkeys(cut(text, most) for most in ASKED_RUNGS))
    else:
        rungs = (text,)
    value = worth.of(said)
    if (later := overtaken.get(said)) is not None:
        rungs, value = (
            tuple(f"{rung} (replaced in t{later.turn})" for rung in rungs),
            value * OVERTAKEN,
        )
    head = cut(one_line(said.head), HEAD_MOST)
    head = head if not head or head.endswith(":") else f"{head}:"
    voice = VOICES[said.where]
    return Line(said.turn, said.place, voice, rungs, value, head, bool(said.head), said.place)


def _called(call: Called, value: float, names: Mapping[str, str]) -> Line:
    state = {"": "", "waiting": " (no result yet)", "failed": " FAILED"}.get(
        call.state, f" ({call.state})"
    )
    came = one_line(call.came)
    rungs = []
    path = names.get(call.path, call.path)
    joint = "" if call.about.startswith(":") else ": "
    for most, telling, shown in CALL_RUNGS:
        what = _shut(cut(call.what, most), call.what)
        if path:
            what = f"{what} {'in ' if call.kind == 'search' else ''}{path}"
        about = f"{joint}{cut(call.about, telling)}" if call.about else ""
        whole = call.kind != "edit" or len(came) <= shown or shown > CUT_EDIT
        result = f": {_ends(came, shown)}" if came and shown and whole else ""
        rungs.append(f"{what}{about}{state}{result}")
    return Line(call.turn, call.place, "", tuple(dict.fromkeys(rungs)), value, end=call.place)


def _shut(told: str, whole: str) -> str:
    """A cut command with its closing tick."""
    return f"{told}`" if told != whole and told.count("`") % 2 else told


def _ends(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 3].rstrip()} … {text[-2 * most // 3 :].lstrip()}"


def _is_news(line: Line, told: set[str]) -> bool:
    terms = terms_in(line.rungs[0])
    return len(terms - told) >= max(FEWEST_NEW, NEWS * len(terms))


def _ordered(lines: Sequence[Line], left: Iterable[int], before: Iterable[str]) -> Iterator[Raise]:
    """Those that are left, greedy by value per token. What is told makes what is not yet told worth
    less, never more, so that a value that is found to have fallen is put back and the next one
    looked at; until then a line counts as all new, and its words are not looked at."""
    told = set(before)
    heads: set[tuple[int, str]] = set()
    known: dict[tuple[int, int], frozenset[str]] = {}

    def terms(number: int, rung: int) -> frozenset[str]:
        if (number, rung) not in known:
            known[number, rung] = terms_in(lines[number].rungs[rung])
        return known[number, rung]

    def density(number: int, rung: int, fresh: float) -> tuple[float, float]:
        line, before = lines[number], len(lines[number].rungs[rung - 1]) if rung else 0
        tokens = (len(line.rungs[rung]) - before) / CHARACTERS + (0 if rung else FRAME)
        if line.head and (line.turn, line.head) not in heads:
            tokens += len(line.head) / CHARACTERS
        value = line.value * RUNG_WORTH[rung] * (1 - NOVELTY + NOVELTY * fresh)
        return value / max(FRAME, tokens) ** LENGTH, tokens

    def fresh(number: int, rung: int) -> float:
        new = terms(number, rung)
        new = new - terms(number, rung - 1) if rung else new
        return len(new - told) / len(new) if new else 0.0

    heap = [(-density(number, 0, 1.0)[0], number, 0) for number in left]
    heapify(heap)
    while heap:
        _, number, rung = heappop(heap)
        now, tokens = density(number, rung, fresh(number, rung))
        if heap and (-now, number, rung) > heap[0]:
            heappush(heap, (-now, number, rung))
            continue
        yield Raise(number, rung, tokens)
        line = lines[number]
        told |= terms(number, rung)
        if line.head:
            heads.add((line.turn, line.head))
        if rung + 1 < len(line.rungs):
            more = density(number, rung + 1, 1.0)[0]
            heappush(heap, (-min(more, now), number, rung + 1))
