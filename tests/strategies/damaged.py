"""Message lists as agents leave them behind, with much that a provider would refuse."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.strategies import PROVIDERS
from tests.strategies.shared import Draw, Message

BLOCKS = {"anthropic": "content", "gemini": "parts"}
"""Where a message keeps its blocks, in lists where one message holds many."""
EMPTY: dict[str, Message] = {
    "anthropic": {"role": "assistant", "content": []},
    "openai-chat": {"role": "assistant", "content": None},
    "openai-responses": {"role": "assistant", "content": []},
    "gemini": {"role": "model", "parts": []},
}
WORDS: dict[str, Message] = {
    "anthropic": {"role": "user", "content": "wait"},
    "openai-chat": {"role": "user", "content": "wait"},
    "openai-responses": {"role": "user", "content": "wait"},
    "gemini": {"role": "user", "parts": [{"text": "wait"}]},
}

Edit = Callable[[str, list[Message], int], None]
"""Breaks a list of a provider at a place."""


def lost(_: str, messages: list[Message], place: int) -> None:
    """A call that was aborted, a result without its call, two of one role in a row."""
    if len(messages) > 1:
        del messages[place]


def twice(_: str, messages: list[Message], place: int) -> None:
    """The same ids in the next message."""
    messages.insert(place, messages[place])


def again(_: str, messages: list[Message], place: int) -> None:
    """The same ids much later."""
    messages.append(messages[place])


def late(_: str, messages: list[Message], place: int) -> None:
    """A result that comes behind the next answer, or a call behind its result."""
    messages.insert(place + 2, messages.pop(place))


def interrupted(provider: str, messages: list[Message], place: int) -> None:
    """Words between a call and its result, or behind other words."""
    messages.insert(place, WORDS[provider])


def empty(provider: str, messages: list[Message], place: int) -> None:
    """An answer with nothing in it."""
    messages.insert(place, EMPTY[provider])


def divided(provider: str, messages: list[Message], place: int) -> None:
    """One message in two: a pause, or a client that writes every block apart."""
    key = BLOCKS.get(provider, "")
    message = messages[place]
    if isinstance(blocks := message.get(key), list) and len(blocks) > 1:
        messages[place : place + 1] = [{**message, key: blocks[:1]}, {**message, key: blocks[1:]}]


EDITS: tuple[Edit, ...] = (lost, twice, again, late, interrupted, empty, divided)


@st.composite
def damaged(draw: Draw, provider: str) -> list[Message]:
    """A list of a provider, broken once or a few times."""
    messages = list(draw(PROVIDERS[provider]))
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=3)):
        edit(provider, messages, draw(st.integers(0, len(messages) - 1)))
    return messages
