"""Codex rollouts in the making, record by record."""

from __future__ import annotations

from typing import Any

import msgspec

from kedgeline.formats.agents.codex import FORMAT
from kedgeline.model import ToolResult
from tests.formats.handmade import Was, lines, read

META = {
    "id": "s-1",
    "cwd": "/home/sam/harbor",
    "cli_version": "0.50.0",
    "originator": "codex_cli_rs",
    "instructions": None,
    "git": {"branch": "tide"},
}


def record(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return record("response_item", type=kind, **fields)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return record("event_msg", type=kind, **fields)


def user(text: str) -> dict[str, Any]:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def said(text: str) -> dict[str, Any]:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def call(call_id: str, command: str = "ls", name: str = "shell") -> dict[str, Any]:
    arguments = msgspec.json.encode({"command": ["bash", "-lc", command]}).decode()
    return item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(call_id: str, text: Any = "ok", **fields: Any) -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=text, **fields)


def reasoning(*texts: str, sealed: str = "seal") -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return item("reasoning", summary=summary, content=None, encrypted_content=sealed)


def tokens(given: int, cached: int, out: int, total: int) -> dict[str, Any]:
    last = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": out}
    info = {"last_token_usage": last, "total_token_usage": {"total_tokens": total}}
    return event("token_count", info=info, rate_limits=None)


def session(*records: dict[str, Any]) -> Was:
    return read(FORMAT, lines([record("session_meta", **META), *records]))


def result(text: Any, **fields: Any) -> ToolResult:
    was = session(user("go"), call("c1"), output("c1", text, **fields))
    return was.turns[0].tool_results[0]


WRAPPED = '{"output":"3 failed\\n","metadata":{"exit_code":1,"duration_seconds":0.4}}'
