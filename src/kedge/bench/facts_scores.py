"""Shares over all sessions, with intervals: facts about files that are right, lines that hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedge.bench.citations import SectionShare
from kedge.bench.facts_files import ACTIONS, Action, FileShare, Source
from kedge.bench.intervals import Mean, Part, Resampling
from kedge.model import Value

JUDGED: tuple[Source, ...] = ("tool", "agent")
"""Sources whose tools report what they did."""
EVERY: Literal["all"] = "all"
"""In the place of an action or a section."""


class FileScores(Value, frozen=True):
    """How right the facts of some tools are."""

    sources: tuple[Source, ...]
    format: str
    """Empty: of all formats."""
    action: Action | Literal["all"]
    precision: Mean | None
    recall: Mean | None
    f1: Mean | None
    f1_blind: Mean | None
    """With what the tools report taken away before the facts were extracted."""


class Counted(NamedTuple):
    """The facts about files of one session."""

    session: str
    shares: tuple[FileShare, ...]


def file_scores(sessions: Sequence[Counted]) -> Iterator[FileScores]:
    """By source and action over all formats, then both sources of each format."""
    for source in JUDGED:
        for action in (*ACTIONS, EVERY):
            yield _scores(sessions, (source,), "", action)
    for format in sorted({share.format for one in sessions for share in one.shares}):
        yield _scores(sessions, JUDGED, format, EVERY)


def supported(rows: Sequence[tuple[str, Sequence[SectionShare]]]) -> dict[str, Mean]:
    """Share of the lines that hold, by section and of all; every row is one session."""
    drawn = Resampling(session for session, _ in rows)
    lines: dict[str, list[Part]] = {EVERY: []}
    for session, shares in rows:
        for share in shares:
            part = (session, float(share.supported), share.lines)
            lines[EVERY].append(part)
            lines.setdefault(share.section, []).append(part)
    found = {name: drawn.mean(parts) for name, parts in lines.items()}
    return {name: mean for name, mean in found.items() if mean is not None}


def _scores(
    sessions: Sequence[Counted],
    sources: tuple[Source, ...],
    format: str,
    action: Action | Literal["all"],
) -> FileScores:
    wanted = [
        (one.session, share)
        for one in sessions
        for share in one.shares
        if share.source in sources
        and format in ("", share.format)
        and action in (EVERY, share.action)
    ]
    drawn = Resampling(session for session, _ in wanted)
    seen = [(session, share) for session, share in wanted if not share.blind]
    blind = [(session, share) for session, share in wanted if share.blind]
    return FileScores(
        sources=sources,
        format=format,
        action=action,
        precision=drawn.mean((one, float(share.right), share.facts) for one, share in seen),
        recall=drawn.mean((one, float(share.right), share.reported) for one, share in seen),
        f1=drawn.mean(_f1(seen)),
        f1_blind=drawn.mean(_f1(blind)),
    )


def _f1(rows: Iterable[tuple[str, FileShare]]) -> Iterator[Part]:
    """Right ones over the mean of those given and those reported."""
    for session, share in rows:
        yield session, 2.0 * share.right, share.facts + share.reported
