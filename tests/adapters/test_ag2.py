"""AG2: the middleware, with a played model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("ag2")

from ag2 import Agent
from ag2.config import ModelConfig
from ag2.events import (
    ModelMessage,
    ModelResponse,
    ToolCallEvent,
    ToolCallsEvent,
    ToolResultsEvent,
    Usage,
)
from ag2.stream import MemoryStream

from kedgeline.adapters.ag2 import kedgeline_middleware
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


class PlayedClient:
    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    async def __call__(self, messages: Any, context: Any, **_: Any) -> Any:
        from kedgeline.adapters.ag2 import _records

        records = [record for event in messages for record in _records(event)]
        asked = [call["id"] for r in records for call in r.get("tool_calls", ())]
        told = [r["tool_call_id"] for r in records if r["role"] == "tool"]
        assert SYSTEM in context.prompt
        self.seen.request(records, asked, told)
        last = messages[-1]
        number = 0
        if isinstance(last, ToolResultsEvent):
            number = number_in(str(last.results[-1].result.parts[0].content))
        usage = Usage(prompt_tokens=self.seen.sizes[-1], completion_tokens=5)
        if number < CALLS:
            arguments = json.dumps({"number": number + 1})
            call = ToolCallEvent("part", arguments=arguments, id=f"c{number + 1}")
            return ModelResponse(tool_calls=ToolCallsEvent([call]), usage=usage)
        message = ModelMessage("Part 7 is wrong.")
        await context.send(message)
        return ModelResponse(message, usage=usage)


class Played(ModelConfig):
    provider, model = "played", "played"

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def copy(self) -> Any:
        return self

    def create(self) -> Any:
        return PlayedClient(self.seen)

    def create_files_client(self) -> Any:
        raise NotImplementedError


def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


async def gone(middleware: Any, seen: Seen, way: str) -> list[Any]:
    stream = MemoryStream()
    agent = Agent("auditor", SYSTEM, config=Played(seen), tools=[part], middleware=[middleware])
    if way == "ask":
        assert (await agent.ask(TASK, stream=stream)).body == "Part 7 is wrong."
    else:
        async with agent.run(TASK, stream=stream) as run:
            run.start()
            assert (await run.result()).body == "Part 7 is wrong."
    return list(await stream.history.get_events())


@pytest.mark.parametrize("way", ["ask", "run"])
def test_the_stream_stays_whole_and_what_is_sent_fits(way: str) -> None:
    seen = Seen()
    events = asyncio.run(gone(kedgeline_middleware(window=WINDOW), seen, way))
    assert len(seen.sizes) == CALLS + 1
    assert seen.breaks >= 3
    assert sum(isinstance(event, ToolResultsEvent) for event in events) == CALLS


@pytest.mark.parametrize("way", ["ask", "run"])
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    asyncio.run(gone(kedgeline_middleware(window=WINDOW), seen, way))
    assert len(seen.sizes) == CALLS + 1
    assert planted()


def test_streams_in_parallel_share_nothing() -> None:
    middleware, seen = kedgeline_middleware(window=WINDOW), [Seen() for _ in range(3)]

    together(gone(middleware, one, "ask") for one in seen)
    assert all(len(one.sizes) == CALLS + 1 and one.breaks >= 3 for one in seen)
