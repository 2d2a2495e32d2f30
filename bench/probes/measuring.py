"""Probes over a folder of sessions: scores by window and dimension, repairs, the mutation check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from bench.compaction import WINDOWS as COMPACTION_WINDOWS
from bench.corpus import SEED, Corpus, Mean, Origin, Resampling, Session, Watch
from bench.pictures import Picture
from bench.plots.replay import DimensionRow, dimensions_plot
from bench.probes.mutations import Checked, Good, Noticed, Proved, checked, proved
from bench.replay.names import before, cuts_of, roots_of
from bench.tables import NOTHING, Table, origin_line, with_interval
from kedgeline.errors import SourceUnreadable
from kedgeline.model import ACCEPTED, Dimension, Probe, Quality, Summary, Value
from kedgeline.pipeline.handoff import asked, summarize, verify
from kedgeline.probes.answering import subject
from kedgeline.probes.criteria import TARGETS
from kedgeline.summary import handoff
from kedgeline.text.prose import holds_plain, plain
from kedgeline.tokens import EXACT

# The same probes asked of another system's summary and of ours, where it really compacted.

OF_OUR_FORM = ("factual", "format")
"""Criteria that are measured on entries in our sections: another text has none of them."""


class Compared(Value, frozen=True):
    """One text at one cut."""

    tokens: int
    score: float | None
    named: float | None
    """Share of the probes whose subject, such as a path, a command or a name, stands anywhere in
    the text; without those that have no subject but our own words."""
    critical_failures: int
    dimensions: dict[str, float]
    """By probes alone, without the criteria that look at the form of the text."""


class Boundary(Value, frozen=True):
    file: str
    session: int
    turn: int
    """The first one after the cut."""
    probes: int
    critical: int
    recorded: Compared
    kedgeline: Compared
    """In as many tokens as the other has, as it is first rendered: nothing is put back for the
    probes that are asked."""

    @property
    def key(self) -> str:
        """Of the session."""
        return f"{self.file} {self.session}"


def at_boundaries(session: Session) -> Iterator[Boundary]:
    """Every compaction that another system made in a session."""
    for cut in cuts_of(session.transcript):
        if cut.where != "boundary":
            continue
        known = before(session.transcript, cut)
        state, room = summarize(known), EXACT.count(cut.recorded)
        probes = asked(state, room)
        recorded = without_roots(cut.recorded, roots_of(known))
        yield Boundary(
            file=session.file,
            session=session.number,
            turn=cut.turn,
            probes=len(probes),
            critical=sum(probe.critical for probe in probes),
            recorded=compared(state, recorded, probes),
            kedgeline=compared(state, handoff(state, room, EXACT.count), probes),
        )


def compared(state: Summary, text: str, probes: Sequence[Probe]) -> Compared:
    verdict = verify(state, text, probes)
    words = plain(text.replace("\\|", "|"))  # in a table a bar is written in this way
    named = [holds_plain(words, plain(one)) for one in map(subject, probes) if one]
    return Compared(
        tokens=EXACT.count(text),
        score=verdict.score,
        named=sum(named) / len(named) if named else None,
        critical_failures=len(verdict.critical_failures),
        dimensions=by_probes_alone(verdict.quality),
    )


def without_roots(text: str, roots: Sequence[str]) -> str:
    """Paths as the facts have them: as seen from the folder of the session."""
    for root in sorted(roots, key=len, reverse=True):
        text = text.replace(f"{root}/", "")
    return text


def by_probes_alone(quality: Quality | None) -> dict[str, float]:
    """Scores by dimension, without the criteria that look at the form of a text."""
    found: dict[str, float] = {}
    for one in quality.dimensions if quality else ():
        known = [
            (criterion.weight, criterion.score)
            for criterion in one.criteria
            if criterion.score is not None and criterion.criterion not in OF_OUR_FORM
        ]
        if known:
            weights = sum(weight for weight, _ in known)
            found[one.dimension] = sum(weight * score for weight, score in known) / weights
    return found


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
    kedgeline: Mean | None
    """The same at the same cuts and length."""


class ProbesMeasured(Value, frozen=True):
    origin: Origin
    windows: tuple[WindowProbes, ...]
    dimensions: tuple[DimensionProbes, ...]
    first_score: Mean | None
    score: Mean | None
    recorded_score: Mean | None
    """Share of the probes that the other system's summaries answer."""
    kedgeline_score: Mean | None
    """The same of ours, at the same cuts and length."""
    recorded_named: Mean | None
    """Share of the probes whose subject stands anywhere in the other system's summary."""
    kedgeline_named: Mean | None
    mutations: Checked | None
    """None where no case was asked for."""
    sessions: tuple[SessionProbes, ...]
    boundaries: tuple[Boundary, ...]


def measure(
    folder: Path,
    *,
    windows: Sequence[int] = COMPACTION_WINDOWS,
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
        kedgeline_score=_mean(cuts, [(one.key, one.kedgeline.score) for one in boundaries]),
        recorded_named=_mean(cuts, [(one.key, one.recorded.named) for one in boundaries]),
        kedgeline_named=_mean(cuts, [(one.key, one.kedgeline.named) for one in boundaries]),
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
        kedgeline=_mean(
            cuts, [(one.key, one.kedgeline.dimensions.get(name)) for one in boundaries]
        ),
    )


