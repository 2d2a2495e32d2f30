"""The commands of a line with what came of each, as they can be compared with later ones."""

from __future__ import annotations

from posixpath import basename
from typing import NamedTuple

from kedgeline.shell import Counts, Outcome, Purpose, Run
from kedgeline.shell.calls import shell_line
from kedgeline.shell.evidence import SELDOM_FAIL
from kedgeline.shell.parsing import commands_in
from kedgeline.shell.prefixes import Command, usual_program, without_prefixes

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
SELDOM = frozenset({"add", "fetch", "stash", "fmt", "format", "gofmt", "prettier", "black"})
"""Commands that are seldom what a line fails at."""
ENDS = frozenset({"exit", "return", "false"})
"""What only passes a failure on."""


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


class CommandStep(NamedTuple):
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


def steps_of(outcome: Outcome) -> tuple[CommandStep, ...]:
    """The commands of a call that took place, in order."""
    if not outcome.runs:
        return ()
    commands = [command for command in commands_in(shell_line(outcome.call)) if command.words]
    if len(commands) != len(outcome.runs):
        commands = [Command(words=run.words) for run in outcome.runs]
    given = outcome.call.parameters.get("workdir")
    folder = given if isinstance(given, str) else ""
    steps = []
    for place, (run, command) in enumerate(zip(outcome.runs, commands, strict=True)):
        end = place + 1
        while end < len(commands) and commands[end].joint == "|":
            end += 1
        words = tuple(word[:WORD_KEPT] for word in _plain(run.words)[:WORDS_KEPT])
        ran = Ran(run.purpose, words, (command.folder or folder)[:WORD_KEPT], run.counts)
        steps.append(CommandStep(ran, run, command, tuple(commands[place + 1 : end])))
    return tuple(steps)


def _plain(words: tuple[str, ...]) -> tuple[str, ...]:
    plain = without_prefixes(words).words or words
    return (usual_program(plain[0]) or plain[0], *plain[1:]) if plain else ()


def only_looks(line: str) -> bool:
    """Whether all that a line would do is to look."""
    rans = [Ran("other", words) for one in commands_in(line) if (words := _plain(one.words))]
    return bool(rans) and all(ran.looks for ran in rans if ran.program not in SELDOM_FAIL)


def same_command(one: Ran, other: Ran) -> bool:
    return one.words == other.words and same_folder(one.folder, other.folder)


def same_folder(one: str, other: str) -> bool:
    """Unless both are known and neither ends with the other: shells stay where they were sent."""
    if not one or not other or one == other:
        return True
    return one.endswith(f"/{basename(other)}") or other.endswith(f"/{basename(one)}")
