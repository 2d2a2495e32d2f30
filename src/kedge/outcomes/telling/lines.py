"""The lines of an output that tell what went wrong.

Nothing is concluded from them: whether a call failed is in its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from kedge.outcomes.evidence import shown_part
from kedge.outcomes.telling.compilers import compiler_messages
from kedge.outcomes.telling.tests import failing_tests
from kedge.outcomes.telling.told import LONGEST, TRACED, Told

MOST = 60
"""Errors taken from one output: enough to know whether an earlier one is still among them."""
REMEMBERED = 8
"""Outputs whose errors are kept: several extractors ask for those of one call."""
ENDS_OPEN = 120
"""Characters of a line to which the next one is joined where it ends with a colon."""

_DECORATION = re.compile(r"</?(?:tool_use_error|error)>")
_TASK = re.compile(r"^\[(?!(?i:error|warn|info|debug|fatal))[a-z][\w:.@/-]{0,60}\] ")
"""What a task runner puts before the lines of a task."""
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s{0,40}\|?\s{0,8}File "([^"\n]{1,400})", line (\d{1,7})')
_SYNTAX = re.compile(r"^(?:Syntax|Indentation|Tab)Error: ")
"""What Python raises about a file that it cannot read; no traceback need stand before it."""
_CLEAR = re.compile(
    r"(?:\b(?i:error|fatal|panic|exception|failed)\b|(?:Error|Exception)\b)"
    r"(?:\[\w{1,12}\]| TS\d{1,6})?\s?:"
    r"|^\W{0,4}(?:FAILED|FAIL|ERROR|FATAL|fatal|panic)\b"
    r"|^(?:npm|pnpm|yarn|mise|bun) (?:ERR!|error|ERROR)\b|^\W{0,3}[EF]\d{3,4} "
)
"""An error announced as one: its word with a colon, or at the beginning of the line."""
_VAGUE = re.compile(
    r"\b(?i:errors?|exception|failed|failure|fatal|panic(?:ked)?|cannot|could not|not found"
    r"|no such file|denied|refused|timed out)\b|(?:Error|Exception)\b"
)
_PLACED = re.compile(r"\s{0,8}[^\s:]{1,200}:\d{1,7}(?::\d{1,5})?:? ")
"""A message with its file and line, which need not have a word for error in it."""
_NOTHING_WRONG = re.compile(r"\b(?i:0|no|zero) (?i:errors?|failed|failures?|exceptions?)\b")
_FINE = re.compile(r"\bPASS(?:ED)?\b|\.\.\. ok\b|^\s{0,8}[✓✔] ")
_SAYS_NOTHING = re.compile(
    r"(?:command |process )?(?:failed |exited |exit )?(?:with )?(?:exit )?"
    r"(?:code|status)[: ]{0,2}-?\d{1,6}|no output|https?://\S+|sibling tool call errored",
    re.IGNORECASE,
)
"""Exit codes are known without their being told; and a call that a client gave up because another
one failed has no error of its own."""
_ONLY_THAT = re.compile(
    r"^(?:FAIL|FAILED|PASS)\W{0,4}$|^FAIL\s+\S+ \[(?:build|setup) failed\]"
    r"|\bERROR task failed\b|^make(?:\[\d{1,3}\])?: \*\*\* .{0,300}\bError \d|^exit status \d"
    r"|^npm (?:ERR!|error)(?: (?:code|errno|path|workspace|location|command|Lifecycle"
    r"|A complete log|signal|syscall|in workspace)\b|\s{0,4}$)|\bELIFECYCLE\b|^ERR_PNPM_RECURSIVE"
    r"|Command failed with exit code|^error: (?:script|Recipe) .{1,200} (?:exited|failed)"
    r"|^husky - |^task: Failed to run|^##\[error\]|^error: failed to push some refs"
    r"|^\+ (?:CategoryInfo|FullyQualifiedErrorId)\b",
    re.IGNORECASE,
)
"""Says only that something failed: what did stands elsewhere, if anywhere."""


def telling_line(output: str) -> str:
    """The line that tells most; empty where none says anything."""
    return next((told.line for told in told_in(output)), "")


def told_in(output: str) -> tuple[Told, ...]:
    """The errors of an output, in order: failing tests, or a compiler's messages; or else the one
    exception a traceback ends with, line that announces an error, or line that speaks of one, or
    names a place; or the first that says anything."""
    return _told_in(shown_part(output))


@lru_cache(maxsize=REMEMBERED)
def _told_in(text: str) -> tuple[Told, ...]:
    lines = _lines(text)
    kinds = (failing_tests, compiler_messages)
    if any("[build failed]" in line or "[setup failed]" in line for line in lines):
        kinds = (compiler_messages, failing_tests)
    for found_in in kinds:
        if found := tuple(found_in(lines))[:MOST]:
            return found
    told = _raised(lines) or _announced(lines)
    return () if told is None else (told,)


def _lines(text: str) -> list[str]:
    """Lines that say something, without a task runner's names before them."""
    text = _DECORATION.sub("", text)
    lines = (_TASK.sub("", line.rstrip()[:LONGEST]) for line in text.splitlines())
    return [line for line in lines if _says_something(line)]


