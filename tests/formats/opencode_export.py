"""OpenCode exports in the making, message by message."""

from __future__ import annotations

from typing import Any

import msgspec

from kedgeline.formats.agents.opencode import FORMAT
from kedgeline.model import ToolResult
from tests.formats.handmade import Was, read

INFO: dict[str, Any] = {
    "id": "ses_1",
    "slug": "calm-harbor",
    "projectID": "p",
    "directory": "/home/sam/harbor",
    "title": "Tides",
    "version": "1.2.24",
}


def message(role: str, number: int, parts: list[dict[str, Any]], **info: Any) -> dict[str, Any]:
    time = {"created": 1767225600000}
    return {"info": {"id": f"msg_{number}", "role": role, "time": time, **info}, "parts": parts}


def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


def tool(call_id: str, name: str = "bash", **state: Any) -> dict[str, Any]:
    state = {"status": "completed", "input": {"command": "ls"}, "output": "ok", **state}
    return {"type": "tool", "id": f"prt_{call_id}", "callID": call_id, "tool": name, "state": state}


def user(words: str, number: int = 0) -> dict[str, Any]:
    return message("user", number, [text(words)], summary={"diffs": []})


def said(number: int, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    info = {"modelID": "gpt-5.4", "mode": "build", **info}
    return message("assistant", number, [{"type": "step-start"}, *parts], **info)


def export(*messages: Any, **info: Any) -> dict[str, Any]:
    return {"info": {**INFO, **info}, "messages": list(messages)}


def session(*messages: Any, **info: Any) -> Was:
    return read(FORMAT, msgspec.json.encode(export(*messages, **info)))


def result(**state: Any) -> ToolResult:
    return session(user("go"), said(1, tool("c1", **state))).turns[0].tool_results[0]
