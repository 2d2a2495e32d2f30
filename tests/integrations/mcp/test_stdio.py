"""`kedgeline mcp` on stdin and stdout: the client of the SDK talks to it, and so does anything."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from kedgeline.hosts.mcp.calls import CALLS
from kedgeline.store.protocol import open_store
from tests.integrations.mcp.serving import harbor, keep
from tests.turns import bash, turn

MCP = [sys.executable, "-W", "error", "-P", "-m", "kedgeline", "mcp"]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a"}}
LIMIT = 60.0
"""Seconds after which a conversation is broken."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with its session in a store; another session is newer."""
    root = tmp_path_factory.mktemp("mcp")
    lit = [turn(n, bash(f"make lamp{n}", f"lamp {n} is lit"), tokens=300) for n in range(5, 60)]
    with closing(open_store(root / "store", durability="fast")) as store:
        keep(store, "harbor", [*harbor(), *lit], root)
        keep(store, "newer", [turn(0, user="Sail.", says="We sail.")])
    return root


@pytest.fixture(autouse=True)
def surroundings(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(place / "store"))
    monkeypatch.setenv("KEDGELINE_VOCABULARY", "estimate")
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID", raising=False)
    monkeypatch.chdir(place)


def test_the_client_of_the_sdk_uses_every_tool(place: Path) -> None:
    """What the server writes goes through a copy, to see that it is nothing but the protocol."""
    line = f"{shlex.join([*MCP, '--json'])} 2>told | tee written"
    server = StdioServerParameters(command="sh", args=["-c", line], env=dict(os.environ))

    async def talk() -> dict[str, Any]:
        async with Client(stdio_client(server)) as client:

            async def call(name: str, **arguments: Any) -> Any:
                return await client.call_tool(name, arguments)

            found = await call("recall", words="TideError", limit=1)
            mark = found.structured_content["matches"][0]["mark"]
            pinned = await call("pin", what="Never touch the billing module.")
            return {
                "tools": [one.name for one in (await client.list_tools()).tools],
                "chosen": found.structured_content["chosen"],
                "session": found.structured_content["session"],
                "shown": (await call("show", mark=mark)).structured_content["text"],
                "wrong": (await call("show", mark="t999")).content[0].text,
                "summary": (await call("summary")).structured_content["text"],
                "failed": pinned.is_error,
            }

    found = asyncio.run(asyncio.wait_for(talk(), LIMIT))
    assert found["tools"] == [*CALLS]
    assert (found["session"], found["chosen"]) == ("harbor", "of this folder")
    assert "E   TideError: too low" in found["shown"]
    assert found["wrong"] == "session 'harbor' has no turn t999; the last is t59"
    assert not found["failed"]
    assert "Never touch the billing module." in found["summary"]
    written = (place / "written").read_text("utf-8").splitlines()
    assert {json.loads(answer)["jsonrpc"] for answer in written} == {"2.0"}
    assert len(written) > 5
    (told,) = map(json.loads, (place / "told").read_text("utf-8").splitlines())
    assert told == {"store": str(place / "store"), "session": None, "folder": str(place)}


def test_an_interrupt_ends_it_at_once_although_it_waits_for_the_client() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(MCP, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(json.dumps(asked(1, "initialize", **HELLO)).encode() + b"\n")
        process.stdin.flush()
        try:
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130  # with stdin still open
            assert process.stderr.read() == b""
        finally:
            process.kill()


def said(lines: Sequence[object]) -> list[dict[str, Any]]:
    text = b"".join(
        (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines
    )
    words = [*MCP, "--session", "harbor"]
    done = subprocess.run(words, input=text, capture_output=True, timeout=LIMIT, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked(id: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_every_request_has_one_answer_and_nothing_else_has_any() -> None:
    answers = said(
        [
            asked(1, "initialize", **HELLO),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            asked("two", "ping"),
            b"\xff{",
            [],
            b"",
            {"jsonrpc": "2.0", "id": 9, "result": {}},
            asked(3, "resources/list"),
            asked(4, "tools/call", name="show", arguments={"mark": "t0"}),
            asked(5, "tools/call", name="sink", arguments=None),
            asked(6, "initialize", **{**HELLO, "protocolVersion": "1999-01-01"}),
        ]
    )
    told = {one["id"]: one for one in answers if one["id"] is not None}
    assert [*sorted(map(str, told))] == ["1", "3", "4", "5", "6", "two"]
    assert len(answers) == len(told) + 2
    assert told[1]["result"]["protocolVersion"] == HELLO["protocolVersion"]
    assert told[6]["result"]["protocolVersion"] != "1999-01-01"
    assert told["two"]["result"] == {}
    assert told[3]["error"]["code"] == -32_601
    assert "billing" in told[4]["result"]["content"][0]["text"]
    assert told[5]["result"]["isError"]
    assert "there is no tool" in told[5]["result"]["content"][0]["text"]
