"""The real Hermes with kedgeline as its context engine, amid a loop of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.hooks.looping import RULE, Model, Program, texts
from tests.models.server import Server, serving

pytestmark = pytest.mark.hosts

OURS = "<kedgeline-summary>"
WINDOW, CALLS = 64_000, 24
CONFIG = """\
model: {{provider: custom, default: harbour, base_url: "{address}/v1", api_key: x,
  context_length: {window}}}
compression: {{enabled: true}}
memory: {{memory_enabled: false, user_profile_enabled: false}}
approvals: {{mode: "off"}}
context: {{engine: kedgeline}}
plugins: {{enabled: [kedgeline]}}
"""


def model() -> Model:
    return Model("terminal", '{"command": "COMMAND"}', 2, "summar", lines=1_200)


class Hermes(Program):
    def __init__(self, home: Path, server: Server) -> None:
        folder = home / "hermes"
        surroundings = {
            "HERMES_HOME": str(folder),
            "HERMES_YOLO_MODE": "1",
            "OPENAI_API_KEY": "of no worth",
        }
        super().__init__("hermes", home, surroundings)
        text = CONFIG.format(address=server.address, window=WINDOW)
        (folder / "config.yaml").write_text(text)
        self.module = folder / "plugins" / "kedgeline" / "__init__.py"

    def says(self, prompt: str) -> str:
        return self.run(self.binary, "chat", "--yolo", "-Q", "-q", prompt)


@pytest.mark.parametrize("works", [True, False])
def test_amid_a_loop(tmp_path: Path, works: bool) -> None:
    played = model()
    with serving(rule=played) as server:
        hermes = Hermes(tmp_path / "home", server)
        if not works:
            text = hermes.module.read_text()
            hermes.module.write_text(text.replace("host-compact", "no-such-command"))
        played.calls = CALLS
        assert "Mended." in hermes.says(f"Mend the harbour light. {RULE}")
        sent, found = texts(server.requests[-1]), hermes.noted()
    assert RULE in sent
    assert bool(found) == works
    assert any(map(played.is_summarising, server.requests)) != works
    if found:
        assert found["replaced"]
        assert OURS in sent or "left out" in sent
