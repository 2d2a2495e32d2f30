"""What adapters cost per request, and what they make of one long loop with the real frameworks."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from bench.corpus import Watch
from kedgeline.adapters.runs import Runs
from kedgeline.model import Value

TURNS = (10, 100, 1_000)
STEPS = 15
"""Requests of which the middle one counts."""
WIDE = 10**8
"""A window in which nothing is to do."""
OUTPUT = "def f(x): return x + 1\n" * 60

Messages = list[Any]
HEADER = (
    "framework",
    "line to add",
    "stored history",
    "largest request of a loop of 60 calls: before, after",
    "prefix breaks",
    "of a recorded one: before, after",
    *(f"ms at {turns:,} turns" for turns in TURNS),
)


class Adapter(Value, frozen=True):
    framework: str
    line: str
    history: str
    test: str
    """The file of its tests, whose runs are the loop."""
    shape: str
    """What its messages are."""
    listed: bool = False
    """Whether a run is known by its list alone."""
    rebuilt: bool = False
    """Whether the framework makes all messages anew for each request."""


ADAPTERS = (
    Adapter(
        framework="LangChain 1.4",
        line="`middleware=[KedgelineMiddleware()]`",
        history="whole; `persistent=True`: compacted",
        test="test_langchain.py",
        shape="langchain",
    ),
    Adapter(
        framework="deepagents 0.7",
        line="`middleware=[KedgelineMiddleware(replace_summarization=True)]`",
        history="whole; `persistent=True`: compacted",
        test="test_deepagents.py",
        shape="langchain",
    ),
    Adapter(
        framework="Pydantic AI 2.66",
        line="`capabilities=[KedgelineCompaction()]`",
        history="whole; `persistent=True`: compacted",
        test="test_pydantic_ai.py",
        shape="pydantic-ai",
    ),
    Adapter(
        framework="pydantic-ai-harness 0.62",
        line="`TieredCompaction(tiers=[KedgelineTier()], target_fraction=0.7)`",
        history="compacted",
        test="test_harness.py",
        shape="pydantic-ai",
    ),
    Adapter(
        framework="OpenAI Agents 0.24",
        line="`RunConfig(call_model_input_filter=KedgelineFilter())`",
        history="whole",
        test="test_openai_agents.py",
        shape="openai-responses",
        listed=True,
    ),
    Adapter(
        framework="Google ADK 2.13",
        line="`App(plugins=[KedgelinePlugin()])`",
        history="whole",
        test="test_google_adk.py",
        shape="google-genai",
        rebuilt=True,
    ),
    Adapter(
        framework="openai 3, anthropic 2",
        line="`client = wrap(OpenAI())`",
        history="the caller's list stays whole",
        test="test_clients.py",
        shape="openai-chat",
        listed=True,
    ),
    Adapter(
        framework="Strands 1.62",
        line="`conversation_manager=KedgelineConversationManager()`",
        history="the agent's list compacted, a session store whole",
        test="test_strands.py",
        shape="bedrock",
    ),
    Adapter(
        framework="Agent Framework 1.23",
        line="`compaction_strategy=KedgelineStrategy(window=…)`",
        history="whole, with marks",
        test="test_agent_framework.py",
        shape="openai-chat",
    ),
    Adapter(
        framework="LiteLLM 1.108",
        line="`litellm.callbacks = [KedgelineLogger()]`",
        history="the caller's list stays whole",
        test="test_litellm.py",
        shape="openai-chat",
        listed=True,
    ),
    Adapter(
        framework="Haystack 3.4",
        line="`CompactionHook(KedgelineCompactor(), context_window=…)`",
        history="compacted",
        test="test_haystack.py",
        shape="openai-chat",
        listed=True,
    ),
    Adapter(
        framework="CrewAI 1.15",
        line="`register_before_llm_call_hook(KedgelineHook())`",
        history="compacted; there is no other copy",
        test="test_crewai.py",
        shape="openai-chat",
    ),
    Adapter(
        framework="AG2 1.2",
        line="`middleware=[kedgeline_middleware()]`",
        history="whole",
        test="test_ag2.py",
        shape="openai-chat",
    ),
    Adapter(
        framework="LlamaIndex 0.14",
        line="`KedgelineFunctionAgent(…)`",
        history="whole",
        test="test_llama_index.py",
        shape="openai-chat",
        listed=True,
    ),
    Adapter(
        framework="smolagents 1.26",
        line="`class Auditor(KedgelineMixin, ToolCallingAgent): ...`",
        history="whole",
        test="test_smolagents.py",
        shape="openai-chat",
    ),
)


class Loop(Value, frozen=True):
    """A loop of 60 calls."""

    before: int = 0
    """Tokens of the largest request where nothing is compacted; 0 where no run was given."""
    after: int = 0
    breaks: int = 0

    def __str__(self) -> str:
        return f"{self.before:,} → {self.after:,}" if self.after else "–"


class Row(Value, frozen=True):
    framework: str
    line: str
    history: str
    played: Loop
    recorded: Loop
    milliseconds: tuple[float, ...]


class Adapters(Value, frozen=True):
    version: str
    rows: tuple[Row, ...]


def measure(results: Path, *, watch: Watch) -> Adapters:
    runs = (
        [json.loads(line) for line in results.read_text().splitlines()] if results.is_file() else []
    )
    rows = []
    for adapter in ADAPTERS:
        watch(adapter.framework)
        own = [run for run in runs if adapter.test in run["test"]]
        row = Row(
            framework=adapter.framework,
            line=adapter.line,
            history=adapter.history,
            played=_loop([run for run in own if not run.get("recorded")]),
            recorded=_loop([run for run in own if run.get("recorded")]),
            milliseconds=tuple(_milliseconds(adapter, turns) for turns in TURNS),
        )
        rows.append(row)
    return Adapters(version=version("kedgeline"), rows=tuple(rows))


def _loop(runs: list[dict[str, Any]]) -> Loop:
    planted = [max(run["sizes"]) for run in runs if "error_of_ours" in run["test"]]
    others = [run for run in runs if "error_of_ours" not in run["test"] and run["breaks"]]
    return Loop(
        before=max(planted, default=0),
        after=max((max(run["sizes"]) for run in others), default=0),
        breaks=next((run["breaks"] for run in others), 0),
    )


def _milliseconds(adapter: Adapter, turns: int) -> float:
    """Of one request where nothing is to do, with a turn behind the last one each time."""
    whole, runs = _SHAPES[adapter.shape](turns + STEPS), Runs(window=WIDE)
    end = len(whole) - 2 * STEPS
    taken = []
    for number in range(STEPS + 1):
        given = whole[: end + 2 * number]
        given = deepcopy(given) if adapter.rebuilt else given
        start = process_time()
        sent = runs.step_list(given) if adapter.listed else runs.of("run").step(given)
        taken.append(1_000 * (process_time() - start))
        assert sent is given
    return median(taken[1:])  # the first counts every text there is


def rows(found: Adapters) -> list[tuple[str, ...]]:
    return [
        (
            one.framework,
            one.line,
            one.history,
            str(one.played),
            f"{one.played.breaks}" if one.played.after else "–",
            str(one.recorded),
            *(f"{value:.1f}" for value in one.milliseconds),
        )
        for one in found.rows
    ]


def _chat(turns: int) -> Messages:
    found: Messages = [{"role": "user", "content": "Read every part."}]
    for n in range(turns):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/part{n}.py"})}
        calls = [{"id": f"c{n}", "type": "function", "function": call}]
        found.append({"role": "assistant", "content": f"Part {n}.", "tool_calls": calls})
        found.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"{n}\n{OUTPUT}"})
    return found


def _responses(turns: int) -> Messages:
    found: Messages = [{"role": "user", "content": "Read every part."}]
    for n in range(turns):
        arguments = json.dumps({"path": f"src/part{n}.py"})
        call = {"type": "function_call", "call_id": f"c{n}", "name": "read_file"}
        found.append({**call, "arguments": arguments})
        told = {"type": "function_call_output", "call_id": f"c{n}", "output": f"{n}\n{OUTPUT}"}
        found.append(told)
    return found


def _bedrock(turns: int) -> Messages:
    found: Messages = [{"role": "user", "content": [{"text": "Read every part."}]}]
    for n in range(turns):
        use = {"toolUseId": f"c{n}", "name": "read_file", "input": {"path": f"src/part{n}.py"}}
        found.append({"role": "assistant", "content": [{"toolUse": use}]})
        told = {"toolUseId": f"c{n}", "content": [{"text": f"{n}\n{OUTPUT}"}]}
        found.append({"role": "user", "content": [{"toolResult": told}]})
    return found


def _langchain(turns: int) -> Messages:
    from langchain_core.messages import convert_to_messages

    return list(convert_to_messages(_chat(turns)))


def _pydantic_ai(turns: int) -> Messages:
    from pydantic_ai import messages as pai

    found: Messages = [pai.ModelRequest(parts=[pai.UserPromptPart("Read every part.")])]
    for n in range(turns):
        call = pai.ToolCallPart("read_file", {"path": f"src/part{n}.py"}, tool_call_id=f"c{n}")
        told = pai.ToolReturnPart("read_file", f"{n}\n{OUTPUT}", tool_call_id=f"c{n}")
        found += [pai.ModelResponse(parts=[call]), pai.ModelRequest(parts=[told])]
    return found


def _google_genai(turns: int) -> Messages:
    from google.genai import types

    found: Messages = [types.Content(role="user", parts=[types.Part(text="Read every part.")])]
    for n in range(turns):
        call = types.FunctionCall(name="read_file", args={"path": f"src/part{n}.py"})
        told = types.FunctionResponse(name="read_file", response={"result": f"{n}\n{OUTPUT}"})
        found.append(types.Content(role="model", parts=[types.Part(function_call=call)]))
        found.append(types.Content(role="user", parts=[types.Part(function_response=told)]))
    return found


_SHAPES: dict[str, Callable[[int], Messages]] = {
    "bedrock": _bedrock,
    "google-genai": _google_genai,
    "langchain": _langchain,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "pydantic-ai": _pydantic_ai,
}


def origin(found: Adapters) -> str:
    return (
        f"kedgeline {found.version}. The loop runs in `make adapters` with the real framework, a "
        "window of 16,000 tokens (deepagents 20,000) and a played model; before: the same loop "
        "with an error planted in us, so that nothing is compacted. Prefix breaks are requests "
        "that do not begin as the one before, which is as often as it was compacted. In a recorded "
        "loop the tool gives back what tools gave back in a real session, 8,000 characters of each "
        "at the most (`make adapters-recorded LOOP=FILE`). Milliseconds of the processor are what "
        "a request takes of us where nothing is to do, the middle of 15, each with a turn "
        "of 400 tokens behind the last; messages are those of the framework where its package is "
        "among our own for development, else JSON of the same size."
    )
