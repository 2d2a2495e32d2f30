"""Errors that nothing has resolved yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kedge.context.statuses import CHECKS, runs_of, status_of
from kedge.model import MOST_ERRORS, ToolCall
from kedge.outcomes import Counts, Outcome, Purpose, Run
from kedge.outcomes.telling.lines import telling_line
from kedge.sentences import cut, one_line

REMEMBERED = 20
"""Open errors remembered: more than are shown, as those resolved make room for older ones."""
TARGET_LOOKED_AT = 400
"""Characters of a command or parameter by which a later call is known to be the same."""
LINE_SHOWN = 200
"""Characters of an error line: a message and a path."""
COMMAND_SHOWN = 120
"""Characters of a command that failed without a word."""
QUIET = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "git", "diff", "cmp", "test", "[", "pgrep"}
)
"""Programs whose exit code 1 is an answer, not an error, where they say nothing: no match, or a
difference."""
LOOKING = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ls", "find", "fd", "cat", "head", "tail", "less"}
    | {
        "tree",
        "which",
        "type",
        "command",
        "stat",
        "file",
        "wc",
        "jq",
        "curl",
        "wget",
        "ps",
        "pgrep",
    }
)
"""Programs that only look: where they fail nothing is broken, and they are rarely run again."""
SETTLES: dict[Purpose, frozenset[Purpose]] = {
    "test": frozenset({"test", "build", "install", "other"}),
    "build": frozenset({"build", "other"}),
    "commit": frozenset({"commit"}),
    "push": frozenset({"push"}),
    "pull_request": frozenset({"pull_request"}),
    "merge": frozenset({"merge"}),
    "tag": frozenset({"tag"}),
}
"""Which errors a run that succeeds shows to be past. Passing tests need what they run on; a build
says nothing about tests, and neither about a deployment. Commits differ in their words only."""
_FILES = frozenset({"read", "write", "edit", "delete", "move"})


class _Open(NamedTuple):
    line: str
    purpose: Purpose
    counts: Counts | None


class OpenErrors:
    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        """By what failed: a command, or a tool and its target."""

    def add(self, outcome: Outcome) -> None:
        """Take what a call came to."""
        for run in runs_of(outcome):
            if status_of(run) == "passing":
                self._settle(run)
        for key in _mended(outcome):
            self._open.pop(key, None)
        failed = _failed_run(outcome)
        if failed is not None and failed.words[0].rpartition("/")[2] in LOOKING:
            return
        if (outcome.failed or failed is not None) and (line := _line(outcome)):
            key = _target(outcome.call) if failed is None else _of_run(failed)
            self._remember(key, line, failed)

    def lines(self) -> tuple[str, ...]:
        """The telling lines, newest last, each once."""
        newest = dict.fromkeys(error.line for error in reversed(self._open.values()))
        return tuple(reversed(list(newest)[:MOST_ERRORS]))

    def _remember(self, key: str, line: str, run: Run | None) -> None:
        self._open.pop(key, None)
        self._open[key] = _Open(line, run.purpose if run else "other", run.counts if run else None)
        if len(self._open) > REMEMBERED:
            del self._open[next(iter(self._open))]

    def _settle(self, run: Run) -> None:
        settled = SETTLES.get(run.purpose, frozenset())
        self._open = {
            key: error
            for key, error in self._open.items()
            if error.purpose not in settled
            or (error.purpose == "test" and _fewer(run.counts, error.counts))
        }


def _fewer(passing: Counts | None, failing: Counts | None) -> bool:
    """Whether fewer tests passed than had been run: a part of them settles nothing."""
    if passing is None or failing is None:
        return False
    alike = (passing.runner, passing.unit) == (failing.runner, failing.unit)
    return alike and passing.passed < failing.passed + failing.failed


def _failed_run(outcome: Outcome) -> Run | None:
    """The run that failed. Failing tests are an error also where their line ended well, as in a
    pipe; any other command may fail there on purpose."""
    runs = runs_of(outcome)
    failing = [run for run in runs if status_of(run) == "failing"]
    if not outcome.failed:
        failing = [run for run in failing if run.purpose in CHECKS]
    return next(reversed(failing or (runs if outcome.failed else ())), None)


def _line(outcome: Outcome) -> str:
    result = outcome.result
    if result is None:
        return ""
    if line := telling_line(result.error or "") or telling_line(result.output):
        return cut(one_line(line), LINE_SHOWN)
    programs = {run.words[0].rpartition("/")[2] for run in outcome.runs if run.words}
    if result.exit_code is None or (result.exit_code == 1 and programs & QUIET):
        return ""
    return f"{cut(one_line(_words(outcome.call)), COMMAND_SHOWN)}: exit code {result.exit_code}"


def _mended(outcome: Outcome) -> Iterator[str]:
    """What a call shows to be well again, had it failed before."""
    yield from (_of_run(run) for run in runs_of(outcome) if status_of(run) == "passing")
    if outcome.success:
        yield _target(outcome.call)
        paths = outcome.call.paths() if outcome.call.verb in _FILES else ()
        yield from (f"read {path}" for path in (*paths, *outcome.changed))


def _target(call: ToolCall) -> str:
    """What a call is about: its file, by whatever tool that is changed, or else its own words."""
    paths = call.paths() if call.verb in _FILES else ()
    if paths:
        return f"{'read' if call.verb == 'read' else 'change'} {paths[0]}"
    return f"{call.tool} {_words(call)}"


def _of_run(run: Run) -> str:
    return f"run {run.text[:TARGET_LOOKED_AT]}"


def _words(call: ToolCall) -> str:
    """A call's command, or else the tool and what it was given."""
    given = call.parameters.get("command", call.parameters.get("cmd"))
    if isinstance(given, list):
        given = " ".join(str(word)[:TARGET_LOOKED_AT] for word in given)
    if isinstance(given, str) and given:
        return given[:TARGET_LOOKED_AT]
    values = (v[:TARGET_LOOKED_AT] for v in call.parameters.values() if isinstance(v, str))
    return " ".join((call.tool, *values))[:TARGET_LOOKED_AT]
