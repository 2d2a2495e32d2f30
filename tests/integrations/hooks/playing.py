"""A model of a coding agent's host, played by a server: what its APIs have in common."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Generic, TypeVar

from tests.loopback import Loopback

R = TypeVar("R")
OUTPUT_TOKENS = 10


@dataclass(frozen=True, slots=True)
class Says:
    """A reply: words, or a call of a tool."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] | None = None
    input_tokens: int = 1_000
    """What the request is said to have carried: hosts compact by this number."""


class Playing(Loopback, Generic[R]):
    """The rule says what is answered to a request; what was sent is remembered."""

    def __init__(self, rule: Callable[[R], Says], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(handler)
        self.requests: list[R] = []
        self.rule = rule


def printed_by(
    words: tuple[str, ...], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[str, str]:
    """What a program writes to its output and its errors; it must end well."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
