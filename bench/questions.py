"""Questions about real sessions, each with keys: how many of them a compacted text can answer.

A text answers a question where one alternative of every group of its keys stands within the same
600 characters. That needs no judge and sees neither denial nor nonsense: it compares versions, and
fresh readers have the last word. `sheets` writes what they are given."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from string import ascii_uppercase
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from bench.corpus import Mean, Watch, fingerprint, mean_of
from bench.tables import Table, with_interval
from kedgeline.model import Transcript, Value
from kedgeline.pipeline.handoff import hand_on, summarize
from kedgeline.pipeline.read import read
from kedgeline.tokens import EXACT

SPAN = 600
"""Characters within which all groups of keys must stand."""
HOST = 0
"""In the place of a room: as much as the host's own summary has."""
ROOMS = (HOST, 2_048, 5_000, 10_000, 20_000)
UNHOSTED = 2_048
"""Tokens in its place where there is no host's summary."""
RECORDED = "the host's own summary"


class Question(msgspec.Struct, frozen=True):
    id: str
    type: str
    question: str
    answer: str
    keys: list[list[str]]
    evidence: list[int] = []
    evidence_lines: list[int] = []
    """Lines of `file` (items, where it is one JSON document), from 0; under one name or the
    other."""


class Record(msgspec.Struct, frozen=True):
    """A file of `cases`: a session, where it is cut, and what is asked."""

    session: str
    format: str
    file: str
    probes: list[Question]
    window: str = ""
    """The part of the session in a file of its own; else it is given by lines of `file`."""
    prev_boundary_line: int = 0
    boundary_line: int = 0
    summary_line: int = 0


class Case(NamedTuple):
    name: str
    record: Record
    window: bytes
    recorded: str
    """The host's own summary; empty where there is none."""
    begins: int = 0
    """Line of the file that is the window's first."""

    @property
    def room(self) -> int:
        return len(self.recorded) // 4 or UNHOSTED


class Answered(Value, frozen=True):
    """One text of one case."""

    case: str
    format: str
    hosted: bool
    text: str
    """Whose: the host's, or at which room."""
    tokens: int
    questions: dict[str, str]
    """Those that were asked, with their type."""
    answered: tuple[str, ...]


class Questions(Value, frozen=True):
    version: str
    fingerprint: str
    texts: tuple[Answered, ...]


def cases_in(folder: Path, corpus: Path | None = None) -> list[Case]:
    """All cases of a folder; the sessions they are lines of are in the corpus beside it."""
    found = sorted((folder / "cases").glob("*.json"))
    return [_case(path, folder, corpus or folder.parent / "corpus") for path in found]


def _case(path: Path, folder: Path, corpus: Path) -> Case:
    record = msgspec.json.decode(path.read_bytes(), type=Record)
    if record.window:
        window = (folder / record.window).read_bytes()
        return Case(path.stem, record, window, "", _line_of(window, corpus / record.file))
    lines = (corpus / record.file).read_bytes().split(b"\n")
    window = b"\n".join(lines[record.prev_boundary_line : record.boundary_line]) + b"\n"
    content = msgspec.json.decode(lines[record.summary_line])["message"]["content"]
    if not isinstance(content, str):
        content = "\n".join(block.get("text", "") for block in content)
    return Case(path.stem, record, window, content, record.prev_boundary_line)


def _line_of(window: bytes, path: Path) -> int:
    """Where the window begins in its file; 0 where it is no part of it as it stands (a JSON
    document), or there is no file."""
    before, found, _ = (path.read_bytes() if path.is_file() else b"").partition(window.rstrip())
    return before.count(b"\n") if found else 0


def answers(text: str, keys: Sequence[Sequence[str]]) -> bool:
    """Whether one alternative of every group stands within one span."""
    text = text.lower()
    places = sorted(
        (start, start + len(word), group)
        for group, words in enumerate(keys)
        for word in words
        for start in _places(text, word.lower())
    )
    for number, (first, _, _) in enumerate(places):
        there = {group for _, end, group in places[number:] if end <= first + SPAN}
        if len(there) == len(keys):
            return True
    return False


def _places(text: str, word: str) -> Iterator[int]:
    start = text.find(word)
    while start >= 0:
        yield start
        start = text.find(word, start + 1)


Texts = dict[str, str]
"""By whose they are."""


def texts_of(case: Case, rooms: Sequence[int]) -> Texts:
    """The host's own summary where there is one, and ours at every room. Nothing but the window is
    read for it."""
    summary = summarize(window_of(case))
    texts = {RECORDED: case.recorded} if case.recorded else {}
    for room in rooms:
        texts[label(room)] = hand_on(summary, room or case.room, EXACT.count).text
    return texts


