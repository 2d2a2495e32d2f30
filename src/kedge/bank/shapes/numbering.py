"""The next number in the pattern a file has for its ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from kedge.bank.shapes.times import day

WIDTH = 3
"""Digits of a number that a file begins with: DEC-001."""
MOST_DIGITS = 12
"""Digits up to which something is a number that counts."""

_PATTERN = re.compile(
    r"(?P<prefix>[A-Za-z][A-Za-z_.-]{0,40}?|)(?P<day>[0-9]{8}-)?"
    rf"(?P<number>[0-9]{{1,{MOST_DIGITS}}})"
)
_NUMBER = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}")


def next_id(ids: Iterable[str], at: datetime, *, prefix: str = "") -> str:
    """Behind the highest one of the pattern that the last id has. Where no id has one, the first
    of `prefix`, and none where that is empty."""
    known = list(ids)
    for last in reversed(known):
        if found := _PATTERN.fullmatch(last):
            date = day(at).isoformat().replace("-", "") + "-" if found["day"] else ""
            return _behind(known, found["prefix"] + date, len(found["number"]))
    return f"{prefix}{1:0{WIDTH}}" if prefix else ""


def _behind(known: Iterable[str], prefix: str, width: int) -> str:
    rests = (one.removeprefix(prefix) for one in known if one.startswith(prefix))
    numbers = [int(rest) for rest in rests if _NUMBER.fullmatch(rest)]
    return f"{prefix}{max(numbers, default=0) + 1:0{width}}"
