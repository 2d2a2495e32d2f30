"""Questions as people ask them: whether the first hits of `recall` hold a turn of the evidence, and
how long it takes in stores of any size."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import count
from math import log
from pathlib import Path
from shutil import rmtree
from statistics import fmean, median, quantiles
from tempfile import TemporaryDirectory
from zlib import crc32

from msgspec.structs import replace

from bench.corpus import MEGABYTE, Watch, fingerprint, mean_of
from bench.questions import Case, answers, cases_in, window_of
from bench.tables import Table, with_interval
from kedgeline.model import Turn, Value
from kedgeline.session.archive import packed, passages_of
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.store import Entry, Store, words
from kedgeline.store.protocol import open_store

FIRST = (1, 5, 10)
"""Hits looked at."""
LISTED = 50
"""Hits asked for: what comes later counts as not found."""
OURS, EVERYWHERE, BASELINE = "recall", "recall, all sessions", "BM25 over turns"
SIZES = (10, 100, 1_000)
"""MB of text in the stores that times are taken in."""
GOAL = 50
"""Milliseconds."""
ROUNDS = 3
RENAMED = 4
"""Every so many words are others in each copy of a session."""

_NAME = re.compile(r"[A-Za-z]{4,}")


class Asked(Value, frozen=True):
    """One question, and at which place each way has the first turn of its evidence; 0: nowhere."""

    case: str
    id: str
    format: str
    type: str
    tuned: bool
    """Whether weights were chosen by the case, or it was left for judging them."""
    by_keys: bool
    """Whether the evidence is those turns that answer the keys, as nothing says which they are."""
    places: dict[str, int]


class Timed(Value, frozen=True):
    megabytes: float
    """Of text."""
    passages: int
    median: float
    """Milliseconds of a question, the best of three: others may be at work on the machine."""
    p95: float
    processor: float
    """The same of the processor alone, its 95th percentile."""


class Recall(Value, frozen=True):
    version: str
    fingerprint: str
    asked: tuple[Asked, ...]
    timed: tuple[Timed, ...]


def measure(
    folder: Path, *, sizes: Sequence[int] = SIZES, stores: Path | None = None, watch: Watch
) -> Recall:
    """With `stores` those that times are taken in are kept in that folder, and used again: one of a
    gigabyte takes some minutes to write."""
    cases = cases_in(folder)
    with TemporaryDirectory() as place:
        store = open_store(Path(place, "cases"), durability="fast")
        turns = {}
        for case in cases:
            watch(case.name)
            turns[case.name] = window_of(case).turns
            with Session(case.name, store) as session:
                session.append(turns[case.name])
        asked = [
            one
            for number, case in enumerate(cases)
            for one in _asked(store, case, turns[case.name], tuned=number % 2 == 0)
        ]
        store.close()
        questions = [one.question for case in cases for one in case.record.probes]
        told = [turn for one in turns.values() for turn in one]
        kept = stores or Path(place)
        timed = [_timed(kept, told, questions, size, watch) for size in sizes]
    return Recall(
        version=version("kedgeline"),
        fingerprint=fingerprint(folder / "cases"),
        asked=tuple(asked),
        timed=tuple(timed),
    )


# Where the evidence of a question stands in what each way finds.


def _asked(store: Store, case: Case, turns: Sequence[Turn], *, tuned: bool) -> Iterator[Asked]:
    texts = ["\n".join(passage.text for passage in passages_of(turn)) for turn in turns]
    baseline = Baseline(texts)
    for probe in case.record.probes:
        lines = [line - case.begins for line in probe.evidence or probe.evidence_lines]
        evidence = {
            (case.name, turn.index)
            for turn in turns
            if any(turn.source.first <= line <= turn.source.last for line in lines)
        }
        by_keys = not evidence
        if by_keys:
            evidence = {
                (case.name, turn.index)
                for turn, text in zip(turns, texts, strict=True)
                if answers(text, probe.keys)
            }
        found = {
            OURS: _found(store, probe.question, (case.name,)),
            EVERYWHERE: _found(store, probe.question, ()),
            BASELINE: [(case.name, turns[at].index) for at in baseline.found(probe.question)],
        }
        yield Asked(
            case=case.name,
            id=probe.id,
            format=case.record.format,
            type=probe.type,
            tuned=tuned,
            by_keys=by_keys,
            places={
                name: next((n for n, one in enumerate(hits, 1) if one in evidence), 0)
                for name, hits in found.items()
            },
        )


def _found(store: Store, question: str, sessions: Sequence[str]) -> list[tuple[str, int]]:
    query = query_of(question, sessions=sessions, limit=LISTED)
    return [(one.session, one.turn) for one in recall(store, query, lines=0)]


class Baseline:
    """What forty lines do: BM25 over whole turns, words as they stand."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [Counter(words(text)) for text in texts]
        self._sizes = [text.total() for text in self._texts]

    def found(self, question: str) -> list[int]:
        scores = [0.0] * len(self._texts)
        average = sum(self._sizes) / len(self._sizes)
        for word in set(words(question)):
            having = sum(word in text for text in self._texts)
            rare = log(1 + (len(self._texts) - having + 0.5) / (having + 0.5))
            for at, (text, size) in enumerate(zip(self._texts, self._sizes, strict=True)):
                damping = 1.2 * (0.25 + 0.75 * size / average)
                scores[at] += rare * text[word] * 2.2 / (text[word] + damping)
        order = sorted(range(len(scores)), key=lambda at: (-scores[at], -at))
        return [at for at in order if scores[at] > 0][:LISTED]


# How long a question takes in a large store.


