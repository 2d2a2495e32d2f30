"""Reading and writing provider messages in tests, and what must survive both."""

from __future__ import annotations

import json
from typing import Any

from kedgeline.formats.providers.repair import NO_RESULT
from kedgeline.formats.registry import Written, load_provider
from kedgeline.model import Role, Text, Transcript, Turn
from kedgeline.pipeline.read import read

NAMES = ("anthropic", "gemini", "openai-chat", "openai-responses")

RICH: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}, "x": 1}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "ok"},
                {"type": "text", "text": "on"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {}}, "x": 1}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "run", "response": {"output": "ok"}}},
                {"text": "on"},
            ],
        },
        {"role": "model", "parts": [{"text": "Done."}]},
    ],
    "openai-chat": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{ }"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ],
    "openai-responses": [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{ }"},
        {"role": "user", "content": "on"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"role": "assistant", "content": "Done."},
    ],
}
"""A short conversation in each provider's shape, with what is easily lost."""


def transcript_of(provider: str, value: Any) -> Transcript:
    return read(json.dumps(value).encode(), format=provider)


def written(transcript: Transcript, provider: str) -> Written:
    return load_provider(provider).write(transcript)


def rewritten(provider: str, value: Any) -> Any:
    """The messages of a list or request, read and written again."""
    return written(transcript_of(provider, value), provider).messages


def told(transcript: Transcript) -> dict[str, Any]:
    """What a conversation says, whichever way its messages are divided."""
    turns = _turns(transcript)
    return {
        "user": _said(turns, "user"),
        "assistant": _said(turns, "assistant"),
        "calls": [(c.id, c.tool, c.parameters) for turn in turns for c in turn.tool_calls],
        "outputs": [
            _output(turn, position, in_flight=turn is turns[-1])
            for turn in turns
            for position in range(len(turn.tool_calls))
        ],
    }


def _turns(transcript: Transcript) -> list[Turn]:
    return [*transcript.turns, *([transcript.pending] if transcript.pending else ())]


def _said(turns: list[Turn], role: Role) -> str:
    return "\n\n".join(
        part.text
        for turn in turns
        for message in turn.messages
        if message.role == role
        for part in message.parts
        if isinstance(part, Text) and part.text.strip()
    )


def _output(turn: Turn, position: int, *, in_flight: bool) -> str | None:
    result = turn.result_of(turn.tool_calls[position])
    if result is None:
        return None if in_flight else NO_RESULT
    return result.output or result.error or ""
