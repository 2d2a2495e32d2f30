"""CrewAI: the hook before each call of a played model."""

from __future__ import annotations

import asyncio
import os
import tempfile
from typing import Any

import pytest

pytest.importorskip("crewai")
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    OTEL_SDK_DISABLED="true",
    CREWAI_TRACING_ENABLED="false",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(),
)

from crewai import Agent, BaseLLM, Crew, Task
from crewai.hooks import register_before_llm_call_hook, unregister_before_llm_call_hook
from crewai.tools import tool

from kedgeline.adapters.crewai import KedgelineHook
from tests.adapters.contract import CALLS, TASK, WINDOW, Planted, Seen, number_in, output, together

pytestmark = pytest.mark.adapters
WAYS = ("kickoff", "akickoff", "stream")


class Played(BaseLLM):
    seen: Any = None

    def supports_function_calling(self) -> bool:
        return True

    def get_context_window_size(self) -> int:
        return 200_000

    def _next(self, messages: Any) -> Any:
        asked = [call["id"] for m in messages for call in m.get("tool_calls") or []]
        told = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
        self.seen.request(messages, asked, told)
        results = [m for m in messages if m["role"] == "tool"]
        number = number_in(results[-1]["content"]) if results else 0
        function = {"name": "part", "arguments": f'{{"number": {number + 1}}}'}
        call = {"id": f"c{number + 1}", "type": "function", "function": function}
        return [call] if number < CALLS else "Part 7 is wrong."

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        return self._next(messages)

    async def acall(self, messages: Any, *_: Any, **__: Any) -> Any:
        return self._next(messages)


@tool
def part(number: int) -> str:
    """Give back one part of the ledger, by its number."""
    return output(number)


def crew(seen: Seen, way: str = "kickoff") -> Crew:
    model = Played(model="played", provider="played")
    model.seen = seen
    about = {"role": "auditor", "goal": "find the wrong part", "backstory": "You audit."}
    agent = Agent(**about, llm=model, tools=[part], max_iter=200, cache=False, verbose=False)
    task = Task(description=TASK, expected_output="a sentence", agent=agent)
    return Crew(agents=[agent], tasks=[task], verbose=False, memory=False, stream=way == "stream")


def gone(hook: Any, seen: Seen, way: str) -> str:
    made = crew(seen, way)
    register_before_llm_call_hook(hook)
    try:
        if way == "akickoff":
            return str(asyncio.run(made.akickoff()).raw)
        result = made.kickoff()
        if way == "stream":
            list(result)
            result = result.result
        return str(result.raw)
    finally:
        unregister_before_llm_call_hook(hook)


@pytest.mark.parametrize("way", WAYS)
def test_the_list_is_compacted_and_what_is_sent_fits(way: str) -> None:
    seen, hook = Seen(), KedgelineHook(window=WINDOW)
    assert gone(hook, seen, way) == "Part 7 is wrong."
    seen.holds(hook)


def test_crews_in_parallel_share_nothing() -> None:
    hook, seen = KedgelineHook(window=WINDOW), [Seen() for _ in range(3)]

    register_before_llm_call_hook(hook)
    try:
        together(crew(one).akickoff() for one in seen)
    finally:
        unregister_before_llm_call_hook(hook)
    assert [len(one.sizes) for one in seen] == [CALLS + 1] * 3
    assert min(one.breaks for one in seen) >= 3


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(way: str, planted: Planted) -> None:
    seen = Seen(window=10**9)
    gone(KedgelineHook(window=WINDOW), seen, way)
    assert len(seen.sizes) == CALLS + 1
    assert planted()