def _timed(
    folder: Path, turns: Sequence[Turn], questions: Sequence[str], size: int, watch: Watch
) -> Timed:
    place = folder / f"timed-{size}"
    if not place.exists():
        _fill(place, turns, size, watch)
    watch(f"{size:,} MB: questions")
    store = open_store(place, durability="fast")
    found = store.ask("SELECT count(*), coalesce(sum(size), 0) FROM passage")  # type: ignore[attr-defined]
    took = [_milliseconds(store, question) for question in questions]
    store.close()
    return Timed(
        megabytes=found[0][1] / MEGABYTE,
        passages=found[0][0],
        median=median(clock for clock, _ in took),
        p95=quantiles([clock for clock, _ in took], n=20)[-1],
        processor=quantiles([processor for _, processor in took], n=20)[-1],
    )


def _fill(place: Path, turns: Sequence[Turn], size: int, watch: Watch) -> None:
    """With the sessions again and again, each time with a part of the words renamed: in a larger
    store there are more different words, too. It gets its name once it is whole."""
    growing = place.with_name(f"{place.name}.growing")
    rmtree(growing, ignore_errors=True)
    store = open_store(growing, durability="fast")
    written = 0
    for number in count():
        watch(f"{size:,} MB: {written / MEGABYTE:,.0f}")
        with store.writing(f"copy-{number}") as writing:
            for index, turn in enumerate(turns):
                if written >= size * MEGABYTE:
                    break
                copy = _renamed(turn, number, index)
                made, parts = packed(copy), list(passages_of(copy))
                entry = Entry(
                    kind="turn", data=made.data, index=index, id=made.id, blobs=tuple(made.blobs)
                )
                writing.add(entry, blobs=made.blobs, passages=parts)
                written += sum(len(one.text) for one in parts)
        if written >= size * MEGABYTE:
            break
    store.close()
    growing.rename(place)


def _renamed(turn: Turn, number: int, index: int) -> Turn:
    def text(told: str) -> str:
        return _NAME.sub(lambda name: _name(name[0], number), told)

    results = (replace(one, output=text(one.output)) for one in turn.tool_results)
    return replace(
        turn,
        index=index,
        user_message=text(turn.user_message),
        assistant_response=text(turn.assistant_response),
        thinking=text(turn.thinking),
        tool_results=tuple(results),
    )


def _name(word: str, number: int) -> str:
    return f"{word}{number}" if crc32(word.encode()) % RENAMED == 0 else word


def _milliseconds(store: Store, question: str) -> tuple[float, float]:
    """On the clock, and of the processor alone."""
    took = []
    for _ in range(ROUNDS):
        clock, processor = time.perf_counter(), time.process_time()
        recall(store, query_of(question))
        took.append((time.perf_counter() - clock, time.process_time() - processor))
    best = min(took)
    return 1_000 * best[0], 1_000 * best[1]


# The tables.

HEADER = (
    *("questions", "number", OURS, *(f"first {n}" for n in FIRST[:-1]), "mean reciprocal rank"),
    *(EVERYWHERE, BASELINE, *(f"its first {n}" for n in FIRST[:-1]), "its reciprocal rank"),
)


def tables(found: Recall) -> list[Table]:
    return [
        Table("recall", HEADER, rows(found)),
        Table("recall-times", TIMES, time_rows(found), ""),
    ]


def rows(found: Recall) -> Iterator[tuple[str, ...]]:
    asked = found.asked
    yield _row("all", asked)
    for name, tuned in (("cases the weights were chosen by", True), ("cases held out", False)):
        if chosen := [one for one in asked if one.tuned is tuned]:
            yield _row(name, chosen)
    for kind in sorted({one.type for one in asked}):
        yield _row(kind, [one for one in asked if one.type == kind])
    for name in sorted({one.format for one in asked}):
        yield _row(name, [one for one in asked if one.format == name])


def _row(name: str, asked: Sequence[Asked]) -> tuple[str, ...]:
    return (
        name,
        f"{len(asked)}",
        *_places(asked, OURS),
        _within(asked, EVERYWHERE, FIRST[-1]),
        *_places(asked, BASELINE),
    )


def _places(asked: Sequence[Asked], way: str) -> tuple[str, ...]:
    ranks = [1 / one.places[way] if one.places[way] else 0 for one in asked]
    last, *others = (_within(asked, way, first) for first in reversed(FIRST))
    return (last, *reversed(others), f"{fmean(ranks):.2f}")


def _within(asked: Sequence[Asked], way: str, first: int) -> str:
    parts = [(one.case, float(0 < one.places[way] <= first), 1) for one in asked]
    if first < FIRST[-1] or way == EVERYWHERE:
        return f"{fmean(value for _, value, _ in parts):.2f}"
    return with_interval(mean_of(parts))


TIMES = ("store", "passages", "median", "95th percentile", "of the processor", "goal")


def time_rows(found: Recall) -> Iterator[tuple[str, ...]]:
    for one in found.timed:
        yield (
            f"{one.megabytes:,.0f} MB of text",
            f"{one.passages:,}",
            f"{one.median:.0f} ms",
            f"{one.p95:.0f} ms",
            f"{one.processor:.0f} ms",
            f"≤ {GOAL} ms",
        )


def origin(found: Recall) -> str:
    cases = {one.case: one.tuned for one in found.asked}
    tuned = ", ".join(name for name, chosen in cases.items() if chosen)
    by_keys = sum(one.by_keys for one in found.asked)
    return (
        f"kedgeline {found.version}, {len(cases)} cases. Share of questions with a turn of their "
        f"evidence among the first {FIRST[-1]} hits, in brackets 95 % intervals over sessions. "
        f"Weights were chosen by {tuned}. The evidence of {by_keys} questions stands in no turn: "
        f"there it is the turns that answer the keys. Cases: sha256 `{found.fingerprint}`."
    )
