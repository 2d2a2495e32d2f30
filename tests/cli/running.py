"""The command line as tests call it: in this process, or as a program of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from typer.testing import CliRunner

from kedgeline.cli.main import app
from kedgeline.errors import KedgelineError
from tests.claude import Records, text
from tests.conftest import EXAMPLES, ROOT

LONG, CODEX = (str(EXAMPLES / name) for name in ("claude-code-long.jsonl", "codex.jsonl"))
REFERENCE = ROOT / "docs" / "json.md"


class Done(NamedTuple):
    code: int
    out: str
    err: str


def ran(*arguments: str) -> Done:
    """A command in this process, which is faster than one of its own."""
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
    if isinstance(done.exception, KedgelineError):
        return Done(done.exception.exit_code, done.stdout, str(done.exception))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


once = cache(ran)
"""The examples do not change, and each run is some tenths of a second."""


def rows(*arguments: str, run: Any = ran) -> list[dict[str, Any]]:
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def one(*arguments: str, run: Any = ran) -> dict[str, Any]:
    (found,) = rows(*arguments, run=run)
    return found


def started(
    *arguments: str,
    stdin: bytes | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    **environment: str,
) -> subprocess.CompletedProcess[bytes]:
    """A program of its own, as people start it."""
    return subprocess.run(
        [sys.executable, "-m", "kedgeline", *arguments],
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "100", **environment},
        cwd=ROOT,
    )


def talk(folder: Path, *asked: str) -> str:
    """A session of short exchanges."""
    records = Records()
    for number, words in enumerate(asked):
        records.user(words)
        records.assistant(f"m{number}", text("It is so."))
    return written(folder, records)


def written(folder: Path, records: Records, name: str = "session.jsonl") -> str:
    path = folder / name
    path.write_bytes(b"".join(records.lines))
    return str(path)


def undocumented(*keys: str) -> list[str]:
    """Keys of JSON that the reference does not name."""
    page = REFERENCE.read_text("utf-8")
    return [key for key in sorted(set(keys)) if f"`{key}`" not in page]