def window_of(case: Case) -> Transcript:
    suffix = Path(case.record.window or case.record.file).suffix
    with TemporaryDirectory() as folder:
        path = Path(folder, f"session{suffix}")
        path.write_bytes(case.window)
        return read(path)


def label(room: int) -> str:
    return f"{room:,}" if room else "at its length"


def measure(
    folder: Path,
    *,
    rooms: Sequence[int] = ROOMS,
    watch: Watch,
    seen: Callable[[Case, Texts], object] | None = None,
    texts: Callable[[Case], Texts] | None = None,
) -> Questions:
    """Every case at every room; `seen` is given the texts. `texts` makes others than ours."""
    made = texts or (lambda case: texts_of(case, rooms))
    found: list[Answered] = []
    for case in cases_in(folder):
        watch(case.name)
        told = made(case)
        if seen:
            seen(case, told)
        found += (_answered(case, whose, text) for whose, text in told.items())
    return Questions(
        version=version("kedgeline"), fingerprint=fingerprint(folder / "cases"), texts=tuple(found)
    )


def _answered(case: Case, whose: str, text: str) -> Answered:
    return Answered(
        case=case.name,
        format=case.record.format,
        hosted=bool(case.recorded),
        text=whose,
        tokens=EXACT.count(text),
        questions={one.id: one.type for one in case.record.probes},
        answered=tuple(one.id for one in case.record.probes if answers(text, one.keys)),
    )


class Sheets:
    """What readers and their grader are given: texts under letters that do not tell whose they are,
    the questions alone, and the answers in a file of their own."""

    def __init__(self, out: Path) -> None:
        self._out = out

    def write(self, case: Case, texts: Texts) -> None:
        folder = self._out / case.name
        folder.mkdir(parents=True, exist_ok=True)
        whose = list(texts)
        random.Random(case.name).shuffle(whose)
        letters = dict(zip(ascii_uppercase, whose, strict=False))
        for letter, one in letters.items():
            (folder / f"{letter}.txt").write_text(texts[one], "utf-8")
        asked = [{"id": one.id, "question": one.question} for one in case.record.probes]
        told = {one.id: one.answer for one in case.record.probes}
        _dump(folder / "questions.json", asked)
        _dump(self._out / "grading" / f"{case.name}.json", {"texts": letters, "answers": told})


def _dump(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1))


class Report:
    """The table: a row for each group of questions, a column for each text."""

    def __init__(self, found: Questions) -> None:
        self._texts = found.texts
        self._columns = tuple(dict.fromkeys(one.text for one in found.texts))

    @cached_property
    def header(self) -> tuple[str, ...]:
        return ("questions", "number", *self._columns)

    def rows(self) -> Iterator[tuple[str, ...]]:
        yield self._row("sessions with a host's summary", lambda one, _: one.hosted)
        yield self._row("other sessions", lambda one, _: not one.hosted)
        for kind in sorted({kind for one in self._texts for kind in one.questions.values()}):
            yield self._row(kind, partial(_is_of_type, kind))
        for name in sorted({one.format for one in self._texts}):
            yield self._row(name, partial(_is_of_format, name))
        yield ("tokens of a text, mean", "", *map(self._tokens, self._columns))

    def _row(self, name: str, takes: Callable[[Answered, str], bool]) -> tuple[str, ...]:
        means = [self._mean(column, takes) for column in self._columns]
        number = max((mean.over for mean in means if mean), default=0)
        return (name, f"{number}", *map(with_interval, means))

    def _mean(self, column: str, takes: Callable[[Answered, str], bool]) -> Mean | None:
        parts = []
        for one in self._texts:
            if one.text == column:
                asked = [id for id, kind in one.questions.items() if takes(one, kind)]
                parts.append((one.case, float(len({*asked} & {*one.answered})), len(asked)))
        return mean_of(parts)

    def _tokens(self, column: str) -> str:
        found = [one.tokens for one in self._texts if one.text == column]
        return f"{sum(found) / len(found):,.0f}"


def _is_of_type(kind: str, one: Answered, asked: str) -> bool:
    return asked == kind


def _is_of_format(name: str, one: Answered, asked: str) -> bool:
    return one.format == name


def tables(found: Questions) -> list[Table]:
    made = Report(found)
    return [Table("questions", made.header, made.rows())]


def origin(found: Questions) -> str:
    cases = {one.case for one in found.texts}
    return (
        f"kedgeline {found.version}, {len(cases)} cases. In brackets 95 % intervals over sessions. "
        f"Cases: sha256 `{found.fingerprint}`."
    )
