"""Each rule: a list in which it forbids a cut, and what the cut would lose."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from kedgeline.model import Message, Opaque, ToolCall, ToolResult, Turn
from kedgeline.planning import rules
from kedgeline.planning.rules import REACH, Rule, Together, forbidden, rules_for
from tests.planning.cutting import (
    GEMINI_GO,
    GO,
    PIXEL,
    Messages,
    allowed_cuts,
    assistant,
    chat_call,
    chat_result,
    cut_at,
    gemini,
    refused,
    result,
    said_at,
    text,
    turns_of,
    use,
    user,
)
from tests.providers import NAMES, transcript_of, written


def late(steps: int) -> Messages:
    """A job that is answered so many steps after it was begun."""
    between = [m for n in range(steps) for m in (chat_call(f"c{n}"), chat_result(f"c{n}"))]
    return [GO, chat_call("job"), *between, chat_result("job", "all built"), GO]


def function_call(name: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "run", "arguments": "{}"}


def function_output(name: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": "ok"}


def unanswered(nothing: Any) -> Messages:
    asked = {"role": "user", "content": "fix the harbour light"}
    again = {"role": "user", "content": "well?"}
    return [asked, {"role": "assistant", "content": nothing}, again, assistant(text("Fixed."))]


SEALED = {"type": "thinking", "thinking": "two lamps", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
SHOWN = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
SEEN = {"functionResponse": {"id": "a", "name": "read_file", "response": {"output": "seen"}}}
BOTH = [{"functionResponse": {"id": i, "name": "run", "response": {}}} for i in "ab"]


class Case(NamedTuple):
    provider: str
    messages: Messages
    rule: Rule
    cuts: Sequence[int] = (1,)
    """That are refused."""
    lost: str = ""
    """What the last of them would lose."""


CASES = {
    # The cut keeps the result and drops the call. Readers wait 16 turns.
    "langchain#34282": Case(
        "openai-chat", late(20), rules.results_with_calls, range(1, 21), "all built"
    ),
    # A guard that never gives in forgets nothing and loops.
    "software-agent-sdk#1073: late": Case(
        "openai-chat", late(REACH), rules.results_with_calls, range(1, REACH + 1)
    ),
    "software-agent-sdk#1073: much too late": Case(
        "openai-chat", late(REACH + 1), rules.results_with_calls, ()
    ),
    # A result made up for an aborted call outlives the call.
    "openclaw#7527": Case(
        "anthropic",
        [
            GO,
            assistant(use("c1")),
            user(result("c1", "aborted")),
            assistant(text("It was aborted.")),
            user(text("look again"), result("c1", "done after all")),
            assistant(text("Done.")),
        ],
        rules.results_with_calls,
    ),
    # Of parallel calls only the first is signed, and a call that comes first without a signature is
    # refused. odysseus#1909: a batch is split in the middle.
    "js-genai#1275": Case(
        "gemini",
        [
            GEMINI_GO,
            gemini({"functionCall": {"id": "a", "name": "run"}, "thoughtSignature": "c2ln"}),
            gemini({"functionCall": {"id": "b", "name": "run"}}),
            gemini(*BOTH, role="user"),
            gemini({"text": "Done."}),
        ],
        rules.parallel_calls,
        lost="c2ln",
    ),
    # A call is sent back without the thinking it came from. Clients that write a message per block
    # divide them.
    "claude-code#12316": Case(
        "anthropic",
        [GO, assistant(SEALED), assistant(use("c1")), user(result("c1"))],
        rules.thinking_with_calls,
        lost="c2ln",
    ),
    "claude-code#12316, with words": Case(
        "anthropic",
        [GO, assistant(SEALED, text("I will look.")), assistant(use("c1")), user(result("c1"))],
        rules.thinking_with_calls,
        lost="c2ln",
    ),
    # A call without its reasoning item is refused.
    "rig#751": Case(
        "openai-responses",
        [
            GO,
            function_call("a"),
            {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "AAAA"},
            *(function_output("a"), function_call("b"), function_output("b")),
        ],
        rules.thinking_with_calls,
        lost="AAAA",
    ),
    # A result without its `server_tool_use` cannot be sent, not even to be compacted.
    "claude-code#64026: paused": Case(
        "anthropic",
        [GO, assistant(SEARCH), assistant(FOUND, text("Here."))],
        rules.server_tools,
        lost="srv1",
    ),
    "claude-code#64026: code that calls twice": Case(
        "anthropic",
        [
            GO,
            assistant(SEARCH, use("c1")),
            user(result("c1")),
            assistant(use("c2")),
            user(result("c2")),
            assistant(FOUND, text("Here.")),
        ],
        rules.server_tools,
        cuts=(1, 2),
        lost="srv1",
    ),
    "what was to be approved": Case(
        "openai-responses",
        [
            GO,
            {"type": "mcp_approval_request", "id": "ask1", "name": "drop", "arguments": "{}"},
            {"role": "user", "content": "yes"},
            {"type": "mcp_approval_response", "approval_request_id": "ask1", "approve": True},
        ],
        rules.server_tools,
    ),
    "code that Gemini runs": Case(
        "gemini",
        [
            GEMINI_GO,
            gemini({"executableCode": {"language": "PYTHON", "code": "print(1)"}}),
            gemini({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        ],
        rules.server_tools,
    ),
    # Gemini CLI shows a file it read like this; the message goes to two turns.
    "an image beside results": Case(
        "gemini",
        [
            GEMINI_GO,
            gemini({"functionCall": {"id": "a", "name": "read_file"}}),
            gemini(SEEN, SHOWN, role="user"),
            gemini({"text": "A lamp."}),
        ],
        rules.media_with_results,
        lost="read_file",
    ),
    # Tools give screenshots back; in chat only messages of the user hold any.
    "codex#32287": Case(
        "openai-chat",
        [GO, chat_call("c1"), chat_result("c1"), user(IMAGE), chat_call("c2")],
        rules.media_with_results,
    ),
    "an image with words": Case(
        "openai-chat",
        [GO, chat_call("c1"), chat_result("c1"), user(text("as here"), IMAGE), chat_call("c2")],
        rules.media_with_results,
        (),
    ),
    # Behind a compaction the wrong request passes for the current one: the model answered with
    # nothing, and what the user said next is one message with the request.
    "codex#27731": Case("anthropic", unanswered([]), rules.unanswered_words, lost="harbour"),
    "codex#27731, no text": Case("anthropic", unanswered(""), rules.unanswered_words),
    "codex#27731, blank": Case("anthropic", unanswered([text(" ")]), rules.unanswered_words),
}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_forbids_the_cuts_that_would_lose_something(name: str) -> None:
    case = CASES[name]
    assert refused(case.provider, case.messages, case.rule) == [*case.cuts]
    if case.lost:
        assert case.lost in said_at(case.provider, case.messages, 0)
        assert case.lost not in said_at(case.provider, case.messages, case.cuts[-1])


def test_turns_made_by_hand_stay_together() -> None:
    call = Turn(tool_calls=(ToolCall(id="c1", tool="run"),))
    answer = Turn(tool_results=(ToolResult(call_id="c1"),))
    assert list(forbidden([call, Turn(), answer], [rules.results_with_calls])) == [1, 2]
    assert forbidden([answer, call], [rules.results_with_calls]) == {}
    parts = [Turn(message_id=name, tool_calls=(ToolCall(id="c", tool="run"),)) for name in "aba"]
    assert list(forbidden(parts, [rules.parallel_calls])) == [1, 2]
    odd = [Opaque(kind="x", wire=wire) for wire in (None, {}, {"block": 1}, {"block": {"id": 5}})]
    turn = Turn(messages=(Message(role="assistant", parts=tuple(odd)),))
    assert forbidden([turn, turn], [rules.server_tools]) == {}


def test_words_beside_results_can_be_cut_from_them() -> None:
    """One message, two turns: the results go with their call, the words stay."""
    messages = [
        GO,
        assistant(use("c1")),
        user(result("c1", "four"), text("and five?")),
        assistant(text("Five.")),
    ]
    turns = turns_of(transcript_of("anthropic", messages))
    assert allowed_cuts(turns, rules_for("anthropic")) == [0, 1, 2]
    back = written(cut_at(transcript_of("anthropic", messages), 1), "anthropic")
    assert back.messages == [user(text("summary"), text("and five?")), assistant(text("Five."))]
    assert back.left_out == ()


def test_the_cuts_of_all_rules_are_intersected() -> None:
    turns = [Turn() for _ in range(8)]
    some: tuple[Rule, ...] = (
        lambda _: [Together(1, 3, "one"), Together(1, 2, "less"), Together(6, 6, "nothing")],
        lambda _: [Together(2, 5, "two")],
    )
    assert forbidden(turns, some) == {2: "less", 3: "one", 4: "two", 5: "two"}
    assert allowed_cuts(turns, some) == [0, 1, 6, 7, 8]
    assert allowed_cuts([], rules.EVERYWHERE) == [0]


def test_every_provider_has_its_rules_and_others_have_all() -> None:
    assert sorted(rules.RULES) == sorted(NAMES)
    assert rules_for("mistral") == rules.EVERYWHERE
    for name in NAMES:
        assert set(rules_for(name)) <= set(rules.EVERYWHERE)
    assert rules.unanswered_words not in rules_for("openai-chat")


@pytest.mark.torture
def test_bonds_over_the_whole_session_take_one_pass() -> None:
    """Twenty thousand bonds of twenty thousand turns: one by one they would take a minute."""
    turns = [Turn()] * 20_000
    begun = time.process_time()
    cuts = forbidden(turns, [lambda all: [Together(n, 19_999, "all") for n in range(len(all))]])
    assert list(cuts) == list(range(20_000 - REACH, 20_000))
    assert time.process_time() - begun < 5
