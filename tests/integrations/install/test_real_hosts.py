"""The real programs of hosts, where they are: they look at what is made for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from kedgeline.hosts.opencode import plugin_text
from kedgeline.hosts.shared import Launch
from tests.conftest import ROOT
from tests.integrations.install.wanted import place

SECONDS = 60
PACKAGES = ("@opencode-ai/plugin@1.18.33", "typescript@5", "@types/node@22")


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


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with TypeScript and the types of OpenCode."""
    named = os.environ.get("KEDGELINE_NODE_FOLDER", "")
    if named:
        return Path(named)
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip(
            "no npm: install Node.js, or set KEDGELINE_NODE_FOLDER to a folder with modules"
        )
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text("{}")
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    if ran.returncode:
        pytest.skip(f"npm cannot install {', '.join(PACKAGES)}: {ran.stderr[-200:]}")
    return folder


def compiled(text: str, modules: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The plugin through the compiler: checked, and as JavaScript in the folder."""
    link = folder / "node_modules"
    if not link.exists():
        link.symlink_to(modules / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "kedgeline.ts").write_text(text)
    words = [
        str(modules / "node_modules" / ".bin" / "tsc"),
        *("--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"),
        *("--moduleResolution", "nodenext", "--types", "node", "kedgeline.ts"),
    ]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.torture
def test_the_plugin_of_opencode_has_the_right_types(modules: Path, tmp_path: Path) -> None:
    text = plugin_text(place()._replace(reducing=True))
    ran = compiled(text, modules, tmp_path)
    assert ran.returncode == 0, ran.stdout
    wrong = text.replace("output.context.push(words)", "output.contexts.push(words)")
    assert wrong != text
    assert "contexts" in compiled(wrong, modules, tmp_path).stdout


DRIVER = """
import { Kedgeline } from "./kedgeline.js"
const asked = { info: { id: "m1", sessionID: "s", role: "user" }, parts: [] }
const made = { role: "assistant", summary: true, finish: "stop" }
const summary = { info: { id: "m2", sessionID: "s", ...made }, parts: [] }
const said = { id: "m3", sessionID: "s", role: "user" }
const next = () => ({ info: said, parts: [{ text: "go on" }] })
const client = { session: {
  get: async () => ({ data: { id: "s" } }),
  messages: async () => ({ data: [asked] }),
} }
const hooks = await Kedgeline({ client, directory: "/srv/project" })
const compacting = { context: [] }
await hooks["experimental.session.compacting"]({ sessionID: "s/../x" }, compacting)
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
const sent = []
for (const _ of ["first", "second"]) {
  const messages = [asked, summary, next()]
  await hooks["experimental.chat.messages.transform"]({}, { messages })
  sent.push(messages[2].parts.map((part) => part.text))
}
const tool = { output: "long enough", title: "", metadata: {} }
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", callID: "c", args: {} }, tool)
await hooks.dispose()
console.log(JSON.stringify({ compacting, sent, tool }))
"""
FAKE = """#!/bin/sh
read -r event
printf '%s\\n' "$event" >> "$EVENTS"
case "$event" in
  *PreCompact*) echo "kedgeline follows this session: keep the tide table" ;;
  *SessionStart*) echo '{"hookSpecificOutput": {"additionalContext": "From kedgeline: put back"}}'
  ;;
  *PostToolBatch*) echo '{"hookSpecificOutput": {"additionalContext": "From kedgeline: and this"}}'
  ;;
  *PostToolUse*) echo '{"hookSpecificOutput": {"updatedToolOutput": {"stdout": "short"}}}' ;;
esac
"""


@pytest.mark.torture
@pytest.mark.parametrize("works", [True, False], ids=["works", "fails"])
def test_the_plugin_of_opencode_passes_words_on_and_never_breaks(
    modules: Path, tmp_path: Path, works: bool
) -> None:
    fake, events = tmp_path / "fake", tmp_path / "events"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    launch = Launch((str(fake if works else tmp_path / "missing"),))
    chosen = place()._replace(launch=launch, reducing=True, replacing=False)
    assert compiled(plugin_text(chosen), modules, tmp_path).returncode == 0
    (tmp_path / "driver.js").write_text(DRIVER)
    env = {**os.environ, "EVENTS": str(events), "XDG_STATE_HOME": str(tmp_path / "state")}
    words = ["node", "driver.js"]
    ran = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, env=env
    )
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    names = {path.name for path in files}
    assert names == {"s.json", "s_.._x.json", *(["s.put-back"] if works else [])}
    if not works:
        assert said["compacting"]["context"] == []
        assert said["sent"] == [["go on"], ["go on"]]
        assert said["tool"]["output"] == "long enough"
        return
    assert said["compacting"]["context"] == ["kedgeline follows this session: keep the tide table"]
    first = "From kedgeline: put back"
    assert said["sent"] == [[first, "go on"], [f"{first}\n\nFrom kedgeline: and this", "go on"]]
    assert said["tool"]["output"] == "short"
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [one["hook_event_name"] for one in told] == [
        "PreCompact",
        "PostCompact",
        "Stop",
        "SessionStart",
        "PostToolBatch",
        "PostToolUse",
    ]
    assert told[0]["transcript_path"].endswith("/kedgeline/opencode/s_.._x.json")
