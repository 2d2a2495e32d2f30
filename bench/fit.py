"""Weights of what a line of the Story is worth, fitted on what sessions used again later.

A session is cut at several places. A later sentence, of the user or the agent, needs what stood
before the cut where it joins two words that are rare there, that one earlier line joins too, and
that nothing has brought since: neither the user nor a result. What the other sections tell, the
Story need not. A line is of use where it joins the two words of such a need, a thought only where
nothing said aloud does. Names alone do not count: a heap of them joins nothing. Which weights make
a line of use is a logistic regression; what a Story then tells is measured on other sessions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from math import exp, log
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.corpus import Corpus, Mean, Origin, Session, Watch, mean_of
from bench.questions import cases_in
from bench.replay.names import HORIZON, SHARES, Cut, before
from bench.tables import Table, origin_line, with_interval
from kedgeline.errors import SourceUnreadable
from kedgeline.model import Called, Stated, Summary, Turn, Value
from kedgeline.pipeline.handoff import summarize
from kedgeline.summary import items_of
from kedgeline.summary.story import Line, Story, Weights, Worth, lines_of, terms_in, weights

LEAST_TURNS, LEAST_AFTER = 12, 4
LEAST_NEEDS = 3
"""Of a cut: with fewer nothing can be told."""
RAREST = 6
"""Words of a later sentence that are paired, the rarest."""
RARE = 0.06
"""Share of the lines before a cut in which a rare word stands at the most."""
SENTENCE = 600
"""Characters of a later sentence; more is pasted."""
STEM = 6
"""Letters by which words are the same."""
CAME = 160
"""Characters of what came of a call: about what a Story tells of it."""
FOLDS = 5
RIDGE = 3.0
"""How strongly weights are held near 0: a few lines that say otherwise."""
ROUNDS, CLOSE = 12, 1e-3
LEVEL = "answer"
"""The kind of lines that all others are fitted against."""
ROOMS = (1_200, 3_500, 7_500)
"""Tokens of a Story: about what hand-offs of 2,048, 5,000 and 10,000 have for it."""

_NAME = re.compile(r"\w[\w.-]*\w|\w")

Pair = tuple[str, str]
Given = Mapping[str, float]
Needs = Mapping[Pair, float]
"""What later sentences need, a sentence counting one in all."""


class Row(NamedTuple):
    """A statement or call before a cut."""

    signals: Given
    used: bool


class Sample(NamedTuple):
    session: str
    summary: Summary
    needs: Needs

    @property
    def fold(self) -> int:
        """The same for the same session, on any machine."""
        return sum(self.session.encode()) % FOLDS


class Weight(Value, frozen=True):
    name: str
    lines: int
    """That have the signal."""
    used: float
    """In the weights that are in use."""
    fitted: float
    low: float
    high: float
    """The least and the most over the folds."""


class Told(Value, frozen=True):
    """Of what is needed, what a Story of a room tells."""

    room: int
    in_use: Mean
    fitted: Mean
    """By weights of other sessions."""
    gained: Mean


class Fit(Value, frozen=True):
    origin: Origin
    sessions: int
    cuts: int
    lines: int
    needed: int
    """Lines of use."""
    weights: tuple[Weight, ...]
    told: tuple[Told, ...]
    proposed: Weights


def measure(corpus: Path, questions: Path | None = None, *, watch: Watch) -> Fit:
    """Fit on the sessions of a folder but those that questions are asked about."""
    read = Corpus(corpus, watch=watch, counter=None)
    samples = list(_samples(read, questions))
    if not samples:
        raise SourceUnreadable(str(corpus), "no session there is long enough to be cut")
    rows = [tuple(rows_of(sample)) for sample in samples]
    every = [row for group in rows for row in group]
    used, folds = weights(), []
    for fold in range(FOLDS):
        watch(f"fold {fold + 1} of {FOLDS}")
        others = (group for one, group in zip(samples, rows, strict=True) if one.fold != fold)
        folds.append(fitted(others, used.signals))
    whole = fitted(rows, used.signals)
    sessions = len({one.session for one in samples})
    watch("Stories")
    return Fit(
        origin=read.origin(),
        sessions=sessions,
        cuts=len(samples),
        lines=len(every),
        needed=sum(row.used for row in every),
        weights=tuple(
            Weight(
                name=name,
                lines=sum(bool(row.signals.get(name)) for row in every),
                used=value,
                fitted=whole[name],
                low=min(fold[name] for fold in folds),
                high=max(fold[name] for fold in folds),
            )
            for name, value in used.signals.items()
        ),
        told=tuple(_told(samples, used, folds)),
        proposed=Weights(
            of=f"{datetime.now(UTC):%Y-%m-%d}, {len(samples)} cuts of {sessions} sessions, "
            f"corpus sha256 {read.origin().fingerprint}",
            signals={name: round(value, 2) for name, value in whole.items()},
            given=used.given,
        ),
    )


def _samples(corpus: Corpus, questions: Path | None) -> Iterator[Sample]:
    """Cuts of sessions that nothing is asked about. The same request in another file is the same
    task: it is taken once, and not at all where questions are asked about it."""
    cases = cases_in(questions, corpus.folder) if questions else []
    asked = {case.record.file for case in cases}
    seen: set[str] = set()
    for one in sorted(corpus, key=lambda one: one.file not in asked):
        first = next((turn.user_message for turn in one.transcript.turns if turn.user_message), "")
        if one.file not in asked and first not in seen:
            yield from samples_of(one)
        seen.add(first)


def samples_of(session: Session) -> Iterator[Sample]:
    """What stood before each cut of a session, and what was needed of it."""
    turns = session.transcript.turns
    if len(turns) < LEAST_TURNS:
        return
    said: defaultdict[int, list[str]] = defaultdict(list)
    for one in summarize(session.transcript).statements:
        if one.where in ("said", "answer", "narration") and not one.code:
            said[one.turn].append(one.text[:SENTENCE])
    for share in SHARES:
        turn = int(len(turns) * share)
        cut = Cut(where="fair", turn=turn, end=min(len(turns), turn + HORIZON))
        if cut.end - cut.turn < LEAST_AFTER:
            continue
        summary = summarize(before(session.transcript, cut))
        needs = needs_of(summary, turns[cut.turn : cut.end], said)
        if sum(needs.values()) >= LEAST_NEEDS:
            yield Sample(session.key, summary, needs)


def needs_of(summary: Summary, later: Iterable[Turn], said: Mapping[int, Sequence[str]]) -> Needs:
    """Pairs of rare words that a later sentence and one line before join."""
    lines = [words_in(f"{line.head} {line.rungs[-1]}") for line in lines_of(summary)]
    places: defaultdict[str, set[int]] = defaultdict(set)
    for number, words in enumerate(lines):
        for word in words:
            places[word].add(number)
    most = max(LEAST_NEEDS, RARE * len(lines))
    found: defaultdict[Pair, float] = defaultdict(float)
    brought: set[str] = set()
    for turn in later:
        for sentence in said.get(turn.index, ()):
            known = [one for one in words_in(sentence) if 0 < len(places[one]) <= most]
            known = sorted(known, key=lambda one: (len(places[one]), one))[:RAREST]
            pairs = [
                (one, other)
                for one, other in combinations(sorted(known), 2)
                if not brought.issuperset((one, other)) and places[one] & places[other]
            ]
            for pair in pairs:
                found[pair] += 1 / len(pairs)
        brought |= words_in("\n".join((turn.user_message, *(r.output for r in turn.tool_results))))
    elsewhere = _joined_elsewhere(summary, found)
    return {pair: min(1.0, much) for pair, much in found.items() if pair not in elsewhere}


def _joined_elsewhere(summary: Summary, needs: Needs) -> set[Pair]:
    found: set[Pair] = set()
    for item in items_of(summary):
        longest = item.raised(item.rungs - 1)
        found |= joined(words_in(f"{longest.text} {longest.detail}"), needs)
    return found


def words_in(text: str) -> set[str]:
    """Words by their stem; names, numbers and paths as they are."""
    told = {word[:STEM] for word in terms_in(text) if word.isalpha()}
    return told | {name for name in _NAME.findall(text.casefold()) if not name.isalpha()}


def joined(words: set[str], needs: Needs) -> set[Pair]:
    """The needs whose two words are among these."""
    return {pair for pair in needs if pair[0] in words and pair[1] in words}


def rows_of(sample: Sample) -> Iterator[Row]:
    worth = Worth(sample.summary)
    lines: tuple[Stated | Called, ...] = (*sample.summary.statements, *sample.summary.calls)
    found = [joined(words_in(_text(line)), sample.needs) for line in lines]
    aloud = set().union(
        *(pairs for line, pairs in zip(lines, found, strict=True) if not _is_thought(line))
    )
    for line, pairs in zip(lines, found, strict=True):
        yield Row(worth.signals(line), bool(pairs - aloud if _is_thought(line) else pairs))


def _text(line: Stated | Called) -> str:
    if isinstance(line, Called):
        return f"{line.what} {line.path} {line.about} {line.came[:CAME]}"
    return f"{line.head} {line.text}"


def _is_thought(line: Stated | Called) -> bool:
    return isinstance(line, Stated) and line.where == "thought"


def fitted(samples: Iterable[Sequence[Row]], names: Iterable[str]) -> dict[str, float]:
    """Weights of these names by logistic regression, held near 0 (Newton's method). How much is
    needed at all differs from cut to cut and says nothing of a line: it is taken as it is."""
    places = {LEVEL: 0}
    data = []
    for rows in samples:
        used = sum(row.used for row in rows)
        usual = log((used + 0.5) / (len(rows) - used + 0.5))
        for row in rows:
            signals = {
                places.setdefault(name, len(places)): much
                for name, much in row.signals.items()
                if much
            }
            data.append(([*(signals | {0: 1.0}).items()], usual, row.used))
    found = [0.0] * len(places)
    for _ in range(ROUNDS):
        step = _newton(data, found)
        found = [old + more for old, more in zip(found, step, strict=True)]
        if max(map(abs, step)) < CLOSE:
            break
    return {name: found[places[name]] if name in places else 0.0 for name in names}


def _newton(
    data: Iterable[tuple[list[tuple[int, float]], float, bool]], found: Sequence[float]
) -> list[float]:
    slope = [-RIDGE * one for one in found]
    bend = [[RIDGE * (row == column) for column in range(len(found))] for row in range(len(found))]
    for signals, usual, used in data:
        chance = 1 / (1 + exp(-usual - sum(found[place] * much for place, much in signals)))
        spread = chance * (1 - chance)
        for place, much in signals:
            slope[place] += (used - chance) * much
            row = bend[place]
            for other, more in signals:
                row[other] += spread * much * more
    return _solved(bend, slope)


def _solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """By elimination; the matrix is symmetric and positive."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place, pivot in enumerate(rows):
        for other in rows:
            if other is not pivot:
                much = other[place] / pivot[place]
                other[:] = [a - much * b for a, b in zip(other, pivot, strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(rows)]


def _told(samples: Iterable[Sample], used: Weights, folds: Sequence[Given]) -> Iterator[Told]:
    parts: defaultdict[tuple[int, str], list[tuple[str, float, int]]] = defaultdict(list)
    for sample in samples:
        now = told(sample, used.all)
        then = told(sample, {**used.given, **folds[sample.fold]})
        for room in ROOMS:
            parts[room, "in_use"].append((sample.session, now[room], 1))
            parts[room, "fitted"].append((sample.session, then[room], 1))
            parts[room, "gained"].append((sample.session, then[room] - now[room], 1))
    for room in ROOMS:
        means = {name: mean_of(parts[room, name]) for name in ("in_use", "fitted", "gained")}
        yield Told(room=room, **{name: mean for name, mean in means.items() if mean})


def told(sample: Sample, given: Given) -> dict[int, float]:
    """By room, the share of the needs that a Story with these weights joins within a turn."""
    story = Story(lines_of(sample.summary, Worth(sample.summary, given)))
    raised: dict[int, int] = {}
    found: dict[int, float] = {}
    taken = 0.0
    for step in story.order()[1]:
        for room in ROOMS:
            if taken <= room < taken + step.tokens:
                found[room] = _share(story.lines, raised, sample.needs)
        taken += step.tokens
        raised[step.line] = step.rung
    whole = _share(story.lines, raised, sample.needs)
    return {room: found.get(room, whole) for room in ROOMS}


def _share(lines: Sequence[Line], raised: Mapping[int, int], needs: Needs) -> float:
    turns: defaultdict[int, set[str]] = defaultdict(set)
    for number, rung in raised.items():
        line = lines[number]
        turns[line.turn] |= words_in(f"{line.head} {line.rungs[rung]}")
    found = set().union(*(joined(words, needs) for words in turns.values()))
    return sum(needs[pair] for pair in found) / sum(needs.values())


def write_weights(found: Fit, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found.proposed), indent=1) + b"\n")


SIGNALS = ("signal", "lines", "in use", "fitted", "over the folds")
STORIES = ("tokens of the Story", "weights in use", "fitted on other sessions", "difference")


def tables(found: Fit) -> list[Table]:
    return [
        Table("fit", SIGNALS, _signal_rows(found), ""),
        Table("fit-stories", STORIES, _story_rows(found)),
    ]


def _signal_rows(found: Fit) -> Iterator[tuple[str, ...]]:
    for one in found.weights:
        over = f"{one.low:.2f} to {one.high:.2f}"
        yield one.name, f"{one.lines:,}", f"{one.used:.2f}", f"{one.fitted:.2f}", over


def _story_rows(found: Fit) -> Iterator[tuple[str, ...]]:
    for one in found.told:
        yield f"{one.room:,}", *map(with_interval, (one.in_use, one.fitted, one.gained))


def origin(found: Fit) -> str:
    return (
        f"{found.lines:,} lines before {found.cuts} cuts of {found.sessions} sessions, "
        f"{found.needed:,} of them of use later. {origin_line(found.origin)}"
    )
