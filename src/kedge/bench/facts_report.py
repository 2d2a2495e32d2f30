"""The tables of `kedge bench facts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kedge.bench.citations import SectionShare, added
from kedge.bench.facts import CitedShare, FactsMeasured
from kedge.bench.facts_cost import STEPS, Speed
from kedge.bench.facts_files import ACTIONS, FileShare, Source
from kedge.bench.facts_scores import EVERY, JUDGED, FileScores
from kedge.bench.intervals import Mean
from kedge.bench.report import NOTHING, with_interval
from kedge.summary.items import SECTIONS

FILES = (
    "changed by",
    "action",
    "reported",
    "facts",
    "precision",
    "recall",
    "F1",
    "F1, reports taken away",
    "tool silent",
)
PER_SIZE = ("lines", "supported")
PER_SECTION = ("by a sub-agent", "not checked", "parts missed")
COST = ("measure", "value", "goal")

Cited = tuple[SectionShare, Mean | None]
"""The lines of a section, and the share of them that holds."""

BY: dict[Source, str] = {
    "tool": "tools",
    "agent": "sub-agents' tools",
    "shell": "shell commands",
    "outside": "outside the session",
}
LEADING = "claude-code"
MEASURED = {
    "facts alone": ("facts",),
    "facts and summary, reading left out": ("facts", "summary"),
    "reading, facts and summary": ("read", "facts", "summary"),
    "reading, anchors, facts and summary": STEPS,
}
"""What is told of its sessions, and the steps of each measure."""
OWN_TURNS = "Index, by the turns of each name"
SPEED_GOAL = "≥ 60 MB/s"
DIGITS = ".3f"
"""Of shares: some differ from one only there."""


def file_rows(found: FactsMeasured) -> list[tuple[str, ...]]:
    """By source and action over all formats, then the tools of each format."""
    scores = {(one.sources, one.format, one.action): one for one in found.file_scores}
    rows: list[tuple[str, ...] | None] = []
    for source, label in BY.items():
        shares = [share for share in found.files if share.source == source]
        rows += [
            _file_row(label, action, shares, scores.get(((source,), "", action)))
            for action in (*ACTIONS, EVERY)
        ]
    for format in sorted({share.format for share in found.files if share.reported}):
        shares = [s for s in found.files if s.format == format and s.source in JUDGED]
        score = scores.get((JUDGED, format, EVERY))
        rows.append(_file_row(f"tools, {format}", EVERY, shares, score))
    return [row for row in rows if row is not None]


def citation_header(found: FactsMeasured) -> tuple[str, ...]:
    sizes = [f"{what} in {cited.room:,} tokens" for cited in found.citations for what in PER_SIZE]
    return ("section", *sizes, *PER_SECTION)


def citation_rows(found: FactsMeasured) -> list[tuple[str, ...]]:
    """By section, in the order in which they are printed, and all of them as a reader sees them.
    What is said of one size only is said of the largest."""
    rows: list[tuple[str, list[Cited]]] = []
    for name in SECTIONS:
        empty = SectionShare(section=name)
        there = [
            (next((one for one in cited.sections if one.section == name), empty), cited)
            for cited in found.citations
        ]
        if any(share != empty for share, _ in there):
            rows.append((name, [(share, cited.supported.get(name)) for share, cited in there]))
    rows.append((OWN_TURNS, [(one.names, one.names_supported) for one in found.citations]))
    rows.append((EVERY, [(_total(one), one.supported.get(EVERY)) for one in found.citations]))
    return [_citation_row(label, cited) for label, cited in rows]


def cost_rows(found: FactsMeasured) -> list[tuple[str, str, str]]:
    """Claude Code's sessions, for which there is a goal, step by step; the others in a row each."""
    rows: list[tuple[str, str, str]] = []
    for speed in sorted(found.speeds, key=lambda one: (one.format != LEADING, one.format)):
        rows.extend(_cost_rows(speed) if speed.format == LEADING else [_cost_row(speed)])
    measure = (
        f"facts and their folding: cost of a turn near turn {found.growth_turns:,} over its cost "
        "at the beginning"
    )
    return [*rows, (measure, f"{found.growth:.2f} ×", "about 1 ×")]


def _file_row(
    label: str, action: str, shares: Iterable[FileShare], scores: FileScores | None
) -> tuple[str, ...] | None:
    """None where there is nothing; without scores the facts are only counted."""
    counts: Counter[str] = Counter()
    for share in shares:
        if action in (EVERY, share.action):
            counts.update(any=share.reported + share.facts + share.unjudged)
            if not share.blind:
                counts.update(reported=share.reported, facts=share.facts, unjudged=share.unjudged)
    if not counts["any"]:
        return None
    facts = f"{counts['facts']:,}"
    if scores is None:
        return (label, action, NOTHING, facts, *(NOTHING,) * len(FILES[4:]))
    means = (scores.precision, scores.recall, scores.f1, scores.f1_blind)
    shown = (with_interval(mean, DIGITS) for mean in means)
    return (label, action, f"{counts['reported']:,}", facts, *shown, f"{counts['unjudged']:,}")


def _citation_row(label: str, cited: Sequence[Cited]) -> tuple[str, ...]:
    sizes = [(f"{share.lines:,}", with_interval(mean, DIGITS)) for share, mean in cited]
    largest = cited[-1][0]
    return (
        label,
        *(cell for cells in sizes for cell in cells),
        f"{largest.by_agents:,}",
        f"{largest.unchecked:,}",
        _kinds(largest),
    )


def _total(cited: CitedShare) -> SectionShare:
    """Of all sections together."""
    alike = (replace(share, section=SECTIONS[0]) for share in cited.sections)
    return added(alike).get(SECTIONS[0], SectionShare(section=SECTIONS[0]))


def _kinds(share: SectionShare) -> str:
    kinds = sorted(share.missed.items(), key=lambda one: -one[1])
    return ", ".join(f"{kind} {count:,}" for kind, count in kinds) or NOTHING


def _cost_rows(speed: Speed) -> Iterator[tuple[str, str, str]]:
    held = f"{_held(speed)}, {speed.turns:,} turns, {speed.facts:,} facts"
    yield f"sessions of {speed.format}", held, ""
    for label, names in MEASURED.items():
        yield label, f"{speed.rate(*names):,.1f} MB/s", SPEED_GOAL if names == STEPS else ""


def _cost_row(speed: Speed) -> tuple[str, str, str]:
    return f"the same, {speed.format}: {_held(speed)}", f"{speed.rate(*STEPS):,.1f} MB/s", ""


def _held(speed: Speed) -> str:
    return f"{speed.files:,} files, {speed.megabytes:,.1f} MB"
