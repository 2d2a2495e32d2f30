"""Which messages of a list are new: hosts send again what they have sent before."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from kedge.errors import NotATranscript

Message = Mapping[str, Any]
IDS = ("id", "uuid", "call_id", "tool_call_id", "tool_use_id")
"""Fields in which providers name a message, a call, or the call that a result answers."""
BLOCKS = ("content", "parts", "tool_calls", "data", "functionCall", "functionResponse")
"""Fields of a message in which such names may stand deeper."""
ID_LENGTH = 32
"""Characters of a content id: 128 bits are enough to tell the messages of a session apart."""
REQUESTS = ("messages", "contents", "input")
"""Where the request of a model API has its messages."""
AROUND_BLOCK = frozenset({"cache_control", "annotations", "logprobs", "citations", "obfuscation"})
"""Fields of a block that say nothing: some are taken from one message and put on the next."""
AROUND = AROUND_BLOCK | {
    *("id", "uuid", "object", "model", "usage", "status", "created", "created_at", "timestamp"),
    *("stop_reason", "stop_sequence", "finish_reason", "service_tier", "container"),
}
"""Fields of a message that an answer of the API has, and that are gone when it is sent again."""
TEXTS = ("text", "input_text", "output_text")
"""Types of blocks that are nothing but text."""
SPOKEN = ("role", "type", "content", "parts", "tool_calls", "call_id", "data")
"""Fields of which every message of a provider has at least one."""
SYSTEM = ("system", "developer")


class Said(NamedTuple):
    """A message with its content id."""

    message: Message
    id: str
    named: bool
    """Whether the provider gave it, or a call in it, an id: then no other message is equal to it.
    """

    @property
    def is_system(self) -> bool:
        return self.message.get("role") in SYSTEM


class Envelope(NamedTuple):
    """Messages, and what the request of a model API holds beside them."""

    messages: list[object]
    body: Mapping[str, Any] = MappingProxyType({})
    field: str = ""
    """Where in the request the messages stand."""


def envelope_of(given: Sequence[object]) -> Envelope:
    """Messages as they are given: in a list, or in one request of a model API."""
    only = _plain(given[0]) if len(given) == 1 else None
    if only is None or "role" in only or "type" in only:
        return Envelope(list(given))
    for field in REQUESTS:
        if isinstance(only.get(field), list):
            return Envelope(only[field], {k: v for k, v in only.items() if k != field}, field)
    return Envelope(list(given))


def said(messages: Sequence[object]) -> list[Said]:
    """Messages as plain objects, each with its content id."""
    found = []
    for number, message in enumerate(messages):
        plain = _plain(message)
        if plain is None or not any(plain.get(field) for field in SPOKEN):
            found_is = type(message).__name__ if plain is None else f"keys {sorted(plain)[:5]}"
            raise NotATranscript(
                f"message {number}", found=found_is, expected=("a message of a model API",)
            )
        found.append(Said(plain, _content_id(plain), _is_named(plain)))
    return found


def overlap(ids: Sequence[str], before: Sequence[str]) -> int:
    """How many of the first ids are the last of those before: the longest run that is both.

    In one pass (the prefix function): a list of a million is looked at once."""
    joined = [*ids, "", *before]
    border = [0] * len(joined)
    for place in range(1, len(joined)):
        length = border[place - 1]
        while length and joined[place] != joined[length]:
            length = border[length - 1]
        border[place] = length + (joined[place] == joined[length])
    return min(border[-1], len(ids)) if before and ids else 0


def unknown(found: Sequence[Said], known: Collection[str]) -> list[Said]:
    """Without the messages that are there already and cannot be meant again."""
    return [one for one in found if not (one.named and one.id in known)]


def _plain(message: object) -> dict[str, Any] | None:
    """A mapping as it is; what a client library made of one, dumped."""
    if isinstance(message, Mapping):
        return dict(message)
    dump = getattr(message, "model_dump", None)
    if callable(dump):
        dumped = dump(mode="json", exclude_none=True)
        return dumped if isinstance(dumped, dict) else None
    return None


def _content_id(message: Message) -> str:
    """Equal for equal content: whatever the order of its keys, what a client put around it, and
    whether a text stands alone or in a block."""
    text = json.dumps(_normal(message), sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode("ascii")).hexdigest()[:ID_LENGTH]


def _normal(message: Message) -> dict[str, Any]:
    kept = {name: value for name, value in message.items() if name not in AROUND and value}
    if kept.get("type") == "message":  # that it is one goes without saying
        del kept["type"]
    for field in ("content", "parts"):
        if isinstance(kept.get(field), (str, list)):
            kept[field] = _blocks(kept[field])
    return kept


def _blocks(content: str | list[Any]) -> list[Any]:
    return [_block(one) for one in ([content] if isinstance(content, str) else content)]


def _block(block: Any) -> Any:
    if isinstance(block, str):
        return {"text": block}
    if not isinstance(block, dict):
        return block
    kept = {name: value for name, value in block.items() if name not in AROUND_BLOCK}
    if kept.get("type") in TEXTS and isinstance(kept.get("text"), str):
        return {"text": kept["text"]}
    if isinstance(kept.get("content"), (str, list)):
        kept["content"] = _blocks(kept["content"])
    return {name: value for name, value in kept.items() if value is not None}


def _is_named(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return any(_is_named(one, depth) for one in value)
    if not isinstance(value, dict) or depth > len(BLOCKS):
        return False
    if any(isinstance(value.get(name), str) and value[name] for name in IDS):
        return True
    return any(_is_named(value.get(name), depth + 1) for name in BLOCKS)
