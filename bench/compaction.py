"""Anchors and compactions over a folder of sessions: how many, how much freed, what is broken."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.corpus import (
    MEGABYTE,
    Corpus,
    Mean,
    Origin,
    Resampling,
    Watch,
    child,
    mean_of,
    write_session,
)
from bench.tables import NOTHING, Table, origin_line, with_interval
from kedgeline.anchors import Finder
from kedgeline.errors import SourceUnreadable
from kedgeline.model import (
    ANCHOR_TYPES,
    Anchor,
    Compaction,
    Transcript,
    Turn,
    Value,
    Verb,
)
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.job import ConversationFlow, budget_for, flow_of
from kedgeline.pipeline.read import read_all, write
from kedgeline.pipeline.view import PROVIDERS, problems, view
from kedgeline.planning import POLICY

WINDOWS = (8_000, 32_000, 100_000, 200_000)
"""Tokens of the windows compacted for: from what a small local model has to what most agents run
with."""
LEAST_TURNS = 5
"""Shorter sessions are left out of the reductions (success criterion 5 of seed 001)."""
LOOKING: frozenset[Verb] = frozenset({"read", "search", "web_search", "web_fetch"})
CHANGING: frozenset[Verb] = frozenset({"write", "edit", "delete", "move"})
LOOKING_SHARE = 0.8
"""A session is research-like when so many of its calls only look and none changes a file."""
STRETCH = 2_000
"""Turns timed at the beginning and at the end of a long session."""
RESEARCH = "research-like, of all formats"
ALL = "all"
"""The kind of every session, and the type of every anchor."""
PER = 100
"""Turns for which anchors are counted."""


class Found(Value, frozen=True):
    """Anchors in one kind of session."""

    kind: str
    sessions: int
    turns: int
    by_type: dict[str, int]
    natural: int
    """Sessions with at least one natural anchor."""
    per_100: dict[str, Mean]
    """Anchors per 100 turns, by type; `all` is all of them."""
    natural_share: Mean | None


class Squeezed(Value, frozen=True):
    """Compactions of all sessions that do not fit a window."""

    window: int
    reductions: tuple[float, ...]
    """Share of the context freed, ascending."""
    freed: Mean | None
    """Their mean."""
    enough: Mean | None
    """Share of the sessions of which so much is freed that no warning is given."""
    over_budget: int
    masked: int
    violations: int
    """Problems in the rebuilt lists, over all providers."""


class Compactions(Value, frozen=True):
    origin: Origin
    found: tuple[Found, ...]
    squeezed: tuple[Squeezed, ...]
    plan_megabytes: float
    plan_turns: int
    plan_seconds: float
    plan_memory: float
    growth: float
    """Cost of a turn at the end of a long session over its cost at the beginning, for anchors."""


class Seen(NamedTuple):
    """One session: how long it is, and its anchors."""

    session: str
    turns: int
    natural: tuple[Anchor, ...]


class Done(NamedTuple):
    """One session compacted for one window, with the problems of its lists."""

    session: str
    compaction: Compaction
    wrong: int


def measure(folder: Path, *, large: int, watch: Watch) -> Compactions:
    """Measure over every session below a folder, and one synthetic session of `large` bytes."""
    corpus = Corpus(folder, watch=watch)
    kinds: defaultdict[str, list[Seen]] = defaultdict(list)
    made: defaultdict[int, list[Done]] = defaultdict(list)
    for session in corpus:
        transcript = session.transcript
        flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
        natural = tuple(one for one in flow.anchor_points if not one.synthetic)
        for kind in _kinds(transcript):
            kinds[kind].append(Seen(session.key, len(transcript.turns), natural))
        for window, compaction, wrong in _compacted(transcript, flow):
            made[window].append(Done(session.key, compaction, wrong))
    if not corpus.sessions:
        raise SourceUnreadable(str(folder), "no sessions there")
    watch(f"a session of {large / MEGABYTE:,.0f} MB")
    turns, size, memory, seconds = _planned(large)
    return Compactions(
        origin=corpus.origin(),
        found=tuple(_found(kind, rows) for kind, rows in _sorted(kinds)),
        squeezed=tuple(_squeezed(window, made[window]) for window in WINDOWS),
        plan_megabytes=size / MEGABYTE,
        plan_turns=turns,
        plan_seconds=seconds,
        plan_memory=memory,
        growth=_growth(),
    )


def _kinds(transcript: Transcript) -> Iterator[str]:
    yield from (transcript.format, ALL)
    verbs = Counter(call.verb for turn in transcript.turns for call in turn.tool_calls)
    looking = sum(verbs[verb] for verb in LOOKING)
    changing = any(verbs[verb] for verb in CHANGING)
    if looking and not changing and looking >= LOOKING_SHARE * verbs.total():
        yield RESEARCH


def _compacted(
    transcript: Transcript, flow: ConversationFlow
) -> Iterator[tuple[int, Compaction, int]]:
    """A compaction for each window the session does not fit, with the problems of its lists."""
    if len(transcript.turns) < LEAST_TURNS:
        return
    for window in WINDOWS:
        budget = budget_for(transcript, window)
        if sum(turn.tokens for turn in transcript.turns) <= budget.usable:
            return
        made = compact(transcript, budget, flow=flow)
        wrong = 0
        for provider in PROVIDERS:
            there = compact(transcript, budget, provider=provider, flow=flow)
            written = write(view(transcript, there), to=provider)
            wrong += len(problems(provider, written.messages))
        yield window, made, wrong


def _sorted(kinds: Mapping[str, Sequence[Seen]]) -> list[tuple[str, Sequence[Seen]]]:
    """By name, and all sessions together at the end."""
    return sorted(kinds.items(), key=lambda one: (one[0] == ALL, one[0]))


def _found(kind: str, rows: Sequence[Seen]) -> Found:
    by_type = Counter[str](anchor.type for row in rows for anchor in row.natural)
    drawn = Resampling(row.session for row in rows)
    rates = {name: drawn.mean(_anchors(rows, name)) for name in (*ANCHOR_TYPES, ALL)}
    return Found(
        kind=kind,
        sessions=len(rows),
        turns=sum(row.turns for row in rows),
        by_type=dict(by_type),
        natural=sum(1 for row in rows if row.natural),
        per_100={name: rate for name, rate in rates.items() if rate is not None},
        natural_share=drawn.mean((row.session, float(bool(row.natural)), 1) for row in rows),
    )


def _anchors(rows: Sequence[Seen], name: str) -> Iterator[tuple[str, float, int]]:
    for row in rows:
        count = sum(name in (ALL, anchor.type) for anchor in row.natural)
        yield row.session, float(PER * count), row.turns


def _squeezed(window: int, done: Sequence[Done]) -> Squeezed:
    freed = [(one.session, one.compaction.context_reduction, 1) for one in done]
    least = POLICY.least_reduction
    return Squeezed(
        window=window,
        reductions=tuple(sorted(share for _, share, _ in freed)),
        freed=mean_of(freed),
        enough=mean_of((session, float(share >= least), 1) for session, share, _ in freed),
        over_budget=sum(one.compaction.plan.over_budget for one in done),
        masked=sum(len(one.compaction.plan.masked) for one in done),
        violations=sum(one.wrong for one in done),
    )


def _planned(size: int) -> tuple[int, int, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        turns = write_session(path, size)
        memory, seconds = child(
            ["-m", "kedgeline", "plan", "--json", "--window", "200k", str(path)]
        )
        return turns, path.stat().st_size, memory, seconds


def _growth() -> float:
    """The same turns again and again: those that come last must cost what the first cost."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, MEGABYTE)
        block = read_all(path, counter=None)[0].turns
    finder = Finder()
    turns = (block[number % len(block)] for number in range(100_000))
    spent = [
        _seconds(finder, [turn for turn, _ in zip(turns, range(STRETCH), strict=False)])
        for _ in range(100_000 // STRETCH)
    ]
    return min(spent[-5:]) / min(spent[:5])


def _seconds(finder: Finder, turns: Sequence[Turn]) -> float:
    begun = time.process_time()
    for turn in turns:
        finder.add(turn)
    return time.process_time() - begun


# The tables of `kedgeline bench compaction`.

FOUND = (
    "sessions of",
    "sessions",
    "turns",
    *(f"{name.replace('_', ' ')} per 100" for name in ANCHOR_TYPES),
    "all per 100",
    "with a natural anchor",
)
SQUEEZED = (
    "window",
    "sessions that do not fit",
    "freed: least",
    "lower tenth",
    "median",
    "upper tenth",
    "mean",
    f"{100 * POLICY.least_reduction:.0f} % or more",
    "over budget",
    "outputs masked",
    "violations",
)


def tables(found: Compactions) -> list[Table]:
    return [
        Table("anchors", FOUND, map(_found_row, found.found)),
        Table("reduction", SQUEEZED, map(_squeezed_row, found.squeezed)),
        Table("plan", ("measure", "value"), _large_rows(found), ""),
    ]


def origin(found: Compactions) -> str:
    return origin_line(found.origin)


def _large_rows(found: Compactions) -> list[tuple[str, str]]:
    size = f"one session of {found.plan_megabytes:,.0f} MB ({found.plan_turns:,} turns)"
    return [
        (f"`kedgeline plan` on {size}: seconds, start included", f"{found.plan_seconds:,.1f}"),
        ("the same: MB/s", f"{found.plan_megabytes / found.plan_seconds:,.0f}"),
        ("the same: peak memory", f"{found.plan_memory:,.0f} MB"),
        (
            "finding anchors: cost of a turn near turn 100,000 over its cost at the beginning",
            f"{found.growth:.2f} ×",
        ),
    ]


def _found_row(one: Found) -> tuple[str, ...]:
    rates = (one.per_100.get(name) for name in (*ANCHOR_TYPES, ALL))
    return (
        one.kind,
        f"{one.sessions:,}",
        f"{one.turns:,}",
        *(with_interval(rate, ".1f") for rate in rates),
        with_interval(one.natural_share, ".0%"),
    )


def _squeezed_row(one: Squeezed) -> tuple[str, ...]:
    freed = one.reductions
    return (
        f"{one.window:,}",
        f"{len(freed):,}",
        *(_at(freed, share) for share in (0.0, 0.1, 0.5, 0.9)),
        with_interval(one.freed, ".0%"),
        with_interval(one.enough, ".0%"),
        f"{one.over_budget:,}",
        f"{one.masked:,}",
        f"{one.violations:,}",
    )


def _at(ascending: Sequence[float], share: float) -> str:
    """A quantile, as one of the values themselves."""
    return f"{ascending[round(share * (len(ascending) - 1))]:.0%}" if ascending else NOTHING
