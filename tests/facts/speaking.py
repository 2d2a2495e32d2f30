"""Showing turns to one extractor."""

from __future__ import annotations

from typing import Any

from kedgeline.facts.extractor import Extractor
from kedgeline.model import AnyFact, Message, Note, Text, ToolCall, ToolResult, Turn
from kedgeline.shell import outcomes_of
from tests.turns import turn


def told_by(extractor: Extractor, *turns: Turn) -> list[Any]:
    """The facts an extractor gives, in order."""
    found: list[AnyFact] = []
    for one in turns:
        found += extractor.see(one, outcomes_of(one))
    return found


def refused(tool: str = "Edit", reason: str = "", **parameters: Any) -> tuple[ToolCall, ToolResult]:
    call = ToolCall(id="refused", tool=tool, parameters=parameters)
    return call, ToolResult(call_id="refused", success=False, refused=True, reason=reason)


def noted(index: int, kind: Any, text: str, *, user: str = "", **fields: Any) -> Turn:
    return turn(index, user=user, notes=(Note(kind=kind, text=text),), **fields)


def queued(index: int, words: str, *, before: str = "") -> Turn:
    """A turn in whose middle the user typed something."""
    parts = [Text(text=before)] if before else []
    messages = (
        Message(role="user", parts=tuple(parts)),
        Message(role="assistant", parts=(Text(text="Working."),)),
        Message(role="user", parts=(Text(text=words, queued=True),)),
    )
    joined = "\n\n".join(text for text in (before, words) if text)
    return turn(index, user=joined, says="Working.", messages=messages)


HOSTILE = (
    "\x00\x07\ud800 never",
    "`" * 5_000,
    '"' * 5_001,
    "```" * 3_001,
    "never " * 20_000,
    "a, " * 40_000,
    "use x " * 10_000 + "instead of y",
    "no " * 20_000,
    "\n" * 50_000,
    "- " * 30_000,
    " " * 100_000 + "x",
    "why are you " * 10_000,
    "Implement the following plan:" + "#" * 10_000,
    "/" * 10_000,
    "<command-name>" * 3_000,
    "since " * 10_000 + ", I'll use x",
    "1. a\n" * 20_000,
    "⌑" * 10_000,
)
"""Texts made to break or to slow down what reads them."""
