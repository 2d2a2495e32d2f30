"""What was said, statement by statement: sentences, items of lists and rows of tables, verbatim.

Nothing is judged here but what says nothing at all. Which statements get room is decided when a
summary is rendered, by what they are worth against all others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from kedgeline.facts.extractor import Setting, of_turn
from kedgeline.facts.requests import said_in
from kedgeline.facts.rules import CLASS, stems
from kedgeline.facts.session import USAGE, reports_in
from kedgeline.model import SUMMARY_TAG, Answered, Speaker, Stated, Turn
from kedgeline.model.fact import Where
from kedgeline.shell import Outcome
from kedgeline.text.prose import announces, cut, one_line, sentences

SAID_MOST = 24_000
"""Characters of one answer that are cut into statements: ten pages."""
THOUGHT_MOST = 6_000
"""Of one turn's thinking, from its end: conclusions come last."""
REPORT_MOST = 16_000
"""Of one sub-agent's report."""
LONGEST = 2_000
"""Characters of one statement; a longer one is pasted."""
CODE_MOST = 900
"""Characters of a block of code: a function with its doc comment."""
TYPED = 1_500
"""Characters of a message in which values are looked for; in a longer one they are pasted."""
BEFORE_ALL = -20_000
"""Place of what the user says: before all that comes of it."""
BEHIND_CALLS = 20_000
"""Place of what a sub-agent reports: behind the call that started it."""

_FENCE = re.compile(r"\s{0,12}(?:```|~~~)")
_ITEM = re.compile(r"(\s*)(?:[-*•+]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$|\s*\*\*([^*]{2,160})\*\*\s*:?\s*$")
_LABELLED = re.compile(
    r"\s{0,8}[^\W\d_][\w '/-]{0,40}:\s\S.{0,57}$|[A-Z][A-Z _-]{2,40}:\s.{1,300}[.!]$"
)
"""A line that says what it is about, in whole."""
_RULE = re.compile(r"\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$")
_DIVIDER = re.compile(r"[\s|:+-]*-[\s|:+-]*$")
_EMPHASIS = re.compile(r"\*\*|(?<!\w)__(?=\w)|(?<=\w)__(?!\w)")
_END = re.compile(r"[.!?…](?<!\.\.)[\"'”’)\]*_`]{0,3} +(?=[^a-z\s])|[。！？]")
_NO_END = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|Mr|Mrs|Ms|Dr|St|No)\.$|^\W{0,4}\d{1,3}\.$",
    re.IGNORECASE,
)
"""A point that ends no sentence: of an abbreviation, or behind the number of a list."""
_LETTERS = re.compile(r"(?:[\W_]*[^\W_]){3}")
"""What says anything has so many."""
_FOLDED = re.compile(r"<details>.*?(?:</details>|\Z)", re.DOTALL)


TEXTS = 16
"""Texts whose pieces are kept: decisions are looked for in what was cut into statements."""


class Piece(NamedTuple):
    text: str
    head: str = ""
    code: bool = False
    listed: bool = False
    """It stands in a list, a table, or behind a label."""


class StatementExtractor:
    """Takes what the user and the agent said and thought, plans, reports of sub-agents, and what
    another system had summarised."""

    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the turns."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Stated]:
        if turn.agent:
            return
        place = BEFORE_ALL
        for said in said_in(turn):
            if said.own and said.to_agent and said.way != "reason":
                found = stated(turn.index, "said", said.text[:SAID_MOST], place=place)
                yield from found
                place += len(found)
            if said.template:
                found = stated(turn.index, "plan", said.template[:SAID_MOST], place=place)
                yield from found
                place += len(found)
        place = 0
        for where, text in _texts(turn):
            found = stated(turn.index, where, text, place=place)
            yield from found
            place += len(found)
        place = BEHIND_CALLS
        for report in reports_in(turn, outcomes):
            text = report.partition(USAGE)[0][:REPORT_MOST]
            found = stated(turn.index, "report", text, place=place)
            yield from found
            place += len(found)


