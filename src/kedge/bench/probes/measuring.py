"""Probes over a folder of sessions: scores by window and dimension, repairs, the mutation check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from kedge.bench.compaction import WINDOWS
from kedge.bench.corpus import Corpus, Origin, Session, Watch
from kedge.bench.intervals import SEED, Mean, Resampling
from kedge.bench.probes.boundaries import Boundary, at_boundaries
from kedge.bench.probes.checking import Checked, checked
from kedge.bench.probes.compacting import Good, Proved, proved
from kedge.errors import SourceUnreadable
from kedge.model import Dimension, Quality, Value
from kedge.probes.criteria import TARGETS

MUTATIONS = 1_000
"""Cases of the mutation check: enough for each kind of entry."""
PUBLISHED: dict[Dimension, float] = {
    "accuracy": 4.04,
    "context_awareness": 4.01,
    "artifact_trail": 2.45,
    "completeness": 4.44,
    "continuity": 3.80,
    "instruction_following": 4.99,
}
"""The best of each in the published evaluation (Factory, December 2025): other sessions, other
questions, and a model as judge."""
SMALLER = "every session there fits the windows: ask for a smaller one with --window"


class SessionProbes(Value, frozen=True):
    """One session compacted for one window."""

    file: str
    session: int
    window: int
    probes: int
    critical: int
    first_score: float | None
    score: float | None
    """After repair; none where there was nothing to ask."""
    anew_probes: int
    anew_score: float | None
    """After repair, asked what a text of its own room is asked."""
    failed_first: int
    repaired: int
    accepted: bool
    critical_failures: int
    strays: int
    first_tokens: int
    tokens: int
    """Of the summary after repair."""
    freed: float
    first_dimensions: dict[str, float]
    dimensions: dict[str, float]

    @property
    def key(self) -> str:
        return f"{self.file} {self.session}"


class WindowProbes(Value, frozen=True):
    """All sessions that do not fit a window; means over sessions."""

    window: int
    sessions: int
    probes: int
    first_score: Mean | None
    score: Mean | None
    anew_probes: int
    anew_score: Mean | None
    failed_first: int
    repaired: Mean | None
    """Share of the probes that failed at first."""
    accepted: Mean | None
    critical_failures: int
    strays: int
    first_tokens: Mean | None
    tokens: Mean | None
    freed: Mean | None
    dimensions: dict[str, Mean]


class DimensionProbes(Value, frozen=True):
    """One dimension: over all compactions, and at the cuts where another system compacted."""

    dimension: str
    target: float
    published: float
    first: Mean | None
    repaired: Mean | None
    recorded: Mean | None
    """By probes alone, without the criteria that look at the form of a text."""
    kedge: Mean | None
    """The same at the same cuts and length."""


class ProbesMeasured(Value, frozen=True):
    origin: Origin
    windows: tuple[WindowProbes, ...]
    dimensions: tuple[DimensionProbes, ...]
    first_score: Mean | None
    score: Mean | None
    recorded_score: Mean | None
    """Share of the probes that the other system's summaries answer."""
    kedge_score: Mean | None
    """The same of ours, at the same cuts and length."""
    recorded_named: Mean | None
    """Share of the probes whose subject stands anywhere in the other system's summary."""
    kedge_named: Mean | None
    mutations: Checked | None
    """None where no case was asked for."""
    sessions: tuple[SessionProbes, ...]
    boundaries: tuple[Boundary, ...]


