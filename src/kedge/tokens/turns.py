"""Tokens of a turn, by who or what they come from."""

from __future__ import annotations

import msgspec

from kedge.model import Turn, Value
from kedge.tokens.counting import Counter
from kedge.tokens.media import media_tokens, split_data_urls


class Tokens(Value, frozen=True):
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
    """Count one turn. Images and `data:` URLs count by their size, not as text."""
    images = [*turn.media, *(m for result in turn.tool_results for m in result.media)]

    def count(text: str) -> int:
        plain, found = split_data_urls(text)
        images.extend(found)
        return counter.count(plain)

    return Tokens(
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
