"""Gemini CLI chats in the making, message by message."""

from __future__ import annotations

from typing import Any

import msgspec

from kedgeline.formats.agents.gemini_cli import FORMAT
from kedgeline.model import ToolResult
from tests.formats.handmade import Was, lines, read

METADATA = {
    "sessionId": "s-1",
    "projectHash": "0f",
    "startTime": "2026-01-01T00:00:00.000Z",
    "lastUpdated": "2026-01-01T00:00:00.000Z",
}


def message(kind: str, content: Any, number: int, **fields: Any) -> dict[str, Any]:
    time = "2026-01-01T00:00:00.000Z"
    return {"id": f"m{number}", "timestamp": time, "type": kind, "content": content, **fields}


def user(text: Any, number: int = 0) -> dict[str, Any]:
    return message("user", text, number)


def said(text: Any, number: int, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return message("gemini", text, number, model="gemini-2.5-pro", toolCalls=list(calls), **fields)


def call(
    output: str = "ok", *, status: str = "success", name: str = "run_shell_command", **fields: Any
) -> dict[str, Any]:
    field = "error" if status in ("error", "cancelled") else "output"
    response = {"functionResponse": {"id": "c1", "name": name, "response": {field: output}}}
    return {
        "id": "c1",
        "name": name,
        "args": {"command": "ls"},
        "status": status,
        "result": [response],
        **fields,
    }


def chat(*messages: Any, **fields: Any) -> Was:
    return read(FORMAT, msgspec.json.encode({**METADATA, "messages": list(messages), **fields}))


def recorded(*records: Any) -> Was:
    return read(FORMAT, lines([METADATA, *records]))


def result(*args: Any, **fields: Any) -> ToolResult:
    return chat(user("go"), said("", 1, call(*args, **fields))).turns[0].tool_results[0]
