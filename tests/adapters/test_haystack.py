"""Haystack: the compactor in the agent's compaction hook, with a played generator."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ReasoningContent, StreamingChunk, ToolCall
from haystack.hooks.compaction import CompactionHook
from haystack.tools import tool

from kedgeline.adapters.haystack import KedgelineCompactor
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, number_in, output

pytestmark = pytest.mark.adapters
WAYS = ("run", "run_async", "stream", "stream_async")


@component
class Played:
    def __init__(self, seen: Any = None) -> None:
        self.seen = seen

    def _reply(self, messages: Any) -> Any:
        asked = [call.id for m in messages for call in m.tool_calls]
        told = [result.origin.id for m in messages for result in m.tool_call_results]
        assert not self.seen.prompted or messages[0].text == SYSTEM
        self.seen.request(messages, asked, told)
        last = messages[-1]
        number = number_in(last.tool_call_result.result) if last.tool_call_result else 0
        call = ToolCall("part", {"number": number + 1}, id=f"c{number + 1}")
        usage = {"prompt_tokens": self.seen.sizes[-1], "completion_tokens": 5}
        reply = ChatMessage.from_assistant(
            f"part {number}",
            tool_calls=[call] if number < CALLS else None,
            meta={"usage": usage},
            reasoning=ReasoningContent("hm", extra={"signature": f"s{number}"}),
        )
        return {"replies": [reply]}

    @component.output_types(replies=list[ChatMessage])
    def run(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> Any:
        if streaming_callback:
            streaming_callback(StreamingChunk("part"))
        return self._reply(messages)

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, streaming_callback: Any = None
    ) -> Any:
        if streaming_callback:
            await streaming_callback(StreamingChunk("part"))
        return self._reply(messages)


@tool
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def gone(compactor: Any, seen: Seen, way: str) -> list[Any]:
    hook = CompactionHook(compactor, context_window=WINDOW, compact_at=0.7, compact_to=0.4)
    made = Agent(
        chat_generator=Played(seen),
        tools=[part],
        system_prompt=SYSTEM,
        hooks={"before_llm": [hook]},
        max_agent_steps=200,
    )
    chunks: list[Any] = []

    async def on_chunk(chunk: Any) -> None:
        chunks.append(chunk)

    task = {"messages": [ChatMessage.from_user(TASK)]}
    if way == "run":
        result = made.run(**task)
    elif way == "stream":
        result = made.run(**task, streaming_callback=chunks.append)
    elif way == "run_async":
        result = asyncio.run(made.run_async(**task))
    else:
        result = asyncio.run(made.run_async(**task, streaming_callback=on_chunk))
    assert bool(chunks) == way.startswith("stream")
    return list(result["messages"])


@pytest.mark.parametrize("way", WAYS)
def test_the_state_is_compacted_and_what_is_sent_fits(way: str) -> None:
    seen, compactor = Seen(), KedgelineCompactor()
    messages = gone(compactor, seen, way)
    assert len(seen.sizes) == CALLS + 1
    assert seen.breaks >= 3
    assert len(messages) < CALLS
    assert all(ChatMessage.from_dict(m.to_dict()) == m for m in messages)


def test_it_can_be_written_down() -> None:
    written = KedgelineCompactor(target=0.4, pins=("Never skip a part.",)).to_dict()
    assert KedgelineCompactor.from_dict(written).to_dict() == written


def test_runs_in_parallel_share_nothing() -> None:
    compactor, seen = KedgelineCompactor(), [Seen() for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        lists = list(pool.map(lambda one: gone(compactor, one, "run"), seen))
    assert [len(one.sizes) for one in seen] == [CALLS + 1] * 3
    assert min(one.breaks for one in seen) >= 3
    assert max(map(len, lists)) < CALLS


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    gone(KedgelineCompactor(), seen, way)
    assert len(seen.sizes) == CALLS + 1
    assert planted()
