"""Strands: the conversation manager, with a played model and its file store of sessions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent, tool
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

from kedgeline.adapters.strands import KedgelineConversationManager
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, number_in, output

pytestmark = pytest.mark.adapters
WAYS = ("call", "async", "stream")


class Played(Model):
    def __init__(self, seen: Seen, overflow: int = 10**9) -> None:
        self.seen, self.overflow = seen, overflow

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> Any:
        return {"model_id": "played", "context_window_limit": WINDOW}

    async def structured_output(self, *_: Any, **__: Any) -> Any:
        yield {}

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any
    ) -> Any:
        if len(json.dumps(messages)) > self.overflow:
            raise ContextWindowOverflowException("too long")
        blocks = [block for message in messages for block in message["content"]]
        asked = [b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b]
        told = [b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b]
        roles = [message["role"] for message in messages]
        assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
        assert not self.seen.prompted or system_prompt == SYSTEM
        self.seen.request(
            [{"role": m["role"], "content": m["content"]} for m in messages], asked, told
        )
        block = messages[-1]["content"][-1]
        told_last = block.get("toolResult", {}).get("content", [{"text": "0"}])
        number = number_in(told_last[0]["text"])
        yield {"messageStart": {"role": "assistant"}}
        if number < CALLS:
            use = {"toolUseId": f"c{number + 1}", "name": "part"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            arguments = json.dumps({"number": number + 1})
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": "Part 7 is wrong."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if number < CALLS else "end_turn"}}


@tool
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def agent(manager: Any, seen: Seen, overflow: int = 10**9, **more: Any) -> Agent:
    return Agent(
        model=Played(seen, overflow),
        tools=[part],
        system_prompt=SYSTEM,
        callback_handler=None,
        conversation_manager=manager,
        **more,
    )


async def gone(made: Agent, way: str) -> None:
    if way == "call":
        await asyncio.to_thread(made, TASK)
    elif way == "async":
        await made.invoke_async(TASK)
    else:
        assert [event async for event in made.stream_async(TASK)]


@pytest.mark.parametrize("way", WAYS)
def test_the_list_is_compacted_and_what_is_sent_fits(way: str) -> None:
    seen, manager = Seen(), KedgelineConversationManager()
    made = agent(manager, seen)
    asyncio.run(gone(made, way))
    seen.holds(manager, window=WINDOW)
    assert len(made.messages) < CALLS


def test_a_restored_session_goes_on_with_the_same_list(tmp_path: Path) -> None:
    def made() -> Agent:
        manager = FileSessionManager(session_id="s", storage_dir=str(tmp_path))
        return agent(KedgelineConversationManager(), Seen(), agent_id="a", session_manager=manager)

    live = made()
    asyncio.run(gone(live, "async"))
    again = made()
    assert len(list(tmp_path.rglob("message_*.json"))) == 2 + 2 * CALLS
    assert [m["role"] for m in again.messages] == [m["role"] for m in live.messages]
    assert again.messages[0]["content"] == live.messages[0]["content"]


def test_after_an_overflow_less_is_sent() -> None:
    seen, manager = Seen(), KedgelineConversationManager(at=0.99, target=0.5, window=10**6)
    asyncio.run(gone(agent(manager, seen, overflow=30_000), "async"))
    assert len(seen.sizes) == CALLS + 1
    assert manager._runs.newest is not None
    assert manager._runs.newest.compactions >= 3


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    asyncio.run(gone(agent(KedgelineConversationManager(), seen), way))
    assert len(seen.sizes) == CALLS + 1
    assert planted()
