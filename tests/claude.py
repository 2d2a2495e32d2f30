"""Claude Code records, for building small sessions by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from kedgeline.formats.agents.claude_code import FORMAT
from kedgeline.formats.log import Log
from kedgeline.model import Turn


class Records:
    """A session file in the making: each record hangs on the one before unless told otherwise."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._tip: str | None = None

    def add(self, kind: str, *, parent: str | None = "tip", **fields: Any) -> str:
        uuid = f"u{len(self.lines)}"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self._tip if parent == "tip" else parent,
            "sessionId": "s1",
            "isSidechain": False,
            "cwd": "/home/sam/harbor",
            "timestamp": f"2026-01-01T00:00:{len(self.lines) % 60:02d}.000Z",
            **fields,
        }
        self._tip = uuid
        return self.raw(record, uuid)

    def raw(self, record: object, uuid: str = "") -> str:
        self.lines.append(msgspec.json.encode(record) + b"\n")
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, message_id: str, *blocks: dict[str, Any], **fields: Any) -> str:
        message = {
            "id": message_id,
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": list(blocks),
        }
        return self.add("assistant", message=message, **fields)

    def result(self, call_id: str, content: Any = "ok", **fields: Any) -> str:
        error = fields.pop("is_error", None)
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        if error is not None:
            block["is_error"] = error
        if error and isinstance(content, str):  # as the client writes it of every call that failed
            fields.setdefault("toolUseResult", f"Error: {content}")
        return self.user([block], **fields)

    def read(self) -> tuple[list[Turn], Log]:
        log = Log()
        return list(FORMAT.read(iter(self.lines), log)), log


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str, name: str = "Bash", **parameters: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": parameters}
