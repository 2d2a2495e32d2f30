"""kedge: anchored context compaction for LLM agents.

Names are loaded when they are first used: importing kedge costs next to nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedge.anchors import detect_historical_anchors
    from kedge.bank import Bank, NewEntry
    from kedge.compaction import compact, compact_async, requests_for
    from kedge.economy import Ledger, Loaded, ledger_of, load_context, rates_of
    from kedge.errors import KedgeError
    from kedge.flow import flow_of
    from kedge.formats import format_names, provider_names
    from kedge.model import (
        Anchor,
        Answer,
        Budget,
        Compaction,
        ConversationFlow,
        Losses,
        Plan,
        PreservationContext,
        Probe,
        Quality,
        Rates,
        Summary,
        ToolCall,
        ToolResult,
        Transcript,
        Turn,
        Verdict,
    )
    from kedge.planning import Decision, History, Policy, Signals, make_plan, should_compact
    from kedge.reading import Reading, read, read_all, stream
    from kedge.redaction import Redactor
    from kedge.session import Session
    from kedge.settings import Settings, load_settings
    from kedge.stats import Stats, stats_of
    from kedge.steps import budget_for
    from kedge.store.opening import open_store
    from kedge.summarizing import summarize
    from kedge.verifying import asked, verify
    from kedge.viewing import view
    from kedge.writing import write

__all__ = [
    "Anchor",
    "Answer",
    "Bank",
    "Budget",
    "Compaction",
    "ConversationFlow",
    "Decision",
    "History",
    "KedgeError",
    "Ledger",
    "Loaded",
    "Losses",
    "NewEntry",
    "Plan",
    "Policy",
    "PreservationContext",
    "Probe",
    "Quality",
    "Rates",
    "Reading",
    "Redactor",
    "Session",
    "Settings",
    "Signals",
    "Stats",
    "Summary",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Turn",
    "Verdict",
    "asked",
    "budget_for",
    "compact",
    "compact_async",
    "detect_historical_anchors",
    "flow_of",
    "format_names",
    "ledger_of",
    "load_context",
    "load_settings",
    "make_plan",
    "open_store",
    "provider_names",
    "rates_of",
    "read",
    "read_all",
    "requests_for",
    "should_compact",
    "stats_of",
    "stream",
    "summarize",
    "verify",
    "view",
    "write",
]

_HOMES = {
    "Anchor": "kedge.model",
    "Answer": "kedge.model",
    "Bank": "kedge.bank",
    "Budget": "kedge.model",
    "Compaction": "kedge.model",
    "ConversationFlow": "kedge.model",
    "Decision": "kedge.planning",
    "History": "kedge.planning",
    "KedgeError": "kedge.errors",
    "Ledger": "kedge.economy",
    "Loaded": "kedge.economy",
    "Losses": "kedge.model",
    "NewEntry": "kedge.bank",
    "Plan": "kedge.model",
    "Policy": "kedge.planning",
    "PreservationContext": "kedge.model",
    "Probe": "kedge.model",
    "Quality": "kedge.model",
    "Rates": "kedge.model",
    "Reading": "kedge.reading",
    "Redactor": "kedge.redaction",
    "Session": "kedge.session",
    "Settings": "kedge.settings",
    "Signals": "kedge.planning",
    "Stats": "kedge.stats",
    "Summary": "kedge.model",
    "ToolCall": "kedge.model",
    "ToolResult": "kedge.model",
    "Transcript": "kedge.model",
    "Turn": "kedge.model",
    "Verdict": "kedge.model",
    "asked": "kedge.verifying",
    "budget_for": "kedge.steps",
    "compact": "kedge.compaction",
    "compact_async": "kedge.compaction",
    "detect_historical_anchors": "kedge.anchors",
    "flow_of": "kedge.flow",
    "format_names": "kedge.formats",
    "ledger_of": "kedge.economy",
    "load_context": "kedge.economy",
    "load_settings": "kedge.settings",
    "make_plan": "kedge.planning",
    "open_store": "kedge.store.opening",
    "provider_names": "kedge.formats",
    "rates_of": "kedge.economy",
    "read": "kedge.reading",
    "read_all": "kedge.reading",
    "requests_for": "kedge.compaction",
    "should_compact": "kedge.planning",
    "stats_of": "kedge.stats",
    "stream": "kedge.reading",
    "summarize": "kedge.summarizing",
    "verify": "kedge.verifying",
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
