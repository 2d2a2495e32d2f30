"""What a tool call came to, as far as the call and its result say exactly."""

from __future__ import annotations

from typing import Literal

from kedge.model import ToolCall, ToolResult, Value

Purpose = Literal[
    "test",
    "build",
    "lint",
    "install",
    "deploy",
    "migration",
    "commit",
    "push",
    "pull_request",
    "merge",
    "tag",
    "other",
]
"""What a command is run for."""
CHECKS: frozenset[Purpose] = frozenset({"test", "build", "lint"})
"""What is run to learn whether the work is right: that it fails is an error even where a pipe hid
it."""


class Counts(Value, frozen=True):
    """What a test runner counted."""

    runner: str
    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0
    unit: str = "tests"
    """What was counted: some runners report packages or files only."""

    @property
    def passing(self) -> bool:
        """Something passed and nothing failed."""
        return self.passed > 0 and self.failed == 0


class Run(Value, frozen=True):
    """One simple command of a shell line."""

    purpose: Purpose
    words: tuple[str, ...]
    """Program and arguments, without quotes, assignments and redirections."""
    success: bool | None = None
    """None where neither an exit code nor the output tells."""
    counts: Counts | None = None
    """For a test run whose runner says how many."""

    @property
    def text(self) -> str:
        return " ".join(self.words)


class Touch(Value, frozen=True):
    """A file that a call changed, or read."""

    path: str
    """As the call names it."""
    action: Literal["created", "modified", "deleted", "renamed", "read"]
    by: Literal["tool", "shell"] = "tool"
    renamed_from: str = ""


class Outcome(Value, frozen=True):
    """One call with all that is known of its effect. A call that failed or was refused touched
    nothing."""

    call: ToolCall
    result: ToolResult | None
    runs: tuple[Run, ...] = ()
    touched: tuple[Touch, ...] = ()

    @property
    def success(self) -> bool:
        return self.result is not None and self.result.success

    @property
    def failed(self) -> bool:
        return self.result is not None and self.result.failed

    @property
    def changed(self) -> tuple[str, ...]:
        """Paths of the files it changed."""
        return tuple(touch.path for touch in self.touched if touch.action != "read")
