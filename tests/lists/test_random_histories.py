"""Conversations by chance through the plain call, in every shape: what comes back is what the
provider takes, never larger, with every call beside its result."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import kedgeline
from kedgeline.formats.editing import plain_messages
from kedgeline.pipeline.view import problems
from kedgeline.session.loop import Sizes
from kedgeline.tokens import BY_MODEL
from tests.conftest import then_longer
from tests.lists.shapes import SHAPES, talk

IN_A_ROW = " twice"
CHECKED = {"google-genai": "gemini"}
"""Whose rules hold for a shape, where it is not named as its provider."""
WINDOWS = (1_500, 4_000, 12_000)
SHORT, LONG = 8, 30
"""Turns at the most; one history of four is a long one."""


CALLS = ("tool_use", "tool-call", "function_call", "tool_call")
RESULTS = ("tool_result", "tool-return", "function_call_output", "function_result", "tool-result")
IDS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
KINDS = ("type", "part_kind", "block_type")


def ids(messages: list[Any]) -> tuple[list[str], list[str]]:
    """Of calls and of results, wherever a shape has them. Gemini has none."""
    asked: list[str] = []
    told: list[str] = []
    for block in dicts(messages):
        kind = next((block[name] for name in KINDS if block.get(name)), None)
        named = next((str(block[name]) for name in IDS if block.get(name)), "")
        if kind in CALLS:
            asked.append(named)
        elif kind in RESULTS or (kind in ("tool", None) and block.get("tool_call_id")):
            told.append(named)
        asked += [call["id"] for call in block.get("tool_calls") or ()]
        asked += [block["toolUse"]["toolUseId"]] if "toolUse" in block else []
        told += [block["toolResult"]["toolUseId"]] if "toolResult" in block else []
        asked += [block["tool_call"]["id"]] if "tool_call" in block else []
        told += [block["tool_call_result"]["origin"]["id"]] if "tool_call_result" in block else []
    return asked, told


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    inner = value if isinstance(value, list) else []
    if isinstance(value, dict):
        inner = [one for name, one in value.items() if name != "tool_calls"]
    for one in inner:
        yield from dicts(one)


def check(seed: int) -> None:
    random = Random(seed)
    shape = random.choice(list(SHAPES))
    said = talk(random, most=SHORT if seed % 4 else LONG)
    messages = SHAPES[shape](said)
    before, own = plain_messages(messages), {id(one) for one in messages}
    window = random.choice(WINDOWS)
    about = f"seed {seed}, {shape}, window {window}"
    if CHECKED.get(shape, shape) != "gemini":
        made_of = [call.id for one in said.turns for call in one.calls]
        assert ids(before) == (made_of, made_of), about
    found = kedgeline.compact(messages, window, full=True)
    assert plain_messages(messages) == before, f"{about}: the caller's list was changed"
    sent = found.messages
    if not found.compacted:
        assert sent is messages, about
        return
    sizes = Sizes(BY_MODEL)
    assert sizes.of(sent) < sizes.of(messages), about
    made = [one for one in sent if id(one) not in own]
    assert len(made) <= 1 + len(found.compaction.plan.masked), about
    assert {type(one) for one in made} <= {type(one) for one in messages}, about
    plain = plain_messages(sent)
    asked, told = ids(plain)
    assert asked == told, about
    name = CHECKED.get(shape, shape.removesuffix(" objects"))
    if name in ("openai-chat", "anthropic", "openai-responses", "gemini"):
        wrong = [one for one in problems(name, plain) if not one.endswith(IN_A_ROW)]
        assert wrong == [], about
    if shape == "bedrock":
        roles = [one["role"] for one in plain]
        assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))], about
    again = kedgeline.compact(sent, window, full=True)
    assert again.tokens_after <= again.tokens_before, about


@pytest.mark.parametrize(
    "seeds",
    then_longer(
        (range(n, n + 250) for n in range(0, 3_000, 250)),
        (range(n, n + 970) for n in range(3_000, 100_000, 970)),
    ),
)
def test_a_hundred_thousand_histories(seeds: range) -> None:
    for seed in seeds:
        check(seed)
