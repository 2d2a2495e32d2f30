"""Microsoft's Agent Framework: the strategy, with a played client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agent_framework")

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from kedgeline.adapters.agent_framework import KedgelineStrategy
from tests.adapters.contract import SYSTEM, TASK, WINDOW, Planted, Seen, number_in, output, together

pytestmark = pytest.mark.adapters
CALLS = 60


class Played(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc]
    seen: Any = None

    def _inner_get_response(
        self, *, messages: Any, stream: bool = False, options: Any = None, **_: Any
    ) -> Any:
        contents = [content for message in messages for content in message.contents]
        asked = [c.call_id for c in contents if c.type == "function_call"]
        told = [c.call_id for c in contents if c.type == "function_result"]
        plain = [message.to_dict() for message in messages]
        for content in (content for message in plain for content in message["contents"]):
            content.pop("items", None)  # the result once more, as blocks: it is sent once
        self.seen.request(plain, asked, told)
        last = contents[-1]
        number = number_in(str(last.result)) if last.type == "function_result" else 0
        arguments = {"number": number + 1}
        content = Content.from_text("Part 7 is wrong.")
        if number < CALLS:
            content = Content.from_function_call(
                call_id=f"c{number + 1}", name="part", arguments=arguments
            )

        async def whole() -> Any:
            return ChatResponse(messages=[Message("assistant", [content])])

        async def updates() -> Any:
            yield ChatResponseUpdate(role="assistant", contents=[content])

        if stream:
            return ResponseStream(updates(), finalizer=ChatResponse.from_updates)
        return whole()


@tool(approval_mode="never_require")
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


async def gone(strategy: Any, seen: Seen, way: str) -> list[Any]:
    client = Played()
    client.seen = seen
    made = Agent(client, instructions=SYSTEM, tools=[part], compaction_strategy=strategy)
    made.client.function_invocation_configuration["max_iterations"] = 200
    session = made.create_session()
    if way == "run":
        await made.run(TASK, session=session)
    else:
        stream = made.run(TASK, session=session, stream=True)
        assert [update async for update in stream]
        await stream.get_final_response()
    return list(session.state["in_memory"]["messages"])


@pytest.mark.parametrize("way", ["run", "stream"])
def test_the_history_stays_whole_and_what_is_sent_fits(way: str) -> None:
    seen, strategy = Seen(), KedgelineStrategy(window=WINDOW)
    stored = asyncio.run(gone(strategy, seen, way))
    seen.holds(strategy)
    assert sum(c.type == "function_result" for m in stored for c in m.contents) >= CALLS


@pytest.mark.parametrize("way", ["run", "stream"])
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    asyncio.run(gone(KedgelineStrategy(window=WINDOW), seen, way))
    assert len(seen.sizes) == CALLS + 1
    assert planted()


def test_runs_in_parallel_share_nothing() -> None:
    strategy, seen = KedgelineStrategy(window=WINDOW), [Seen() for _ in range(3)]

    together(gone(strategy, one, "run") for one in seen)
    assert all(len(one.sizes) == CALLS + 1 and one.breaks >= 3 for one in seen)
