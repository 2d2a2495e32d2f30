"""Compactions that nobody waits for any longer: their threads end, and nothing is written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from mcp import Client

from kedgeline.mcp.sessions import Abandoned, Waited, Watched
from kedgeline.model import Ask
from kedgeline.session import compacting as living
from kedgeline.session.session import Session
from tests.integrations.mcp.serving import (
    LIMIT,
    given,
    harbor,
    memory,
    serving,
    talk,
    transcript,
    waiting,
)
from tests.integrations.mcp.test_sampling import MODES, Scripted, compactions, long_store

ASK = Ask(role="summarise", system="", prompt="", most_tokens=1)
SOON = 5.0
"""Seconds in which what ends has ended."""


async def cancelled(call: asyncio.Task[Any], *, once: asyncio.Task[Any]) -> None:
    """Give a call up as soon as something else has come about; where it never does, say so."""
    done, _ = await asyncio.wait({call, once}, timeout=LIMIT, return_when="FIRST_COMPLETED")
    assert done == {once}, "the call ended, or nothing came about, before it could be given up"
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_is_given_up_while_the_model_is_asked_writes_nothing(mode: str) -> None:
    store, slow = long_store(), Scripted(seconds=9.0)

    async def asked() -> None:
        while not slow.asked:
            await asyncio.sleep(0.005)

    async def given_up(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("compact", {}))
        await cancelled(call, once=asyncio.create_task(asked()))

    with serving(store) as server:
        talk(server, given_up, mode=mode, sampling_callback=slow)
        assert not waiting(server)
        assert compactions(store) == 0


class Held:
    """A compaction that goes on only when it is told to, and the thread it is made in."""

    def __init__(self) -> None:
        self.working, self.go_on, self.ended = (threading.Event() for _ in range(3))

    @contextmanager
    def making(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        made, compact = living.compacting, Session.compact

        def compacting(*given: Any, **options: Any) -> Any:
            found = yield from made(*given, **options)  # all is asked, nothing is written yet
            self.working.set()
            assert self.go_on.wait(SOON)
            return found

        def watched(session: Session, **options: Any) -> Any:
            try:
                return compact(session, **options)
            finally:
                self.ended.set()

        with monkeypatch.context() as patched:
            patched.setattr(living, "compacting", compacting)
            patched.setattr(Session, "compact", watched)
            yield


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", [None, Scripted()])
def test_a_call_that_is_given_up_before_it_is_written_writes_nothing(
    mode: str, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, held = long_store(), Held()

    async def given_up(client: Client) -> bool:
        call = asyncio.create_task(client.call_tool("compact", {}))
        working = asyncio.create_task(asyncio.to_thread(held.working.wait, SOON))
        await cancelled(call, once=working)
        await client.list_tools()  # comes behind the notice that the call is given up
        held.go_on.set()
        return await asyncio.to_thread(held.ended.wait, SOON)

    with serving(store) as server:
        with held.making(monkeypatch):
            assert talk(server, given_up, mode=mode, sampling_callback=model)
        assert compactions(store) == 0
        assert given(server, "compact")["folded_turns"] > 0


def test_nothing_of_a_block_is_there_once_nobody_waits() -> None:
    store, waited = memory(), Waited()
    watched = Watched(store, waited.check).as_store()
    session = Session("harbor", watched)
    session.append(transcript(harbor()[:2]))
    entry = next(iter(store.entries("harbor", kinds=("turn",))))
    block = ExitStack()
    block.enter_context(watched.writing("harbor")).add(entry)
    waited.end()
    with pytest.raises(Abandoned):
        block.close()
    with pytest.raises(Abandoned):
        session.append(transcript(harbor()))
    assert session.transcript().turns == tuple(Session("harbor", store).transcript().turns)
    assert len(session.transcript().turns) == 2
    store.close()
