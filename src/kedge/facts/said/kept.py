"""Things that the agent chose to keep or to use, until an edit of its own puts another there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kedge.facts.files.edits import pieces_of
from kedge.outcomes import Outcome
from kedge.sentences import cut, one_line

REMEMBERED = 32
"""Names remembered; a choice that old is overtaken by many."""
LOOKED_AT = 20_000
"""Characters of an edit in which a name is looked for."""
LINES = 40
"""Changed lines of an edit that are compared."""
ALIKE = 0.5
"""Share of words from which a line is another form of the one it replaces."""
SHOWN = 120
"""Characters of the line that stands there now."""

_KEEPS = re.compile(
    r"\b(?:keep|keeping|kept|use|using|stick (?:to|with)|stay with|leave|reuse)\b[^`.;]{0,40}"
    r"`(?P<name>[^`\n]{2,80})`",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


class Replaced(NamedTuple):
    key: str
    """Of the choice."""
    name: str
    now: str
    """The line that stands there now."""
    path: str


class Kept:
    def __init__(self) -> None:
        self._keys: dict[str, str] = {}
        """Of the choices, by the name that was chosen."""

    def state(self, choice: str, key: str) -> None:
        """Remember what a choice names."""
        if found := _KEEPS.search(choice):
            self._keys.pop(found["name"], None)
            self._keys[found["name"]] = key
        if len(self._keys) > REMEMBERED:
            del self._keys[next(iter(self._keys))]

    def replaced(self, outcome: Outcome) -> Iterator[Replaced]:
        """The names that an edit takes out of a line and puts another in for."""
        if not self._keys or outcome.call.verb != "edit":
            return
        for path in outcome.changed:
            for piece in pieces_of(outcome.call, path):
                yield from self._in(piece.old[:LOOKED_AT], piece.new[:LOOKED_AT], path)

    def _in(self, old: str, new: str, path: str) -> Iterator[Replaced]:
        for name in [name for name in self._keys if name in old]:
            whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            if whole.search(new):
                continue
            if now := _line_now(old, new, whole):
                key = self._keys.pop(name)
                yield Replaced(key, name, cut(one_line(now), SHOWN), path)


def _line_now(old: str, new: str, name: re.Pattern[str]) -> str:
    """The new line that is most like the one that held the name, where one is like it."""
    kept = set(old.splitlines())
    lines = [line for line in new.splitlines() if line.strip() and line not in kept][:LINES]
    held = next((line for line in old.splitlines() if name.search(line)), "")
    line = max(lines, key=lambda one: _likeness(held, one), default="")
    return line if _likeness(held, line) >= ALIKE else ""


def _likeness(one: str, other: str) -> float:
    """Share of their words that stand in both."""
    first, second = set(_WORD.findall(one)), set(_WORD.findall(other))
    return len(first & second) / max(len(first | second), 1)
