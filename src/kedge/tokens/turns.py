"""Tokens of a turn, by who or what they come from."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kedge.model import Media, Message, Note, Text, Transcript, Turn, Value
from kedge.tokens.counting import Counter
from kedge.tokens.media import media_tokens, split_data_urls


class Tokens(Value, frozen=True):
    system: int = 0
    """System prompts, and system messages between turns."""
    user: int = 0
    assistant: int = 0
    thinking: int = 0
    tool_calls: int = 0
    """Names and arguments of the calls."""
    tool_output: int = 0
    notes: int = 0
    """Text that clients put into the conversation."""
    media: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, name) for name in self.__struct_fields__)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


def tokens_of(turn: Turn, counter: Counter) -> Tokens:
    """Count one turn. Images and `data:` URLs count by their size; all else counts as text, base64
    without a `data:` URL too."""
    images = [*turn.media, *(m for result in turn.tool_results for m in result.media)]

    def count(text: str) -> int:
        plain, found = split_data_urls(text)
        images.extend(found)
        return counter.count(plain)

    system = (message for message in turn.messages if message.role == "system")
    return Tokens(
        system=sum(count(p.text) for m in system for p in m.parts if isinstance(p, Text)),
        user=count(turn.user_message),
        assistant=count(turn.assistant_response),
        thinking=count(turn.thinking),
        tool_calls=sum(
            count(call.tool) + count(msgspec.json.encode(call.parameters).decode())
            for call in turn.tool_calls
        ),
        tool_output=sum(count(result.output) for result in turn.tool_results),
        notes=sum(count(note.text) for note in turn.notes),
        media=sum(map(media_tokens, images)),
    )


def head_tokens(head: Iterable[Message], counter: Counter) -> Tokens:
    """Count the system messages before the first turn."""
    parts = [part for message in head for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, (Text, Note))]
    return Tokens(
        system=sum(text_tokens(text, counter) for text in texts),
        media=sum(media_tokens(part) for part in parts if isinstance(part, Media)),
    )


def overhead_tokens(transcript: Transcript, counter: Counter) -> int:
    """What a transcript says is sent beside its turns: the system prompt, and the tools."""
    body = (transcript.wire or {}).get("body")
    tools = body.get("tools") if isinstance(body, dict) else None
    described = counter.count(msgspec.json.encode(tools).decode()) if tools else 0
    return head_tokens(transcript.head, counter).total + described


def text_tokens(text: str, counter: Counter) -> int:
    """Tokens of a text without the `data:` URLs in it."""
    return counter.count(split_data_urls(text)[0])
