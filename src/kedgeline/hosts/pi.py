"""pi: an extension of TypeScript in its folder of extensions."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps, loads
from pathlib import Path
from typing import Any

from kedgeline.hosts.shared import (
    NAME,
    REPLACE_SECONDS,
    SUMMARY_ROOM,
    Host,
    Message,
    OwnFile,
    Place,
    Shape,
    as_given,
    blocks_of,
    filled,
    in_words,
    texts_of,
)


class _Pi(Host):
    def seam(self, place: Place) -> Path:
        return self.root(place) / "extensions" / f"{NAME}.ts"

    def own_files(self, root: Path, place: Place) -> tuple[OwnFile, ...]:
        blanks = {
            "KEDGELINE: string[] = []": dumps(place.launch.argv()),
            "MILLISECONDS = 0": f"{REPLACE_SECONDS * 1_000:_}",
            "ROOM = 0": str(place.room or 0),
        }
        path = root / "extensions" / f"{NAME}.ts"
        return (OwnFile(path, filled("pi.ts", blanks), comment="//"),)


def from_pi(messages: Sequence[Message]) -> list[Message]:
    """Blocks in messages, calls among them, results as messages of their own: as messages of
    OpenAI's chat."""
    found: list[Message] = []
    for message in messages:
        text = "\n\n".join(texts_of(message))
        if message.get("role") == "toolResult":
            result = {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": text}
            found.append(result)
            continue
        calls = [
            {
                "id": block.get("id"),
                "type": "function",
                "function": {
                    "name": block.get("name"),
                    "arguments": dumps(block.get("arguments") or {}),
                },
            }
            for block in blocks_of(message)
            if block.get("type") == "toolCall"
        ]
        if message.get("role") == "assistant" and (text or calls):
            called = {"tool_calls": calls} if calls else {}
            found.append({"role": "assistant", "content": text, **called})
        elif text:
            found.append({"role": "user", "content": text})
    return found


def to_pi(found: Sequence[Message], rows: Sequence[Message]) -> dict[str, Any]:
    """Messages of OpenAI's chat as pi's."""

    def fresh(message: Message, alike: Message) -> Message:
        blocks = [{"type": "text", "text": text} for text in texts_of(message)]
        for call in message.get("tool_calls") or ():
            given = loads(call["function"]["arguments"])
            named = {"id": call["id"], "name": call["function"]["name"], "arguments": given}
            blocks.append({"type": "toolCall", **named})
        if message["role"] == "tool":
            called = {"role": "toolResult", "toolCallId": message["tool_call_id"]}
            return {**alike, **called, "content": blocks}
        return {"timestamp": 0, **alike, "role": message["role"], "content": blocks}

    return {"messages": as_given(found, rows, from_pi, fresh)}


HOST = _Pi(
    name="pi",
    title="pi",
    in_project=".pi",
    variable="PI_CODING_AGENT_DIR",
    usual=(".pi", "agent"),
    shape=Shape("openai-chat", from_pi, in_words, SUMMARY_ROOM),
    next="start pi again: it reads extensions when it starts",
)
