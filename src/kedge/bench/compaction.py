"""Anchors and compactions over a folder of sessions: how many, how much freed, what is broken."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from kedge.anchors import Finder
from kedge.bench.processes import MEGABYTE, child
from kedge.bench.synthetic import write_session
from kedge.compaction import compact
from kedge.errors import NotATranscript, SourceUnreadable
from kedge.flow import flow_of
from kedge.model import Anchor, Compaction, ConversationFlow, Transcript, Turn, Value, Verb
from kedge.reading import read_all
from kedge.steps import budget_for
from kedge.validity import PROVIDERS, problems
from kedge.viewing import view
from kedge.writing import write

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

Watch = Callable[[str], None]


class Found(Value, frozen=True):
    """Anchors in one kind of session."""

    kind: str
    sessions: int
    turns: int
    by_type: dict[str, int]
    natural: int
    """Sessions with at least one natural anchor."""


class Squeezed(Value, frozen=True):
    """Compactions of all sessions that do not fit a window."""

    window: int
    reductions: tuple[float, ...]
    """Share of the context freed, ascending."""
    over_budget: int
    masked: int
    violations: int
    """Problems in the rebuilt lists, over all providers."""


class Compactions(Value, frozen=True):
    files: int
    found: tuple[Found, ...]
    squeezed: tuple[Squeezed, ...]
    plan_megabytes: float
    plan_turns: int
    plan_seconds: float
    plan_memory: float
    growth: float
    """Cost of a turn at the end of a long session over its cost at the beginning, for anchors."""


def measure(folder: Path, *, large: int, watch: Watch) -> Compactions:
    """Measure over every session below a folder, and one synthetic session of `large` bytes."""
    files = 0
    kinds: defaultdict[str, list[tuple[int, tuple[Anchor, ...]]]] = defaultdict(list)
    made: defaultdict[int, list[tuple[Compaction, int]]] = defaultdict(list)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        watch(path.name)
        try:
            sessions = read_all(path)
        except (NotATranscript, SourceUnreadable):
            continue
        files += 1
        for transcript in (one for one in sessions if one.turns):
            flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
            for kind in _kinds(transcript):
                kinds[kind].append((len(transcript.turns), flow.anchor_points))
            for window, done in _compacted(transcript, flow):
                made[window].append(done)
    watch(f"a session of {large / MEGABYTE:,.0f} MB")
    turns, size, memory, seconds = _planned(large)
    return Compactions(
        files=files,
        found=tuple(_found(kind, rows) for kind, rows in sorted(kinds.items())),
        squeezed=tuple(_squeezed(window, made[window]) for window in WINDOWS),
        plan_megabytes=size / MEGABYTE,
        plan_turns=turns,
        plan_seconds=seconds,
        plan_memory=memory,
        growth=_growth(),
    )


def _kinds(transcript: Transcript) -> Iterator[str]:
    yield transcript.format
    verbs = Counter(call.verb for turn in transcript.turns for call in turn.tool_calls)
    looking = sum(verbs[verb] for verb in LOOKING)
    changing = any(verbs[verb] for verb in CHANGING)
    if looking and not changing and looking >= LOOKING_SHARE * verbs.total():
        yield "research-like, of all formats"


def _compacted(
    transcript: Transcript, flow: ConversationFlow
) -> Iterator[tuple[int, tuple[Compaction, int]]]:
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
        yield window, (made, wrong)


def _found(kind: str, rows: Sequence[tuple[int, tuple[Anchor, ...]]]) -> Found:
    natural = [[a for a in anchors if not a.synthetic] for _, anchors in rows]
    return Found(
        kind=kind,
        sessions=len(rows),
        turns=sum(turns for turns, _ in rows),
        by_type=dict(Counter(anchor.type for anchors in natural for anchor in anchors)),
        natural=sum(1 for anchors in natural if anchors),
    )


def _squeezed(window: int, made: Iterable[tuple[Compaction, int]]) -> Squeezed:
    done = list(made)
    return Squeezed(
        window=window,
        reductions=tuple(sorted(one.context_reduction for one, _ in done)),
        over_budget=sum(one.plan.over_budget for one, _ in done),
        masked=sum(len(one.plan.masked) for one, _ in done),
        violations=sum(wrong for _, wrong in done),
    )


def _planned(size: int) -> tuple[int, int, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        turns = write_session(path, size)
        memory, seconds = child(["-m", "kedge", "plan", "--json", "--window", "200k", str(path)])
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
