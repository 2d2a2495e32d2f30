"""A server over hand-made sessions, and clients that speak to it in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from anyio import fail_after
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from kedgeline.mcp.server import Server
from kedgeline.mcp.sessions import Kept
from kedgeline.model import Change, SessionFacts, Transcript, Turn
from kedgeline.redact import Redactor
from kedgeline.session.session import Session
from kedgeline.settings import Settings
from kedgeline.store import Store
from kedgeline.store.sqlite import open_memory
from tests.turns import bash, edit, turn

HERE = Path("/home/ada/harbor")
"""The folder that the server of a test runs in; nothing is there."""
SECRET = "hunter2-lighthouse-4711"
"""A value that the redactor of tests knows."""
WINDOW = 3_000
SETTINGS = Settings(
    vocabulary="estimate", window=WINDOW, model_call_seconds=10.0, model_seconds=20.0
)

LIMIT = 60.0
"""Seconds after which a conversation is broken: what waits for ever must not look like a slow test.
"""

_fresh = count()


def harbor() -> list[Turn]:
    """A small session: a rule, a request, edits, a failing and a passing run."""
    failed = bash("pytest -q", "E   TideError: too low\n1 failed in 0.31s", exit_code=1)
    return [
        turn(0, user="Never touch the billing module. Make the pier tests pass.", says="I look."),
        turn(1, failed, says="The tide table is wrong."),
        turn(2, edit("src/tide_table.py"), says="I correct the tide table."),
        turn(3, bash("pytest -q", "12 passed in 0.29s"), says="All tests pass."),
        turn(4, user="Let's go with metres instead of feet.", says="Agreed: metres it is."),
    ]


def transcript(turns: list[Turn], root: Path = HERE) -> Transcript:
    facts = SessionFacts(changes=(Change(turn=0, name="root", value=str(root)),))
    return Transcript(format="claude-code", turns=tuple(turns), session=facts)


def memory() -> Store:
    return open_memory(f"memory:mcp-{next(_fresh)}", owner="")


def store_of(**sessions: list[Turn]) -> Store:
    """A store of sessions, the last of them written last."""
    store = memory()
    for name, turns in sessions.items():
        keep(store, name, turns)
    return store


def keep(store: Store, name: str, turns: list[Turn], root: Path = HERE) -> Session:
    session = Session(name, store, window=WINDOW)
    session.append(transcript(turns, root))
    return session


def kept_of(store: Store, **given: Any) -> Kept:
    given = {"settings": SETTINGS, "folder": HERE, **given}
    return Kept(store, redactor=Redactor([("HARBOR_KEY", SECRET)]), **given)


class Speaking(NamedTuple):
    """A server with a client that stays connected: to make both takes longer than most calls."""

    server: Server
    portal: BlockingPortal
    client: Client


_free: list[Speaking] = []
_taken: dict[Server, Speaking] = {}
_open = ExitStack()


@contextmanager
def serving(store: Store | None = None, **given: Any) -> Iterator[Server]:
    """A server over a store. It may have served another one before; then nothing is left of it but
    what a server knows of its tools."""
    kept = kept_of(store or store_of(harbor=harbor()), **given)
    speaking = _free.pop() if _free else _connected(kept)
    vars(speaking.server).pop("tools", None)
    speaking.server._kept = kept
    _taken[speaking.server] = speaking
    try:
        yield speaking.server
    finally:
        assert not waiting(speaking.server)
        _free.append(_taken.pop(speaking.server))
        kept.store.close()


def waiting(server: Server) -> bool:
    """Whether a compaction waits for its client."""
    return "tools" in vars(server) and bool(server.jobs._waiting)


def _connected(kept: Kept) -> Speaking:
    server = Server(kept)
    portal = _open.enter_context(start_blocking_portal())
    client = _open.enter_context(portal.wrap_async_context_manager(Client(server)))
    return Speaking(server, portal, client)


def disconnect() -> None:
    _free.clear()
    _open.close()


Talk = Callable[[Client], Awaitable[Any]]


def talk(server: Server, talk: Talk, **client: Any) -> Any:
    """What a client that speaks to the server in memory comes back with."""

    async def limited(connected: Client) -> Any:
        with fail_after(LIMIT):
            return await talk(connected)

    if not client:
        _, portal, connected = _taken[server]
        return portal.call(limited, connected)

    async def run() -> Any:
        try:
            async with Client(server, **client) as connected:
                return await limited(connected)
        finally:
            server.close()

    return asyncio.run(run())


def called(server: Server, tool: str, client: Any = None, **arguments: Any) -> CallToolResult:
    async def call(connected: Client) -> CallToolResult:
        return await connected.call_tool(tool, arguments)

    found: CallToolResult = talk(server, call, **(client or {}))
    return found


def given(server: Server, tool: str, client: Any = None, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that must not fail."""
    result = called(server, tool, client, **arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


def refused(server: Server, tool: str, **arguments: Any) -> str:
    """The sentence of a call that must fail."""
    result = called(server, tool, **arguments)
    assert result.is_error
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def refusal(server: Server, asking: Talk) -> str:
    """The sentence of a protocol error, caught before the client's tasks are ended by it."""

    async def asked(client: Client) -> str:
        try:
            found = await asking(client)
        except MCPError as error:
            return error.error.message
        raise AssertionError(f"it was not refused: {found}")

    return str(talk(server, asked))


def reading(uri: str) -> Talk:
    async def read(client: Client) -> str:
        (content,) = (await client.read_resource(uri)).contents
        return str(content.text)  # type: ignore[union-attr]

    return read


def resource(server: Server, uri: str) -> str:
    return str(talk(server, reading(uri)))
