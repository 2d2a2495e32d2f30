"""The telling part of what a command printed, in a few words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.outcomes import CHECKS, Outcome, Run
from kedge.outcomes.evidence import NO_OUTPUT, shown_part
from kedge.outcomes.shell.prefixes import arguments, program_of, without_prefixes
from kedge.outcomes.telling.lines import told_in
from kedge.sentences import cut, one_line

SHOWN = 120
"""Characters of a telling line: a message and a place."""
LONGEST_LINE = 1_000
"""Characters of a line that is looked at; longer ones are data."""

COMPILE_ERROR = re.compile(
    r"^[^\s:(]{1,200}(?:\(\d{1,7},\d{1,5}\): error |:\d{1,7}:\d{1,5}: (?:fatal )?error: )",
    re.MULTILINE,
)
"""A line that only a compiler prints that did not succeed."""
_SPEAKS_OF_ERRORS = re.compile(
    r"(?i:error|fatal|fail|cannot|could not|not found|no such|denied|refused|invalid|unknown"
    r"|unrecognized|missing|exception|panic|timed out|unable|reject)"
)

NO_ISSUES = re.compile(
    r"^(?:\[[\w:.-]{1,60}\] )?(?:All checks passed!|Success: no issues found|0 issues\.?$"
    r"|✔ No ESLint warnings or errors|0 errors, 0 warnings|\[OK\] No errors"
    r"|\d{1,6} files? inspected, no offenses)",
    re.MULTILINE,
)
ISSUES = re.compile(
    r"^(?:\[[\w:.-]{1,60}\] )?(?:Found (?P<errors>[1-9]\d{0,6}) errors?\b"
    r"|(?P<issues>[1-9]\d{0,6}) issues?[.:]$"
    r"|[^\n\w]{0,4}(?P<problems>[1-9]\d{0,6}) problems? \([^)\n]{1,60}\)"
    r"|(?P<counted>[1-9]\d{0,6}) errors?, \d{1,6} warnings?"
    r"|\d{1,6} files? inspected, (?P<offenses>[1-9]\d{0,6}) offenses?"
    r"|(?P<files>[1-9]\d{0,6}) files? would be reformatted)",
    re.MULTILINE,
)
_UNITS = {
    "errors": "error",
    "counted": "error",
    "issues": "issue",
    "problems": "problem",
    "offenses": "offense",
    "files": "file to reformat",
}

_VERSION = re.compile(r"(?<![\w.])(?:[A-Za-z]{1,12})?v?\d{1,6}\.\d{1,6}[\w.+-]{0,40}")
_CHANGED = re.compile(
    r"^(?:\t| {8})(?:(?:modified|new file|deleted|renamed|typechange|copied|both \w{1,20}): +)?"
    r"(\S[^\n]{0,400})$",
    re.MULTILINE,
)
_SHORT_CHANGED = re.compile(r"^(?:[ MADRCUT?!][ MADRCUT?!]) \S", re.MULTILINE)


def telling(outcome: Outcome, runs: Sequence[Run], *, success: bool | None) -> str:
    """What of a result is worth a few words; empty where nothing is."""
    result = outcome.result
    if result is None:
        return ""
    text = shown_part(result.output)
    checks = any(run.purpose in CHECKS for run in runs)
    if success is False:
        counted = any(run.counts is not None for run in runs)
        wrong = what_failed(text, tests=counted) or what_failed(result.error or "")
        number = issues_in(text) if checks else ""
        told = cut(": ".join(filter(None, (number, wrong))), SHOWN)
        code = result.exit_code
        return told or (f"exit code {code}" if code else "")
    if success is None and checks:
        return "no output" if text.strip() in NO_OUTPUT else ""
    if any(run.purpose == "lint" for run in runs) and NO_ISSUES.search(text):
        return "0 issues"
    return _status(runs, text) or _version(runs, text)


def what_failed(text: str, *, tests: bool = False) -> str:
    """The first test that failed, or else the line that tells what went wrong. What tests print
    themselves is full of errors that are none: of a runner's output only its own lines count."""
    told = next(iter(told_in(text)), None)
    if told is None:
        return ""
    if told.kind in ("raised", "other") and tests:
        return ""
    named = told.name and not told.line.startswith(told.name)
    line = told.name if named else one_line(told.line.rpartition("\r")[2])
    return line if told.kind != "other" or _SPEAKS_OF_ERRORS.search(line) else ""


def issues_in(text: str) -> str:
    """How many errors or issues a check closes with, in its own word."""
    every = list(ISSUES.finditer(text))
    found = every[-1] if every else None  # the last one closes the output
    if found is None or found.lastgroup is None:
        return ""
    number, unit = int(found[found.lastgroup]), _UNITS[found.lastgroup]
    first, _, rest = unit.partition(" ")
    return f"{number} {first}{'s' if number > 1 else ''}{' ' + rest if rest else ''}"


def _status(runs: Sequence[Run], text: str) -> str:
    """Of `git status`: clean, or how many files it names."""
    asked = [run for run in runs if _git(run)[:1] == ["status"]]
    if not asked:
        return ""
    if "working tree clean" in text:
        return "clean"
    short = {"-s", "--short", "--porcelain", "-sb", "--porcelain=v1"} & set(asked[-1].words)
    if not short:
        number = len(set(_CHANGED.findall(text)))
    elif len(runs) > 1:
        return ""
    else:
        number = len(_SHORT_CHANGED.findall(text))
        if not number:
            return "" if text.strip() else "clean"
    return f"{number} file{'s' if number != 1 else ''} changed" if number else ""


def _git(run: Run) -> list[str]:
    """The words of a git command that are no options."""
    plain = without_prefixes(run.words).words
    return arguments(plain) if plain and program_of(plain[0]) == "git" else []


def _version(runs: Sequence[Run], text: str) -> str:
    """What a command that asks for a version printed."""
    if len(runs) != 1 or not runs[0].words[1:]:
        return ""
    asked = runs[0].words[-1] if len(runs[0].words) == 2 else ""
    if asked not in ("--version", "-version", "-V", "-v", "version"):
        return ""
    found = _VERSION.search(text.strip()[:LONGEST_LINE])
    return found[0] if found else ""
