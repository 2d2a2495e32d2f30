"""The real OpenCode with a home of its own, kedgeline installed into it, and a server of ours for
its model.

    with OpenCode(home, server, "--advise").serving() as opencode:
        opencode.says("Mend the harbour light")

One process serves a session for as long as the block runs; `run` starts one for a word alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request as Asked
from urllib.request import urlopen

import pytest

from tests.models.server import Request, Server

SECONDS = 120
SOON = 30.0
"""Seconds within which what is done beside a session is done."""
WINDOW, ANSWER = 60_000, 1_000
"""Tokens that the model is said to take, and those of them that OpenCode keeps for an answer."""
MODEL = {"providerID": "harbour", "modelID": "harbour"}
PLUGIN_PACKAGE = "@opencode-ai/plugin"
"""What OpenCode gets from the network for plugins, before it loads one, unless it is there."""

STEERING = "kedgeline follows this session"
"""How all begins that a summariser is told."""
INK = "the sea is made of ink"
"""What nobody said."""
HANGS = """#!/bin/sh
trap '' TERM
sleep 30 & wait
"""
RUBBISH = f"""#!/bin/sh
cat > /dev/null
echo '{INK}'
"""
FLOOD = f"""#!/bin/sh
cat > /dev/null
yes '{STEERING}: {INK}' | head -c 300000
"""
ANSWERS = f"""#!/bin/sh
cat > /dev/null
echo '{{"hookSpecificOutput": {{"additionalContext": {{"{INK}": 1}}, "updatedToolOutput": 7}}}}'
"""
"""Programs that are no kedgeline."""


def binary() -> str:
    """OpenCode, as it is named or installed."""
    if found := os.environ.get("KEDGELINE_OPENCODE_BINARY", "") or shutil.which("opencode"):
        return found
    pytest.skip("OpenCode is not here: npm install opencode-ai, or set KEDGELINE_OPENCODE_BINARY")


class OpenCode:
    """One session."""

    def __init__(self, home: Path, server: Server, *installing: str, tools: bool = False) -> None:
        self._binary, self._address, self.session = binary(), "", ""
        self.home, self.work = home, home / "work"
        self._config = home / ".config" / "opencode"
        self.work.mkdir(parents=True)
        self._environment = _surroundings(home)
        provider = {"harbour": _provider(f"{server.address}/v1")}
        self.set(model="harbour/harbour", provider=provider, compaction={"tail_turns": 0})
        self.kedgeline("install", "opencode", *installing)
        for folder in (self._config, self.work / ".opencode"):
            _has_packages(folder)
        if not tools:
            self.set(mcp={})
            (self.work / "opencode.json").unlink(missing_ok=True)

    def set(self, **settings: Any) -> None:
        """Some of its settings; the others stay."""
        path = self._config / "opencode.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **settings}))

    def set_window(self, window: int, **compaction: Any) -> None:
        """What the model is said to take from now on, and how OpenCode compacts."""
        provider = json.loads((self._config / "opencode.json").read_text())["provider"]
        provider["harbour"]["models"]["harbour"]["limit"]["context"] = window
        self.set(provider=provider, compaction=compaction)

    def plant(self, right: str, wrong: str) -> None:
        """A bug in the plugin."""
        text = self._plugin.read_text()
        assert right in text
        self._plugin.write_text(text.replace(right, wrong))

    def use_as_kedgeline(self, program: str) -> None:
        """Have the plugin start this in the place of kedgeline; nothing where it is empty."""
        path = self.home / "kedgeline"
        if program:
            path.write_text(program)
            path.chmod(0o755)
        text = re.sub(
            r"((?:KEDGELINE|REPLACING): string\[\] = )\[.+\]",
            rf'\1["{path}"]',
            self._plugin.read_text(),
        )
        self._plugin.write_text(re.sub(r"(MILLISECONDS = )[\d_]+", r"\g<1>700", text))

    @property
    def _plugin(self) -> Path:
        folders = (self._config, self.work / ".opencode")
        (path,) = (one for folder in folders for one in folder.glob("plugins/kedgeline.ts"))
        return path

    @contextmanager
    def serving(self) -> Iterator[OpenCode]:
        words = (self._binary, "serve", "--port", "0")
        with subprocess.Popen(
            words, cwd=self.work, env=self._environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            try:
                line = next(one for one in process.stdout if "listening on" in one)
                self._address = line.split()[-1]
                self.session = self.session or self._ask("", {})["id"]
                yield self
            finally:
                process.terminate()

    def says(self, prompt: str) -> str:
        """What is answered."""
        body = {"model": MODEL, "parts": [{"type": "text", "text": prompt}]}
        return _text_of(self._ask(f"/{self.session}/message", body))

    def commands(self, name: str, arguments: str) -> str:
        body = {"command": name, "arguments": arguments, "model": "harbour/harbour"}
        return _text_of(self._ask(f"/{self.session}/command", body))

    def compact(self) -> None:
        """As its user asks for it."""
        before = self.status().get("compactions", 0)
        assert self._ask(f"/{self.session}/summarize", MODEL) is True
        self.status(lambda known: known["compactions"] == before + 1)

    def runs(self, prompt: str, *options: str) -> str:
        """The same with a process for these words alone."""
        words = (self._binary, "run", *options, "--format", "json")
        told = [json.loads(line) for line in self.starts(*words, given=prompt).splitlines()]
        self.session = told[-1]["sessionID"]
        return str([one["part"]["text"] for one in told if one["type"] == "text"][-1])

    def kedgeline(self, *words: str) -> dict[str, Any]:
        told = self.starts(sys.executable, "-m", "kedgeline", *words, "--json").splitlines()
        found: dict[str, Any] = json.loads(told[-1])
        return found

    def status(self, known: Callable[[dict[str, Any]], bool] = bool) -> dict[str, Any]:
        """What the worker has written down, as soon as it is what is waited for."""
        path = self.home / "state" / "kedgeline" / "hooks" / self.session / "status.json"
        deadline, found = time.monotonic() + SOON, dict[str, Any]()
        while time.monotonic() < deadline:
            found = json.loads(path.read_text()) if path.exists() else {}
            if found and known(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"the worker did not get there: {found}")

    def log(self) -> str:
        """Why hooks did not do what they were to do."""
        path = self.home / "state" / "kedgeline" / "hooks" / "log"
        return path.read_text() if path.exists() else ""

    @property
    def kept(self) -> Path:
        """The folder with what the plugin keeps."""
        return self.home / "state" / "kedgeline" / "opencode"

    def starts(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self._environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        """Of the server that OpenCode is."""
        data, headers = json.dumps(body).encode(), {"content-type": "application/json"}
        request = Asked(f"{self._address}/session{path}", data, headers)
        with urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read())


def _text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _surroundings(home: Path) -> dict[str, str]:
    """Without anything of this machine's own OpenCode, and with kedgeline on the PATH."""
    theirs = ("OPENCODE", "XDG_", "KEDGELINE_")
    mine = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    return {
        **mine,
        "HOME": str(home),
        "PWD": str(home / "work"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "XDG_STATE_HOME": str(home / "state"),
        "KEDGELINE_STORE": str(home / "store"),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _provider(address: str) -> dict[str, Any]:
    model = {"name": "harbour", "limit": {"context": WINDOW, "output": ANSWER}}
    return {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": address, "apiKey": "of no worth"},
        "models": {"harbour": model},
    }


def _has_packages(folder: Path) -> None:
    """A folder of settings for which OpenCode need not ask the network."""
    (folder / "node_modules").mkdir(parents=True, exist_ok=True)
    locked = {"packages": {"": {"dependencies": {PLUGIN_PACKAGE: "*"}}}}
    (folder / "package-lock.json").write_text(json.dumps(locked))


def texts(request: Request, role: str = "") -> list[str]:
    """Of the messages that the model is sent, in order; of one role, or of all."""
    found = []
    for message in request.body["messages"]:
        if role in ("", message["role"]):
            content = message.get("content") or ""
            parts = [{"text": content}] if isinstance(content, str) else content
            found += [part.get("text", "") for part in parts]
    return found
