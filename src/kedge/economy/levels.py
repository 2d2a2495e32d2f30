"""Texts with their levels, made when they are asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache

from kedge.bank.briefs import brief_128, brief_512, brief_2048
from kedge.bank.briefs.fitting import cut_to
from kedge.economy.loading import Level
from kedge.tokens import EXACT

Text = Callable[[Level], str]

ROOM: dict[Level, int] = {"2048": 2_048, "512": 512, "128": 128}
"""Tokens of the levels (seed 003)."""
MORE = 12
"""Tokens set aside for the line that says how much is not shown."""


def summarised(text: str, title: str = "") -> Text:
    """A text of the bank: below it, its briefs."""
    briefs = {"2048": brief_2048, "512": brief_512, "128": brief_128}

    @cache
    def level_of(level: Level) -> str:
        return text if level == "full" else briefs[level](text, title=title)

    return level_of


def begun(text: str) -> Text:
    """A text whose beginning says most: code, or a list in the order of weight."""
    lines = text.splitlines()

    @cache
    def level_of(level: Level) -> str:
        return text if level == "full" else _first_lines(lines, ROOM[level])

    return level_of


def _first_lines(lines: list[str], room: int) -> str:
    """As many lines as there is room for, and how many there are in all."""

    def shown(number: int) -> str:
        rest = len(lines) - number
        return "\n".join((*lines[:number], f"… {rest:,} more lines") if rest else lines)

    if EXACT.count(shown(len(lines))) <= room:
        return shown(len(lines))
    fits = bisect_right(range(len(lines)), room, key=lambda number: EXACT.count(shown(number)))
    number = max(0, fits - 1)  # the search has counted it, whatever lies between
    if number or not lines:
        return shown(number) if lines else ""
    begun_line = cut_to(lines[0], room - MORE)
    more = f"\n… {len(lines) - 1:,} more lines" if len(lines) > 1 else ""
    return begun_line + more
