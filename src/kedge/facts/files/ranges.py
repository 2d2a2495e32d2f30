"""Which lines of a file a call read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line
from kedge.outcomes.shell.parsing import commands_in
from kedge.outcomes.touched.shell import touched_by_shell

DEFAULT_LINES = 10
"""What `head` and `tail` show unless told."""
_PRINTED = re.compile(r"(\d{1,7})(?:,(\d{1,7}|\$))?p")
_COUNT = re.compile(r"(?:-n|-|--lines=)?(\+?\d{1,7})")


def lines_read(outcome: Outcome, path: str) -> str:
    """The lines as `600-659`; empty for the whole file, or where it is not known."""
    if outcome.call.verb == "read":
        return _by_parameters(outcome.call.parameters)
    commands = commands_in(shell_line(outcome.call))
    for place, command in enumerate(commands):
        if any(touch.path == path for touch in touched_by_shell((command,), "")):
            behind = commands[place + 1] if place + 1 < len(commands) else command
            shows = behind if behind.joint == "|" and command.program == "cat" else command
            return _by_command(shows.program, shows.plain)
    return ""


def _by_parameters(given: dict[str, Any]) -> str:
    view = given.get("view_range")
    if isinstance(view, (list, tuple)) and len(view) == 2:
        first, last = _whole(view[0]), _whole(view[1])
        return f"{first}-{last}" if last > 0 else f"{first}-" if first > 1 else ""
    first = _whole(given.get("offset", given.get("start_line", given.get("startLine"))))
    last = _whole(given.get("end_line", given.get("endLine")))
    count = _whole(given.get("limit"))
    if last > 0:
        return f"{max(first, 1)}-{last}"
    if count > 0:
        return f"{max(first, 1)}-{max(first, 1) + count - 1}"
    return f"{first}-" if first > 1 else ""


def _by_command(program: str, words: Sequence[str]) -> str:
    if program == "sed":
        found = next((found for word in words if (found := _PRINTED.fullmatch(word))), None)
        if found is None or found[2] == "$":
            return f"{found[1]}-" if found else ""
        return f"{found[1]}-{found[2] or found[1]}"
    if program not in ("head", "tail"):
        return ""
    counts = (found[1] for word in words[1:] if (found := _COUNT.fullmatch(word)))
    count = next(counts, str(DEFAULT_LINES))
    if program == "head":
        return f"1-{count.lstrip('+')}"
    return f"{count[1:]}-" if count.startswith("+") else f"last {count}"


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        return 0
    if isinstance(value, str) and value.isdecimal() and len(value) < 9:
        return int(value)
    return value if isinstance(value, int) else int(value) if isinstance(value, float) else 0