def _says_something(line: str) -> bool:
    words = line.strip("<>()[]{}:=-_*.~ \t")
    return bool(words) and not _SAYS_NOTHING.fullmatch(words)


def _raised(lines: Sequence[str]) -> Told | None:
    """The exception behind the frames of the last traceback, with the last frame that is no
    library's."""
    start = next((n for n in range(len(lines) - 1, -1, -1) if _TRACEBACK in lines[n]), -1)
    if start < 0:
        return _unread(lines)
    place = ""
    for line in lines[start + 1 :]:
        if frame := _FRAME.match(line):
            place = place if TRACED.search(frame[1]) else f"{frame[1]}:{frame[2]}"
        elif not line[0].isspace() and line[0] != "|":
            return Told(line, "raised", (place,) if place else ())
    return None


def _unread(lines: Sequence[str]) -> Told | None:
    """A file that Python could not read."""
    for number, line in enumerate(lines):
        if _SYNTAX.match(line):
            frames = [_FRAME.match(before) for before in lines[max(0, number - 4) : number]]
            places = tuple(f"{frame[1]}:{frame[2]}" for frame in frames if frame)
            return Told(line, "raised", places[-1:])
    return None


def _announced(lines: Sequence[str]) -> Told | None:
    doubtful = [line for line in lines if not _FINE.search(line)]
    telling = [line for line in doubtful if not _ONLY_THAT.search(line.strip())]
    found = (
        _first(_CLEAR, telling)
        or _first(_VAGUE, telling)
        or next(filter(_PLACED.match, telling), "")
        or _before_the_verdict(lines)
        or next(iter(doubtful if telling == doubtful else ()), "")
        or _first(_ONLY_THAT, doubtful)
        or next(iter(lines), "")
    )
    return Told(_whole(found, lines), "other") if found else None


def _whole(line: str, lines: Sequence[str]) -> str:
    """A line that ends with a colon says nothing without the next one."""
    if not line.endswith(":") or len(line) > ENDS_OPEN:
        return line.strip()
    behind = lines.index(line) + 1
    return " ".join([line.strip(), *(next_one.strip() for next_one in lines[behind : behind + 1])])


def _before_the_verdict(lines: Sequence[str]) -> str:
    """What stands before the first line that only says that it failed."""
    before = ""
    for line in lines:
        if _ONLY_THAT.search(line.strip()):
            return before
        before = "" if line.startswith(("#", "$", ">")) else line
    return ""


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str:
    return next(_found(pattern, lines), "")


def _found(pattern: re.Pattern[str], lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if pattern.search(_NOTHING_WRONG.sub("", line.strip())))
