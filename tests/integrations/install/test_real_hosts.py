"""The real programs of hosts, where they are: they look at what is made for them."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

SECONDS = 60


@pytest.fixture(scope="module")
def claude() -> str:
    """The binary of Claude Code: from a variable, or carried by the package of its SDK."""
    named = os.environ.get("KEDGELINE_CLAUDE_BINARY", "")
    spec = find_spec("claude_agent_sdk")
    carried = Path(spec.origin).parent / "_bundled" / "claude" if spec and spec.origin else None
    path = named or (str(carried) if carried and carried.exists() else "")
    if not path:
        pytest.skip(
            "no Claude Code: set KEDGELINE_CLAUDE_BINARY to its binary, or install claude-agent-sdk"
        )
    return path


@pytest.mark.torture
@pytest.mark.parametrize("folder", ["plugins/claude-code", "plugins"])
def test_claude_code_finds_nothing_wrong(claude: str, tmp_path: Path, folder: str) -> None:
    words = [claude, "plugin", "validate", "--strict", str(ROOT / folder)]
    ran = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.torture
def test_claude_code_sees_what_is_wrong(claude: str, tmp_path: Path) -> None:
    """A planted bug: a hook without its type."""
    folder = tmp_path / "plugin"
    shutil.copytree(ROOT / "plugins" / "claude-code", folder)
    hooks = folder / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('"type": "command"', '"type": "nothing"'))
    words = [claude, "plugin", "validate", "--strict", str(folder)]
    env = {**os.environ, "HOME": str(tmp_path)}
    ran = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=env)
    assert ran.returncode != 0, ran.stdout
