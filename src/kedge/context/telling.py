"""The line of an output that tells what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.sentences import cut, one_line

LINE_SHOWN = 200
"""Characters of an error line: a message and a path."""
LOOKED_AT = 10_000
"""Characters looked at from either end of an output: errors stand at its beginning, or close it."""
LINE_LOOKED_AT = 1_000
"""Characters of a line looked at; longer ones are data."""

_DECORATION = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]|</?tool_use_error>")
_TRACEBACK = "Traceback (most recent call last)"
_CLEAR = re.compile(
    r"(?:\b(?i:error|fatal|panic|exception|failed)\b|(?:Error|Exception)\b)"
    r"(?:\[\w{1,12}\]| TS\d{1,6})?\s?:"
    r"|^\W{0,4}(?:FAILED|FAIL|ERROR|FATAL|fatal|panic)\b"
)
"""An error announced as one: its word with a colon, or at the beginning of the line."""
_VAGUE = re.compile(
    r"\b(?i:errors?|exception|failed|failure|fatal|panic(?:ked)?|cannot|could not|not found"
    r"|no such file|denied)\b|(?:Error|Exception)\b"
)
_PLACED = re.compile(r"\s{0,8}[^\s:]{1,200}:\d{1,7}(?::\d{1,5})?:? ")
"""A compiler's message with its file and line, which need not have a word for error in it."""
_NOTHING_WRONG = re.compile(r"\b(?i:0|no|zero) (?i:errors?|failed|failures?|exceptions?)\b")
_FINE = re.compile(r"\bPASS(?:ED)?\b|\.\.\. ok\b")
_SAYS_NOTHING = re.compile(
    r"(?:command |process )?(?:failed |exited |exit )?(?:with )?(?:exit )?"
    r"(?:code|status)[: ]{0,2}-?\d{1,6}|no output|sibling tool call errored",
    re.IGNORECASE,
)
"""Exit codes are known without their being told; and a call that a client gave up because another
one failed has no error of its own."""


def telling_line(output: str) -> str:
    """The exception a traceback ends with; or the first line that announces an error, or else
    speaks of one, or names a place in a file; or the first that says anything, if one does."""
    text = _DECORATION.sub("", _ends(output))
    lines = [line for line in text.splitlines() if _says_something(line)]
    doubtful = [line[:LINE_LOOKED_AT] for line in lines if not _FINE.search(line)]
    found = (
        _raised(text)
        or _first(_CLEAR, doubtful)
        or _first(_VAGUE, doubtful)
        or next(filter(_PLACED.match, doubtful), "")
        or next(iter(lines), "")
    )
    return cut(one_line(found), LINE_SHOWN)


def _ends(output: str) -> str:
    if len(output) <= 2 * LOOKED_AT:
        return output
    return f"{output[:LOOKED_AT]}\n{output[-LOOKED_AT:]}"


def _says_something(line: str) -> bool:
    words = line.strip("<>()[]{}:=-_*.~ \t")
    return bool(words) and not _SAYS_NOTHING.fullmatch(words)


def _raised(text: str) -> str:
    """The line behind the frames of the last traceback."""
    _, found, behind = text.rpartition(_TRACEBACK)
    if not found:
        return ""
    lines = behind.splitlines()[1:]
    return next((line for line in lines if line.strip() and not line[0].isspace()), "")


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str:
    return next((line for line in lines if pattern.search(_NOTHING_WRONG.sub("", line))), "")
