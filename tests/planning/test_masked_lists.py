"""Masked turns as provider messages: the new text stands there, the old nowhere, all is legal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.model import Masked, Transcript, Turn
from kedgeline.pipeline.read import write
from kedgeline.planning import masking
from kedgeline.planning.masking import applied, giants, maskable
from kedgeline.tokens import Exact
from tests.providers import NAMES, RICH, transcript_of
from tests.strategies import PROVIDERS
from tests.turns import bash, called, turn
from tests.validity import problems

SECRET = "SECRET"
"""Put into every output; no trace of it may be left."""
LINE = "[output of x left out]"
each_provider = pytest.mark.parametrize("name", NAMES)
often = settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])

OUTPUTS = ("tool_result", "functionResponse", "function_response")
CONTENT = ("content", "output", "response")
SHOWN = ("text", "output", "error", "result", "stdout", "stderr", "data", "url", "image_url")


def with_secrets(value: Any, inside: bool = False) -> Any:
    """A list of messages with the secret in everything that a tool gave."""
    if isinstance(value, list):
        return [with_secrets(one, inside) for one in value]
    if not isinstance(value, dict):
        return value
    kind = str(value.get("type"))
    if kind == "computer_call_output":
        return value  # it is not masked: nothing but a picture may stand there
    result = kind in OUTPUTS or kind.endswith("_output") or value.get("role") == "tool"
    return {
        key: _secret(one, key, inside or (result and key in CONTENT) or key in OUTPUTS)
        for key, one in value.items()
    }


def _secret(value: Any, key: str, inside: bool) -> Any:
    if inside and isinstance(value, str) and key in (*SHOWN, *CONTENT):
        return value + SECRET
    return with_secrets(value, inside)


def all_masks(transcript: Transcript) -> Iterator[Masked]:
    """A mask for every output, whatever its age."""
    for one in turns_of(transcript):
        tools = {call.id: call.tool for call in one.tool_calls}
        for result in one.tool_results:
            if tools.get(result.call_id) != "computer":
                yield Masked(
                    turn=one.index,
                    call_id=result.call_id,
                    how="masked",
                    text=LINE,
                    tokens_before=9,
                    tokens_after=5,
                    reason="",
                )


def turns_of(transcript: Transcript) -> tuple[Turn, ...]:
    return (*transcript.turns, *([transcript.pending] if transcript.pending else ()))


def all_masked(transcript: Transcript) -> tuple[Transcript, int]:
    masks = list(all_masks(transcript))
    pending = transcript.pending and applied(transcript.pending, masks)
    turns = tuple(applied(one, masks) for one in transcript.turns)
    return replace(transcript, turns=turns, pending=pending), len(masks)


def check_masked(name: str, messages: list[dict[str, Any]], dropped: int) -> None:
    transcript = transcript_of(name, with_secrets(messages))
    masked, many = all_masked(transcript)
    for other in NAMES:
        check_written(write(masked, to=other).messages, other, lines=many)
    summary = Turn(user_message="What happened so far.", assistant_response="I see.")
    kept = replace(masked, turns=(summary, *masked.turns[dropped:]))
    check_written(write(kept, to=name).messages, name)


def check_written(messages: list[dict[str, Any]], name: str, lines: int | None = None) -> None:
    assert problems(name, messages) == []
    text = json.dumps(messages)
    assert SECRET not in text
    assert lines in (None, text.count(LINE))


@each_provider
def test_no_trace_of_a_masked_output_is_written(name: str) -> None:
    @often
    @given(PROVIDERS[name], st.integers(0, 3))
    def check(messages: list[dict[str, Any]], dropped: int) -> None:
        check_masked(name, messages, dropped)

    check()


CUSTOM = [
    {"role": "user", "content": "go"},
    {"type": "custom_tool_call", "call_id": "c1", "name": "apply", "input": "x"},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    {"role": "assistant", "content": "Done."},
]


@pytest.mark.parametrize(
    ("name", "messages"), [("gemini", RICH["gemini"]), ("openai-responses", CUSTOM)]
)
def test_a_result_without_its_wire_would_be_refused(
    name: str, messages: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the wire its writer needs the type of the item, and whether the call had an id."""
    check_masked(name, messages, 0)
    keeping = masking._replaced
    monkeypatch.setattr(
        masking, "_replaced", lambda result, one: replace(keeping(result, one), wire=None)
    )
    with pytest.raises(AssertionError, match=r"waits for|for calls"):
        check_masked(name, messages, 0)


@each_provider
def test_a_session_masked_and_shortened_is_written_everywhere(name: str) -> None:
    count = Exact().count
    long = "".join(f"{number} lines of the harbour book\n" for number in range(200))
    turns = [turn(0, called("Read", long, file_path="a.py"), user="go")]
    turns += [turn(index, says="hm") for index in range(1, 5)]
    turns.append(turn(5, bash("make", long + "error: no tide\n" + long, exit_code=2)))
    old = list(maskable(turns, count=count, task_from=5))
    large = list(giants(turns, count=count, excess=10**6, taken={(m.turn, m.call_id) for m in old}))
    after = tuple(applied(one, [*old, *large]) for one in turns)
    text = json.dumps(
        write(Transcript(format="plain", turns=after), to=name).messages, ensure_ascii=False
    )
    assert [one.turn for one in (*old, *large)] == [0, 5]
    assert all(json.dumps(m.text, ensure_ascii=False)[1:-1] in text for m in (*old, *large))
    assert "error: no tide" in text
    assert long.splitlines()[100] not in text