def _mean(drawn: Resampling, scores: Sequence[tuple[str, float | None]]) -> Mean | None:
    """Of those that are known."""
    return drawn.mean((session, score, 1) for session, score in scores if score is not None)


def _scores(quality: Quality | None) -> dict[str, float]:
    every = quality.dimensions if quality else ()
    return {one.dimension: one.score for one in every if one.score is not None}


# The tables of `kedgeline bench probes`.

WINDOWS = (
    "window",
    "sessions",
    "probes",
    "score, first rendering",
    "score, after repair",
    "score, asked anew for its room",
    "failed probes repaired",
    "accepted",
    "critical failures left",
    "tokens, first rendering",
    "tokens, after repair",
    "context freed",
)
DIMENSIONS = (
    "dimension",
    "target",
    "best published",
    "first rendering",
    "after repair",
    "recorded summary, real cuts",
    "kedgeline, same cuts and length",
)
REPORT_MUTATIONS = (
    "entries of",
    "cases",
    "noticed by probes",
    "by probes or checksum",
    "asked about",
    "of these by probes",
    "critical",
    "of these by probes",
    "by probes or checksum",
    "said elsewhere too",
    "of these noticed",
)
PASS = "probes that pass"
NAMED = "subject named anywhere"


def tables(found: ProbesMeasured) -> Iterator[Table]:
    below = origin(found)
    windows = [_window_row(one) for one in found.windows if one.sessions]
    yield Table("probes", WINDOWS, windows)
    yield Table("probe-dimensions", DIMENSIONS, dimension_rows(found), f"{_cuts(found)} {below}")
    if found.mutations:
        kinds = [_noticed(one) for one in found.mutations.kinds if one.cases or one.elsewhere]
        cases = f"{_cases(found.mutations)} {below}"
        yield Table("probe-mutations", REPORT_MUTATIONS, kinds, cases)


def origin(found: ProbesMeasured) -> str:
    return origin_line(found.origin)


def dimension_rows(found: ProbesMeasured) -> list[tuple[str, ...]]:
    """The six dimensions, and below them shares of the probes."""
    scores = (found.first_score, found.score, found.recorded_score, found.kedgeline_score)
    named = (None, None, found.recorded_named, found.kedgeline_named)
    return [
        *map(_dimension_row, found.dimensions),
        (PASS, f"{ACCEPTED:.0%}", NOTHING, *(with_interval(one, ".0%") for one in scores)),
        (NAMED, NOTHING, NOTHING, *(with_interval(one, ".0%") for one in named)),
    ]


def _cuts(found: ProbesMeasured) -> str:
    sessions = {one.key for one in found.boundaries}
    return f"{len(found.boundaries):,} real cuts of {len(sessions):,} sessions."


def _cases(found: Checked) -> str:
    return f"{len(found.cases):,} cases in {found.summaries:,} accepted summaries."


def _window_row(one: WindowProbes) -> tuple[str, ...]:
    return (
        f"{one.window:,}",
        f"{one.sessions:,}",
        f"{one.probes:,}",
        with_interval(one.first_score),
        with_interval(one.score),
        with_interval(one.anew_score),
        with_interval(one.repaired, ".0%"),
        with_interval(one.accepted, ".0%"),
        f"{one.critical_failures:,}",
        with_interval(one.first_tokens, ",.0f"),
        with_interval(one.tokens, ",.0f"),
        with_interval(one.freed, ".0%"),
    )


def _dimension_row(one: DimensionProbes) -> tuple[str, ...]:
    means: tuple[Mean | None, ...] = (one.first, one.repaired, one.recorded, one.kedgeline)
    return (
        one.dimension.replace("_", " "),
        f"{one.target:.1f}",
        f"{one.published:.2f}",
        *map(with_interval, means),
    )


def _noticed(one: Noticed) -> tuple[str, ...]:
    return (
        one.kind,
        f"{one.cases:,}",
        with_interval(one.by_probes, ".0%"),
        with_interval(one.noticed, ".0%"),
        f"{one.asked:,}",
        with_interval(one.asked_by_probes, ".0%"),
        f"{one.critical:,}",
        f"{one.critical_by_probes:,}" if one.critical else NOTHING,
        f"{one.critical_noticed:,}" if one.critical else NOTHING,
        f"{one.elsewhere:,}",
        f"{one.elsewhere_noticed:,}" if one.elsewhere else NOTHING,
    )


def dimensions_picture(found: ProbesMeasured) -> Picture:
    """The dimensions after repair, beside their targets."""
    return dimensions_plot(
        [
            DimensionRow(
                one.dimension,
                one.repaired.mean,
                one.repaired.low,
                one.repaired.high,
                one.target,
                one.published,
            )
            for one in found.dimensions
            if one.repaired is not None
        ]
    )
