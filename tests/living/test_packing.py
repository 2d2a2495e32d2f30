"""Values as bytes and back: equal, whatever is in them, and each large text kept once."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.model import Source, ToolCall, ToolResult, Turn
from kedgeline.session.archive import (
    LARGE,
    Damaged,
    as_bytes,
    compressed,
    content_id,
    decompressed,
    hash_of,
    packed,
    references,
    unpacked,
)
from kedgeline.session.journal import PLACED
from tests.living.sessions import folding, steps
from tests.providers import transcript_of
from tests.strategies import PROVIDERS

ODD_STRINGS = (
    "\ud800",
    "a\udfffb",
    "\0",
    "\0@",
    "\0=",
    "\0@" + "a" * 64,
    "x" * (LARGE - 1),
    "x" * LARGE,
    "x" * (LARGE + 1),
    "\ud834" * LARGE,
    "漢" * LARGE,
    "\0" + "y" * LARGE,
    "",
    '"\\\x7f\u2028',
)
texts = st.one_of(st.text(max_size=20), st.sampled_from(ODD_STRINGS))
numbers = st.one_of(
    st.integers(),
    st.sampled_from((1 << 64, -(1 << 63) - 1, 10**40, (1 << 64) - 1, -(1 << 63))),
    st.floats(),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)
turns = st.builds(
    lambda text, given, output, number: Turn(
        index=number,
        user_message=text,
        assistant_response=output,
        tool_calls=(ToolCall(id=text or "a", tool=output[:9], parameters=given),),
        tool_results=(ToolResult(call_id=text or "a", output=output, error=text),),
        messages=(),
        source=Source(first=number),
    ),
    texts,
    st.dictionaries(texts, values, max_size=4),
    texts,
    st.integers(0, 1 << 40),
)


def same(one: Any, other: Any) -> bool:
    """Equal, and NaN is NaN."""
    return _told(one) == _told(other)


def _told(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value))


def again(value: Any) -> Any:
    made = packed(value)
    return unpacked(made.data, type(value), made.blobs.get)


@settings(max_examples=300)
@given(turns)
def test_a_turn_comes_back_equal_whatever_is_in_it(turn: Turn) -> None:
    """T-D: CC#56064, context-mode#903: half a surrogate pair bricks a session elsewhere."""
    assert same(again(turn), turn)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_whole_transcripts_and_compactions_come_back_equal(provider: str) -> None:
    @settings(max_examples=25)
    @given(PROVIDERS[provider])
    def check(messages: list[dict[str, Any]]) -> None:
        transcript = transcript_of(provider, messages)
        assert again(transcript) == transcript
        made = folding(transcript, None, keep=1)
        assert again(made) == made

    check()


def test_deep_nesting_comes_back() -> None:
    deep: Any = "\ud800"
    for _ in range(200):
        deep = {"\0@": [deep]}
    turn = Turn(tool_calls=(ToolCall(id="a", tool="b", parameters=deep),))
    assert again(turn) == turn


def test_equal_texts_are_kept_once() -> None:
    text = "z" * LARGE
    turn = Turn(
        user_message=text,
        assistant_response=text,
        tool_results=tuple(ToolResult(call_id=str(n), output=text) for n in range(5)),
    )
    made = packed(turn)
    hash = hash_of(as_bytes(text))
    assert list(made.blobs) == [hash] == list({found for _, found in references(made.data)})
    assert decompressed(made.blobs[hash]) == as_bytes(text)
    assert packed(replace(turn, index=7)).blobs.keys() == made.blobs.keys()


@given(turns, st.integers(0, 9), st.integers(0, 9))
def test_the_content_id_is_independent_of_the_place(turn: Turn, index: int, tokens: int) -> None:
    moved = replace(
        turn,
        index=index,
        exchange=tokens,
        tokens=tokens,
        session=index,
        previous_error=True,
        source=Source(first=index),
    )
    made = content_id(turn, beside=PLACED)
    assert content_id(moved, beside=PLACED) == made == packed(moved, beside=PLACED).id


CHANGED: dict[str, Any] = {
    "user_message": "other",
    "assistant_response": "other",
    "thinking": "other",
    "tool_calls": (ToolCall(id="other", tool="x"),),
    "tool_results": (ToolResult(call_id="other"),),
    "agent": "other",
    "model": "other",
    "message_id": "other",
    "timestamp": "2026-01-01T00:00:00Z",
    "notes": ({"type": "note", "kind": "hook", "text": "n"},),
    "media": ({"type": "media", "url": "u"},),
    "usage": {"input": 1},
    "messages": ({"role": "user", "parts": [{"type": "text", "text": "t"}]},),
}


@pytest.mark.parametrize("field", sorted(set(Turn.__struct_fields__) - set(PLACED)))
def test_the_content_id_depends_on_all_that_is_said(field: str) -> None:
    plain = Turn(user_message="a", assistant_response="b")
    changed = msgspec.convert({**msgspec.to_builtins(plain), field: CHANGED[field]}, Turn)
    assert content_id(changed, beside=PLACED) != content_id(plain, beside=PLACED)


def test_a_text_that_looks_like_a_reference_is_no_reference() -> None:
    text = "y" * LARGE
    there = packed(Turn(user_message=text))
    forged = "\0@" + hash_of(as_bytes(text))
    made = packed(Turn(user_message=forged))
    assert unpacked(made.data, Turn, there.blobs.get).user_message == forged
    assert list(references(made.data)) == []


def _ways(data: bytes) -> list[bytes]:
    """A packed value damaged in each byte, cut at each, and as something else altogether."""
    flipped = [data[:n] + bytes([data[n] ^ 0x41]) + data[n + 1 :] for n in range(len(data))]
    inner = decompressed(data)
    other = [compressed(inner[:n]) for n in range(0, len(inner), 7)]
    wrong = [compressed(b""), compressed(b"1"), compressed(b'1"a"'), compressed(b"2[NaN]")]
    wrong += [compressed(b"1\xff\xfe"), compressed(b'1{"index":"x"}'), compressed(b"3{}")]
    return [
        *flipped,
        *(data[:n] for n in range(len(data))),
        *other,
        *wrong,
        b"",
        b"\x28\xb5\x2f\xfd",
    ]


def test_damaged_bytes_say_so_and_never_give_another_value() -> None:
    """CC#49876, CC#50347: a damaged record is reported, and nothing else comes of it."""
    turn = steps(3)[2]
    for damaged in _ways(packed(turn).data):
        try:
            found = unpacked(damaged, Turn, {}.get)
        except Damaged:
            continue
        assert found == turn, damaged


def test_a_blob_that_is_gone_or_damaged_says_so() -> None:
    made = packed(Turn(user_message="y" * LARGE))
    [blob] = made.blobs.values()
    flipped = blob[:9] + bytes([blob[9] ^ 1]) + blob[10:]
    other = compressed(b"z" * LARGE)
    for damaged in (None, blob[:-1], b"", flipped, other, compressed(b"\xff")):
        with pytest.raises(Damaged):
            unpacked(made.data, Turn, lambda hash, damaged=damaged: damaged)  # type: ignore[misc]


def test_a_size_that_nobody_wrote_is_not_unpacked() -> None:
    bomb = zstandard.ZstdCompressor().compress(b"1" + b"0" * 100)
    with pytest.raises(Damaged):
        unpacked(bomb[:4], Turn, {}.get)
