"""Messages of compilers, type checkers and linters, with the places they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.outcomes.telling.told import Told

_FILE = r"(?P<file>(?:[A-Za-z]:[\\/])?[\w.@+~/\\-]{1,300})"
_PLACED = re.compile(
    rf"^{_FILE}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,5}})(?::| -) (?P<rest>\S.*)$"
    rf"|^{_FILE.replace('file', 'bare')}:(?P<row>\d{{1,7}}): "
    r"(?P<error>(?:fatal )?error\b.*|\S.{0,800} \([a-z][\w-]{1,30}\))$",
    re.IGNORECASE,
)
"""`file:line:column: message`; without a column only where it is called an error or ends with
a linter's name: a log or a search prints `file:line: text` too."""
_BRACKETED = re.compile(
    r"^(?:\[ERROR\] )?(?P<file>(?:[A-Za-z]:)?[^\s:(\[][^:(\[\n]{0,300}):?"
    r"[(\[](?P<line>\d{1,7}),\d{1,5}[)\]]:? (?P<rest>\S.*)$"
)
"""`file(line,column): message`, and Maven's `[ERROR] file:[line,column] message`."""
_ARROW = re.compile(rf"^\s{{0,12}}(?:-->|╭─\[|┌─) ?{_FILE}:(?P<line>\d{{1,7}}):\d{{1,5}}")
"""The place of a message that stands on the line before."""
_LISTED = re.compile(r"^\s{1,8}(?P<line>\d{1,7}):\d{1,5}\s{1,4}error\s{1,4}\S.*$")
"""A message in a list under its file's name."""
_LISTING = re.compile(rf"^{_FILE}$")
_RULED = re.compile(rf"^{_FILE}:(?P<line>\d{{1,7}}):\d{{1,5}} (?:lint|parse|format|assist)\b.*$")
"""A place with its rule; the message stands behind it."""
_CROSS = re.compile(r"^\s{0,8}[×✖✘] ")
_MILD = re.compile(
    r"^\W{0,2}(?:warning|warn|note|info|remark|help|hint|suggestion)\b", re.IGNORECASE
)
_HAS_ENDING = re.compile(r"[^/\\]\.\w{1,10}$|(?:^|/)(?:Makefile|Dockerfile|Jenkinsfile|BUILD)$")
MESSAGE_BEHIND = 4
"""Lines behind a rule's place within which its message stands."""


def compiler_messages(lines: Sequence[str]) -> Iterator[Told]:
    """Each error with its place, in order; warnings and notes are none."""
    listing = ""
    for number, line in enumerate(lines):
        if not line[0].isspace():
            listing = line if _LISTING.match(line) and _HAS_ENDING.search(line) else ""
        elif listing and (listed := _LISTED.match(line)):
            yield Told(line.strip(), "compiler", (f"{listing}:{listed['line']}",))
            continue
        if (told := _own(line) or _pointed(lines, number) or _ruled(lines, number)) is not None:
            yield told


def _own(line: str) -> Told | None:
    """A message that begins with its place."""
    if found := _PLACED.match(line):
        file, row = found["file"] or found["bare"], found["line"] or found["row"]
        rest = found["rest"] or found["error"]
    elif found := _BRACKETED.match(line):
        file, row, rest = found["file"], found["line"], found["rest"]
    else:
        return None
    if _MILD.match(rest) or not _HAS_ENDING.search(file):
        return None
    return Told(line, "compiler", (f"{file}:{row}",))


def _pointed(lines: Sequence[str], number: int) -> Told | None:
    """A message with its place on the line behind it."""
    arrow = _ARROW.match(lines[number])
    if arrow is None or not number:
        return None
    message = lines[number - 1].strip()
    if _MILD.match(message):
        return None
    return Told(message, "compiler", (f"{arrow['file']}:{arrow['line']}",))


def _ruled(lines: Sequence[str], number: int) -> Told | None:
    ruled = _RULED.match(lines[number])
    if ruled is None:
        return None
    behind = lines[number + 1 : number + 1 + MESSAGE_BEHIND]
    message = next((line.strip() for line in behind if _CROSS.match(line)), "")
    return Told(message or lines[number], "compiler", (f"{ruled['file']}:{ruled['line']}",))
