"""The original errors, how others were resolved, and ways that led nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import ErrorResolved, ErrorSeen, Probe, Summary
from kedge.probes.making.homes import probe

IN_THE_WAY = 0.7
"""Share of the session behind which an open error may still stand in the way."""


def errors_in_the_way(summary: Summary) -> Iterator[Probe]:
    for seen in _open(summary):
        if _is_recent(seen, summary):
            yield _open_error(seen, critical=True)


def older_errors(summary: Summary) -> Iterator[Probe]:
    """Open ones nobody came back to, the newest first."""
    for seen in _open(summary):
        if not _is_recent(seen, summary):
            yield _open_error(seen, critical=False)


def resolved_errors(summary: Summary) -> Iterator[Probe]:
    """The newest first."""
    found = [
        (seen[-1], events[-1])
        for events in summary.errors.values()
        if isinstance(events[-1], ErrorResolved)
        and (seen := [event for event in events if isinstance(event, ErrorSeen)])
    ]
    for error, resolved in sorted(found, key=lambda one: -one[1].turn):
        if isinstance(resolved, ErrorResolved):
            yield probe(
                matter="resolved error",
                question=f"How was the error of t{error.turn} resolved?",
                expected=("Resolved", error.line, resolved.how),
                turn=resolved.turn,
                key=error.key,
            )


def dead_ends(summary: Summary) -> Iterator[Probe]:
    for way in reversed(summary.dead_ends):
        yield probe(
            matter="dead end",
            question=f"What was tried and dropped in t{way.turn}?",
            expected=(way.what, way.why) if way.why else (way.what,),
            turn=way.turn,
            key=way.what,
        )


def _open(summary: Summary) -> list[ErrorSeen]:
    last = (events[-1] for events in summary.errors.values())
    return sorted((one for one in last if isinstance(one, ErrorSeen)), key=lambda one: -one.turn)


def _is_recent(seen: ErrorSeen, summary: Summary) -> bool:
    return seen.turn >= IN_THE_WAY * (summary.through + 2)


def _open_error(seen: ErrorSeen, *, critical: bool) -> Probe:
    return probe(
        matter="open error",
        question=f"Which error of t{seen.turn} is still open?",
        expected=("OPEN", seen.line),
        turn=seen.turn,
        critical=critical,
        key=seen.key,
    )
