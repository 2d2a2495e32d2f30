"""deepagents: the middleware of LangChain in the place of its own summarization."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("deepagents")

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from kedgeline.adapters.langchain import KedgelineMiddleware
from tests.adapters import test_langchain
from tests.adapters.contract import CALLS, TASK, Planted, Seen, number_in, output, together

pytestmark = pytest.mark.adapters


class Played(test_langchain.Played):
    def _next(self, messages: list[Any]) -> AIMessage:
        messages = [m for m in messages if m.type != "system"]  # a prompt of its own
        asked = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
        told = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
        self.seen.request(messages, asked, told)
        last = messages[-1]
        number = number_in(last.content) if isinstance(last, ToolMessage) else 0
        call = {"name": "part", "args": {"number": number + 1}, "id": f"c{number + 1}"}
        calls = [{**call, "type": "tool_call"}] if number < CALLS else []
        return AIMessage(content=f"part {number}", tool_calls=calls)


@tool
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


async def gone(middleware: Any, seen: Seen, way: str) -> list[Any]:
    made = create_deep_agent(
        Played(seen=seen), [part], middleware=[middleware], checkpointer=InMemorySaver()
    )
    task = {"messages": [HumanMessage(TASK)]}
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 500}
    if way == "invoke":
        made.invoke(task, config)
    elif way == "ainvoke":
        await made.ainvoke(task, config)
    else:
        assert [c async for c in made.astream(task, config, stream_mode="values")]
    return list(made.get_state(config).values["messages"])


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "astream"])
@pytest.mark.parametrize("persistent", [False, True])
def test_it_takes_the_place_of_the_summarization(way: str, persistent: bool) -> None:
    middleware = KedgelineMiddleware(
        replace_summarization=True, window=20_000, persistent=persistent
    )
    seen = Seen(window=20_000)
    state = asyncio.run(gone(middleware, seen, way))
    seen.holds(middleware)
    assert (len(state) == 2 + 2 * CALLS) != persistent


def test_runs_in_parallel_share_nothing() -> None:
    middleware = KedgelineMiddleware(replace_summarization=True, window=20_000)
    seen = [Seen(window=20_000) for _ in range(3)]

    together(gone(middleware, one, "ainvoke") for one in seen)
    runs = middleware._runs._by_key.values()
    assert sorted(one.breaks for one in seen) == sorted(run.compactions for run in runs)
    assert min(one.breaks for one in seen) >= 3


def test_an_error_of_ours_does_not_end_the_run(planted: Planted) -> None:
    seen = Seen(window=10**9)
    middleware = KedgelineMiddleware(replace_summarization=True, window=20_000)
    asyncio.run(gone(middleware, seen, "ainvoke"))
    assert len(seen.sizes) == CALLS + 1
    assert planted()
