"""Commands that show what a report only names."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import NamedTuple

from kedge.cli.output import harmless

BEFORE = "in the session before this list"
"""Where turns are that an earlier compaction folded before the list was written."""


class Hints(NamedTuple):
    """How to look into the session that a report is about."""

    file: str
    session: int | None = None
    format: str | None = None
    first: int = 0
    """Number of the file's first turn: a list that an earlier summary leads goes on counting."""

    def show(self, turn: int) -> str:
        """Empty for a turn that is not in this file."""
        place = turn - self.first
        return self._command("show", f"t{place}") if turn >= 0 <= place else ""

    def shown(self, turns: Iterable[int]) -> str:
        """How to show the first of these turns that is in this file; empty where none is."""
        for turn in turns:
            if command := self.show(turn):
                number = f" (it is t{turn}: this list begins with t{self.first})"
                return f"{command}{number}" if self.first else command
        return ""

    @property
    def older(self) -> str:
        """Where to look for what no command on this file shows; empty where it holds all turns."""
        return f"what is older than t{self.first} is {BEFORE}" if self.first else ""

    def facts(self, kind: str) -> str:
        return self._command("facts", "--kind", kind)

    def _command(self, name: str, *more: str) -> str:
        words = [self.file if self.file != "-" else "FILE", *more]
        words += ["--session", str(self.session)] if self.session is not None else []
        words += ["--format", self.format] if self.format else []
        return harmless(f"kedge {name} {' '.join(map(quote, words))}")


def mark(turn: int) -> str:
    """A turn as people write it; a dash where none is known."""
    return f"t{turn}" if turn >= 0 else "–"


def shortened(text: str, most: int) -> str:
    """Words of a session on one line, cut where they are long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
