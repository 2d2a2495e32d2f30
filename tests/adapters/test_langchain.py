"""LangChain: the middleware in `create_agent`, with a played model."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from kedgeline.adapters.langchain import KedgelineMiddleware
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, number_in, output

pytestmark = pytest.mark.adapters
WAYS = ("invoke", "ainvoke", "stream", "astream")


class Played(BaseChatModel):
    seen: Any = None
    calls: int = CALLS
    profile: dict[str, Any] = {"max_input_tokens": WINDOW}  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "played"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _next(self, messages: list[Any]) -> AIMessage:
        asked = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
        told = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
        assert not self.seen.prompted or messages[0].content == SYSTEM
        self.seen.request(messages, asked, told)
        last = messages[-1]
        number = number_in(last.content) if isinstance(last, ToolMessage) else 0
        if number >= self.calls:
            return AIMessage(content="Part 7 is wrong.")
        call = {"name": "part", "args": {"number": number + 1}, "id": f"c{number + 1}"}
        thought = {"type": "thinking", "thinking": "hm", "signature": f"s{number}"}
        said = {"type": "text", "text": f"I look at part {number + 1}."}
        return AIMessage(content=[thought, said], tool_calls=[{**call, "type": "tool_call"}])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        message = self._next(messages)
        chunks = [
            {
                "name": c["name"],
                "args": f'{{"number": {c["args"]["number"]}}}',
                "id": c["id"],
                "index": 0,
            }
            for c in message.tool_calls
        ]
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content=message.content, tool_call_chunks=chunks, chunk_position="last"
            )
        )


@tool
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def agent(middleware: Any, seen: Seen, saver: Any = None, calls: int = CALLS) -> Any:
    return create_agent(
        Played(seen=seen, calls=calls),
        [part],
        system_prompt=SYSTEM,
        middleware=[middleware],
        checkpointer=saver or InMemorySaver(),
    )


def config(thread: str = "one") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 500}


async def gone(made: Any, way: str, thread: str = "one") -> None:
    task: Any = {"messages": [HumanMessage(TASK)]}
    if way == "invoke":
        made.invoke(task, config(thread))
    elif way == "ainvoke":
        await made.ainvoke(task, config(thread))
    elif way == "stream":
        assert list(made.stream(task, config(thread), stream_mode="messages"))
    else:
        assert [c async for c in made.astream(task, config(thread), stream_mode="messages")]


@pytest.mark.parametrize("way", WAYS)
def test_the_state_stays_whole_and_what_is_sent_fits(way: str) -> None:
    seen, middleware = Seen(), KedgelineMiddleware()
    made = agent(middleware, seen)
    asyncio.run(gone(made, way))
    seen.holds(middleware)
    state = made.get_state(config()).values["messages"]
    assert len(state) == 2 + 2 * CALLS
    assert [m.tool_call_id for m in state if m.type == "tool"] == [
        f"c{n + 1}" for n in range(CALLS)
    ]
    assert sum(one in state for one in middleware.last.messages) >= 5
    assert middleware.last.window.tokens == WINDOW


@pytest.mark.parametrize("way", WAYS)
def test_the_state_is_compacted_where_that_is_asked_for(way: str) -> None:
    seen, middleware = Seen(), KedgelineMiddleware(persistent=True, window=WINDOW)
    made = agent(middleware, seen)
    asyncio.run(gone(made, way))
    seen.holds(middleware)
    state = made.get_state(config()).values["messages"]
    assert len(state) < CALLS
    assert "kedgeline-summary" in str(state[0].content)


def test_after_a_restart_a_thread_goes_on_with_its_cut() -> None:
    saver, first, second = InMemorySaver(), Seen(), Seen()
    asyncio.run(gone(agent(KedgelineMiddleware(), first, saver, calls=30), "invoke"))
    middleware = KedgelineMiddleware()  # another process
    asyncio.run(gone(agent(middleware, second, saver, calls=0), "invoke"))
    assert first.breaks >= 3
    assert second.lists[0][: len(first.lists[-1])] == first.lists[-1]


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    asyncio.run(gone(agent(KedgelineMiddleware(), seen), way))
    assert len(seen.sizes) == CALLS + 1
    assert planted()


def test_threads_in_parallel_share_nothing() -> None:
    seen = [Seen() for _ in range(4)]
    middleware = KedgelineMiddleware()

    async def all_of_them() -> None:
        made = [agent(middleware, one) for one in seen]
        await asyncio.gather(*(gone(one, "ainvoke", f"t{n}") for n, one in enumerate(made)))

    asyncio.run(all_of_them())
    assert len(middleware._runs._by_key) == 4
    for one, run in zip(seen, middleware._runs._by_key.values(), strict=True):
        one.holds(run)
    assert Counter(map(len, (one.sizes for one in seen))) == {CALLS + 1: 4}


def test_what_is_folded_can_be_recalled(tmp_path: Any) -> None:
    seen, middleware = Seen(), KedgelineMiddleware(store=tmp_path / "store")
    made = agent(middleware, seen)
    asyncio.run(gone(made, "invoke"))
    seen.holds(middleware)
    assert "row 3 of part 4" in middleware.recall("row 3 of part 4")
