"""What a host is told, in the words that it understands. Nothing heavy is loaded here."""

from __future__ import annotations

import json
import os
from typing import Any

from kedge.integrations.hooks.events import Event

CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolBatch")
"""Events whose answer may add to the context."""
PLAIN = ("claude-code", "opencode")
"""Hosts that add what a hook prints before a compaction to the prompt of their summariser. Codex
and Gemini CLI do not, and take what looks like an answer for a faulty one."""
SUMMARISED = ("codex", "opencode")
"""Hosts whose summary stands in the transcript when they start the session anew. Codex may work on
for hours before the next word of the user, and calls for nothing else that could be added to."""
SILENT = ("gemini-cli",)
"""Hosts that do not call after a compaction: all that is put back goes with the next word or call.
"""
REPLACING = ("claude-code", "opencode")
"""Hosts that take another text in the place of a tool's output. Codex has no such answer; Gemini
CLI adds to an output, and can only replace it by the output of another tool or a refusal."""
STANDARD = (0, 1, 2)
"""Descriptors of input, output and errors."""


def claim_standard() -> None:
    """A host may have closed them: the next file to be opened must not be written the answer. What
    takes their place can only be read, so that what is said to nobody fails."""
    for number in STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def say(text: str) -> None:
    """To the host, whatever its locale is."""
    left = memoryview(text.encode("utf-8", "replace"))
    while left:
        left = left[os.write(STANDARD[1], left) :]


def adding(event: Event, text: str, output: Any = None) -> str:
    """The answer that puts a text into the context, and another `output` in the place of a tool's;
    nothing where the host has no place for it."""
    if event.name not in CONTEXT_EVENTS or not (text or output is not None):
        return ""
    told = {"hookEventName": event.fields.get("hook_event_name", event.name)}
    if text:
        told["additionalContext"] = text
    if output is not None:
        told["updatedToolOutput"] = output
    return json.dumps({"hookSpecificOutput": told})


def steering(event: Event, text: str) -> str:
    """What the host's summariser is told."""
    return text if event.host in PLAIN else ""
