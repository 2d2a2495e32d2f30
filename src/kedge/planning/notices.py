"""The one line that stands where a tool output was: what it was, and how to get it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kedge.model import Media, ToolCall, ToolResult, Verb

SHOW = "kedge show {name} t{turn}"
"""The command that prints a turn as it was."""
FILE = "FILE"
"""Stands for the session's own file, where it has no name."""
NAME_LENGTH = 64
"""Providers take no longer names of tools."""
SUBJECT_LENGTH = 100
"""Characters of a path or command in the line. The call itself stands above it in full."""
LOOKED_AT = 4 * SUBJECT_LENGTH
"""Characters of a parameter looked at, as some hold whole files."""

HARMLESS: tuple[Verb, ...] = ("read", "search", "web_search", "web_fetch")
"""Calls that may be made again to see their output. To run a command twice could do harm."""
_SUBJECTS: dict[Verb, tuple[str, ...]] = {
    "run": ("command", "cmd", "commands", "code", "script", "input"),
    "search": ("pattern", "query", "regex", "glob"),
    "web_search": ("query",),
    "web_fetch": ("url",),
}
"""Where calls that are not about a path say what they are about."""


def notice(
    call: ToolCall,
    result: ToolResult,
    *,
    turn: int,
    tokens: int,
    again: int | None = None,
    name: str = FILE,
) -> str:
    """The line for the output of a call in this turn; `again` is the turn of the same call with the
    newer output, if there is one; `name` is the session's."""
    tool = one_line(call.tool, NAME_LENGTH)
    show = SHOW.format(name=name, turn=turn)
    if again is not None:
        back = f"Same call again in t{again}; this one: {show}"
    elif call.verb in HARMLESS:
        back = f"To see it: call {tool} again, or {show}"
    else:
        back = f"To see it: {show}"
    what = f"{tool} {subject(call)}".strip()
    return f"[output of {what} left out: {_size(result, tokens)}; t{turn}. {back}]"


def subject(call: ToolCall) -> str:
    """What a call is about: its command, pattern or address, its path, or its first text."""
    given = (call.parameters.get(name) for name in _SUBJECTS.get(call.verb, ()))
    if text := next((text for value in given if (text := _text(value))), ""):
        first, _, more = text.strip()[:LOOKED_AT].partition("\n")
        return one_line(f"{first.rstrip()} …" if more.strip() else first, SUBJECT_LENGTH)
    if paths := call.paths():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return one_line(paths[0], SUBJECT_LENGTH, from_end=True) + more
    first = next((value for value in call.parameters.values() if _text(value)), "")
    return one_line(_text(first), SUBJECT_LENGTH)


def one_line(text: str, length: int, *, from_end: bool = False) -> str:
    """A text of others made fit for a line of ours: without breaks, control characters and
    brackets that would close ours. A path is cut from its front, as its end tells most."""
    part = text[-LOOKED_AT:] if from_end else text[:LOOKED_AT]
    line = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(part.split()))
    if len(line) > length:
        line = f"…{line[1 - length :]}" if from_end else f"{line[: length - 1]}…"
    return line if _is_balanced(line) else line.replace("[", "(").replace("]", ")")


def _is_balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return False
    return depth == 0


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    return ""


def _size(result: ToolResult, tokens: int) -> str:
    text = result.output or result.error or ""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    amounts = [_number(lines, "line")] if lines else []
    amounts += _kinds(result.media)
    return f"{' and '.join(amounts) or 'nothing'}, {_number(tokens, 'token')}"


def _kinds(media: Iterable[Media]) -> list[str]:
    return [_number(many, kind) for kind, many in Counter(one.kind for one in media).items()]


def _number(many: int, what: str) -> str:
    return f"{many:,} {what}{'' if many == 1 else 's'}"
