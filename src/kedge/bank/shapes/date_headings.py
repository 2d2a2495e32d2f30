"""Headings that name a time: `[2026-02-23T00:00:00Z] agent`, `2026-02-23 - title`, `Session
2026-02-23`, and which of them are entries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from kedge.bank.shapes.markdown import SECTION_LEVELS, Mark
from kedge.bank.shapes.times import has_clock, like_a_date, moment

TITLE_LEVEL = 1
"""Of a file's own title. One title with a date is no entry; several are."""

_DAY = r"[0-9]{4}(?:-[0-9]{1,2}-|/[0-9]{1,2}/)[0-9]{1,2}"
_BRACKETS = re.compile(r"\[([^\]\n]{1,80})\](.*)")
_PLAIN = re.compile(
    rf"({_DAY}(?:[T ][0-9]{{1,2}}(?::[0-9][^\s:]*)+)?)((?=[\s:,–—-]).*)?",
)
_BOLD = re.compile(r"(\*\*|__)(.+?)\1(.*)")
_WORD = re.compile(r"(session|update|entry|log|date)(?: #?[0-9]{1,5})?(?: *[:,–—-])? +", re.I)
_SEPARATOR = re.compile(r"\s+[-–—]\s+|:\s+|\s*[–—]\s*")
_LEADING = re.compile(r"\s*[-–—:,]*\s*")


class Heading(NamedTuple):
    at: datetime
    agent: str
    title: str
    brackets: bool
    clock: bool


def heading_in(text: str) -> Heading | None:
    """What a heading says; None where it names no time. A time of day in brackets is followed by
    an agent, a mere date by a title."""
    found = _time_in(text)
    if not found:
        return None
    brackets = found.re is _BRACKETS
    at = moment(found[1])
    if at is None:
        return None
    rest, clock = found[2] or "", has_clock(found[1])
    title = _LEADING.sub("", rest, count=1).strip()
    if not (brackets and clock) or _SEPARATOR.match(rest):
        return Heading(at, "", title, brackets, clock)
    agent, *titles = _SEPARATOR.split(title, maxsplit=1)
    return Heading(at, agent.strip(), "".join(titles).strip(), brackets, clock)


def names_a_date(mark: Mark) -> bool:
    """Whether a heading was meant to, right or wrong."""
    found = _time_in(mark.text) if mark.level else None
    return found is not None and like_a_date(found[1])


def dated_headings(found: Iterable[Mark]) -> list[Mark]:
    """Those that can be entries: small ones only where no others are there."""
    dated = [mark for mark in found if names_a_date(mark)]
    titles = sum(mark.level == TITLE_LEVEL for mark in dated)
    dated = dated if titles > 1 else [mark for mark in dated if mark.level > TITLE_LEVEL]
    return [mark for mark in dated if mark.level <= SECTION_LEVELS] or dated


def level_of_entries(dated: Iterable[Mark]) -> int:
    """The level of the first one; 0 where there is none. Where a heading is only a day and has
    headings of the same day below it, it is a section, and these are entries."""
    known = list(dated)
    for above, below in pairwise(known):
        if below.level > above.level and _is_day_of(above, below):
            return below.level
    return known[0].level if known else 0


def _time_in(text: str) -> re.Match[str] | None:
    """The time that a heading begins with, and what stands behind it."""
    if word := _WORD.match(text):
        text = text[word.end() :]
    if bold := _BOLD.match(text):
        text = bold[2] + bold[3]
    return _BRACKETS.match(text) or _PLAIN.fullmatch(text)


def _is_day_of(above: Mark, below: Mark) -> bool:
    day, entry = heading_in(above.text), heading_in(below.text)
    if not day or not entry or day.clock or day.title:
        return False
    return day.at.date() == entry.at.date()
