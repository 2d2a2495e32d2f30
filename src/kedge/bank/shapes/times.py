"""Times as bank files have them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import lru_cache

REMEMBERED = 1_024
"""Times kept as they were read: rows of a table often have the same."""
FIRST_MILLISECOND = 100_000_000_000
"""Numbers from here on count milliseconds: as seconds they would be after the year 5000."""

_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}/[0-9]{2}/[0-9]{2})"
    r"(?:[T ]+([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
    r"(?: ?(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?::[0-9]{2})?))?)?",
    re.IGNORECASE,
)
_LIKE_A_DATE = re.compile(r"[0-9]{4}[-/.][0-9]|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}\b")
_NO_OFFSET = ("", "Z", "UTC", "GMT")


@lru_cache(maxsize=REMEMBERED)
def moment(text: str) -> datetime | None:
    """The time a text is; None where it is none. One without an offset is UTC."""
    found = _TIME.fullmatch(text.strip())
    if not found:
        return None
    day, clock, offset = found.groups("")
    day = day.replace("/", "-")
    try:
        at = datetime.fromisoformat(f"{day}T{clock or '00:00'}")
        if offset.upper() in _NO_OFFSET:
            return at.replace(tzinfo=UTC)
        return datetime.fromisoformat(f"{day}T{clock}{offset}")
    except ValueError:
        return None


def since_epoch(number: object) -> datetime | None:
    """The time a number is, in seconds or milliseconds; None where it is none."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    seconds = number / 1_000 if number >= FIRST_MILLISECOND else number
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def has_clock(text: str) -> bool:
    """Whether a time says more than the day."""
    return ":" in text


def like_a_date(text: str) -> bool:
    """Whether somebody meant a date, right or wrong. `1.2.0` is a version."""
    return _LIKE_A_DATE.match(text) is not None


def aware(at: datetime) -> datetime:
    """In UTC, or as it is where the calendar ends before that."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return at


def stamp(at: datetime) -> str:
    """2026-02-23T00:00:00Z"""
    return aware(at).isoformat().replace("+00:00", "Z")


def day(at: datetime) -> date:
    return aware(at).date()


def short(at: datetime) -> str:
    """Only the day where the clock says nothing: what is read is the same."""
    return stamp(at).removesuffix("T00:00:00Z")
