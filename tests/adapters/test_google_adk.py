"""Google ADK: the plugin and the summarizer, with a played model, with and without ids of calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from kedgeline.adapters.google_adk import KedgelinePlugin, KedgelineSummarizer
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
WAYS = (StreamingMode.NONE, StreamingMode.SSE)


class Played(BaseLlm):
    model: str = "played"
    ids: bool = True
    seen: Any = None

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        contents = llm_request.contents
        parts = [part for content in contents for part in content.parts]
        assert SYSTEM in str(llm_request.config.system_instruction)
        assert contents[0].role == "user"
        asked = [p.function_call.id for p in parts if p.function_call]
        told = [p.function_response.id for p in parts if p.function_response]
        self.seen.request(contents, asked, told)
        answer = contents[-1].parts[-1].function_response
        number = number_in(answer.response["result"]) if answer else 0
        call_id = f"c{number + 1}" if self.ids else None
        call = types.FunctionCall(id=call_id, name="part", args={"number": number + 1})
        part = types.Part(function_call=call, thought_signature=b"sig")
        if number >= CALLS:
            part = types.Part(text="Part 7 is wrong.")
        if stream:
            text = types.Content(role="model", parts=[types.Part(text="Part")])
            yield LlmResponse(content=text, partial=True)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=self.seen.sizes[-1])
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, usage_metadata=usage, partial=False)


def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def app(seen: Seen, *, ids: bool = True, **more: Any) -> App:
    model = Played(ids=ids, seen=seen)
    agent = LlmAgent(name="auditor", model=model, instruction=SYSTEM, tools=[part])
    return App(name="audit", root_agent=agent, **more)


async def gone(made: App, mode: Any = StreamingMode.NONE, tasks: Any = (TASK,)) -> list[Any]:
    runner = InMemoryRunner(app=made)
    service = runner.session_service
    session = await service.create_session(app_name="audit", user_id="one")
    where = {"user_id": "one", "session_id": session.id}
    for task in tasks:
        said = types.Content(role="user", parts=[types.Part(text=task)])
        config = RunConfig(streaming_mode=mode)
        async for _ in runner.run_async(**where, new_message=said, run_config=config):
            pass
    found = await service.get_session(app_name="audit", **where)
    return list(found.events)


@pytest.mark.parametrize("mode", WAYS)
@pytest.mark.parametrize("ids", [True, False])
def test_the_events_stay_whole_and_what_is_sent_fits(mode: Any, ids: bool) -> None:
    seen, plugin = Seen(), KedgelinePlugin(window=WINDOW)
    events = asyncio.run(gone(app(seen, ids=ids, plugins=[plugin]), mode))
    seen.holds(plugin)
    assert len(events) == 2 + 2 * CALLS


def test_the_summarizer_makes_events_that_stand_for_others() -> None:
    seen = Seen(window=10**9)
    config = EventsCompactionConfig(
        summarizer=KedgelineSummarizer(tokens=2_000), token_threshold=9_000, event_retention_size=4
    )
    events = asyncio.run(gone(app(seen, events_compaction_config=config)))
    made = [event for event in events if event.actions.compaction]
    assert len(made) >= 3
    assert len(events) - len(made) == 2 + 2 * CALLS
    last = made[-1].actions.compaction.compacted_content.parts[0].text
    assert TASK in last
    assert max(seen.sizes) <= WINDOW


@pytest.mark.parametrize("mode", WAYS)
def test_an_error_of_ours_does_not_end_the_run(mode: Any, planted: Planted) -> None:
    seen = Seen(window=10**9)
    events = asyncio.run(gone(app(seen, plugins=[KedgelinePlugin(window=WINDOW)]), mode))
    assert len(events) == 2 + 2 * CALLS
    assert planted()


def test_sessions_in_parallel_share_nothing() -> None:
    plugin, seen = KedgelinePlugin(window=WINDOW), [Seen() for _ in range(4)]

    together(gone(app(one, plugins=[plugin])) for one in seen)
    for one, run in zip(seen, plugin._runs._by_key.values(), strict=True):
        assert len(one.sizes) == CALLS + 1
        assert run.compactions >= 3
