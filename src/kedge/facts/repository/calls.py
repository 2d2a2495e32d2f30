"""The commands of a shell line that speak to a repository, and which repository that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kedge.facts.commands.canonical import below
from kedge.outcomes import Outcome
from kedge.outcomes.calls import left_alone, shell_line
from kedge.outcomes.evidence import shown_part
from kedge.outcomes.runs import still_running
from kedge.outcomes.shell.command import Command, in_folder
from kedge.outcomes.shell.parsing import commands_in
from kedge.outcomes.shell.prefixes import arguments

Place = Literal["here", "elsewhere", "trial"]
"""The session's own repository, another one, or one made to try something."""

FORGES = frozenset({"gh", "glab"})
SILENT = frozenset({"cd", "set", "export", "true", ":"})
"""Commands beside which the output of a line is still that of one command."""
_TRIAL = re.compile(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)(?:/|$)|\bmktemp\b|/AppData/Local/Temp/"
)
_MESSAGE = re.compile(r"-[a-zA-Z]{0,6}m")
_RESET = re.compile(r"\n?^Shell cwd was reset to [^\n]*\s*\Z", re.MULTILINE)


class Call(NamedTuple):
    program: str
    name: str
    """What it does: `commit`, or with two words `pr create`."""
    given: tuple[str, ...]
    """Words behind it that are neither options nor their values."""
    words: tuple[str, ...]
    done: bool
    """It did what it does, as far as the line's result says."""
    inside: bool
    """It stands in a loop or a branch."""
    into: tuple[str, ...]
    """The programs its output goes through."""
    filed: bool = False
    """Its output goes into a file."""

    def value(self, *options: str) -> str:
        """What stands behind an option, the first time it is given."""
        for place, word in enumerate(self.words):
            name, sign, rest = word.partition("=")
            if sign and name in options:
                return rest
            if word in options and place + 1 < len(self.words):
                return self.words[place + 1]
        return ""

    def has(self, *options: str) -> bool:
        return any(word.partition("=")[0] in options for word in self.words[1:])

    @property
    def message(self) -> str:
        """The first line of the message that a commit is given."""
        given = self.value("--message")
        for place, word in enumerate(self.words[:-1]):
            if not given and _MESSAGE.fullmatch(word):
                given = self.words[place + 1]
        return given.strip().partition("\n")[0]


class Line(NamedTuple):
    calls: tuple[Call, ...]
    place: Place
    text: str
    """What the line printed."""
    alone: bool
    """Nothing else in the line prints anything."""


def repository_line(outcome: Outcome, root: str) -> Line | None:
    """The calls of a line to a repository; None where it has none, or did not run to its end."""
    result, written = outcome.result, shell_line(outcome.call)
    if result is None or result.refused or result.interrupted or "g" not in written:
        return None
    if outcome.call.verb != "run" or left_alone(outcome.call) or still_running(result):
        return None
    commands = [command for command in commands_in(written) if command.words]
    calls = [
        _call(commands, place, outcome)
        for place, command in enumerate(commands)
        if command.program == "git" or command.program in FORGES
    ]
    if not calls:
        return None
    own = [c for c in commands if c.program == "git" or c.program in FORGES]
    others = {command.program for command in commands} - SILENT - {"git"} - FORGES
    return Line(
        calls=tuple(calls),
        place=_place(own, root),
        text=_RESET.sub("", shown_part(result.output)),
        alone=len(calls) == 1 and not others,
    )


def _call(commands: Sequence[Command], place: int, outcome: Outcome) -> Call:
    command = commands[place]
    plain = command.plain
    given = arguments(plain)
    forge = command.program in FORGES
    run = outcome.runs[place] if place < len(outcome.runs) else None
    success = run.success if run is not None else None
    into: list[str] = []
    for behind in commands[place + 1 :]:
        if behind.joint != "|":
            break
        into.append(behind.program)
    return Call(
        program=command.program,
        name=" ".join(given[: 2 if forge else 1]),
        given=tuple(given[2 if forge else 1 :]),
        words=plain,
        done=success is True or (outcome.success and success is None and command.joint != "||"),
        inside=command.inside,
        into=tuple(into),
        filed=any(
            ">" in redirect.operator and redirect.target != "/dev/null"
            for redirect in command.redirects
        ),
    )


def _place(commands: Sequence[Command], root: str) -> Place:
    """Where a line works: in doubt elsewhere, for what another repository came to is no news."""
    folders = [_folder(command) for command in commands]
    inside = bool(root) and all(below(root, folder) != folder for folder in folders if folder)
    if any(_TRIAL.search(folder) for folder in folders) and not inside:
        return "trial"
    makes = any(arguments(command.plain)[:1] in (["init"], ["clone"]) for command in commands)
    if (makes and any(folders)) or any("$" in folder for folder in folders):
        return "elsewhere"
    away = (folder for folder in folders if folder.startswith(("/", "~", "..")))
    return "elsewhere" if root and any(below(root, folder) == folder for folder in away) else "here"


def _folder(command: Command) -> str:
    plain = command.plain
    for place, word in enumerate(plain[:-1]):
        if word == "-C" and command.program == "git":
            return in_folder(command.folder, plain[place + 1])
    return command.folder
