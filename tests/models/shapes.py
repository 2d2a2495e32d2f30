"""The two shapes that replies have on the wire, as bytes, whole and as events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from kedgeline.model import Usage
    from tests.models.server import Says

_ids = count()
"""Of messages and calls: a client takes those with one id for one."""


class Shape(Protocol):
    def whole(self, says: Says) -> bytes: ...

    def events(self, says: Says) -> list[bytes]: ...

    def error(self, kind: str, message: str) -> bytes:
        """Body of an error status."""


class Chat:
    """OpenAI's chat completions."""

    ENDINGS: ClassVar[dict[str, str | None]] = {
        "whole": "stop",
        "cut off": "length",
        "refused": "content_filter",
        "tool call": "tool_calls",
        "": None,
    }

    def whole(self, says: Says) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": says.text or None}
        if says.reasoning:
            message["reasoning_content"] = says.reasoning
        if says.refusal:
            message["refusal"] = says.refusal
        if says.tool:
            message["tool_calls"] = [self._call(says)]
        choice = {"index": 0, "message": message, "finish_reason": self.ENDINGS[says.ending]}
        body = self._head("chat.completion") | {"choices": [choice]}
        if says.usage:
            body["usage"] = self._usage(says.usage)
        return _json(body)

    def events(self, says: Says) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in _pieces(says.reasoning, says.pieces)]
        deltas += [{"content": piece} for piece in _pieces(says.text, says.pieces)]
        deltas += [{"refusal": piece} for piece in _pieces(says.refusal, says.pieces)]
        if says.tool:
            deltas.append({"tool_calls": [{"index": 0} | self._call(says)]})
        events = [self._event(delta) for delta in deltas]
        if says.ending:
            events.append(self._event({}, self.ENDINGS[says.ending]))
        if says.usage:
            last = {"choices": [], "usage": self._usage(says.usage)}
            events.append(_event(self._head("chat.completion.chunk") | last))
        return [*events, b"data: [DONE]\n\n"]

    def error(self, kind: str, message: str) -> bytes:
        return _json({"error": {"message": message, "type": kind, "code": kind}})

    def _event(self, delta: dict[str, Any], ending: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": ending}
        return _event(self._head("chat.completion.chunk") | {"choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "chat-1", "object": kind, "created": 1_700_000_000, "model": "test-model"}

    def _call(self, says: Says) -> dict[str, Any]:
        function = {"name": says.called, "arguments": says.tool}
        return {"id": f"call-{next(_ids)}", "type": "function", "function": function}

    def _usage(self, usage: Usage) -> dict[str, Any]:
        return {
            "prompt_tokens": usage.context,
            "completion_tokens": usage.output,
            "total_tokens": usage.context + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        }


class Messages:
    """Anthropic's messages."""

    ENDINGS: ClassVar[dict[str, str | None]] = {
        "whole": "end_turn",
        "cut off": "max_tokens",
        "refused": "refusal",
        "tool call": "tool_use",
        "": None,
    }

    def whole(self, says: Says) -> bytes:
        blocks = [block for block, _ in self._blocks(says)]
        message = self._message(says) | {"content": blocks}
        return _json(message | {"stop_reason": self.ENDINGS[says.ending]})

    def events(self, says: Says) -> list[bytes]:
        events = [self._start(says)]
        for index, (block, key) in enumerate(self._blocks(says)):
            events += self._block(index, block, key, says.pieces)
        if says.ending:
            delta = {"stop_reason": self.ENDINGS[says.ending], "stop_sequence": None}
            output = {"output_tokens": says.usage.output if says.usage else 0}
            events.append(_event({"type": "message_delta", "delta": delta, "usage": output}))
            events.append(_event({"type": "message_stop"}))
        return events

    def error(self, kind: str, message: str) -> bytes:
        return _json({"type": "error", "error": {"type": kind, "message": message}})

    def _blocks(self, says: Says) -> Iterator[tuple[dict[str, Any], str]]:
        """Each with the name of what grows in it."""
        if says.reasoning:
            block = {"type": "thinking", "thinking": says.reasoning, "signature": "signed"}
            yield block, "thinking"
        if text := says.text or says.refusal:
            yield {"type": "text", "text": text}, "text"
        if says.tool:
            call = {"type": "tool_use", "id": f"call-{next(_ids)}", "name": says.called}
            yield call | {"input": json.loads(says.tool)}, "input"

    def _block(self, index: int, block: dict[str, Any], key: str, pieces: int) -> list[bytes]:
        empty = block | {key: {} if key == "input" else ""}
        kind = {"input": "input_json_delta", "thinking": "thinking_delta"}.get(key, "text_delta")
        grown = json.dumps(block[key]) if key == "input" else block[key]
        name = "partial_json" if key == "input" else key
        start = {"type": "content_block_start", "index": index, "content_block": empty}
        deltas = [
            self._delta(index, {"type": kind, name: piece}) for piece in _pieces(grown, pieces)
        ]
        return [_event(start), *deltas, _event({"type": "content_block_stop", "index": index})]

    def _start(self, says: Says) -> bytes:
        message = self._message(says) | {"content": [], "stop_reason": None}
        return _event({"type": "message_start", "message": message})

    def _delta(self, index: int, delta: dict[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": index, "delta": delta})

    def _message(self, says: Says) -> dict[str, Any]:
        usage = says.usage
        return {
            "id": f"msg_{next(_ids):06d}",
            "type": "message",
            "role": "assistant",
            "model": "test-model",
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage.input if usage else 0,
                "output_tokens": usage.output if usage else 0,
                "cache_read_input_tokens": usage.cache_read if usage else 0,
                "cache_creation_input_tokens": usage.cache_write if usage else 0,
            },
        }


SHAPES: dict[str, Shape] = {"openai": Chat(), "anthropic": Messages()}


def _pieces(text: str, count: int) -> list[str]:
    if not text or not count:
        return []
    size = -(-len(text) // count)
    return [text[start : start + size] for start in range(0, len(text), size)]


def _json(value: dict[str, Any]) -> bytes:
    """Halves of characters stand as they do on the wire: escaped."""
    return json.dumps(value).encode()


def _event(data: dict[str, Any]) -> bytes:
    name = f"event: {data['type']}\n".encode() if "type" in data else b""
    return name + b"data: " + _json(data) + b"\n\n"
