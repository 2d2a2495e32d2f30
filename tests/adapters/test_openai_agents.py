"""The OpenAI Agents SDK: the input filter and the session, with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseReasoningItem

from kedgeline.adapters.openai_agents import KedgelineFilter, KedgelineSession
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, output

pytestmark = pytest.mark.adapters
WAYS = ("run", "run_sync", "run_streamed")
set_tracing_disabled(True)


@function_tool
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def model(calls: int = CALLS) -> ScriptedModel:
    steps: list[Any] = []
    for number in range(1, calls + 1):
        thought = ResponseReasoningItem(
            id=f"rs_{number}", type="reasoning", summary=[], encrypted_content="zz"
        )
        steps.append([thought, function_call("part", {"number": number}, call_id=f"c{number}")])
    return ScriptedModel([*steps, [assistant_message("Part 7 is wrong.")]])


def agent(played: ScriptedModel) -> Agent[Any]:
    return Agent(name="auditor", instructions=SYSTEM, model=played, tools=[part])


async def gone(made: Agent[Any], way: str, filter: KedgelineFilter, session: Any = None) -> Any:
    config = RunConfig(call_model_input_filter=filter)
    if way == "run":
        return await Runner.run(made, TASK, run_config=config, session=session, max_turns=100)
    result = Runner.run_streamed(made, TASK, run_config=config, session=session, max_turns=100)
    assert [event async for event in result.stream_events()]
    return result


def looked_at(played: ScriptedModel, window: int = WINDOW) -> Seen:
    seen = Seen(window=window)
    for call in played.calls:
        items = list(call.input)
        assert call.system_instructions == SYSTEM
        asked = [one["call_id"] for one in items if one.get("type") == "function_call"]
        told = [one["call_id"] for one in items if one.get("type") == "function_call_output"]
        for one, after in zip(items, [*items[1:], {}], strict=True):
            if one.get("type") == "reasoning":
                assert after.get("type") in ("function_call", "message")
        seen.request(items, asked, told)
    return seen


@pytest.mark.parametrize("way", WAYS)
def test_the_result_stays_whole_and_what_is_sent_fits(way: str) -> None:
    played, filter = model(), KedgelineFilter(window=WINDOW)
    if way == "run_sync":
        config = RunConfig(call_model_input_filter=filter)
        result = Runner.run_sync(agent(played), TASK, run_config=config, max_turns=100)
    else:
        result = asyncio.run(gone(agent(played), way, filter))
    looked_at(played).holds(filter)
    kinds = [one.get("type") for one in result.to_input_list()]
    assert kinds.count("function_call_output") == CALLS


def test_a_session_stays_whole_and_the_next_run_gets_what_fits() -> None:
    played = model()

    async def two_runs() -> list[Any]:
        inner = SQLiteSession("one")
        session = KedgelineSession(inner, window=WINDOW)
        await gone(agent(played), "run", KedgelineFilter(window=WINDOW), session)
        next_one = ScriptedModel([[assistant_message("Sure.")]])
        await Runner.run(agent(next_one), "Are you sure?", session=session)
        looked_at(next_one)
        assert session.last is not None
        assert session.last.compacted
        return await inner.get_items()

    stored = asyncio.run(two_runs())
    assert sum(one.get("type") == "function_call_output" for one in stored) == CALLS
    assert not any("kedgeline-summary" in str(one) for one in stored)


@pytest.mark.parametrize("way", ["run", "run_streamed"])
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    played = model()
    asyncio.run(gone(agent(played), way, KedgelineFilter(window=WINDOW)))
    assert len(looked_at(played, window=10**9).sizes) == CALLS + 1
    assert planted()


def test_runs_in_parallel_share_nothing() -> None:
    """One filter for all, that is told of no run: the lists tell them apart."""
    played, filter = [model() for _ in range(4)], KedgelineFilter(window=WINDOW)

    async def all_of_them() -> None:
        made = [agent(one) for one in played]
        for number, one in enumerate(made):
            one.name = f"auditor {number}"
        await asyncio.gather(*(gone(one, "run", filter) for one in made))

    asyncio.run(all_of_them())
    for one in played:
        seen = looked_at(one)
        assert len(seen.sizes) == CALLS + 1
        assert seen.breaks >= 3


def test_a_list_whose_beginning_the_server_has_is_left_alone() -> None:
    from agents.run import CallModelData, ModelInputData

    items: list[Any] = [{"type": "function_call_output", "call_id": "c9", "output": output(9) * 50}]
    data = CallModelData(ModelInputData(items, SYSTEM), agent(model()), None)
    assert asyncio.run(KedgelineFilter(window=WINDOW)(data)) is data.model_data
