"""kedge: anchored context compaction for LLM agents.

Names are loaded when they are first used: importing kedge costs next to nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedge.anchors import detect_historical_anchors
    from kedge.compaction import compact
    from kedge.errors import KedgeError
    from kedge.flow import flow_of
    from kedge.formats import format_names, provider_names
    from kedge.model import (
        Anchor,
        Budget,
        Compaction,
        ConversationFlow,
        Plan,
        PreservationContext,
        Summary,
        ToolCall,
        ToolResult,
        Transcript,
        Turn,
    )
    from kedge.planning import Decision, History, Policy, Signals, make_plan, should_compact
    from kedge.reading import Reading, read, read_all, stream
    from kedge.settings import Settings, load_settings
    from kedge.stats import Stats, stats_of
    from kedge.steps import budget_for
    from kedge.summarizing import summarize
    from kedge.viewing import view
    from kedge.writing import write

__all__ = [
    "Anchor",
    "Budget",
    "Compaction",
    "ConversationFlow",
    "Decision",
    "History",
    "KedgeError",
    "Plan",
    "Policy",
    "PreservationContext",
    "Reading",
    "Settings",
    "Signals",
    "Stats",
    "Summary",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Turn",
    "budget_for",
    "compact",
    "detect_historical_anchors",
    "flow_of",
    "format_names",
    "load_settings",
    "make_plan",
    "provider_names",
    "read",
    "read_all",
    "should_compact",
    "stats_of",
    "stream",
    "summarize",
    "view",
    "write",
]

_HOMES = {
    "Anchor": "kedge.model",
    "Budget": "kedge.model",
    "Compaction": "kedge.model",
    "ConversationFlow": "kedge.model",
    "Decision": "kedge.planning",
    "History": "kedge.planning",
    "KedgeError": "kedge.errors",
    "Plan": "kedge.model",
    "Policy": "kedge.planning",
    "PreservationContext": "kedge.model",
    "Reading": "kedge.reading",
    "Settings": "kedge.settings",
    "Signals": "kedge.planning",
    "Stats": "kedge.stats",
    "Summary": "kedge.model",
    "ToolCall": "kedge.model",
    "ToolResult": "kedge.model",
    "Transcript": "kedge.model",
    "Turn": "kedge.model",
    "budget_for": "kedge.steps",
    "compact": "kedge.compaction",
    "detect_historical_anchors": "kedge.anchors",
    "flow_of": "kedge.flow",
    "format_names": "kedge.formats",
    "load_settings": "kedge.settings",
    "make_plan": "kedge.planning",
    "provider_names": "kedge.formats",
    "read": "kedge.reading",
    "read_all": "kedge.reading",
    "should_compact": "kedge.planning",
    "stats_of": "kedge.stats",
    "stream": "kedge.reading",
    "summarize": "kedge.summarizing",
    "view": "kedge.viewing",
    "write": "kedge.writing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
