"""Commands as they can be compared with later ones, and which of a line is to blame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import basename
from typing import NamedTuple

from kedge.outcomes import CHECKS, Counts, Outcome, Purpose, Run
from kedge.outcomes.calls import shell_line
from kedge.outcomes.evidence import SELDOM_FAIL
from kedge.outcomes.shell.command import Command
from kedge.outcomes.shell.parsing import commands_in
from kedge.outcomes.shell.prefixes import program_of, without_prefixes

WORDS_KEPT = 24
"""Words of a command by which it is known again."""
WORD_KEPT = 200
"""Characters of each: a path, or the beginning of a script."""

_LOOKS = """
    [ [[ ag awk bat cat cmp comm command cut df diff du egrep fd fgrep file find git-grep grep head
    jq less ls lsof md5sum more nl pgrep ps pwd readlink realpath rg sed shasum sort stat tail test
    tree type uniq wc whereis which who whoami xargs yq Get-ChildItem Get-Command Get-Content
    Get-Item Get-Location Select-Object Select-String Test-Path"""
LOOKS = frozenset(_LOOKS.split())
"""Programs that only look: their failing is an answer unless they say otherwise."""
_GIT_LOOKS = """
    blame branch cat-file check-ignore config describe diff diff-index for-each-ref grep log
    ls-files ls-remote ls-tree merge-base name-rev reflog remote rev-list rev-parse show show-ref
    status symbolic-ref"""
GIT_LOOKS = frozenset(_GIT_LOOKS.split())
FORMATS = frozenset({"fmt", "format", "gofmt", "prettier", "black"})
"""What rewrites files and is seldom what a line fails at."""
ENDS = frozenset({"exit", "return", "false"})
"""What only passes a failure on."""
SELDOM = (("git", "add"), ("git", "fetch"), ("git", "stash"))
"""The same, of git."""
FILTERS = frozenset({"head", "tail"})
"""What shows a part of an output."""
_TASK_FAILED = re.compile(r"^\[([\w:.@/-]{1,60})\] ERROR task failed", re.MULTILINE)
TASKS_WITHIN = 20_000
"""Characters of an output in which a task runner names the task that failed."""


class Ran(NamedTuple):
    """One command of a line, without pipes and redirections."""

    purpose: Purpose
    words: tuple[str, ...]
    """Without `sudo`, `timeout 60`, `npx` and the like; the program by its name."""
    folder: str = ""
    """Where `cd` or the call itself put it; empty where neither says so."""
    counts: Counts | None = None

    @property
    def program(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def looks(self) -> bool:
        """Whether it only looks."""
        if self.program == "git":
            return bool(GIT_LOOKS.intersection(self.words[1:4]))
        return self.program in LOOKS


class Step(NamedTuple):
    """A command of a line with what came of it."""

    ran: Ran
    run: Run
    command: Command
    behind: tuple[Command, ...]
    """What its output was piped into."""

    @property
    def passing(self) -> bool:
        counts = self.run.counts
        if self.run.success is False or (counts is not None and counts.failed):
            return False
        return counts.passing if counts is not None else self.run.success is True

    @property
    def failing(self) -> bool:
        counts = self.run.counts
        return self.run.success is False or (counts is not None and counts.failed > 0)


def steps_of(outcome: Outcome) -> tuple[Step, ...]:
    """The commands of a call that took place, in order."""
    if not outcome.runs:
        return ()
    commands = [command for command in commands_in(shell_line(outcome.call)) if command.words]
    if len(commands) != len(outcome.runs):
        commands = [Command(words=run.words) for run in outcome.runs]
    given = outcome.call.parameters.get("workdir")
    folder = given if isinstance(given, str) else ""
    return tuple(
        Step(_ran(run, command, folder), run, command, _behind(commands, place))
        for place, (run, command) in enumerate(zip(outcome.runs, commands, strict=True))
    )


def _ran(run: Run, command: Command, folder: str) -> Ran:
    plain = without_prefixes(run.words).words or run.words
    words = tuple(word[:WORD_KEPT] for word in plain[:WORDS_KEPT])
    if words:
        words = (program_of(words[0]) or words[0], *words[1:])
    return Ran(run.purpose, words, (command.folder or folder)[:WORD_KEPT], run.counts)


def only_looks(line: str) -> bool:
    """Whether all that a line would do is to look."""
    plain = (without_prefixes(one.words).words or one.words for one in commands_in(line))
    rans = [
        Ran("other", (program_of(words[0]) or words[0], *words[1:])) for words in plain if words
    ]
    telling = [ran for ran in rans if ran.program not in SELDOM_FAIL]
    return bool(rans) and all(ran.looks for ran in telling)


def _behind(commands: Sequence[Command], place: int) -> tuple[Command, ...]:
    end = place + 1
    while end < len(commands) and commands[end].joint == "|":
        end += 1
    return tuple(commands[place + 1 : end])


def blamed(outcome: Outcome, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The commands one of which failed; one, where it is known which. A check that failed is an
    error although its line ended well, as in a pipe; any other command may fail there on purpose.
    """
    failing = [step for step in steps if step.failing and step.ran.program not in ENDS]
    checks = [step for step in failing if step.run.purpose in CHECKS]
    if checks or not outcome.failed:
        return tuple(checks[-1:])
    if failing:
        return tuple(failing[-1:])
    open_ones = [s for s in steps if s.run.success is None and s.command.program not in SELDOM_FAIL]
    named = _by_task(outcome, open_ones)
    serious = [s for s in open_ones if not s.ran.looks and not _seldom(s.ran)]
    return tuple(named or serious or open_ones)


def _seldom(ran: Ran) -> bool:
    return ran.words[:2] in SELDOM or bool(FORMATS.intersection(ran.words))


def _by_task(outcome: Outcome, steps: Sequence[Step]) -> list[Step]:
    """The command whose task the output names as the one that failed."""
    output = "" if outcome.result is None else outcome.result.output[:TASKS_WITHIN]
    tasks = {task.partition(":")[0] for task in _TASK_FAILED.findall(output)}
    tasks |= set(_TASK_FAILED.findall(output))
    return [step for step in steps if tasks.intersection(step.ran.words)][-1:]


def whole_output(step: Step, output: str) -> bool:
    """Whether all that a command printed is there, and it did not stop counting."""
    if "too many errors" in output[-TASKS_WITHIN:]:
        return False
    lines = output.count("\n") + 1
    for command in step.behind:
        if command.program not in FILTERS | {"cat", "tee"}:
            return False
        if command.program in FILTERS and lines >= _shown(command):
            return False
    return True


def _shown(command: Command) -> int:
    """How many lines `head` and `tail` show."""
    numbers = (word.lstrip("-n+") for word in command.words[1:])
    return next((int(number) for number in numbers if number.isdecimal()), 10)


def searched_for(step: Step) -> tuple[str, ...]:
    """The words for which an output was searched, where only lines with them were shown."""
    if not step.behind or step.behind[0].program not in ("grep", "egrep", "rg"):
        return ()
    if any(command.program not in FILTERS for command in step.behind[1:]):
        return ()
    given = [word for word in step.behind[0].words[1:] if not word.startswith("-")]
    options = [word for word in step.behind[0].words[1:] if word.startswith("-")]
    if not given or any("v" in option or "c" in option for option in options):
        return ()
    alternatives = given[0].replace("\\|", "|").strip("()^$").split("|")
    return tuple(a for a in alternatives if a.replace(" ", "").replace(":", "").isalnum())


def alike(one: Ran, other: Ran) -> bool:
    """Whether two are the same command."""
    return one.words == other.words and same_folder(one.folder, other.folder)


def same_folder(one: str, other: str) -> bool:
    """Unless both are known and neither ends with the other: shells stay where they were sent."""
    if not one or not other or one == other:
        return True
    return one.endswith(f"/{basename(other)}") or other.endswith(f"/{basename(one)}")
