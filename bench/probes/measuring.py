"""Probes over a folder of sessions: scores by window and dimension, repairs, the mutation check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from bench.compaction import WINDOWS as COMPACTION_WINDOWS
from bench.corpus import SEED, Corpus, Origin, Resampling, Session, Watch
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


class ProbesMeasured(Value, frozen=True):
    origin: Origin
    windows: tuple[int, ...]
    mutations: Checked | None
    """None where no case was asked for."""
    sessions: tuple[SessionProbes, ...]
    boundaries: tuple[Boundary, ...]


def measure(
    folder: Path,
    *,
    windows: Sequence[int] = COMPACTION_WINDOWS,
    mutations: int = 1_000,
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
    return ProbesMeasured(
        origin=replace(corpus.origin(), seed=seed),
        windows=tuple(windows),
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


def _scores(quality: Quality | None) -> dict[str, float]:
    every = quality.dimensions if quality else ()
    return {one.dimension: one.score for one in every if one.score is not None}


# The tables of `kedgeline bench probes`: means over sessions.

WINDOWS = (
    *("window", "sessions", "probes", "score, first rendering", "score, after repair"),
    *("score, asked anew for its room", "failed probes repaired", "accepted"),
    *("critical failures left", "tokens, first rendering", "tokens, after repair"),
    "context freed",
)
DIMENSIONS = (
    *("dimension", "target", "best published", "first rendering", "after repair"),
    *("recorded summary, real cuts", "kedgeline, same cuts and length"),
)
MUTATIONS = (
    *("entries of", "cases", "noticed by probes", "by probes or checksum", "asked about"),
    *("of these by probes", "critical", "of these by probes", "by probes or checksum"),
    *("said elsewhere too", "of these noticed"),
)
PASS = "probes that pass"
NAMED = "subject named anywhere"

Row = TypeVar("Row", SessionProbes, Boundary)


def tables(found: ProbesMeasured) -> Iterator[Table]:
    seed, below = found.origin.seed or SEED, origin(found)
    drawn = Resampling((one.key for one in found.sessions), seed=seed)
    cuts = Resampling((one.key for one in found.boundaries), seed=seed)
    by_window = [[row for row in found.sessions if row.window == one] for one in found.windows]
    yield Table("probes", WINDOWS, [_window_row(rows, drawn) for rows in by_window if rows])
    sessions = len({one.key for one in found.boundaries})
    told = f"{len(found.boundaries):,} real cuts of {sessions:,} sessions. {below}"
    yield Table("probe-dimensions", DIMENSIONS, _dimension_rows(found, drawn, cuts), told)
    if made := found.mutations:
        kinds = [_noticed(one) for one in made.kinds if one.cases or one.elsewhere]
        told = f"{len(made.cases):,} cases in {made.summaries:,} accepted summaries. {below}"
        yield Table("probe-mutations", MUTATIONS, kinds, told)


def origin(found: ProbesMeasured) -> str:
    return origin_line(found.origin)


def _cell(
    drawn: Resampling,
    rows: Iterable[Row],
    value: Callable[[Row], float | None],
    form: str = ".2f",
) -> str:
    """The mean of those that are known."""
    scores = ((row.key, value(row)) for row in rows)
    mean = drawn.mean((key, score, 1) for key, score in scores if score is not None)
    return with_interval(mean, form)


def _window_row(rows: Sequence[SessionProbes], drawn: Resampling) -> tuple[str, ...]:
    cell = partial(_cell, drawn, rows)
    repaired = drawn.mean((row.key, row.repaired, row.failed_first) for row in rows)
    return (
        f"{rows[0].window:,}",
        f"{len(rows):,}",
        f"{sum(row.probes for row in rows):,}",
        cell(lambda row: row.first_score),
        cell(lambda row: row.score),
        cell(lambda row: row.anew_score),
        with_interval(repaired, ".0%"),
        cell(lambda row: float(row.accepted), ".0%"),
        f"{sum(row.critical_failures for row in rows):,}",
        cell(lambda row: row.first_tokens, ",.0f"),
        cell(lambda row: row.tokens, ",.0f"),
        cell(lambda row: row.freed, ".0%"),
    )


def _dimension_rows(
    found: ProbesMeasured, drawn: Resampling, cuts: Resampling
) -> Iterator[tuple[str, ...]]:
    """The six dimensions, and below them shares of the probes."""
    ours, theirs = partial(_cell, drawn, found.sessions), partial(_cell, cuts, found.boundaries)
    for name in TARGETS:
        scores = (
            ours(lambda row: row.first_dimensions.get(name)),  # noqa: B023 (called at once)
            ours(lambda row: row.dimensions.get(name)),  # noqa: B023
            theirs(lambda row: row.recorded.dimensions.get(name)),  # noqa: B023
            theirs(lambda row: row.kedgeline.dimensions.get(name)),  # noqa: B023
        )
        target = (f"{TARGETS[name]:.1f}", f"{PUBLISHED[name]:.2f}")
        yield (name.replace("_", " "), *target, *scores)
    yield (
        *(PASS, f"{ACCEPTED:.0%}", NOTHING),
        ours(lambda row: row.first_score, ".0%"),
        ours(lambda row: row.score, ".0%"),
        theirs(lambda row: row.recorded.score, ".0%"),
        theirs(lambda row: row.kedgeline.score, ".0%"),
    )
    named = (
        theirs(lambda row: row.recorded.named, ".0%"),
        theirs(lambda row: row.kedgeline.named, ".0%"),
    )
    yield (NAMED, *(NOTHING,) * 4, *named)


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
