"""The tables of `kedge bench facts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kedge.bench.citations import SectionShare, added
from kedge.bench.facts import CitedShare, FactsMeasured
from kedge.bench.facts_cost import STEPS, Speed
from kedge.bench.facts_files import ACTIONS, FileShare, Source
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
BY: dict[Source, str] = {
    "tool": "tools",
    "agent": "sub-agents' tools",
    "shell": "shell commands",
    "outside": "outside the session",
}
JUDGED: tuple[Source, ...] = ("tool", "agent")
"""Sources whose tools report what they did."""
NONE = "–"
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
ALL: Sequence[str] = (*ACTIONS, "all")


def file_rows(found: FactsMeasured) -> list[tuple[str, ...]]:
    """By source and action over all formats, then the tools of each format."""
    rows: list[tuple[str, ...]] = []
    for source, label in BY.items():
        shares = [share for share in found.files if share.source == source]
        rows.extend(_file_rows(label, shares, ALL, judged=source in JUDGED))
    for format in sorted({share.format for share in found.files if share.reported}):
        shares = [s for s in found.files if s.format == format and s.source in JUDGED]
        rows.extend(_file_rows(f"tools, {format}", shares, ("all",), judged=True))
    return rows


def citation_header(found: FactsMeasured) -> tuple[str, ...]:
    sizes = [f"{what} in {cited.room:,} tokens" for cited in found.citations for what in PER_SIZE]
    return ("section", *sizes, *PER_SECTION)


def citation_rows(found: FactsMeasured) -> list[tuple[str, ...]]:
    """By section, in the order in which they are printed, and all of them as a reader sees them.
    What is said of one size only is said of the largest."""
    rows: list[tuple[str, list[SectionShare]]] = []
    for name in SECTIONS:
        empty = SectionShare(section=name)
        shares = [
            next((share for share in cited.sections if share.section == name), empty)
            for cited in found.citations
        ]
        if shares != [empty] * len(shares):
            rows.append((name, shares))
    rows.append((OWN_TURNS, [cited.names for cited in found.citations]))
    rows.append(("all", [_total(cited) for cited in found.citations]))
    return [_citation_row(label, shares) for label, shares in rows]


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


def _file_rows(
    label: str, shares: Sequence[FileShare], actions: Iterable[str], *, judged: bool
) -> Iterator[tuple[str, ...]]:
    for action in actions:
        wanted = [share for share in shares if action in ("all", share.action)]
        seen = _sums(share for share in wanted if not share.blind)
        blind = _sums(share for share in wanted if share.blind)
        if not seen.total() and not blind.total():
            continue
        counts = (f"{seen['reported']:,}" if judged else NONE, f"{seen['facts']:,}")
        scores = (
            _share(seen["right"], seen["facts"]),
            _share(seen["right"], seen["reported"]),
            _score(seen),
            _score(blind),
        )
        silent = f"{seen['unjudged']:,}" if judged else NONE
        yield (label, action, *counts, *(scores if judged else (NONE,) * len(scores)), silent)


def _sums(shares: Iterable[FileShare]) -> Counter[str]:
    total: Counter[str] = Counter()
    for share in shares:
        total.update(
            reported=share.reported,
            facts=share.facts,
            right=share.right,
            unjudged=share.unjudged,
        )
    return total


def _score(counts: Counter[str]) -> str:
    """F1: right ones over the mean of those given and those reported."""
    return _share(2 * counts["right"], counts["facts"] + counts["reported"])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else NONE


def _citation_row(label: str, shares: Sequence[SectionShare]) -> tuple[str, ...]:
    sizes = [(f"{share.lines:,}", _share(share.supported, share.lines)) for share in shares]
    largest = shares[-1]
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
    return ", ".join(f"{kind} {count:,}" for kind, count in kinds) or NONE


def _cost_rows(speed: Speed) -> Iterator[tuple[str, str, str]]:
    held = f"{_held(speed)}, {speed.turns:,} turns, {speed.facts:,} facts"
    yield f"sessions of {speed.format}", held, ""
    for label, names in MEASURED.items():
        yield label, f"{speed.rate(*names):,.1f} MB/s", SPEED_GOAL if names == STEPS else ""


def _cost_row(speed: Speed) -> tuple[str, str, str]:
    return f"the same, {speed.format}: {_held(speed)}", f"{speed.rate(*STEPS):,.1f} MB/s", ""


def _held(speed: Speed) -> str:
    return f"{speed.files:,} files, {speed.megabytes:,.1f} MB"
