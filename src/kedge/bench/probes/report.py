"""The tables of `kedge bench probes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kedge.bench.intervals import Mean
from kedge.bench.plots.dimensions import DimensionRow, dimensions_plot
from kedge.bench.plots.picture import Picture
from kedge.bench.probes.checking import Checked, Noticed
from kedge.bench.probes.measuring import DimensionProbes, ProbesMeasured, WindowProbes
from kedge.bench.report import NOTHING, origin_line, with_interval
from kedge.model import ACCEPTED

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
    "kedge, same cuts and length",
)
MUTATIONS = (
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
NARROW_WINDOWS = {
    "window": 0,
    "sessions": 1,
    "first": 3,
    "after": 4,
    "anew": 5,
    "fixed": 6,
    "accepted": 7,
    "critical": 8,
    "tokens": 10,
    "freed": 11,
}
NARROW_DIMENSIONS = {
    "dimension": 0,
    "target": 1,
    "published": 2,
    "first": 3,
    "after": 4,
    "recorded": 5,
    "kedge there": 6,
}
NARROW_MUTATIONS = {
    "entries of": 0,
    "cases": 1,
    "either": 3,
    "asked": 4,
    "probes": 5,
    "critical": 6,
    "by probes": 7,
    "by either": 8,
}
"""Columns that fit a terminal, means alone: what they are called there, and their places."""
PASS = "probes that pass"
NAMED = "subject named anywhere"


class Cell(Protocol):
    def __call__(self, mean: Mean | None, form: str = ...) -> str: ...


class Table(NamedTuple):
    name: str
    """Of its block in a file."""
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    narrow_header: Sequence[str]
    narrow_rows: Sequence[Sequence[str]]
    origin: str
    """The sentences below it."""


def tables(found: ProbesMeasured) -> Iterator[Table]:
    origin = origin_line(found.origin)
    rows, short = window_rows(found), window_rows(found, bare)
    yield Table("probes", WINDOWS, rows, *_narrow(NARROW_WINDOWS, short), origin)
    rows, short = dimension_rows(found), dimension_rows(found, bare)
    below = f"{_cuts(found)} {origin}"
    yield Table("probe-dimensions", DIMENSIONS, rows, *_narrow(NARROW_DIMENSIONS, short), below)
    if found.mutations:
        rows, short = mutation_rows(found), mutation_rows(found, bare)
        below = f"{_cases(found.mutations)} {origin}"
        yield Table("probe-mutations", MUTATIONS, rows, *_narrow(NARROW_MUTATIONS, short), below)


def on_screen(found: ProbesMeasured) -> str:
    """The sentences below tables that have no intervals."""
    origin = found.origin
    held = f"{origin.sessions or 0:,} sessions in {origin.files:,} files, seed {origin.seed}"
    return f"kedge {origin.version}, {held}. Corpus: sha256 `{origin.fingerprint}`."


def _narrow(
    columns: Mapping[str, int], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    return list(columns), [[row[place] for place in columns.values()] for row in rows]


def bare(mean: Mean | None, form: str = ".2f") -> str:
    """A mean without its interval."""
    return NOTHING if mean is None else f"{mean.mean:{form}}"


def window_rows(found: ProbesMeasured, cell: Cell = with_interval) -> list[tuple[str, ...]]:
    return [_window(one, cell) for one in found.windows if one.sessions]


def dimension_rows(found: ProbesMeasured, cell: Cell = with_interval) -> list[tuple[str, ...]]:
    """The six dimensions, and below them shares of the probes."""
    scores = (found.first_score, found.score, found.recorded_score, found.kedge_score)
    named = (None, None, found.recorded_named, found.kedge_named)
    return [
        *(_dimension(one, cell) for one in found.dimensions),
        (PASS, f"{ACCEPTED:.0%}", NOTHING, *(cell(one, ".0%") for one in scores)),
        (NAMED, NOTHING, NOTHING, *(cell(one, ".0%") for one in named)),
    ]


def mutation_rows(found: ProbesMeasured, cell: Cell = with_interval) -> list[tuple[str, ...]]:
    """By section; then by sort of mutation, and all."""
    kinds = found.mutations.kinds if found.mutations else ()
    return [_noticed(one, cell) for one in kinds if one.cases or one.elsewhere]


def _cuts(found: ProbesMeasured) -> str:
    sessions = {one.key for one in found.boundaries}
    return f"{len(found.boundaries):,} real cuts of {len(sessions):,} sessions."


def _cases(found: Checked) -> str:
    return f"{len(found.cases):,} cases in {found.summaries:,} accepted summaries."


def _window(one: WindowProbes, cell: Cell) -> tuple[str, ...]:
    return (
        f"{one.window:,}",
        f"{one.sessions:,}",
        f"{one.probes:,}",
        cell(one.first_score),
        cell(one.score),
        cell(one.anew_score),
        cell(one.repaired, ".0%"),
        cell(one.accepted, ".0%"),
        f"{one.critical_failures:,}",
        cell(one.first_tokens, ",.0f"),
        cell(one.tokens, ",.0f"),
        cell(one.freed, ".0%"),
    )


def _dimension(one: DimensionProbes, cell: Cell) -> tuple[str, ...]:
    means: tuple[Mean | None, ...] = (one.first, one.repaired, one.recorded, one.kedge)
    return (
        one.dimension.replace("_", " "),
        f"{one.target:.1f}",
        f"{one.published:.2f}",
        *(cell(mean) for mean in means),
    )


def _noticed(one: Noticed, cell: Cell) -> tuple[str, ...]:
    return (
        one.kind,
        f"{one.cases:,}",
        cell(one.by_probes, ".0%"),
        cell(one.noticed, ".0%"),
        f"{one.asked:,}",
        cell(one.asked_by_probes, ".0%"),
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