def measure(
    folder: Path,
    *,
    windows: Sequence[int] = WINDOWS,
    mutations: int = MUTATIONS,
    seed: int = SEED,
    watch: Watch,
) -> ProbesMeasured:
    """Compact every session below a folder for every window and ask what the summaries say."""
    corpus = Corpus(folder, watch=watch)
    rows: list[SessionProbes] = []
    goods: list[Good] = []
    boundaries: list[Boundary] = []
    for session in corpus:
        for one in proved(session.transcript, windows):
            rows.append(_row(session, one))
            good = one.good(session.key) if mutations else None
            goods += [good] if good is not None else []
        boundaries += at_boundaries(session)
    if not rows:
        why = SMALLER if corpus.sessions else "no sessions there"
        raise SourceUnreadable(str(folder), why)
    watch(f"{mutations:,} mutations")
    drawn = Resampling((row.key for row in rows), seed=seed)
    cuts = Resampling((one.key for one in boundaries), seed=seed)
    return ProbesMeasured(
        origin=replace(corpus.origin(), seed=seed),
        windows=tuple(_window(window, rows, drawn) for window in windows),
        dimensions=tuple(_dimension(name, rows, drawn, boundaries, cuts) for name in TARGETS),
        first_score=_mean(drawn, [(row.key, row.first_score) for row in rows]),
        score=_mean(drawn, [(row.key, row.score) for row in rows]),
        recorded_score=_mean(cuts, [(one.key, one.recorded.score) for one in boundaries]),
        kedge_score=_mean(cuts, [(one.key, one.kedge.score) for one in boundaries]),
        recorded_named=_mean(cuts, [(one.key, one.recorded.named) for one in boundaries]),
        kedge_named=_mean(cuts, [(one.key, one.kedge.named) for one in boundaries]),
        mutations=checked(goods, mutations, seed=seed) if mutations else None,
        sessions=tuple(rows),
        boundaries=tuple(boundaries),
    )


def _row(session: Session, one: Proved) -> SessionProbes:
    verdict = one.verdict
    return SessionProbes(
        file=session.file,
        session=session.number,
        window=one.window,
        probes=len(verdict.answers),
        critical=sum(answer.probe.critical for answer in verdict.answers),
        first_score=one.first.score,
        score=verdict.score,
        anew_probes=len(one.anew.answers),
        anew_score=one.anew.score,
        failed_first=verdict.failed_first,
        repaired=verdict.repaired,
        accepted=verdict.accepted,
        critical_failures=len(verdict.critical_failures),
        strays=len(verdict.strays),
        first_tokens=one.first_tokens,
        tokens=one.made.summary_tokens,
        freed=one.made.context_reduction,
        first_dimensions=_scores(one.first.quality),
        dimensions=_scores(verdict.quality),
    )


def _window(window: int, every: Sequence[SessionProbes], drawn: Resampling) -> WindowProbes:
    rows = [row for row in every if row.window == window]
    named = {
        name: _mean(drawn, [(r.key, r.dimensions.get(name)) for r in rows]) for name in TARGETS
    }
    return WindowProbes(
        window=window,
        sessions=len(rows),
        probes=sum(row.probes for row in rows),
        first_score=_mean(drawn, [(row.key, row.first_score) for row in rows]),
        score=_mean(drawn, [(row.key, row.score) for row in rows]),
        anew_probes=sum(row.anew_probes for row in rows),
        anew_score=_mean(drawn, [(row.key, row.anew_score) for row in rows]),
        failed_first=sum(row.failed_first for row in rows),
        repaired=drawn.mean((row.key, row.repaired, row.failed_first) for row in rows),
        accepted=_mean(drawn, [(row.key, float(row.accepted)) for row in rows]),
        critical_failures=sum(row.critical_failures for row in rows),
        strays=sum(row.strays for row in rows),
        first_tokens=_mean(drawn, [(row.key, row.first_tokens) for row in rows]),
        tokens=_mean(drawn, [(row.key, row.tokens) for row in rows]),
        freed=_mean(drawn, [(row.key, row.freed) for row in rows]),
        dimensions={name: mean for name, mean in named.items() if mean is not None},
    )


def _dimension(
    name: Dimension,
    rows: Sequence[SessionProbes],
    drawn: Resampling,
    boundaries: Sequence[Boundary],
    cuts: Resampling,
) -> DimensionProbes:
    return DimensionProbes(
        dimension=name,
        target=TARGETS[name],
        published=PUBLISHED[name],
        first=_mean(drawn, [(row.key, row.first_dimensions.get(name)) for row in rows]),
        repaired=_mean(drawn, [(row.key, row.dimensions.get(name)) for row in rows]),
        recorded=_mean(cuts, [(one.key, one.recorded.dimensions.get(name)) for one in boundaries]),
        kedge=_mean(cuts, [(one.key, one.kedge.dimensions.get(name)) for one in boundaries]),
    )


def _mean(drawn: Resampling, scores: Sequence[tuple[str, float | None]]) -> Mean | None:
    """Of those that are known."""
    return drawn.mean((session, score, 1) for session, score in scores if score is not None)


def _scores(quality: Quality | None) -> dict[str, float]:
    every = quality.dimensions if quality else ()
    return {one.dimension: one.score for one in every if one.score is not None}
