"""Real clients against `python -m kedgeline mcp`: over stdin and stdout, and over a real port."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from kedgeline.store.protocol import open_store
from tests.integrations.mcp.serving import LIMIT, harbor, keep
from tests.turns import bash, turn

TOKEN = "a-token-of-the-test-0123456789"
MCP = [sys.executable, "-W", "error", "-m", "kedgeline", "mcp"]
ENVIRONMENT = {
    **os.environ,
    "KEDGELINE_VOCABULARY": "estimate",
    "KEDGELINE_MCP_TOKEN": TOKEN,
    "PYTHONFAULTHANDLER": "1",  # where a server dies, its threads say where
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two sessions; the one of the folder is the older one."""
    root = tmp_path_factory.mktemp("mcp")
    store = open_store(root / "store", durability="fast")
    lit = [turn(n, bash(f"make lamp{n}", f"lamp {n} is lit"), tokens=300) for n in range(5, 60)]
    keep(store, "harbor", [*harbor(), *lit], root)
    keep(store, "newer", [turn(0, user="Sail.", says="We sail.")])
    store.close()
    return root


async def used(client: Client) -> dict[str, Any]:
    """A bit of everything."""
    found = await client.call_tool("recall", {"words": "TideError", "limit": 1})
    assert found.structured_content is not None
    shown = await client.call_tool("show", {"mark": found.structured_content["matches"][0]["mark"]})
    wrong = await client.call_tool("show", {"mark": "t999"})
    done = await client.call_tool("compact", {"window": 3_000})
    told = await client.call_tool("summary", {})
    pinned = await client.call_tool("pin", {"what": "Never touch the billing module."})
    lists = [await client.call_tool(name, {}) for name in ("decisions", "files")]
    return {
        "chosen": found.structured_content["chosen"],
        "session": found.structured_content["session"],
        "shown": shown.structured_content["text"],  # type: ignore[index]
        "wrong": (wrong.is_error, wrong.content[0].text),  # type: ignore[union-attr]
        "compacted": done.structured_content,
        "summary": told.structured_content["text"],  # type: ignore[index]
        "others": [one.is_error for one in (pinned, *lists)],
    }


def check(found: dict[str, Any]) -> None:
    assert (found["session"], found["chosen"]) == ("harbor", "of this folder")
    assert "E   TideError: too low" in found["shown"]
    assert found["wrong"] == (True, "session 'harbor' has no turn t999; the last is t59")
    assert found["compacted"]["done"]
    assert found["others"] == [False] * 3
    assert "Never touch the billing module." in found["summary"]


def test_a_client_over_stdin_and_stdout(place: Path) -> None:
    """What the server writes goes through a copy, to see that it is nothing but the protocol."""
    line = f"{shlex.join([*MCP, '--store', 'store', '--json'])} 2>told | tee written"

    async def run() -> dict[str, Any]:
        server = StdioServerParameters(command="sh", args=["-c", line], cwd=place, env=ENVIRONMENT)
        async with Client(server) as client:
            return await used(client)

    check(asyncio.run(asyncio.wait_for(run(), LIMIT)))
    written = (place / "written").read_text("utf-8").splitlines()
    assert {json.loads(answer)["jsonrpc"] for answer in written} == {"2.0"}
    assert len(written) > 5
    (told,) = map(json.loads, (place / "told").read_text("utf-8").splitlines())
    assert (told["transport"], told["store"], told["url"]) == ("stdio", "store", None)


def test_an_interrupt_ends_it_at_once_although_it_waits_for_the_client(place: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    line = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*MCP, "--store", "store"], stdin=pipe, stdout=pipe, stderr=pipe, cwd=place, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        try:
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130  # with stdin still open
            assert process.stderr is not None
            assert process.stderr.read() == b""
        finally:
            process.kill()


class Http(NamedTuple):
    process: subprocess.Popen[bytes]
    told: dict[str, Any]

    def status(self, *, path: str = "", method: str = "POST", **headers: str) -> int:
        """What a raw request gets; `host` replaces what a browser would send."""
        url = urlsplit(self.told["url"])
        connection = HTTPConnection(url.hostname or "", url.port or 0, timeout=LIMIT)
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path or url.path, body=b"{}", headers=given)
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture(scope="module")
def http(place: Path) -> Iterator[Http]:
    words = [*MCP, "--store", "store", "--http", "127.0.0.1:0", "--json"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place, env=ENVIRONMENT
    )
    with process:
        assert process.stdout is not None
        try:
            served = Http(process, json.loads(process.stdout.readline()))
            assert served.status() == 401  # it serves: modules are loaded, and signals are caught
            yield served
        finally:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=20)
        assert process.returncode in (0, 130), told.decode()
        assert b"Traceback" not in told


def test_clients_over_http_at_the_same_time(http: Http) -> None:
    async def one(mode: str) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as sending:
            transport = streamable_http_client(http.told["url"], http_client=sending)
            async with Client(transport, mode=mode) as client:
                return await used(client)

    async def several() -> list[dict[str, Any]]:
        return await asyncio.gather(one("auto"), one("legacy"))

    for found in asyncio.run(asyncio.wait_for(several(), LIMIT)):
        check(found)


def test_strangers_are_refused_on_the_real_port(http: Http) -> None:
    right = {"authorization": f"Bearer {TOKEN}", "content_type": "application/json"}
    assert http.status() == 401
    assert http.status(authorization="Bearer wrong") == 401
    assert http.status(path=f"/mcp?token={TOKEN}") == 401
    assert http.status(**right, host="evil.example") == 421
    assert http.status(**right, origin="https://evil.example") == 403
    assert http.status(path="/elsewhere") == 401
    assert http.status(path="/elsewhere", **right) == 404
    assert http.status(**right) not in (401, 403, 421, 404)


def test_what_is_told_of_the_server_has_no_token(http: Http) -> None:
    assert http.told["token_in"] == "KEDGELINE_MCP_TOKEN"
    assert TOKEN not in json.dumps(http.told)
    assert http.told["allowed_hosts"] == []
