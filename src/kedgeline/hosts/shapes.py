"""How hosts write a conversation, as messages of a provider and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kedgeline.session.appending import OURS

Message = dict[str, Any]


class Shape(NamedTuple):
    provider: str
    """Whose message list it is taken for."""
    taken: Callable[[Sequence[Message]], list[Message]]
    """The host's messages as the provider's."""
    given: Callable[[Sequence[Message], Sequence[Message]], dict[str, Any]]
    """The answer, from the provider's messages; the host's own are given for what only these have.
    """
    room: int = 0
    """Tokens of the answer where nobody says; 0 for a share of what there was."""


# Claude Code: rows with a text, calls and results. One answer may come as several rows.


def from_rows(rows: Sequence[Message]) -> list[Message]:
    """Rows as messages of Anthropic's."""
    messages: list[Message] = []
    for row in rows:
        blocks = [
            {
                "type": "tool_result",
                "tool_use_id": one.get("tool_use_id"),
                "content": one.get("text") or "",
                **({"is_error": True} if one.get("isError") else {}),
            }
            for one in row.get("toolResults") or ()
        ]
        if row.get("text"):
            blocks.append({"type": "text", "text": row["text"]})
        blocks += [
            {
                "type": "tool_use",
                "id": one.get("tool_use_id"),
                "name": one.get("tool"),
                "input": one.get("input") or {},
            }
            for one in row.get("toolUses") or ()
        ]
        if not blocks:
            continue
        if messages and messages[-1]["role"] == row["role"] == "assistant":
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": row["role"], "content": blocks})
    return messages


def to_rows(messages: Sequence[Message], rows: Sequence[Message]) -> list[Message]:
    """Messages as rows that outlive a resume of the session. Only a row of the user's words keeps
    its handle, and with it its images: by that of another row the client finds the old history
    again."""
    handles = {
        row["text"]: row["handle"]
        for row in rows
        if row["role"] == "user" and row.get("handle") and not row.get("toolResults")
    }
    found = []
    for message in messages:
        row: Message = {"role": message["role"], "text": "\n\n".join(texts_of(message))}
        blocks = _blocks(message)
        row["toolUses"] = [
            {"tool_use_id": block["id"], "tool": block["name"], "input": block["input"]}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        results = [
            {
                "tool_use_id": block["tool_use_id"],
                "text": _text_of(block.get("content")),
                **({"isError": True} if block.get("is_error") else {}),
            }
            for block in blocks
            if block["type"] == "tool_result"
        ]
        if results:
            row["toolResults"] = results
        elif message["role"] == "user" and row["text"] in handles:
            row["handle"] = handles[row["text"]]
        found.append(row)
    return found


# pi: blocks in messages, calls among them, results as messages of their own.


def from_pi(messages: Sequence[Message]) -> list[Message]:
    """Messages as those of OpenAI's chat."""
    found: list[Message] = []
    for message in messages:
        text = "\n\n".join(texts_of(message))
        if message.get("role") == "toolResult":
            found.append(
                {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": text}
            )
            continue
        calls = [
            {
                "id": block.get("id"),
                "type": "function",
                "function": {
                    "name": block.get("name"),
                    "arguments": json.dumps(block.get("arguments") or {}),
                },
            }
            for block in _blocks(message)
            if block.get("type") == "toolCall"
        ]
        if message.get("role") == "assistant" and (text or calls):
            found.append(
                {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
            )
        elif text:
            found.append({"role": "user", "content": text})
    return found


# What several hosts want.

SUMMARY_ROOM = 20_000
"""Tokens of a summary beside which the host keeps what it likes."""


def texts_of(message: Message) -> list[str]:
    """What a message says, our summary first: by it the message is known again when it comes back,
    and it begins with a short line, which hosts show."""
    texts = [block["text"] for block in _blocks(message) if block.get("type") in TEXTS]
    return sorted(texts, key=lambda text: not text.startswith(OURS))


TEXTS = ("text", "input_text", "output_text")


def _blocks(message: Message) -> list[Message]:
    content = message.get("content") or ()
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or ())


def as_they_are(messages: Sequence[Message]) -> list[Message]:
    return [*messages]


def plain(message: Message) -> Message:
    """With one text in the place of several, which is what a host gives back."""
    if isinstance(message.get("content"), str) or message.get("role") != "user":
        return message
    return {**message, "content": "\n\n".join(texts_of(message))}


def as_item(message: Message) -> Message:
    """With what Codex needs of a message."""
    if "type" in message and not isinstance(message.get("content"), str):
        return message
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts_of(message)]
    return {**message, "type": "message", "content": content}


def in_words(messages: Sequence[Message], _: Sequence[Message]) -> dict[str, Any]:
    """All of it as one text, for a host that has room for a summary and keeps what it likes."""
    parts = []
    for message in messages:
        if message["role"] == "system":
            continue
        who = "" if is_lead(message) else f"{message['role']}: "
        parts += [f"{who}{text}" for text in texts_of(message)]
        for call in message.get("tool_calls") or ():
            parts.append(f"called {call['function']['name']} {call['function']['arguments']}")
        if message["role"] == "tool":
            parts[-1] = f"output: {parts[-1].removeprefix('tool: ')}" if parts else ""
    return {"summary": "\n\n".join(parts)}


def told(message: Message) -> tuple[Any, ...]:
    """What a message is known by: hosts add fields of their own."""
    blocks = [one for one in _blocks(message) if one.get("type") not in TEXTS]
    ids = [one.get("id") or one.get("tool_use_id") for one in blocks]
    outputs = [_text_of(one.get("content")) for one in blocks if "tool_use_id" in one]
    calls = [one.get("id") for one in message.get("tool_calls") or ()]
    rest = [message.get(key) for key in ("role", "type", "tool_call_id", "call_id", "output")]
    return (*rest, ids, outputs, calls, texts_of(message))


def is_lead(message: Message) -> bool:
    """Whether a message stands for what was folded."""
    return message.get("role") == "user" and any(
        text.startswith(OURS) for text in texts_of(message)
    )


SHAPES: Mapping[str, Shape] = {
    "claude-code": Shape(
        "anthropic", from_rows, lambda found, rows: {"messages": to_rows(found, rows)}
    ),
    "hermes": Shape(
        "openai-chat", as_they_are, lambda found, _: {"messages": [plain(one) for one in found]}
    ),
    "codex": Shape(
        "openai-responses", as_they_are, lambda found, _: {"messages": [as_item(x) for x in found]}
    ),
    "opencode": Shape("openai-chat", as_they_are, in_words, SUMMARY_ROOM),
    "pi": Shape("openai-chat", from_pi, in_words, SUMMARY_ROOM),
}