def stated(turn: int, where: Where, text: str, *, place: int = 0) -> list[Stated]:
    """The statements of a text."""
    by: Speaker = "user" if where in ("said", "refusal") else "agent"
    typed = where == "said" and len(text) <= TYPED
    return [
        Stated(
            turn=turn,
            by=by,
            text=piece.text,
            where=where,
            head=piece.head,
            place=place + number,
            code=piece.code,
            matter=matter_of(piece.text) if typed and not piece.code else "",
        )
        for number, piece in enumerate(pieces_of(text))
    ]


_SUMMARY_BEGINS = re.compile(
    r"\A(?:This session is being continued|Another language model started)[^\n]*\n*"
)
"""What a client says before a summary of its own."""


def _texts(turn: Turn) -> Iterator[tuple[Where, str]]:
    for note in turn.notes:
        if note.kind == "summary" and SUMMARY_TAG not in note.text[:200]:
            yield "summary", _SUMMARY_BEGINS.sub("", note.text)[:SAID_MOST]
        elif note.kind == "plan":
            yield "plan", note.text[:SAID_MOST]
    for result in turn.tool_results:
        if result.reason:
            yield "refusal", result.reason[:SAID_MOST]
    if turn.thinking:
        yield "thought", turn.thinking[-THOUGHT_MOST:]
    if turn.assistant_response:
        said = ends_of(without_folded(turn.assistant_response))
        yield "answer" if closes(turn) else "narration", said


def without_folded(text: str) -> str:
    """A text without what an export folds away: calls and their results."""
    return _FOLDED.sub("", text) if "<details>" in text else text


