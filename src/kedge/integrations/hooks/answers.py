"""What a host is told, in the words that it understands. Nothing heavy is loaded here."""

from __future__ import annotations

import json

from kedge.integrations.hooks.events import Event

CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse")
"""Events whose answer may add to the context."""
PLAIN = ("claude-code", "opencode")
"""Hosts that add what a hook prints before a compaction to the prompt of their summariser. Codex
and Gemini CLI do not, and take what looks like an answer for a faulty one."""


def adding(event: Event, text: str) -> str:
    """The answer that puts a text into the context; nothing where the host has no place for it."""
    if not text or event.name not in CONTEXT_EVENTS:
        return ""
    name = event.fields.get("hook_event_name", event.name)
    told = {"hookEventName": name, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": told})


def steering(event: Event, text: str) -> str:
    """What the host's summariser is told."""
    return text if event.host in PLAIN else ""
