"""Days as words: they narrow a search to a time before any passage is looked at."""

from __future__ import annotations

DAY = 86_400_000_000
"""Microseconds."""
SPANS = (1_024, 32, 1)
"""Days that one word stands for. Any time is put together from some dozens of them."""
LAST_DAY = 32 * SPANS[0] - 1
"""In the year 2059. What is later, or before 1970, counts for the last or the first day: the table
says the time itself."""


def day_of(at: int) -> int:
    return min(max(at // DAY, 0), LAST_DAY)


def day_words(at: int) -> str:
    """The words of a time, one for each span."""
    return " ".join(_word(day_of(at), span) for span in SPANS)


def days_between(since: int | None, until: int | None) -> list[str]:
    """Words of which each passage of a time has one; none where any time will do."""
    if since is None and until is None:
        return []
    day = 0 if since is None else day_of(since)
    last = LAST_DAY if until is None else day_of(until)
    found = []
    while day <= last:
        span = next(span for span in SPANS if day % span == 0 and day + span - 1 <= last)
        found.append(_word(day, span))
        day += span
    return found


def _word(day: int, span: int) -> str:
    return f"d{span}x{day // span}"
