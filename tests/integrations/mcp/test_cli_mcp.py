"""`kedgeline mcp` on the command line: what is wrong is told before anything is served."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.line import Line


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [("../x", 2, b"cannot be part of a file's name"), ("nope", 3, b"no session 'nope'")],
)
def test_a_session_that_is_not_kept_is_told_before_anything_is_served(
    kedgeline: Line, name: str, code: int, sentence: bytes
) -> None:
    ran = kedgeline("mcp", "--session", name, code=code)
    assert sentence in ran.stderr
    assert ran.stdout == b""


def loaded_by(code: str) -> set[str]:
    code += "\nimport sys; print(' '.join(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_nothing_of_mcp_is_loaded_before_it_is_served() -> None:
    found = loaded_by("import kedgeline, kedgeline.session.session, kedgeline.cli.main")
    heavy = {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "anyio"}
    assert found & heavy == set()


def test_the_start_loads_nothing_that_only_calls_need() -> None:
    """Every session of an agent waits for the start of its servers: the SDK took a second."""
    found = loaded_by("import kedgeline.hosts.mcp.stdio")
    assert {"mcp", "mcp_types", "pydantic", "anyio"} & found == set()
    heavy = ("facts", "pipeline", "session", "models", "summary", "bank", "mcp.tools")
    assert {f"kedgeline.{name}" for name in heavy} & found == set()
