"""Messages that come piece by piece make the turns that reading them at once makes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.model import Transcript, Turn
from kedgeline.pipeline.read import read, write
from tests.conftest import then_longer
from tests.living.sessions import bare, divided, memory, opened, session
from tests.providers import RICH
from tests.strategies import PROVIDERS

Message = dict[str, Any]
Way = Callable[[random.Random, list[Message]], list[list[Message]]]
"""How a host hands a list over: what it sends at each call."""


def _one_by_one(chance: random.Random, messages: list[Message]) -> list[list[Message]]:
    return [[message] for message in messages]


def _each_twice(chance: random.Random, messages: list[Message]) -> list[list[Message]]:
    return [[message] for message in messages for _ in range(2)]


def _all_again(chance: random.Random, messages: list[Message]) -> list[list[Message]]:
    ends = sorted({chance.randint(1, len(messages)) for _ in range(5)} | {len(messages)})
    return [messages[:end] for end in ends]


def _with_the_last_few(chance: random.Random, messages: list[Message]) -> list[list[Message]]:
    sent, end = [], 0
    while end < len(messages):
        start, end = max(0, end - chance.randint(0, 4)), end + chance.randint(1, 4)
        sent.append(messages[start:end])
    return sent


WAYS: tuple[Way, ...] = (_one_by_one, divided, _each_twice, _all_again, _with_the_last_few)


def different(messages: list[Message]) -> list[Message]:
    """Every message another one: what is equal to the last one is taken as sent again."""
    return [{**message, "x_place": place} for place, message in enumerate(messages)]


def told(transcript: Transcript) -> tuple[list[Turn | None], Turn | None]:
    """Turns and words that wait. What went wrong before a turn is known as far as its tail goes,
    and the tokens of words that wait are those of their pieces."""
    turns = [bare(replace(turn, previous_error=False)) for turn in transcript.turns]
    pending = bare(transcript.pending)
    return turns, replace(pending, tokens=0) if pending else None


def check(provider: str, messages: list[Message], sent: list[list[Message]]) -> None:
    opening = memory()
    for chunk in sent:
        with opened(opening) as found:  # opened anew each time: nothing is in the object
            found.append(chunk, format=provider)
    whole = read(json.dumps(messages).encode(), format=provider)
    with opened(opening) as found:
        assert told(found.transcript()) == told(whole)
        written = write(whole, to=provider)
        assert found.view(provider).messages == written.messages
        assert sum(turn.tokens for turn in whole.turns) == found._journal().tokens()


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("examples", then_longer([40], [1_000]))
def test_any_pieces_in_any_way_are_the_list_read_at_once(provider: str, examples: int) -> None:
    """opencode#28618: the order is that of the calls."""

    @settings(max_examples=examples)
    @given(PROVIDERS[provider], st.sampled_from(WAYS), st.integers(0, 999))
    def checked(messages: list[Message], way: Way, seed: int) -> None:
        messages = different(messages)
        check(provider, messages, way(random.Random(seed), messages))

    checked()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("provider", RICH)
def test_a_view_before_any_compaction_is_the_list_given(provider: str, way: Way) -> None:
    found = session()
    for chunk in way(random.Random(1), RICH[provider]):
        found.append(chunk, format=provider)
    assert found.view(provider).messages == RICH[provider]


LANGCHAIN: list[Message] = [
    {"type": "human", "data": {"content": "light the lamp", "type": "human", "id": "h1"}},
    {
        "type": "ai",
        "data": {
            "content": "",
            "type": "ai",
            "id": "a1",
            "tool_calls": [{"name": "Bash", "args": {"command": "ls"}, "id": "c1"}],
        },
    },
    {"type": "tool", "data": {"content": "ok", "type": "tool", "tool_call_id": "c1", "id": "t1"}},
    {"type": "ai", "data": {"content": "It is lit.", "type": "ai", "id": "a2"}},
    {"type": "human", "data": {"content": "and the next?", "type": "human", "id": "h2"}},
]
PLAIN: list[Message] = [
    {"role": "user", "content": "light the lamp"},
    {"role": "assistant", "content": "It is lit."},
    {"role": "user", "content": "and the next?"},
    {"role": "assistant", "content": "That too."},
    {"role": "user", "content": "thanks"},
]


@pytest.mark.parametrize(("name", "messages"), [("langchain", LANGCHAIN), (None, PLAIN)])
@pytest.mark.parametrize("way", WAYS)
def test_shapes_that_are_no_providers_are_taken_too(
    name: str | None, messages: list[Message], way: Way
) -> None:
    found = session()
    for chunk in way(random.Random(2), messages):
        found.append(chunk, format=name)
    whole = read(json.dumps(messages).encode(), format=name)
    said = [(t.user_message, t.assistant_response, len(t.tool_results)) for t in whole.turns]
    kept = found.transcript()
    assert [(t.user_message, t.assistant_response, len(t.tool_results)) for t in kept.turns] == said
    assert kept.pending is not None
    assert whole.pending is not None
    assert kept.pending.user_message == whole.pending.user_message
    assert [t.exchange for t in kept.turns] == [t.exchange for t in whole.turns]
