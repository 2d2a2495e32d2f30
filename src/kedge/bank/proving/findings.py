"""What a check of the bank found."""

from __future__ import annotations

from typing import Literal

from kedge.model import Value

Gravity = Literal["violation", "warning", "note"]
GRAVITIES: tuple[Gravity, ...] = ("violation", "warning", "note")
"""Something was lost or changed that must not be; something can be made right by ourselves;
something worth knowing."""


class Finding(Value, frozen=True):
    file: str
    line: int
    """Counted from 1; 0 where it is about the file as a whole."""
    what: str
    gravity: Gravity
    advice: str = ""
    """What to do."""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{self.gravity}: {place}: {self.what}" + (f"; {self.advice}" * bool(self.advice))


class Findings(Value, frozen=True):
    """All of them, the worst first, and what was looked at: no finding says nothing where nothing
    was checked."""

    found: tuple[Finding, ...] = ()
    checked: tuple[str, ...] = ()
    """One sentence for each thing that was looked at, with its numbers, or why it was not."""

    @property
    def sound(self) -> bool:
        """Whether nothing was lost or changed that must not be."""
        return not any(finding.gravity == "violation" for finding in self.found)


def sorted_findings(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda f: (GRAVITIES.index(f.gravity), f.file, f.line)))
