"""How an entry that starts kedge is known again, with what somebody put around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kedge.integrations.hosts.launch import AS_MODULE, HOST, NAME

COMMAND, ARGUMENTS = "command", "args"
"""The keys under which all hosts have what they start."""

_WORD = re.compile(r"""(?:[^\s'"\\;|&<>()#]|'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n])+""", re.DOTALL)
"""A word of a line for a shell; nothing that begins another command is in it."""
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_FOR_A_SHELL = re.compile(r"[$`*?\[~{!]")
"""What a shell puts something else for."""
_QUOTED = re.compile(r"'[^']*'")


class Started(NamedTuple):
    """What stands before and behind the command, as words for a shell."""

    before: tuple[str, ...]
    """`env` and variables."""
    behind: tuple[str, ...]
    """Arguments that are not ours."""

    @property
    def needs_shell(self) -> bool:
        return any(_FOR_A_SHELL.search(_QUOTED.sub("", word)) for word in self.before + self.behind)


def runs(value: Any, subcommand: str) -> bool:
    """Whether an entry of a settings file starts this command of kedge and nothing else: as a line
    for a shell, as a program with arguments, or as a list of words; for whichever host."""
    return started(value, subcommand) is not None


def started(value: Any, subcommand: str) -> Started | None:
    """How an entry starts this command; nothing where it starts another, or more than one."""
    written = _words(value)
    words = [_read(word) for word in written]
    first = _behind_variables(words)
    last = first + _length_of_launch(words[first:])
    if last == first or words[last : last + 1] != [subcommand]:
        return None
    added = written[last + 1 :]
    behind = [word for word in added if not _read(word).startswith(HOST)]
    return Started(tuple(written[:first]), tuple(behind))


def extended(wanted: Mapping[str, Any], found: Any, subcommand: str) -> dict[str, Any]:
    """The entry that is wanted, with what somebody put around the command in the one that is there:
    variables before it and arguments behind it."""
    around = started(found, subcommand)
    if around is None or not any(around):
        return dict(wanted)
    command, arguments = wanted[COMMAND], wanted.get(ARGUMENTS, [])
    if isinstance(command, str) and (not arguments or around.needs_shell):
        plain = shlex.join([command, *arguments]) if arguments else command
        line = " ".join((*around.before, plain, *around.behind))
        return {**{key: one for key, one in wanted.items() if key != ARGUMENTS}, COMMAND: line}
    before = [_read(word) for word in around.before]
    if before and _SETTING.fullmatch(before[0]):
        before.insert(0, "env")  # without a shell nobody else sets variables
    ours = [command, *arguments] if isinstance(command, str) else [*command]
    words = [*before, *ours, *(_read(word) for word in around.behind)]
    if isinstance(command, str):
        return {**wanted, COMMAND: words[0], ARGUMENTS: words[1:]}
    return {**wanted, COMMAND: words}


def mentions(value: Any, subcommand: str) -> bool:
    """Whether an entry seems to start this command in a way that is not known: in a pipe, or by
    another program."""
    if not isinstance(value, Mapping):
        return False
    parts = [value.get(COMMAND), value.get(ARGUMENTS)]
    words = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    line = " ".join(word for word in words if isinstance(word, str))
    return bool(re.search(rf"(?<![\w.-]){NAME}['\"]*\s+['\"]*{subcommand}(?![\w-])", line))


def _words(value: Any) -> list[str]:
    """The words of an entry as a shell would want them; none where it is no plain command."""
    if not isinstance(value, Mapping):
        return []
    command, arguments = value.get(COMMAND), value.get(ARGUMENTS, [])
    words = command if isinstance(command, list) else [command, *_listed(arguments)]
    if not all(isinstance(word, str) for word in words):
        return []
    if isinstance(command, list) or arguments:
        return [shlex.quote(word) for word in words]
    return _words_of_line(words[0])


def _listed(arguments: Any) -> list[Any]:
    return arguments if isinstance(arguments, list) else [None]


def _words_of_line(line: str) -> list[str]:
    words, place = [], 0
    for found in _WORD.finditer(line):
        if line[place : found.start()].strip(" \t"):
            return []
        words.append(found[0])
        place = found.end()
    return [] if line[place:].strip(" \t") else words


def _read(word: str) -> str:
    return "".join(shlex.split(word))


def _behind_variables(words: list[str]) -> int:
    """How many words only set variables: with `env`, or as a shell has it."""
    place = 1 if words and Path(words[0]).name == "env" else 0
    while place < len(words):
        if _SETTING.fullmatch(words[place]) or (place and words[place] in ("-i", "--")):
            place += 1
        elif place and words[place] == "-u":
            place += 2
        else:
            break
    return min(place, len(words))


def _length_of_launch(words: list[str]) -> int:
    for module in (AS_MODULE, AS_MODULE[1:]):
        if tuple(words[1 : 1 + len(module)]) == module:
            return 1 + len(module)
    return 1 if words and Path(words[0]).name == NAME else 0
