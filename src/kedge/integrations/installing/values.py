"""What was done to which file, for people and programs."""

from __future__ import annotations

from typing import Literal

from kedge.model import Value

Action = Literal["created", "changed", "removed", "unchanged", "left"]


class Change(Value, frozen=True):
    """One file."""

    file: str
    action: Action
    what: tuple[str, ...] = ()
    """What was done in it, or why it was left."""
    link: str | None = None
    """Where the file is, if its name is a link."""
    backup: str | None = None
    """The copy of what it held before kedge came."""
    diff: str = ""
    """The difference, without secrets."""


class Report(Value, frozen=True):
    """All files of a host."""

    host: str
    title: str
    project: str | None
    """None where it is for the user."""
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    dry_run: bool = False
