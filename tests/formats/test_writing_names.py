"""Names of tools and ids of calls, where one provider refuses what another allows."""

from __future__ import annotations

import json
import re

import pytest
from msgspec.structs import replace

from kedgeline.model import ToolCall, ToolResult, Transcript, Turn
from tests.providers import NAMES, RICH, transcript_of, written
from tests.validity import problems

each_provider = pytest.mark.parametrize("name", NAMES)
ALLOWED = {
    "anthropic": (r"[a-zA-Z0-9_-]{1,128}", r"[a-zA-Z0-9_-]+"),
    "gemini": (r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}", r".+"),
    "openai-chat": (r"[a-zA-Z0-9_-]{1,64}", r".+"),
    "openai-responses": (r"[a-zA-Z0-9_-]{1,64}", r".+"),
}
ODD = ("files.read/all", "9:lives", "n" * 200, "")


@each_provider
def test_names_and_ids_of_others_become_legal(name: str) -> None:
    """Providers refuse a whole request for one dot in the name of a tool or the id of a call."""
    ids = ("a.b", "a:b", "a_b", "functions.read:0")
    calls = tuple(ToolCall(id=i, tool=t) for i, t in zip(ids, ODD, strict=True))
    results = tuple(ToolResult(call_id=i, output=f"for {i}") for i in reversed(ids))
    turn = Turn(user_message="go", tool_calls=calls, tool_results=results)
    back = written(Transcript(format="claude-code", turns=(turn, turn)), name)
    assert problems(name, back.messages) == []
    names, allowed_ids = ALLOWED[name]
    read = transcript_of(name, back.messages).turns
    for again in read:
        assert all(re.fullmatch(names, call.tool) for call in again.tool_calls)
        assert all(re.fullmatch(allowed_ids, call.id) for call in again.tool_calls)
        answers = [again.result_of(call) for call in again.tool_calls]
        assert [answer and answer.output for answer in answers] == [f"for {i}" for i in ids]
    assert len({call.id for again in read for call in again.tool_calls}) == 2 * len(ids)
    about = [left.partition(" that ")[0] for left in back.left_out]
    assert about == ["names of tools", *(["ids of calls"] if name == "anthropic" else [])]


@each_provider
def test_names_and_ids_of_its_own_stay(name: str) -> None:
    """Servers that speak a provider's language take more than it does."""
    messages = json.loads(
        json.dumps(RICH[name]).replace('"c1"', '"f.x:0"').replace('"run"', '"f.x"')
    )
    assert written(transcript_of(name, messages), name).messages == messages
    assert written(transcript_of(name, messages), name).left_out == ()
    left = transcript_of(name, messages[1:2])
    follows = replace(left, turns=(*left.turns, Turn(user_message="on")))
    assert '"f.x' in json.dumps(written(follows, name).messages)
