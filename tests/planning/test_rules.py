"""Each rule: a list in which it forbids a cut, and what the cut would do. Calls and thinking."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.planning import rules
from kedgeline.planning.rules import REACH, Rule, Together, forbidden, rules_for
from tests.planning.cutting import (
    GEMINI_GO,
    GO,
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

# Tool calls stay with their results.


def late(steps: int) -> Messages:
    """A job that is answered so many steps after it was begun."""
    between = [m for n in range(steps) for m in (chat_call(f"c{n}"), chat_result(f"c{n}"))]
    return [GO, chat_call("job"), *between, chat_result("job", "all built"), GO]


def test_a_result_that_comes_late_stays_with_its_call() -> None:
    """langchain#34282: the cut keeps the result and drops the call. Readers wait 16 turns."""
    messages = late(20)
    [turn] = [t for t in turns_of(transcript_of("openai-chat", messages)) if t.index == 20]
    assert [one.call_id for one in turn.tool_results] == ["c19", "job"]
    assert refused("openai-chat", messages, rules.results_with_calls) == list(range(1, 21))
    assert "all built" in said_at("openai-chat", messages, 0)
    assert "all built" not in said_at("openai-chat", messages, 1)


def test_a_result_that_comes_much_too_late_does_not_hold_up_everything() -> None:
    """OpenHands/software-agent-sdk#1073: a guard that never gives in forgets nothing and loops."""
    assert refused("openai-chat", late(REACH), rules.results_with_calls) == list(
        range(1, REACH + 1)
    )
    assert refused("openai-chat", late(REACH + 1), rules.results_with_calls) == []


def test_a_second_result_stays_with_the_call_that_was_answered_before() -> None:
    """openclaw#7527: a result made up for an aborted call outlives the call."""
    messages = [
        GO,
        assistant(use("c1")),
        user(result("c1", "aborted")),
        assistant(text("It was aborted.")),
        user(text("look again"), result("c1", "done after all")),
        assistant(text("Done.")),
    ]
    assert refused("anthropic", messages, rules.results_with_calls) == [1]


def test_calls_and_results_in_turns_made_by_hand_stay_together() -> None:
    call = Turn(tool_calls=(ToolCall(id="c1", tool="run"),))
    answer = Turn(tool_results=(ToolResult(call_id="c1"),))
    assert list(forbidden([call, Turn(), answer], [rules.results_with_calls])) == [1, 2]
    assert forbidden([answer, call], [rules.results_with_calls]) == {}


# Parallel calls stay together.


def test_calls_that_were_open_at_the_same_time_stay_together() -> None:
    """googleapis/js-genai#1275: of parallel calls only the first is signed, and a call that comes
    first without a signature is refused. odysseus#1909: a batch is split in the middle."""
    answers = [{"functionResponse": {"id": i, "name": "run", "response": {}}} for i in "ab"]
    messages = [
        GEMINI_GO,
        gemini({"functionCall": {"id": "a", "name": "run"}, "thoughtSignature": "c2ln"}),
        gemini({"functionCall": {"id": "b", "name": "run"}}),
        gemini(*answers, role="user"),
        gemini({"text": "Done."}),
    ]
    assert refused("gemini", messages, rules.parallel_calls) == [1]
    assert "c2ln" not in said_at("gemini", messages, 1)


def test_one_message_in_several_turns_stays_together() -> None:
    parts = [Turn(message_id=name, tool_calls=(ToolCall(id="c", tool="run"),)) for name in "aba"]
    assert list(forbidden(parts, [rules.parallel_calls])) == [1, 2]


# Thinking stays with what follows from it.

SEALED = {"type": "thinking", "thinking": "two lamps", "signature": "c2ln"}


@pytest.mark.parametrize("words", [(), (text("I will look."),)])
def test_thinking_in_a_message_of_its_own_stays_with_the_call(words: Sequence[Any]) -> None:
    """anthropics/claude-code#12316: a call is sent back without the thinking it came from. Clients
    that write a message per block divide them."""
    messages = [GO, assistant(SEALED, *words), assistant(use("c1")), user(result("c1"))]
    assert refused("anthropic", messages, rules.thinking_with_calls) == [1]
    assert "c2ln" in said_at("anthropic", messages, 0)
    assert "c2ln" not in said_at("anthropic", messages, 1)


def test_reasoning_before_a_late_output_stays_with_the_call_behind_it() -> None:
    """0xPlaygrounds/rig#751: a call without its reasoning item is refused."""

    def call(name: str) -> dict[str, Any]:
        return {"type": "function_call", "call_id": name, "name": "run", "arguments": "{}"}

    messages = [
        GO,
        call("a"),
        {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "AAAA"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
        call("b"),
        {"type": "function_call_output", "call_id": "b", "output": "ok"},
    ]
    assert refused("openai-responses", messages, rules.thinking_with_calls) == [1]
    assert "AAAA" in said_at("openai-responses", messages, 0)
    assert "AAAA" not in said_at("openai-responses", messages, 1)


# The rules together.


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
