"""The lines of a text that answer a query, without secrets and unable to pass for ours."""

from __future__ import annotations

from kedge.bank.catalog.query import Word, lowered
from kedge.foreign import foreign
from kedge.redaction import Redactor
from kedge.sentences import LOOKED_AT, cut, one_line

LINES = 6
"""Lines of one hit that are shown."""
LINE = 200
"""Characters of a line."""
WHOLE = 2_400
"""Characters of what is shown of one hit: a summary of 512 tokens."""


def hidden(text: str, redactor: Redactor) -> str:
    """The text with marks in the place of secrets and with as many lines."""
    pieces, place = [], 0
    for secret in redactor.found(text):
        lines = text.count("\n", secret.start, secret.end)
        pieces += [text[place : secret.start], f"[secret: {secret.kind}]", "\n" * lines]
        place = secret.end
    return "".join([*pieces, text[place:]]) if pieces else text


def shown(text: str) -> str:
    return cut("\n".join(foreign(line) for line in text.split("\n")), WHOLE)


def lines_shown(words: tuple[Word, ...], text: str, first: int) -> tuple[tuple[int, int], str]:
    """Where the words stand, from the first line to the last, and these lines with their numbers.
    `first` is the number of the text's first line; 0 where it is not known."""
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n")):
        plain = lowered(line)
        if any(word.pattern.search(plain) for word in words):
            rows.append((number, line))
    if not rows:  # a phrase over the end of a line, or words of the title
        last = first + text.rstrip("\n").count("\n")
        return (first, last) if first else (0, 0), cut(one_line(text[:LOOKED_AT]), LINE)
    told = [
        f"{first + number}: {_line(words, line)}" if first else _line(words, line)
        for number, line in rows[:LINES]
    ]
    if len(rows) > LINES:
        told.append(f"+{len(rows) - LINES} more lines")
    lines = (first + rows[0][0], first + rows[-1][0]) if first else (0, 0)
    return lines, "\n".join(told)


def _line(words: tuple[Word, ...], line: str) -> str:
    """The part of a long line where the first word stands."""
    if len(line) > LINE:
        plain = lowered(line)
        places = [found.start() for word in words if (found := word.pattern.search(plain))]
        start = max(0, min(places, default=0) - LINE // 2)
        line = ("…" if start else "") + line[start : start + 4 * LINE]
    return cut(one_line(line), LINE)
