"""Counting: exact where it can be, honest where it cannot."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from msgspec.structs import replace

from kedgeline.errors import UnknownName
from kedgeline.model import Media, ToolCall, ToolResult, Turn
from kedgeline.tokens import (
    BY_MODEL,
    IMAGE_MOST,
    Estimate,
    Exact,
    counter_for,
    counter_named,
    fitting,
    image_size,
    media_tokens,
    tokens_of,
)


@pytest.mark.parametrize(
    ("vocabulary", "text", "expected"),
    [
        # Counts as OpenAI's own tokenizer gives them.
        ("o200k", "hello world", 2),
        ("cl100k", "hello world", 2),
        ("o200k", "antidisestablishmentarianism", 6),
        ("cl100k", "antidisestablishmentarianism", 6),
        ("o200k", "お誕生日おめでとう", 8),
        ("cl100k", "お誕生日おめでとう", 9),
        ("o200k", "2 + 2 = 4", 7),
        ("cl100k", "2 + 2 = 4", 7),
        ("o200k", "", 0),
    ],
)
def test_exact_counts(vocabulary: str, text: str, expected: int) -> None:
    assert Exact(vocabulary).count(text) == expected


def test_half_a_surrogate_pair_is_counted_and_does_not_raise() -> None:
    assert Exact().count("a\ud83db") == Exact().count("a\ufffdb")
    assert Estimate().count("a\ud83db") > 0


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("gpt-4o-mini", "o200k", True),
        ("openai/gpt-5.1-codex", "o200k", True),
        ("o3", "o200k", True),
        ("gpt-4-turbo", "cl100k", True),
        ("gpt-3.5-turbo", "cl100k", True),
        ("claude-opus-4-6", "o200k × 1.21", False),
        ("us.anthropic.claude-opus-4-5-v1:0", "o200k × 1.21", False),
        ("anthropic/claude-sonnet-4-5", "o200k × 1.21", False),
        ("openai/o4-mini", "o200k", True),
        ("marco-o1", "o200k × 1.00", False),
        ("azure/gpt-4o", "o200k", True),
        ("my-gpt-4-deployment", "cl100k", True),
        ("bedrock/openai.gpt-oss-120b", "o200k", True),
        ("models/gemini-2.5-pro", "o200k × 1.00", False),
        ("zo3", "o200k × 1.00", False),
        ("gemini-2.5-pro", "o200k × 1.00", False),
        ("", "o200k × 1.00", False),
    ],
)
def test_every_model_has_a_counter(model: str, name: str, exact: bool) -> None:
    counter = counter_for(model)
    assert (counter.name, counter.exact) == (name, exact)


CODE = "def berth(vessel: Vessel) -> int:\n    return vessel.length // 12 + len(vessel.name)\n" * 40
PROSE = "The harbour master keeps a list of vessels that wait for a berth, and calls them. " * 40


@pytest.mark.parametrize(
    ("text", "off"), [(CODE, 0.2), (PROSE, 0.25), ("港で船が待っている。" * 40, 0.5)]
)
def test_the_estimate_is_near(text: str, off: float) -> None:
    exact = Exact().count(text)
    assert abs(Estimate().count(text) - exact) <= off * exact


def png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return base64.b64encode(head + bytes(3000)).decode()


def jpeg(width: int, height: int) -> str:
    segment = b"\xff\xe0\x00\x10" + bytes(14)
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(12)
    return base64.b64encode(b"\xff\xd8" + segment + frame).decode()


@pytest.mark.parametrize("data", [png(640, 480), jpeg(640, 480)])
def test_images_count_by_their_size(data: str) -> None:
    assert image_size(data) == (640, 480)
    assert media_tokens(Media(kind="image", data=data)) == 640 * 480 // 750


@pytest.mark.parametrize("data", ["", "!!!", "aGVsbG8=", png(10_000, 10_000)])
def test_an_image_of_unknown_or_great_size_counts_the_most(data: str) -> None:
    assert media_tokens(Media(kind="image", data=data)) == IMAGE_MOST


def test_tokens_of_a_turn_by_kind() -> None:
    counter = Exact()
    picture = png(750, 100)
    turn = Turn(
        user_message="hello world",
        assistant_response="hello",
        thinking="hello world",
        tool_calls=(ToolCall(id="c", tool="Read", parameters={"file_path": "a"}),),
        tool_results=(ToolResult(call_id="c", output="hello world", media=(Media(data=picture),)),),
        media=(Media(data=picture),),
    )
    tokens = tokens_of(turn, counter)
    assert (tokens.user, tokens.assistant, tokens.thinking, tokens.tool_output) == (2, 1, 2, 2)
    assert tokens.tool_calls == counter.count("Read") + counter.count('{"file_path":"a"}')
    assert tokens.media == 200
    assert tokens.total == sum((2, 1, 2, 2, tokens.tool_calls, 200))


def test_prose_behind_a_data_url_is_text() -> None:
    """Blanks were taken for base64, and a hundred characters of English counted nothing."""
    prose = "and then the harbour master called the next vessel to the berth at the long pier\n"
    for behind in (f" {prose}", f"\n{prose}", f'"}}\n{prose}'):
        text = f"data:image/png;base64,{png(750, 100)}{behind}"
        tokens = tokens_of(Turn(user_message=text), Exact())
        assert (tokens.user, tokens.media) == (Exact().count(behind), 100)


def test_a_data_url_in_json_output_counts_as_an_image() -> None:
    output = json.dumps([{"image_url": f"data:image/png;base64,{png(750, 100)}"}, "seen"])
    result = ToolResult(call_id="c", output=output)
    tokens = tokens_of(Turn(tool_results=(result,)), Exact())
    assert (tokens.tool_output, tokens.media) == (
        Exact().count('[{"image_url": ""}, "seen"]'),
        100,
    )


def test_an_unknown_counter_says_which_there_are() -> None:
    with pytest.raises(UnknownName, match="model, o200k, cl100k, estimate"):
        counter_named("p50k")
    with pytest.raises(UnknownName, match="o200k, cl100k"):
        Exact("p50k")


def test_a_turn_counts_as_the_model_that_answered_it_has_it() -> None:
    """Whatever model the session goes on with: the same turn counts the same wherever it stands."""
    turn = Turn(assistant_response=PROSE, model="claude-opus-4-5")
    exact = Exact().count(PROSE)
    assert tokens_of(turn, fitting(BY_MODEL, "gpt-4o")).total == round(1.21 * exact)
    assert tokens_of(replace(turn, model=""), fitting(BY_MODEL, "gpt-4o")).total == exact
    assert tokens_of(turn, Exact()).total == exact, "a vocabulary that was chosen holds for all"
