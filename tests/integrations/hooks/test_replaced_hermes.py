"""The real Hermes with kedgeline as its context engine, amid a loop of tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kedgeline.hosts.places import replaced_in
from kedgeline.model import Usage
from tests.models.server import Line, Request, Says, serving

pytestmark = pytest.mark.hosts

RULE = "Never push to main."
OURS = "<kedgeline-summary>"
WINDOW, SCALE, CALLS = 64_000, 2, 24
SECONDS = 150
CONFIG = """\
model: {{provider: custom, default: harbour, base_url: "{address}/v1", api_key: x,
  context_length: {window}}}
compression: {{enabled: true}}
memory: {{memory_enabled: false, user_profile_enabled: false}}
approvals: {{mode: "off"}}
context: {{engine: kedgeline}}
plugins: {{enabled: [kedgeline]}}
"""


def binary() -> str:
    if found := os.environ.get("KEDGELINE_HERMES_BINARY", "") or shutil.which("hermes"):
        return found
    pytest.skip("Hermes is not here: pip install hermes-agent, or set KEDGELINE_HERMES_BINARY")


class Model:
    """It calls a tool again and again, and is as full as what it is sent."""

    def __init__(self) -> None:
        self.calls, self.summarising = 0, 0

    def __call__(self, request: Request) -> Line:
        usage = Usage(input=SCALE * len(request.text) // 4, output=20)
        if '"tools"' not in request.text:
            self.summarising += "summar" in request.text.lower()
            return Says("The lamp is lit.", usage=usage)
        if self.calls < CALLS:
            self.calls += 1
            arguments = f'{{"command": "echo lamp {self.calls}; seq 1 1200"}}'
            return Says(tool=arguments, called="terminal", ending="tool call", usage=usage)
        return Says("Mended.", usage=usage)


@pytest.mark.parametrize("works", [True, False])
def test_amid_a_loop(tmp_path: Path, works: bool) -> None:
    model = Model()
    with serving(rule=model) as server:
        home, work = tmp_path / "hermes", tmp_path / "work"
        work.mkdir()
        home.mkdir()
        (home / "config.yaml").write_text(CONFIG.format(address=server.address, window=WINDOW))
        environment = {
            **os.environ,
            "HOME": str(tmp_path),
            "HERMES_HOME": str(home),
            "HERMES_YOLO_MODE": "1",
            "OPENAI_API_KEY": "of no worth",
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "KEDGELINE_STORE": str(tmp_path / "store"),
        }
        words = [sys.executable, "-m", "kedgeline", "install", "hermes"]
        subprocess.run(words, env=environment, cwd=work, check=True, timeout=60)
        if not works:
            module = home / "plugins" / "kedgeline" / "__init__.py"
            module.write_text(module.read_text().replace("host-compact", "no-such-command"))
        asked = f"Mend the harbour light. {RULE}"
        words = [binary(), "chat", "--yolo", "-Q", "-q", asked]
        done = subprocess.run(
            words,
            env=environment,
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert "Mended." in done.stdout, done.stdout + done.stderr
        last = server.requests[-1].text
        assert RULE in last
        folders = [*(tmp_path / "state" / "kedgeline" / "hooks").glob("*/replaced")]
        assert bool(folders) == works
        if works:
            found = replaced_in(str(folders[0].parent))
            assert found is not None
            assert found["replaced"] >= 1
            assert (OURS in last) or "left out" in last
        else:
            assert model.summarising
