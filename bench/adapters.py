"""What adapters cost per request, and what they make of one long loop with the real frameworks."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from bench.corpus import Watch
from bench.tables import Table
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


class Adapter(NamedTuple):
    framework: str
    line: str
    """What is added to the user's program."""
    history: str
    """What becomes of the framework's own."""
    test: str
    """The file of its tests, whose runs are the loop."""


PERSISTENT = "whole; `persistent=True`: compacted"
CALLERS = "the caller's list stays whole"
ADAPTERS = (
    Adapter(
        "LangChain 1.4", "`middleware=[KedgelineMiddleware()]`", PERSISTENT, "test_langchain.py"
    ),
    Adapter(
        "deepagents 0.7",
        "`middleware=[KedgelineMiddleware(replace_summarization=True)]`",
        PERSISTENT,
        "test_deepagents.py",
    ),
    Adapter(
        "Pydantic AI 2.66",
        "`capabilities=[KedgelineCompaction()]`",
        PERSISTENT,
        "test_pydantic_ai.py",
    ),
    Adapter(
        "pydantic-ai-harness 0.62",
        "`TieredCompaction(tiers=[KedgelineTier()], target_fraction=0.7)`",
        "compacted",
        "test_harness.py",
    ),
    Adapter(
        "OpenAI Agents 0.24",
        "`RunConfig(call_model_input_filter=KedgelineFilter())`",
        "whole",
        "test_openai_agents.py",
    ),
    Adapter("Google ADK 2.13", "`App(plugins=[KedgelinePlugin()])`", "whole", "test_google_adk.py"),
    Adapter("openai 3, anthropic 2", "`client = wrap(OpenAI())`", CALLERS, "test_clients.py"),
    Adapter(
        "Strands 1.62",
        "`conversation_manager=KedgelineConversationManager()`",
        "the agent's list compacted, a session store whole",
        "test_strands.py",
    ),
    Adapter(
        "Agent Framework 1.23",
        "`compaction_strategy=KedgelineStrategy(window=…)`",
        "whole, with marks",
        "test_agent_framework.py",
    ),
    Adapter(
        "LiteLLM 1.108", "`litellm.callbacks = [KedgelineLogger()]`", CALLERS, "test_litellm.py"
    ),
    Adapter(
        "Haystack 3.4",
        "`CompactionHook(KedgelineCompactor(), context_window=…)`",
        "compacted",
        "test_haystack.py",
    ),
    Adapter(
        "CrewAI 1.15",
        "`register_before_llm_call_hook(KedgelineHook())`",
        "compacted; there is no other copy",
        "test_crewai.py",
    ),
    Adapter("AG2 1.2", "`middleware=[kedgeline_middleware()]`", "whole", "test_ag2.py"),
    Adapter("LlamaIndex 0.14", "`KedgelineFunctionAgent(…)`", "whole", "test_llama_index.py"),
    Adapter(
        "smolagents 1.26",
        "`class Auditor(KedgelineMixin, ToolCallingAgent): ...`",
        "whole",
        "test_smolagents.py",
    ),
    Adapter(
        "AI SDK 7", "`prepareStep: kedgeline()`, with `kedgeline serve`", "whole", "test_ai_sdk.py"
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


def tables(found: Adapters) -> list[Table]:
    rows = [
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
    return [Table("adapters", HEADER, rows)]


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
