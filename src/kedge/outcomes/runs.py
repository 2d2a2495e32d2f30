"""The commands of a shell line with what they were for and how they went."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from kedge.model import ToolResult
from kedge.outcomes.evidence import SELDOM_FAIL, echoed, idle, said, shown_part, silent
from kedge.outcomes.purpose.purposes import purpose_of
from kedge.outcomes.runners.counting import counts_in
from kedge.outcomes.shell.command import Command
from kedge.outcomes.values import Counts, Purpose, Run

Verdict = bool | None

SHOW_TEXT = frozenset(
    {"cat", "grep", "egrep", "fgrep", "rg", "ag", "tail", "head", "less", "more", "sed", "awk"}
    | {"gh", "glab", "jq", "yq", "cut", "sort", "diff", "curl", "wget", "bat", "nl", "tac"}
    | {"strings", "journalctl", "watch", "zcat", "type", "Get-Content"}
    | {"git log", "git show", "git diff", "git grep", "git blame", "git stash", "git cat-file"}
    | {"docker logs", "docker compose logs", "kubectl logs", "heroku logs", "fly logs"}
)
"""What prints words that others wrote: a runner's closing line among them is old news."""
NO_RUNNER = (
    SELDOM_FAIL
    | SHOW_TEXT
    | {"[", "[[", "test", "cp", "mv", "rm", "touch", "kill", "pkill", "ls", "find", "fd", "tree"}
    | {"wc", "uniq", "tr", "tee", "column", "git", "chmod", "ln", "which", "ps", "du", "df", "head"}
)
"""What runs no tests, whatever its output closes with."""
_STILL_RUNNING = re.compile(
    r"^(?:Process running with session ID|Command running in background with ID:"
    r"|Command was (?:manually |auto-)?(?:moved to|backgrounded)|Background PIDs:)",
    re.MULTILINE,
)
"""How clients word that they did not wait for the end."""
_MAY_RUN = ("running", "Command was ", "Background PIDs:")
"""One of these stands in all of them; few outputs have any."""
STILL_RUNNING_WITHIN = 2_000
"""Characters of an output in which they would say so."""


def runs_of(
    commands: Sequence[Command], result: ToolResult | None, *, waited: bool = True
) -> tuple[Run, ...]:
    """One run per simple command, in order. Success is known where the line's exit code depends on
    the command, or where the output proves it."""
    purposes = [purpose_of(command.words) for command in commands]
    verdicts: list[Verdict] = [None] * len(commands)
    counts: dict[int, Counts] = {}
    if waited and result is not None and _ended(result):
        counts = _counted(commands, purposes, result.output)
        verdicts = _verdicts(commands, purposes, counts, result)
    return tuple(
        Run(purpose=purposes[place], words=command.words, success=verdict, counts=counts.get(place))
        for place, (command, verdict) in enumerate(zip(commands, verdicts, strict=True))
        if command.words
    )


def still_running(result: ToolResult) -> bool:
    """Whether the client says that it did not wait for the end."""
    if result.exit_code is not None:
        return False
    head = result.output[:STILL_RUNNING_WITHIN]
    return any(words in head for words in _MAY_RUN) and _STILL_RUNNING.search(head) is not None


def _ended(result: ToolResult) -> bool:
    return not (result.refused or result.interrupted or still_running(result))


def _counted(
    commands: Sequence[Command], purposes: list[Purpose], output: str
) -> dict[int, Counts]:
    """What a test runner counted, with the place of the run: the last test of the line. A program
    that is not known to test, but whose output closes as a runner's does, was a test."""
    tests = [place for place, purpose in enumerate(purposes) if purpose == "test"]
    places = [place for place in tests if not commands[place].background]
    if not tests:
        places = _may_test(commands, purposes)
    if not places or not output:
        return {}
    counts = counts_in(output)
    if counts is None:
        return {}
    if purposes[places[-1]] == "other":
        purposes[places[-1]] = "test"
    return {places[-1]: counts}


def _may_test(commands: Sequence[Command], purposes: Sequence[Purpose]) -> list[int]:
    """Places of commands that could have run tests; none where the line also prints a text that
    could hold a runner's words."""
    if any(_shows_text(command) for command in commands if command.joint != "|"):
        return []
    return [
        place
        for place, purpose in enumerate(purposes)
        if purpose in ("other", "build")
        and commands[place].program not in NO_RUNNER
        and not commands[place].background
    ]


def _shows_text(command: Command) -> bool:
    program, words = command.program, command.plain
    return program in SHOW_TEXT or any(
        " ".join((program, *words[1:end])) in SHOW_TEXT for end in (2, 3)
    )


def _verdicts(
    commands: Sequence[Command],
    purposes: Sequence[Purpose],
    counts: dict[int, Counts],
    result: ToolResult,
) -> list[Verdict]:
    text = shown_part(result.output)
    known, disputed = _known(commands, purposes, counts, text)
    _ran_before(commands, known, counts)
    if result.success:
        for place, command in enumerate(commands):
            if command.decides and known[place] is None and place not in disputed:
                known[place] = True
    else:
        _blame(commands, known)
        if len(commands) == 1 and known[0]:
            known[0] = None  # a line that failed has nothing else that could have
    for place, command in enumerate(commands):
        nothing = place in counts and not counts[place].passed and not counts[place].failed
        if command.background or nothing or idle(purposes[place], text):
            known[place] = None
    return known


def _known(
    commands: Sequence[Command],
    purposes: Sequence[Purpose],
    counts: dict[int, Counts],
    text: str,
) -> tuple[list[Verdict], list[int]]:
    """What the output alone proves, and the places of commands that an error line could be about:
    where there are several, it proves nothing of any."""
    known = [
        said(command, purpose, text) for command, purpose in zip(commands, purposes, strict=True)
    ]
    for place in range(len(commands)):
        if silent(commands, place, text):
            known[place] = True
    for place, counted in counts.items():
        if counted.failed or counted.passed:
            known[place] = counted.passing
    disputed = [place for place, verdict in enumerate(known) if verdict is False]
    if len(disputed) > 1:
        for place in disputed:
            if place not in counts:
                known[place] = None
    for place, success in echoed(commands, text):
        if not success or known[place] is None:
            known[place] = success
    return known, disputed


def _ran_before(commands: Sequence[Command], known: list[Verdict], counts: Collection[int]) -> None:
    """What stands before `&&` succeeded if what stands behind it did something."""
    ran = False
    for place in range(len(commands) - 1, 0, -1):
        ran = ran or known[place] is True or place in counts
        if commands[place].joint == "&&":
            if ran and known[place - 1] is None:
                known[place - 1] = True
        elif commands[place].joint != "|":
            ran = False


def _blame(commands: Sequence[Command], known: list[Verdict]) -> None:
    """A failed line: one of the commands that decide failed, and none behind it ran."""
    deciding = [place for place, command in enumerate(commands) if command.decides]
    if any(known[place] is False for place in deciding):
        return
    last = max((place for place in deciding if known[place]), default=-1)
    for place in deciding:
        if place < last and known[place] is None:
            known[place] = True
    left = [place for place in deciding if place > last and _may_fail(commands[place])]
    if not left and last >= 0:
        known[last] = False  # what it printed is contradicted by the exit code
    elif len(left) == 1:
        known[left[0]] = False


def _may_fail(command: Command) -> bool:
    return command.program not in SELDOM_FAIL