def ends_of(text: str) -> str:
    """Of a very long answer a third from its beginning and the rest from its end, whole lines where
    it has some: what came of it stands last."""
    if len(text) <= SAID_MOST:
        return text
    head, tail = text[: SAID_MOST // 3], text[-2 * SAID_MOST // 3 + 2 :]
    begins, ends = head.rpartition("\n")[0], tail.partition("\n")[2]
    return f"{begins or head}\n\n{ends or tail}"


@lru_cache(maxsize=TEXTS)
def pieces_of(text: str) -> tuple[Piece, ...]:
    """A text cut at its sentences, items, rows and blocks of code, each with what introduces it."""
    return tuple(piece for piece in _Cutting().cut(text) if _LETTERS.match(piece.text[:80]))


class _Cutting:
    """Reads a text line by line; remembers the heading, and what opens a list."""

    def __init__(self) -> None:
        self._heading = ""
        self._lead = ""
        """The sentence or item before a list, which ends in a colon."""
        self._depth = -1
        """How far in the item stands that is the lead."""
        self._leads = False
        """Whether anything stands below it yet: a lead with nothing below is a statement."""
        self._columns = ""
        self._prose: list[str] = []
        self._item = ""
        self._indent = 0

    def cut(self, text: str) -> Iterator[Piece]:
        code: list[str] | None = None
        for line in text.split("\n"):
            if _FENCE.match(line):
                yield from self._flush()
                if code is not None:
                    yield from self._block(code)
                code = [] if code is None else None
            elif code is not None:
                code.append(line)
            else:
                yield from self._line(line)
        yield from self._flush()
        if code:
            yield from self._block(code)
        yield from self._led("")

    def _line(self, line: str) -> Iterator[Piece]:
        bare = line.strip()
        if not bare or _RULE.match(line):
            yield from self._flush()
            self._columns = ""
        elif bare[0] == "|":
            yield from self._flush()
            if self._depth >= 0:
                yield from self._led("")
            yield from self._row(bare)
        elif heading := _HEADING.match(line):
            yield from self._flush()
            yield from self._led("")
            self._heading = _plain(heading[1] or heading[2] or "").rstrip(":")
        elif item := _ITEM.match(line):
            yield from self._flush()
            self._indent, self._item = len(item[1]), item[2]
            if self._indent <= self._depth:
                yield from self._led("")
        elif _LABELLED.match(line):
            yield from self._flush()
            yield self._below(_plain(bare))
        elif self._item and line[:1].isspace():
            self._item += f" {bare}"
        else:
            if self._item:
                yield from self._flush()
            self._prose.append(bare)

    def _row(self, line: str) -> Iterator[Piece]:
        if _DIVIDER.match(line):
            return
        cells = _plain(" | ".join(cell.strip() for cell in line.strip("|").split("|")))
        if not self._columns:
            self._columns = cells
        else:
            yield self._below(cells, self._columns)

    def _block(self, code: Sequence[str]) -> Iterator[Piece]:
        if self._depth >= 0:
            yield from self._led("")
        body = "\n".join(code).strip("\n")
        if body.strip():
            yield self._below(body[:CODE_MOST])._replace(code=True)

    def _flush(self) -> Iterator[Piece]:
        """What was gathered, item or prose."""
        if self._item:
            text, self._item = _plain(self._item)[:LONGEST], ""
            if text.endswith(":"):
                yield from self._led(text, self._indent)
            else:
                yield self._below(text)
        if self._prose:
            text, self._prose = _plain(" ".join(self._prose)), []
            *found, last = sentences_of(text) if text else ("",)
            yield from self._led("")
            yield from (Piece(sentence[:LONGEST], self._heading) for sentence in found)
            if last.endswith(":"):
                yield from self._led(last[:LONGEST])
            elif last:
                yield Piece(last[:LONGEST], self._heading)

    def _led(self, lead: str, depth: int = -1) -> Iterator[Piece]:
        """Put another lead in the place of the last one."""
        if self._lead and not self._leads:
            yield Piece(self._lead, self._heading)
        self._lead, self._depth, self._leads = lead, depth, False

    def _below(self, text: str, columns: str = "") -> Piece:
        self._leads = self._leads or _LETTERS.match(text[:80]) is not None
        return Piece(text[:LONGEST], self._lead or self._heading or columns, listed=True)


def sentences_of(line: str) -> Iterator[str]:
    """The sentences of a line. A point inside a name ends none."""
    start = 0
    for end in _END.finditer(line):
        sentence = line[start : end.end()].strip()
        if not _NO_END.search(sentence):
            yield sentence
            start = end.end()
    if rest := line[start:].strip():
        yield rest


def _plain(text: str) -> str:
    line = one_line(text)
    return _EMPHASIS.sub("", line) if "**" in line or "__" in line else line


# Which matter a sentence of the user's gives a value for: "my budget is 4,000", "Seat: aisle".

VALUES_LONGEST = 300
"""Characters of a sentence that gives a value."""
MOST_WORDS = 5
"""Words of substance that name a matter; a sentence with more before its verb tells something."""
NAMED = 2
"""Words of substance beside a name: "we use A" and "we use B" may both hold."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = (
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\b{_MONTH}\.? \d{{1,2}}\b"
    rf"|\b\d{{1,2}}\.? {_MONTH}\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:today|tomorrow|tonight)\b"
)
_MONEY = r"[$€£¥]\s?\d[\d,.]*"
_VALUE = re.compile(
    rf"(?i:(?P<day>{_DAY})|(?P<clock>\b\d{{1,2}}(?::\d\d| ?[ap]m\b)))|(?P<amount>{_MONEY})"
    r"|(?P<name>https?://\S+|`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|(?<= )[A-Z]\w+"
    r"|(?<![\w.])(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])[\w./-]*\w)"
    r"|(?P<number>\d[\d,.]*)"
)
_KINDS = {"number": "amount"}
_LABEL = re.compile(r"\s*(?:[-*•+]\s+)?(?P<subject>[^\W\d_][\w '/-]{0,40}?)\s*[:=]\s+(?=\S)")
_VALUES_ORDERS = re.compile(
    r"(?:and |the )?(?:next|now|then|first|second|third|last|finally|also|todo|note|ps|btw|update"
    r"|question|answer|step \d+|task)(?: (?:one|step|task|thing))?|(?:one|another) more(?: thing)?",
    re.IGNORECASE,
)
"""What only says that a request follows: the next one replaces no other."""
_VALUES_VERB = re.compile(
    r"\s(?:is|are|will be|should be|=|(?:has |have |is |was )?(?:changed|moved|switched|set) to"
    r"|(?:is|are) now)\s",
    re.IGNORECASE,
)
_CALLED = re.compile(r"^(?:please )?call me (?=[A-Z])", re.IGNORECASE)
_OWN = re.compile(r"\b(?:i|i'm|i'd|me|my|we|us|our|ours|mine)\b", re.IGNORECASE)
_VALUES_CLAUSE = re.compile(r"[;!]|\.\s")
_WORD = re.compile(r"[^\W_][\w'-]*")


def matter_of(sentence: str) -> str:
    """What a sentence gives a value for; empty where it gives none. What is to be kept and has no
    other value, as far as anyone can tell, is a matter of its own."""
    text = sentence[: VALUES_LONGEST + 1].replace("’", "'").strip()
    if len(text) > VALUES_LONGEST or text.endswith("?"):
        return ""
    noted = CLASS.match(text)
    text = _CALLED.sub("My name is ", text[noted.end() :] if noted else text)
    found = ""
    label = _LABEL.match(text)
    if label and _VALUES_ORDERS.fullmatch(label["subject"].strip()):
        return ""
    if label:
        found = _matter(label["subject"], text[label.end() :], needed=False)
    elif verb := _VALUES_VERB.search(text):
        before = text[: verb.start()]
        found = _matter(before, text[verb.end() - 1 :], needed=not _OWN.search(before))
    kind = _kind(text) if _OWN.search(text) else ""
    if found or not (kind or noted):
        return found
    bare = _VALUE.sub(" ", text)
    told = kind and len(set(stems(bare))) >= (NAMED if kind == "name" else 1)
    return f"{_frame(bare)}|{kind}" if told else f"{_frame(text)}|noted"


def _frame(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _matter(subject: str, rest: str, *, needed: bool) -> str:
    words = sorted(set(stems(subject)))
    kind = _kind(_VALUES_CLAUSE.split(rest, 1)[0])
    if not 0 < len(words) <= MOST_WORDS or (needed and not kind):
        return ""
    return f"{' '.join(words)}|{kind}"


def _kind(text: str) -> str:
    found = _VALUE.search(text)
    kind = (found.lastgroup or "") if found else ""
    return _KINDS.get(kind, kind)


# Closing answers: where the agent says what came of a request and calls nothing more.

ANSWERS_SHOWN = 400
"""Characters of the answer."""
WHOLE = 400
"""Characters at its end, where it asks or offers what short words reply to."""
ANSWERS_TAIL = 1_000
"""Characters at its end in which a question to the user stands; options may follow it."""
_TO_THE_USER = re.compile(
    r"\b(?:you|your|want me|shall i|should (?:i|we)|do i|may i|can i|prefer)\b", re.IGNORECASE
)


@of_turn
def closes(turn: Turn) -> bool:
    """Whether a turn says what came of a request. One whose last sentence announces a call was cut
    off before it."""
    if turn.tool_calls:
        return False
    last = [*sentences(turn.assistant_response.rstrip()[-ANSWERS_SHOWN:])][-1:]
    return not any(map(announces, last))


def _asks(words: str) -> bool:
    """Whether an answer ends with a question, or puts one to the user near its end."""
    if words.rstrip("*_)` ").endswith("?"):
        return True
    last = words[-ANSWERS_TAIL:]
    asked = (one for one in sentences(last) if one.endswith("?")) if "?" in last else ()
    return any(map(_TO_THE_USER.search, asked))


class AnswerExtractor:
    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the turns."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Answered]:
        words = turn.assistant_response.strip()
        if words and closes(turn):
            yield Answered(
                turn=turn.index,
                by="agent",
                text=cut(one_line(words[: 4 * ANSWERS_SHOWN]), ANSWERS_SHOWN),
                asks=_asks(words),
                whole=one_line(words[-4 * WHOLE :])[-WHOLE:],
            )
