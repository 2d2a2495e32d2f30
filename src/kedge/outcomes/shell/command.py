"""One simple command of a shell line."""

from __future__ import annotations

from posixpath import join, normpath
from typing import Literal

from kedge.model import Value
from kedge.outcomes.shell.prefixes import program_of, without_prefixes

Joint = Literal["", ";", "&", "&&", "||", "|"]


class Redirect(Value, frozen=True):
    operator: str
    """`>`, `>>`, `>|`, `&>`, `&>>`, `>&`, `<` or `<>`."""
    target: str


class Command(Value, frozen=True):
    words: tuple[str, ...] = ()
    """Program and arguments as the program gets them; empty for a mere redirection or
    assignment. What the shell would expand stands as written."""
    joint: Joint = ""
    """How it hangs on the command before it; empty for the first of a line or of a body."""
    decides: bool = False
    """The line can only have succeeded if this command did."""
    piped: bool = False
    """Its output goes into a pipe."""
    background: bool = False
    """Nobody waited for it."""
    inside: bool = False
    """It stands in a branch, a loop or a function: it may run several times, or never."""
    redirects: tuple[Redirect, ...] = ()
    heredoc: str = ""
    """What it gets as input from here-documents."""
    folder: str = ""
    """Where `cd` before it in the line led; empty for where the line began."""
    remote: bool = False
    """It runs in a container or on another machine."""

    @property
    def plain(self) -> tuple[str, ...]:
        """The words without `sudo`, `timeout 60`, `npx` and the like."""
        return without_prefixes(self.words).words

    @property
    def program(self) -> str:
        plain = self.plain
        return program_of(plain[0]) if plain else ""


def in_folder(folder: str, path: str) -> str:
    """A path as seen from where the line began."""
    if not folder or path.startswith(("/", "~")):
        return path
    whole = normpath(join(folder, path))
    return whole + "/" if path.endswith("/") and not whole.endswith("/") else whole
