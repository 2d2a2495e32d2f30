"""`kedgeline mcp` on the command line: what is wrong is told before anything is served."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kedgeline.cli.serving import serving_as_json
from kedgeline.errors import MissingExtra
from kedgeline.hosts.mcp import check_extra
from kedgeline.hosts.mcp.server import Address
from tests.conftest import ROOT
from tests.integrations.mcp.serving import SECRET, kept_of, memory
from tests.line import Line


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--http", "8765"], "is not an address; write HOST:PORT"),
        (["--http", "0.0.0.0:0"], "say under which name with --allow-host"),
        (["--http", "[::]:0"], "say under which name with --allow-host"),
        (["--http", "127.0.0.1:0", "--token-file", "nowhere"], "there is no file"),
        (["--session", "../x"], "cannot be part of a file's name"),
        (["--allow-host", "box.local"], "--token-file and --allow-host need --http"),
    ],
)
def test_what_is_wrong_is_told(kedgeline: Line, words: list[str], sentence: str) -> None:
    ran = kedgeline("mcp", *words, code=2)
    told = " ".join(ran.stderr.decode().replace("│", " ").split())
    assert sentence in told
    assert ran.stdout == b""


def test_a_session_that_is_not_kept_is_told_before_anything_is_served(kedgeline: Line) -> None:
    ran = kedgeline("mcp", "--session", "nope", code=3)
    assert b"no session 'nope'" in ran.stderr
    assert ran.stdout == b""


def test_every_key_is_described() -> None:
    page = (ROOT / "docs" / "json.md").read_text("utf-8").partition("`kedgeline mcp --json`")[2]
    section = page.partition("\n## ")[0]
    store = memory()
    kept = kept_of(store, place=f"postgresql://ada:{SECRET}@box.local/harbor")
    told = serving_as_json(kept, Address("127.0.0.1", 80), "here")
    store.close()
    assert [key for key in told if f"`{key}`" not in section] == []
    assert SECRET not in str(told)


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingExtra, match=r"run pip install 'kedgeline\[mcp\]'"):
        check_extra()


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
