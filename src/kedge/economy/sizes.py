"""How large the pieces of a turn are, in tokens of its model."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import msgspec

from kedge.model import Text, ToolCall, ToolResult, Turn
from kedge.tokens import Counter, counter_for, media_tokens, text_tokens


class CallSize(NamedTuple):
    id: str
    tool: str
    written: int
    """To write the call: its name and parameters."""
    brought: int
    """Into the context, by its result."""


class Sizes(NamedTuple):
    words: int
    """What came before the answer: the user's words, notes, system messages, media."""
    written: int
    """By the assistant: words, thinking and calls."""
    calls: tuple[CallSize, ...]
    """Results without a call are among the last one's, if there is any."""
    brought: int
    """By all results."""

    @property
    def total(self) -> int:
        return self.words + self.written + self.brought


def sizes_of(turn: Turn) -> Sizes:
    counter = _counter(turn.model)
    results: dict[str, int] = {}
    for result in turn.tool_results:
        results[result.call_id] = results.get(result.call_id, 0) + _brought(result, counter)
    brought = sum(results.values())
    calls = tuple(
        CallSize(call.id, call.tool, _written(call, counter), results.pop(call.id, 0))
        for call in turn.tool_calls
    )
    said = text_tokens(turn.assistant_response, counter) + text_tokens(turn.thinking, counter)
    return Sizes(
        words=_words(turn, counter),
        written=said + sum(call.written for call in calls),
        calls=calls,
        brought=brought,
    )


@cache
def _counter(model: str) -> Counter:
    return counter_for(model)


def _words(turn: Turn, counter: Counter) -> int:
    system = (message for message in turn.messages if message.role == "system")
    texts = [part.text for m in system for part in m.parts if isinstance(part, Text)]
    texts += [turn.user_message, *(note.text for note in turn.notes)]
    media = sum(media_tokens(one) for one in turn.media)
    return media + sum(text_tokens(text, counter) for text in texts)


def _written(call: ToolCall, counter: Counter) -> int:
    parameters = msgspec.json.encode(call.parameters).decode()
    return counter.count(call.tool) + text_tokens(parameters, counter)


def _brought(result: ToolResult, counter: Counter) -> int:
    return text_tokens(result.output, counter) + sum(media_tokens(one) for one in result.media)
