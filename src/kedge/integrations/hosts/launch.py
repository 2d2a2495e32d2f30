"""How a host starts kedge, and how an entry that starts it is known again."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

NAME = "kedge"
HOST = "--host="
"""Before the name of the host that runs a command: each understands other answers."""
AS_MODULE = ("-P", "-m", NAME)
"""How Python starts it; without the modules of the folder that a host is in."""

_NAMED = re.compile(rf"{HOST}[a-z-]+")


class Launch(NamedTuple):
    """The words that start kedge."""

    words: tuple[str, ...]

    def argv(self, *more: str) -> list[str]:
        return [*self.words, *more]

    def program(self, *more: str) -> dict[str, Any]:
        """For hosts that start a program with arguments, without a shell between."""
        first, *rest = self.argv(*more)
        return {"command": first, "args": rest}

    def line(self, *more: str) -> str:
        """For hosts that hand a line to a shell."""
        return shlex.join(self.argv(*more))


BY_NAME = Launch((NAME,))
"""What everybody finds on the PATH: for files that several people share."""


def installed(search: str | None = None) -> Launch:
    """This very kedge, by its path: a host may have another PATH than the shell it came from.

    A name on the PATH that leads to it is taken before the place it leads to: it outlives the next
    version of Python."""
    own = Path(sys.executable).with_name(NAME)
    if not os.access(own, os.X_OK):
        return Launch((sys.executable, *AS_MODULE))
    found = shutil.which(NAME, path=search)
    if found and os.path.isabs(found) and os.path.realpath(found) == os.path.realpath(own):
        return Launch((found,))
    return Launch((str(own),))


def runs(value: Any, subcommand: str) -> bool:
    """Whether an entry of a settings file starts this command of kedge and nothing else: as a line
    for a shell, as a program with arguments, or as a list of words; for whichever host."""
    return _is_kedge(_words(value), subcommand)


def _words(value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return []
    command, arguments = value.get("command"), value.get("args", [])
    if isinstance(command, list):
        return [*command] if all(isinstance(word, str) for word in command) else []
    if not isinstance(command, str) or not isinstance(arguments, list):
        return []
    if not all(isinstance(word, str) for word in arguments):
        return []
    if arguments:
        return [command, *arguments]
    try:
        return shlex.split(command)
    except ValueError:  # a quote without its partner: nothing of ours
        return []


def _is_kedge(words: list[str], subcommand: str) -> bool:
    match words:
        case [_, "-P", "-m", "kedge", *rest] | [_, "-m", "kedge", *rest]:
            pass
        case [program, *rest] if Path(program).name == NAME:
            pass
        case _:
            return False
    return rest[:1] == [subcommand] and all(_NAMED.fullmatch(word) for word in rest[1:])
