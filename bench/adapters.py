"""What adapters cost per request, and what they make of one long loop with the real frameworks."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.corpus import Watch
from kedgeline.model import Value

TURNS = (10, 100, 1_000)
NONE = (0.0, 0.0, 0.0)
"""Where no run was given."""
HEADER = (
    "framework",
    "line to add",
    "stored history",
    "largest request of a loop of 60 calls: before, after",
    "prefix breaks, of at most",
    "of a recorded one: before, after",
    *(f"ms at {turns:,} turns" for turns in TURNS),
)


class Adapter(Value, frozen=True):
    framework: str
    line: str
    history: str
    test: str
    """The file of its tests, whose runs are the loop."""


ADAPTERS = (
    Adapter(
        framework="LangChain 1.4",
        line="`middleware=[KedgelineMiddleware()]`",
        history="whole; `persistent=True`: compacted",
        test="test_langchain.py",
    ),
    Adapter(
        framework="deepagents 0.7",
        line="`middleware=[KedgelineMiddleware(replace_summarization=True)]`",
        history="whole; `persistent=True`: compacted",
        test="test_deepagents.py",
    ),
    Adapter(
        framework="Pydantic AI 2.66",
        line="`capabilities=[KedgelineCompaction()]`",
        history="whole; `persistent=True`: compacted",
        test="test_pydantic_ai.py",
    ),
    Adapter(
        framework="pydantic-ai-harness 0.62",
        line="`TieredCompaction(tiers=[KedgelineTier()], target_fraction=0.7)`",
        history="compacted",
        test="test_harness.py",
    ),
    Adapter(
        framework="OpenAI Agents 0.24",
        line="`RunConfig(call_model_input_filter=KedgelineFilter())`",
        history="whole",
        test="test_openai_agents.py",
    ),
    Adapter(
        framework="Google ADK 2.13",
        line="`App(plugins=[KedgelinePlugin()])`",
        history="whole",
        test="test_google_adk.py",
    ),
    Adapter(
        framework="openai 3, anthropic 2",
        line="`client = wrap(OpenAI())`",
        history="the caller's list stays whole",
        test="test_clients.py",
    ),
    Adapter(
        framework="Strands 1.62",
        line="`conversation_manager=KedgelineConversationManager()`",
        history="the agent's list compacted, a session store whole",
        test="test_strands.py",
    ),
    Adapter(
        framework="Agent Framework 1.23",
        line="`compaction_strategy=KedgelineStrategy(window=…)`",
        history="whole, with marks",
        test="test_agent_framework.py",
    ),
    Adapter(
        framework="LiteLLM 1.108",
        line="`litellm.callbacks = [KedgelineLogger()]`",
        history="the caller's list stays whole",
        test="test_litellm.py",
    ),
    Adapter(
        framework="Haystack 3.4",
        line="`CompactionHook(KedgelineCompactor(), context_window=…)`",
        history="compacted",
        test="test_haystack.py",
    ),
    Adapter(
        framework="CrewAI 1.15",
        line="`register_before_llm_call_hook(KedgelineHook())`",
        history="compacted; there is no other copy",
        test="test_crewai.py",
    ),
    Adapter(
        framework="AG2 1.2",
        line="`middleware=[kedgeline_middleware()]`",
        history="whole",
        test="test_ag2.py",
    ),
    Adapter(
        framework="LlamaIndex 0.14",
        line="`KedgelineFunctionAgent(…)`",
        history="whole",
        test="test_llama_index.py",
    ),
    Adapter(
        framework="smolagents 1.26",
        line="`class Auditor(KedgelineMixin, ToolCallingAgent): ...`",
        history="whole",
        test="test_smolagents.py",
    ),
    Adapter(
        framework="AI SDK 7",
        line="`prepareStep: kedgeline()`, with `kedgeline serve`",
        history="whole",
        test="test_ai_sdk.py",
    ),
)


class Loop(Value, frozen=True):
    """A loop of 60 calls."""

    before: int = 0
    """Tokens of the largest request where nothing is compacted; 0 where no run was given."""
    after: int = 0
    breaks: int = 0
    most: int = 0
    """Compactions that its growth asks for, and one."""

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
            milliseconds=next((run["milliseconds"] for run in own if "milliseconds" in run), NONE),
        )
        rows.append(row)
    return Adapters(version=version("kedgeline"), rows=tuple(rows))


def _loop(runs: list[dict[str, Any]]) -> Loop:
    planted = [max(run["sizes"]) for run in runs if "error_of_ours" in run["test"]]
    others = [run for run in runs if "fits" in run["test"] or "takes_the_place" in run["test"]]
    return Loop(
        before=max(planted, default=0),
        after=max((max(run["sizes"]) for run in others), default=0),
        breaks=next((run["breaks"] for run in others), 0),
        most=next((run["most"] for run in others), 0),
    )


def _breaks(loop: Loop) -> str:
    if not loop.after:
        return "–"
    return f"{loop.breaks} of {loop.most}" if loop.most else f"{loop.breaks}"


def rows(found: Adapters) -> list[tuple[str, ...]]:
    return [
        (
            one.framework,
            one.line,
            one.history,
            str(one.played),
            _breaks(one.played),
            str(one.recorded),
            *(f"{value:.1f}" for value in one.milliseconds),
        )
        for one in found.rows
    ]


def origin(found: Adapters) -> str:
    return (
        f"kedgeline {found.version}. The loop runs in `make adapters` with the real framework, a "
        "window of 16,000 tokens (deepagents 20,000) and a played model; before: the same loop "
        "with an error planted in us, so that nothing is compacted. Prefix breaks are requests "
        "that do not begin as the one before, which is as often as it was compacted; at most: what "
        "the growth of the list asks for between `at` and `target`, and one (a hook of Haystack's "
        "and of the harness decides by itself). In a recorded "
        "loop the tool gives back what tools gave back in a real session, 8,000 characters of each "
        "at the most (`make adapters-recorded LOOP=FILE`). Milliseconds of the processor are what "
        "a request takes of us where nothing is to do, the middle of 15, with the framework's own "
        "messages of such a loop, each time with one more turn."
    )
