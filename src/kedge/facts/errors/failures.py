"""The errors a call shows: which of its lines, and what they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from kedge.facts.errors.runs import Ran, Step, blamed
from kedge.facts.files.paths import Paths
from kedge.model import ToolCall, ToolResult
from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line
from kedge.outcomes.evidence import shown_part
from kedge.outcomes.telling.lines import told_in
from kedge.outcomes.telling.told import Told
from kedge.sentences import cut, one_line

ABOUT_SHOWN = 160
"""Characters of the command or call that failed."""
EDIT_LINES = 6
"""Lines of a failed edit that are the tool's own; behind them it may print the file."""
STOPPED = 130
"""The exit code of a command that was interrupted by hand."""

_CHANGING = frozenset({"edit", "write", "delete", "move"})
_ANSWERS = frozenset({"read", "search", "web_search", "web_fetch", "ask", "todo"})
"""Verbs of calls that only look: what they do not find is an answer."""
_ABSENT = re.compile(
    r"no such file or directory|does not exist|cannot access|cannot find path|not a directory"
    r"|is a directory|not found in|no matches found",
    re.IGNORECASE,
)
_MISSING = re.compile(r"command not found|: not found$|is not recognized as")
_OF_EDIT = re.compile(r"\n(?:String|Content|Old string): ?")
"""Behind it a client prints the text it was given."""
_WRONG_FOLDER = re.compile(r"\bcd:.{0,200}(?i:no such file or directory|not a directory)")
"""A slip of the line itself: nothing of what it was to run has failed."""
_GIVEN_UP = "Sibling tool call errored"


class Failure(NamedTuple):
    told: tuple[Told, ...]
    about: str
    awaited: tuple[Ran, ...] = ()
    """Commands that must succeed for the errors to be past."""
    target: str = ""
    """What a call that runs no command was about."""
    step: Step | None = None
    """The command to blame, where it is known."""
    missing: bool = False
    """The program itself is not there."""
    minor: bool = False
    """A rule of the client, repaired by the next call."""


def failure_of(outcome: Outcome, steps: Sequence[Step], paths: Paths) -> Failure | None:
    """What went wrong in a call; None where nothing did, or where it is an answer."""
    result = outcome.result
    if result is None or result.refused or result.interrupted:
        return None
    if steps:
        return _of_commands(outcome, result, steps)
    if not result.failed or outcome.call.verb in _ANSWERS or _GIVEN_UP in result.output[:200]:
        return None
    target = target_of(outcome.call, paths)
    if outcome.call.verb in _CHANGING:
        text = _OF_EDIT.split((result.error or result.output)[:4_000], maxsplit=1)[0]
        told = told_in("\n".join(islice(text.splitlines(), EDIT_LINES)))[:1]
        return Failure(told, target, target=target, minor=True) if told else None
    told = told_in(_text(result))
    about = cut(one_line(shell_line(outcome.call)[: ABOUT_SHOWN * 4]), ABOUT_SHOWN) or target
    return Failure(told, about, target=target) if told else None


def target_of(call: ToolCall, paths: Paths) -> str:
    """The tool, and the file it changes."""
    path = next(iter(call.paths()), "") if call.verb in _CHANGING else ""
    return f"{call.tool[:60]} {paths.name(path)}".rstrip()


def _of_commands(outcome: Outcome, result: ToolResult, steps: Sequence[Step]) -> Failure | None:
    guilty = blamed(outcome, steps)
    if not guilty or _GIVEN_UP in result.output[:200] or result.exit_code == STOPPED:
        return None
    about = cut(one_line(shell_line(outcome.call)[: ABOUT_SHOWN * 4]), ABOUT_SHOWN)
    awaited = tuple(step.ran for step in guilty)
    text = _text(result)
    looks = all(step.ran.looks for step in guilty)
    told = _own_words(text, awaited) if looks else told_in(text)
    if not told and not looks and result.exit_code is not None and outcome.failed:
        told = (Told(f"exit code {result.exit_code}", "other"),)
    missing = len(told) == 1 and _MISSING.search(told[0].line) is not None
    if not told or _WRONG_FOLDER.search(told[0].line):
        return None
    return Failure(told, about, awaited, "", guilty[-1], missing)


def _own_words(text: str, awaited: Iterable[Ran]) -> tuple[Told, ...]:
    """What programs that only look say themselves. What they print beside it is what they were
    looking at; and that something is not there is an answer."""
    programs = {ran.program for ran in awaited}
    starts = tuple(f"{program}: " for program in programs)
    starts += ("fatal: ", "error: ") if "git" in programs else ()
    through = tuple(f": {program}: " for program in programs)
    for line in shown_part(text).splitlines():
        said = line.startswith(starts) or any(start in line[:120] for start in through)
        said = said or _MISSING.search(line[:400]) is not None
        if said and (_MISSING.search(line[:400]) or not _ABSENT.search(line[:400])):
            return (Told(line.strip(), "other"),)
    return ()


def _text(result: ToolResult) -> str:
    if result.error and result.error[:400] not in result.output:
        return f"{result.error}\n{result.output}"
    return result.output
