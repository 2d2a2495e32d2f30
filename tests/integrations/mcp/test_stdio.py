"""The server on stdin and stdout: the client of the SDK talks to it, and so does anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from kedgeline.hosts.mcp.calls import tools
from kedgeline.store.protocol import open_store
from kedgeline.tokens import EXACT
from tests.integrations.mcp.serving import LIMIT, harbor, keep, text_of

SERVER = (sys.executable, "-P", "-m", "kedgeline", "mcp", "--session", "harbor")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a"}}
MOST_TOKENS = 1_000


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    with closing(open_store(str(tmp_path / "store"))) as opened:
        keep(opened, "harbor", harbor())


def test_the_client_of_the_sdk_is_served() -> None:
    async def talk() -> tuple[Any, Any]:
        command, *words = SERVER
        started = StdioServerParameters(command=command, args=words, env=dict(os.environ))
        with anyio.fail_after(LIMIT):
            async with Client(stdio_client(started)) as client:
                listed = await client.list_tools()
                return listed.tools, await client.call_tool("recall", {"words": "billing"})

    listed, found = anyio.run(talk)
    assert [one.name for one in listed] == [one["name"] for one in tools()]
    assert "Never touch the billing module." in text_of(found)
    assert not found.is_error


def said(lines: Sequence[object]) -> list[dict[str, Any]]:
    text = b"".join(
        (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines
    )
    done = subprocess.run(SERVER, input=text, capture_output=True, timeout=LIMIT, check=True)
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


def test_definitions_take_a_thousand_tokens_at_the_most() -> None:
    assert EXACT.count(json.dumps(tools())) <= MOST_TOKENS
    (compact,) = (one for one in tools() if one["name"] == "compact")
    assert "does not shrink your own context" in compact["description"]
