"""Each rule: a list in which it forbids a cut, and what the cut would do. What providers run,
images, and words without an answer."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.model import Message, Opaque, Turn
from kedgeline.planning import rules
from kedgeline.planning.rules import forbidden
from tests.planning.cutting import (
    GEMINI_GO,
    GO,
    PIXEL,
    Messages,
    assistant,
    chat_call,
    chat_result,
    gemini,
    refused,
    result,
    said_at,
    text,
    turns_of,
    use,
    user,
)
from tests.providers import transcript_of

# Tools of the provider stay whole.

SEARCH = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}


@pytest.mark.parametrize(
    "between",
    [
        [assistant(SEARCH)],
        [assistant(SEARCH, use("c1")), user(result("c1"))],
        [
            assistant(SEARCH, use("c1")),
            user(result("c1")),
            assistant(use("c2")),
            user(result("c2")),
        ],
    ],
    ids=["paused", "code that calls", "code that calls twice"],
)
def test_a_tool_of_the_provider_stays_with_its_result(between: Messages) -> None:
    """anthropics/claude-code#64026: a result without its `server_tool_use` cannot be sent, not even
    to be compacted."""
    messages = [GO, *between, assistant(FOUND, text("Here."))]
    cuts = list(range(1, len(turns_of(transcript_of("anthropic", messages)))))
    assert refused("anthropic", messages, rules.server_tools) == cuts
    assert "srv1" in said_at("anthropic", messages, 0)
    assert "srv1" not in said_at("anthropic", messages, cuts[-1])


def test_an_approval_stays_with_what_was_to_be_approved() -> None:
    messages = [
        GO,
        {"type": "mcp_approval_request", "id": "ask1", "name": "drop", "arguments": "{}"},
        {"role": "user", "content": "yes"},
        {"type": "mcp_approval_response", "approval_request_id": "ask1", "approve": True},
    ]
    assert refused("openai-responses", messages, rules.server_tools) == [1]


def test_code_that_gemini_runs_stays_with_what_it_printed() -> None:
    messages = [
        GEMINI_GO,
        gemini({"executableCode": {"language": "PYTHON", "code": "print(1)"}}),
        gemini({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
    ]
    assert refused("gemini", messages, rules.server_tools) == [1]


def test_blocks_that_are_not_what_they_should_be_hold_nothing() -> None:
    odd = [Opaque(kind="x", wire=wire) for wire in (None, {}, {"block": 1}, {"block": {"id": 5}})]
    turn = Turn(messages=(Message(role="assistant", parts=tuple(odd)),))
    assert forbidden([turn, turn], [rules.server_tools]) == {}


# Images stay with what they show.


def test_an_image_beside_results_stays_with_the_call_it_comes_from() -> None:
    """Gemini CLI shows a file it read like this; the message goes to two turns."""
    seen = {"functionResponse": {"id": "a", "name": "read_file", "response": {"output": "seen"}}}
    messages = [
        GEMINI_GO,
        gemini({"functionCall": {"id": "a", "name": "read_file"}}),
        gemini(seen, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}, role="user"),
        gemini({"text": "A lamp."}),
    ]
    assert refused("gemini", messages, rules.media_with_results) == [1]
    assert PIXEL in said_at("gemini", messages, 1)
    assert "read_file" not in said_at("gemini", messages, 1)


def test_an_image_behind_results_stays_with_the_call_it_comes_from() -> None:
    """Tools give screenshots back (codex#32287 counts 862 MB of them); in chat only messages of the
    user hold any."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    messages = [GO, chat_call("c1"), chat_result("c1"), user(image), chat_call("c2")]
    assert refused("openai-chat", messages, rules.media_with_results) == [1]
    told = [GO, chat_call("c1"), chat_result("c1"), user(text("like this"), image), chat_call("c2")]
    assert refused("openai-chat", told, rules.media_with_results) == []


# Words that nobody answered stay with the next turn.


@pytest.mark.parametrize("nothing", [[], "", [text(" ")]])
def test_words_with_an_empty_answer_stay_with_the_next_turn(nothing: Any) -> None:
    """codex#27731 and its like: behind a compaction the wrong request passes for the current one.
    The model answered with nothing, and what the user said next is one message with the request."""
    messages = [
        {"role": "user", "content": "fix the harbour light"},
        {"role": "assistant", "content": nothing},
        {"role": "user", "content": "well?"},
        assistant(text("Fixed.")),
    ]
    assert refused("anthropic", messages, rules.unanswered_words) == [1]
    assert "harbour" in said_at("anthropic", messages, 0)
    assert "harbour" not in said_at("anthropic", messages, 1)
