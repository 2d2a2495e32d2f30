"""Pydantic AI: the capability, with a function as its model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import UsageLimits

from kedgeline.adapters.pydantic_ai import KedgelineCompaction
from tests.adapters.contract import (
    CALLS,
    SYSTEM,
    TASK,
    WINDOW,
    Planted,
    Seen,
    number_in,
    output,
    together,
)

pytestmark = pytest.mark.adapters
WAYS = ("run", "run_sync", "run_stream", "iter")
FREE = UsageLimits(request_limit=None)


def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def agent(capability: Any, seen: Seen, more: Any = ()) -> Agent[None, str]:
    def step(messages: list[Any], info: AgentInfo) -> int:
        parts = [part for message in messages for part in message.parts]
        assert not seen.prompted or info.instructions == "Be brief."
        prompts = [getattr(p, "content", "") for p in parts]
        assert not seen.prompted or SYSTEM in prompts
        asked = [p.tool_call_id for p in parts if isinstance(p, ToolCallPart)]
        told = [p.tool_call_id for p in parts if isinstance(p, ToolReturnPart)]
        seen.request(messages, asked, told)
        last = messages[-1].parts[-1]
        return number_in(str(last.content)) if isinstance(last, ToolReturnPart) else 0

    def played(messages: list[Any], info: AgentInfo) -> ModelResponse:
        number = step(messages, info)
        thought = ThinkingPart("hm", signature=f"s{number}", provider_name="played")
        if number >= CALLS:
            return ModelResponse(parts=[thought, TextPart("Part 7 is wrong.")])
        said = TextPart(f"I look at part {number + 1}.")
        call = ToolCallPart("part", {"number": number + 1}, tool_call_id=f"c{number + 1}")
        return ModelResponse(parts=[thought, said, call])

    async def streamed(messages: list[Any], info: AgentInfo) -> Any:
        number = step(messages, info)
        if number >= CALLS:
            yield "Part 7 is wrong."
        else:
            arguments = f'{{"number": {number + 1}}}'
            yield {0: DeltaToolCall("part", arguments, tool_call_id=f"c{number + 1}")}

    model = FunctionModel(played, stream_function=streamed, profile={"context_window": WINDOW})
    return Agent(
        model,
        system_prompt=SYSTEM,
        instructions="Be brief.",
        tools=[part],
        capabilities=[capability, *more],
    )


async def gone(made: Agent[None, str], way: str) -> list[Any]:
    if way == "run":
        return list((await made.run(TASK, usage_limits=FREE)).all_messages())
    if way == "run_stream":
        async with made.run_stream(TASK, usage_limits=FREE) as result:
            assert [text async for text in result.stream_text()][-1] == "Part 7 is wrong."
            return list(result.all_messages())
    async with made.iter(TASK, usage_limits=FREE) as run:
        async for _ in run:
            pass
        assert run.result is not None
        return list(run.result.all_messages())


def history(made: Agent[None, str], way: str) -> list[Any]:
    if way == "run_sync":
        return list(made.run_sync(TASK, usage_limits=FREE).all_messages())
    return asyncio.run(gone(made, way))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("persistent", [False, True])
def test_what_is_sent_fits(way: str, persistent: bool) -> None:
    seen, capability = Seen(), KedgelineCompaction(persistent=persistent)
    messages = history(agent(capability, seen), way)
    seen.holds(capability, window=WINDOW)
    assert (len(messages) == 2 + 2 * CALLS) != persistent


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    messages = history(agent(KedgelineCompaction(), seen), way)
    assert len(messages) == 2 + 2 * CALLS
    assert planted()


def test_runs_in_parallel_share_nothing() -> None:
    capability, seen = KedgelineCompaction(), [Seen() for _ in range(4)]

    together(gone(agent(capability, one), "run") for one in seen)
    runs = list(capability._runs._by_key.values())
    assert len(runs) == 4
    assert sorted(one.breaks for one in seen) == sorted(run.compactions for run in runs)
    assert min(one.breaks for one in seen) >= 3
