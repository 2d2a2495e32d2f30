"""A bank whose disk stops, or fails, at a chosen step."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kedge.bank.files import disk
from kedge.bank.values import Change

CALLS = ("write_new", "keep_owner", "rename", "remove", "sync")
"""Everything that changes a file."""
AT = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)

Contents = dict[str, bytes | None]
BEFORE: Contents = {
    "activeContext.archive.md": b"# Archive\n",
    "progress.archive.md": None,
    "activeContext.md": b"# Active\n\n### new\nstays\n\n### old\ngoes\n",
    "progress.md": b"# Progress\n\n- open\n- done long ago\n",
}
AFTER: Contents = {
    "activeContext.archive.md": b"# Archive\n\n### old\ngoes\n",
    "progress.archive.md": b"# Archive\n\n- done long ago\n",
    "activeContext.md": b"# Active\n\n### new\nstays\n\nreference\n",
    "progress.md": b"# Progress\n\n- open\nreference\n",
}
CHANGES = tuple(Change(name=name, before=BEFORE[name], after=AFTER[name]) for name in BEFORE)
"""A compaction: the archives come first."""


class Killed(BaseException):
    """The process is dead from here on."""


class Stepping:
    """Counts what is done to the disk, and lets one step be the last, or fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # nobody cuts the power here
        self.steps: list[str] = []
        self._act: Callable[[int, str, Callable[[], None]], None] = lambda n, call, do: do()
        for call in CALLS:
            monkeypatch.setattr(disk, call, self._stepping(call, getattr(disk, call)))

    def _stepping(self, call: str, whole: Callable[..., None]) -> Callable[..., None]:
        def stepping(*given: Any, **named: Any) -> None:
            self.steps.append(call)
            self._act(len(self.steps) - 1, call, lambda: whole(*given, **named))

        return stepping

    def well(self) -> None:
        self.steps = []
        self._act = lambda n, call, do: do()

    def killed_at(self, step: int, *, behind: bool = False) -> None:
        """Dead before a step, or behind it."""
        self.well()

        def act(number: int, call: str, do: Callable[[], None]) -> None:
            if number == step and behind:
                do()
            if number >= step:
                raise Killed
            do()

        self._act = act

    def failing_at(self, step: int, code: int, *, lasts: bool = False) -> None:
        self.well()

        def act(number: int, call: str, do: Callable[[], None]) -> None:
            if number == step or (lasts and number > step):
                raise OSError(code, "the disk says no")
            do()

        self._act = act

    def killed_behind_the_commit(self) -> None:
        """The journal is on disk with the second sync: the first one is for what it names."""
        self.well()

        def act(number: int, call: str, do: Callable[[], None]) -> None:
            if self.steps[:-1].count("sync") >= 2:
                raise Killed
            do()

        self._act = act

    def doing_before(self, step: str, deed: Callable[[], None]) -> None:
        """Let somebody else do something just before the first such step."""
        self.well()

        def act(number: int, call: str, do: Callable[[], None]) -> None:
            if call == step and self.steps.count(step) == 1:
                deed()
            do()

        self._act = act


def laid_out(bank: Path, contents: Contents) -> None:
    bank.mkdir(exist_ok=True)
    for name, data in contents.items():
        if data is not None:
            (bank / name).write_bytes(data)


def contents_of(bank: Path) -> Contents:
    """What the files of the compaction hold."""
    return {name: (bank / name).read_bytes() if (bank / name).exists() else None for name in BEFORE}


def beside(bank: Path) -> list[str]:
    """What lies in our folder that should not be there when nothing is under way."""
    names = (path.name for path in (bank / ".kedge").iterdir())
    return sorted(name for name in names if name.startswith(("new-", "journal", ".owner")))
