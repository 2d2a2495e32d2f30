"""A host that asks for the view of each request, or for a summary in the middle of its work: one
session of it with a home of its own, a played model, and kedgeline installed into it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kedgeline.hosts.places import replaced_in
from kedgeline.model import Usage
from tests.models.server import Line, Request, Says

RULE = "Never push to main."
SUMMARY = "The harbour light is being mended."
SECONDS = 150


def binary_of(host: str) -> str:
    """The program, as it is named or installed."""
    if found := os.environ.get(f"KEDGELINE_{host.upper()}_BINARY", "") or shutil.which(host):
        return found
    pytest.skip(f"{host} is not here: `make hosts` installs it")


class Model:
    """It calls a tool so many times as was set last, and is as full as what it is sent."""

    def __init__(
        self, tool: str, arguments: str, scale: int = 1, summary: str = "\0", lines: int = 900
    ) -> None:
        self.calls, self.number = 0, 0
        self._tool, self._arguments, self._scale = tool, arguments, scale
        self._summary, self._lines = summary, lines

    def is_summarising(self, request: Request) -> bool:
        """Whoever summarises has no tools, or is told so."""
        return self._summary in request.text.lower() and '"tools"' not in request.text

    def __call__(self, request: Request) -> Line:
        usage = Usage(input=self._scale * len(request.text) // 4, output=20)
        if self.is_summarising(request):
            return Says(SUMMARY, usage=usage)
        if self.calls and '"tools"' in request.text:
            self.calls -= 1
            self.number += 1
            called = self._arguments.replace(
                "COMMAND", f"echo lamp {self.number}; seq 1 {self._lines}"
            )
            return Says(tool=called, called=self._tool, ending="tool call", usage=usage)
        return Says("Mended.", usage=usage)


class Program:
    def __init__(self, host: str, home: Path, environment: Mapping[str, str], *install: str):
        self.binary, self.home, self.work = binary_of(host), home, home / "work"
        self.work.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "HOME": str(home),
            # Node of the version that a program wants lies beside it
            "PATH": os.pathsep.join((str(Path(self.binary).parent), os.environ["PATH"])),
            "XDG_STATE_HOME": str(home / "state"),
            "KEDGELINE_STORE": str(home / "store"),
            **environment,
        }
        self.run(sys.executable, "-m", "kedgeline", "install", host, *install)

    def run(self, *words: str, seconds: float = SECONDS) -> str:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return done.stdout

    def noted(self) -> dict[str, object] | None:
        """What was noted of its compactions."""
        found = [*(self.home / "state" / "kedgeline" / "hooks").glob("*/replaced")]
        return replaced_in(str(found[0].parent)) if found else None


def texts(request: Request) -> str:
    return json.dumps(request.body["messages"])
