"""kedge: anchored context compaction for LLM agents."""

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
    "view",
    "write",
]
