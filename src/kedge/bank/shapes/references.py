"""The line that stands for archived entries in a Markdown file."""

from __future__ import annotations

import re
from datetime import datetime

from kedge.bank.shapes.spelling import as_value
from kedge.bank.shapes.times import moment, short
from kedge.bank.values import Reference

QUOTED, LISTED = "> ", "- "
"""What the line begins with: a quote, or an item among others."""

_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]{8,15}(?:Z|[+-][0-9:]{5,8}))?"
_HASH = r"[0-9a-f]{64}"
_LINE = re.compile(
    r"Archived: (?P<entries>[0-9]{1,9}) (?:entry|entries)"
    rf"(?:, (?:(?P<first>{_TIME}) to (?P<last>{_TIME})|from (?P<start>{_TIME})"
    rf"|until (?P<until>{_TIME})))?:"
    r"(?: (?P<summary>[^\n]*?))?"
    r" \((?P<archive>[^\s./\\(),|<>:\"][^/\\(),|<>:\"\n]{0,199}),"
    rf" sha256:(?P<sha256>{_HASH})(?:, end:(?P<end>{_HASH}))?\)"
)


def reference_line(reference: Reference) -> str:
    """Without what it begins with, and without a newline."""
    count = "1 entry" if reference.entries == 1 else f"{reference.entries} entries"
    summary = as_value(reference.summary)
    end = f", end:{reference.end}" if reference.end else ""
    return (
        f"Archived: {count}{_range(reference.first, reference.last)}:"
        f"{' ' if summary else ''}{summary}"
        f" ({reference.archive}, sha256:{reference.sha256}{end})"
    )


def reference_in(line: str) -> Reference | None:
    """The reference that a line is, without what it begins with; None where something in it cannot
    be: such a line is somebody else's."""
    found = _LINE.fullmatch(line.strip())
    if not found:
        return None
    first, last = found["first"] or found["start"], found["last"] or found["until"]
    times = [moment(time) for time in (first, last) if time]
    if None in times:
        return None
    return Reference(
        archive=found["archive"],
        sha256=found["sha256"],
        entries=int(found["entries"]),
        summary=found["summary"] or "",
        first=moment(first or ""),
        last=moment(last or ""),
        end=found["end"] or "",
    )


def _range(first: datetime | None, last: datetime | None) -> str:
    if first and last:
        return f", {short(first)} to {short(last)}"
    if first:
        return f", from {short(first)}"
    return f", until {short(last)}" if last else ""
