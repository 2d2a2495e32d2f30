"""kedgeline: anchored context compaction for LLM agents.

Names are loaded when they are first used: importing kedgeline costs next to nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedgeline.anchors import detect_historical_anchors
    from kedgeline.bank import Bank, NewEntry
    from kedgeline.economy import Ledger, Loaded, ledger_of, load_context, rates_of
    from kedgeline.errors import KedgelineError
    from kedgeline.formats import format_names, provider_names
    from kedgeline.model import (
        Anchor,
        Answer,
        Budget,
        Compaction,
        Losses,
        Plan,
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
    from kedgeline.pipeline.compact import compact as compact_transcript
    from kedgeline.pipeline.compact import compact_async as compact_transcript_async
    from kedgeline.pipeline.compact import requests_for
    from kedgeline.pipeline.handoff import asked, summarize, verify
    from kedgeline.pipeline.job import ConversationFlow, budget_for, flow_of
    from kedgeline.pipeline.outcomes import PreservationContext
    from kedgeline.pipeline.read import Reading, read, read_all, stream, write
    from kedgeline.pipeline.stats import Stats, stats_of
    from kedgeline.pipeline.view import view
    from kedgeline.planning import Decision, History, Policy, Signals, make_plan, should_compact
    from kedgeline.redact import Redactor
    from kedgeline.session.loop import Loop, acompact, compact
    from kedgeline.session.session import Session
    from kedgeline.settings import Settings, load_settings
    from kedgeline.store.protocol import open_store

__all__ = [
    "Anchor",
    "Answer",
    "Bank",
    "Budget",
    "Compaction",
    "ConversationFlow",
    "Decision",
    "History",
    "KedgelineError",
    "Ledger",
    "Loaded",
    "Loop",
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
    "acompact",
    "asked",
    "budget_for",
    "compact",
    "compact_transcript",
    "compact_transcript_async",
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

_HOMES = {  # the module of each, and its name there where that is another one
    "Anchor": "kedgeline.model",
    "Answer": "kedgeline.model",
    "Bank": "kedgeline.bank",
    "Budget": "kedgeline.model",
    "Compaction": "kedgeline.model",
    "ConversationFlow": "kedgeline.pipeline.job",
    "Decision": "kedgeline.planning",
    "History": "kedgeline.planning",
    "KedgelineError": "kedgeline.errors",
    "Ledger": "kedgeline.economy",
    "Loaded": "kedgeline.economy",
    "Loop": "kedgeline.session.loop",
    "Losses": "kedgeline.model",
    "NewEntry": "kedgeline.bank",
    "Plan": "kedgeline.model",
    "Policy": "kedgeline.planning",
    "PreservationContext": "kedgeline.pipeline.outcomes",
    "Probe": "kedgeline.model",
    "Quality": "kedgeline.model",
    "Rates": "kedgeline.model",
    "Reading": "kedgeline.pipeline.read",
    "Redactor": "kedgeline.redact",
    "Session": "kedgeline.session.session",
    "Settings": "kedgeline.settings",
    "Signals": "kedgeline.planning",
    "Stats": "kedgeline.pipeline.stats",
    "Summary": "kedgeline.model",
    "ToolCall": "kedgeline.model",
    "ToolResult": "kedgeline.model",
    "Transcript": "kedgeline.model",
    "Turn": "kedgeline.model",
    "Verdict": "kedgeline.model",
    "acompact": "kedgeline.session.loop",
    "asked": "kedgeline.pipeline.handoff",
    "budget_for": "kedgeline.pipeline.job",
    "compact": "kedgeline.session.loop",
    "compact_transcript": "kedgeline.pipeline.compact:compact",
    "compact_transcript_async": "kedgeline.pipeline.compact:compact_async",
    "detect_historical_anchors": "kedgeline.anchors",
    "flow_of": "kedgeline.pipeline.job",
    "format_names": "kedgeline.formats",
    "ledger_of": "kedgeline.economy",
    "load_context": "kedgeline.economy",
    "load_settings": "kedgeline.settings",
    "make_plan": "kedgeline.planning",
    "open_store": "kedgeline.store.protocol",
    "provider_names": "kedgeline.formats",
    "rates_of": "kedgeline.economy",
    "read": "kedgeline.pipeline.read",
    "read_all": "kedgeline.pipeline.read",
    "requests_for": "kedgeline.pipeline.compact",
    "should_compact": "kedgeline.planning",
    "stats_of": "kedgeline.pipeline.stats",
    "stream": "kedgeline.pipeline.read",
    "summarize": "kedgeline.pipeline.handoff",
    "verify": "kedgeline.pipeline.handoff",
    "view": "kedgeline.pipeline.view",
    "write": "kedgeline.pipeline.read",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kedgeline' has no attribute {name!r}")
    module, _, there = _HOMES[name].partition(":")
    value = getattr(import_module(module), there or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
