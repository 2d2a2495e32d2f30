"""LlamaIndex: the function agent, with a mocked model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentStream
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool

from kedgeline.adapters.llama_index import KedgelineFunctionAgent
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, number_in, output

pytestmark = pytest.mark.adapters


def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


async def gone(seen: Seen, *, streaming: bool) -> tuple[Any, list[Any]]:
    def reply(messages: Any, **_: Any) -> ChatMessage:
        blocks = [block for m in messages for block in m.blocks]
        asked = [b.tool_call_id for b in blocks if isinstance(b, ToolCallBlock)]
        told = [m.additional_kwargs["tool_call_id"] for m in messages if m.role.value == "tool"]
        assert messages[0].content == SYSTEM
        seen.request(messages, asked, told)
        last = messages[-1]
        number = number_in(last.content) if last.role.value == "tool" else 0
        if number >= CALLS:
            return ChatMessage(role="assistant", blocks=[TextBlock(text="Part 7 is wrong.")])
        thought = ThinkingBlock(content="hm", additional_information={"signature": "s"})
        call = ToolCallBlock(
            tool_call_id=f"c{number + 1}", tool_name="part", tool_kwargs={"number": number + 1}
        )
        return ChatMessage(role="assistant", blocks=[thought, call])

    llm = MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)
    agent = KedgelineFunctionAgent(
        tools=[FunctionTool.from_defaults(part)],
        llm=llm,
        system_prompt=SYSTEM,
        streaming=streaming,
        kedgeline={"window": WINDOW},
    )
    memory = Memory.from_defaults(session_id=f"s{streaming}", token_limit=10**6)
    handler = agent.run(TASK, memory=memory, max_iterations=200)
    chunks = [e async for e in handler.stream_events() if isinstance(e, AgentStream)]
    assert str(await handler).endswith("Part 7 is wrong.")
    assert bool(chunks) == streaming
    return agent, list(await memory.aget_all())


@pytest.mark.parametrize("streaming", [False, True])
def test_the_memory_stays_whole_and_what_is_sent_fits(streaming: bool) -> None:
    seen = Seen()
    agent, stored = asyncio.run(gone(seen, streaming=streaming))
    seen.holds(agent)
    assert len(stored) == 2 + 2 * CALLS


@pytest.mark.parametrize("streaming", [False, True])
def test_an_error_of_ours_does_not_end_the_run(streaming: bool, planted: Planted) -> None:
    seen = Seen(window=10**9)
    asyncio.run(gone(seen, streaming=streaming))
    assert len(seen.sizes) == CALLS + 1
    assert planted()
