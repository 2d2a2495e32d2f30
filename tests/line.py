"""The command line, run in this process."""

from __future__ import annotations

import json
from io import BytesIO, TextIOWrapper
from typing import Any, NamedTuple

import pytest

from kedgeline.cli.main import run_program


class Ran(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


class Line:
    """The command line, run in this process: a session takes many commands."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[bytes]
    ) -> None:
        self._patch, self._captured = monkeypatch, captured

    def __call__(self, *words: str, code: int = 0, stdin: bytes = b"") -> Ran:
        self._patch.setattr("sys.argv", ["kedgeline", *words])
        self._patch.setattr("sys.stdin", TextIOWrapper(BytesIO(stdin)))
        try:
            run_program()
            status = 0
        except SystemExit as left:
            status = int(left.code or 0)
        ran = Ran(status, *self._captured.readouterr())
        assert ran.returncode == code, ran
        return ran

    def rows(self, *words: str, stdin: bytes = b"") -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self(*words, "--json", stdin=stdin).stdout.splitlines()
        ]

    def one(self, *words: str, stdin: bytes = b"") -> dict[str, Any]:
        (found,) = self.rows(*words, stdin=stdin)
        return found
