"""Bonds that follow each other without end: a session can be cut all the same.

Computer use puts a screenshot behind every result, some clients never write results down, some
write them one turn late. Each bond is short; together they would hold a whole session.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import Budget, Media, Message, Opaque, ToolCall, ToolResult, Turn
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.read import counted
from kedgeline.pipeline.view import view
from kedgeline.planning import make_plan, rules
from kedgeline.planning.making import bounds
from kedgeline.planning.rules import REACH, Together, forbidden, rules_for
from kedgeline.tokens import Estimate
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
    result,
    text,
    turns_of,
    use,
    user,
)
from tests.providers import NAMES, transcript_of, written
from tests.turns import bash, turn
from tests.validity import problems

ESTIMATE = Estimate()
STEPS = 60
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
URL = f"data:image/png;base64,{PIXEL}"
SEALED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def steps(*each: Any) -> Messages:
    """The messages that `each` makes of a number, over and over."""
    return [make(n) for n in range(STEPS) for make in each]


CHAINS: dict[str, tuple[str, Messages]] = {
    "screenshots beside results": (
        "anthropic",
        [
            GO,
            *steps(
                lambda n: assistant(use(f"c{n}")), lambda n: user(result(f"c{n}", "clicked"), IMAGE)
            ),
        ],
    ),
    "screenshots behind results": (
        "openai-chat",
        [
            GO,
            *steps(
                lambda n: chat_call(f"c{n}"),
                lambda n: chat_result(f"c{n}"),
                lambda n: user({"type": "image_url", "image_url": {"url": URL}}),
            ),
        ],
    ),
    "files that a tool read": (
        "gemini",
        [
            GEMINI_GO,
            *steps(
                lambda n: gemini({"functionCall": {"id": f"c{n}", "name": "look"}}),
                lambda n: gemini(
                    {"functionResponse": {"id": f"c{n}", "name": "look", "response": {}}},
                    {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
                    role="user",
                ),
            ),
        ],
    ),
    "results one turn late": (
        "openai-chat",
        [
            GO,
            chat_call("c-1"),
            *steps(lambda n: chat_call(f"c{n}"), lambda n: chat_result(f"c{n - 1}")),
        ],
    ),
    "words that nobody answers": (
        "anthropic",
        [
            GO,
            *steps(
                lambda n: assistant(text(" ")),
                lambda n: user(text(f"are you there, {n}?")),
            ),
            assistant(text("Yes.")),
        ],
    ),
    "thinking alone": (
        "anthropic",
        [GO, *steps(lambda n: assistant(SEALED)), assistant(use("c1")), user(result("c1"))],
    ),
    "tools of the provider": (
        "anthropic",
        [
            GO,
            assistant({"type": "server_tool_use", "id": "s0", "name": "web_search", "input": {}}),
            *steps(
                lambda n: assistant(
                    {"type": "web_search_tool_result", "tool_use_id": f"s{n}", "content": []},
                    {
                        "type": "server_tool_use",
                        "id": f"s{n + 1}",
                        "name": "web_search",
                        "input": {},
                    },
                )
            ),
        ],
    ),
}
each_chain = pytest.mark.parametrize("chain", CHAINS)


def longest(cuts: list[int]) -> int:
    """How many cuts in a row are not allowed at the most."""
    return max(after - cut - 1 for cut, after in pairwise(cuts))


@each_chain
def test_a_chain_of_bonds_leaves_a_place_to_cut(chain: str) -> None:
    provider, messages = CHAINS[chain]
    turns = turns_of(transcript_of(provider, messages))
    held = {bond.last for rule in rules_for(provider) for bond in rule(turns)}
    assert len(held) > REACH
    assert longest(allowed_cuts(turns, rules_for(provider))) <= REACH


@each_chain
def test_a_chain_is_taken_wherever_it_is_cut(chain: str) -> None:
    """The writer closes what a bond that gave way leaves open."""
    provider, messages = CHAINS[chain]
    transcript = transcript_of(provider, messages)
    found = [
        (to, cut, problem)
        for to in NAMES
        for cut in allowed_cuts(turns_of(transcript), rules_for(to))
        if 0 < cut <= len(transcript.turns)
        for problem in problems(to, written(cut_at(transcript, cut), to).messages)
    ]
    assert found == []


@pytest.mark.parametrize("chain", ["screenshots beside results", "screenshots behind results"])
def test_screenshots_are_folded_and_the_request_is_said_again(chain: str) -> None:
    """Sixty steps, 82,087 tokens in a window of 32,000, stayed 82,087; and the request was taken to
    be the last screenshot."""
    provider, messages = CHAINS[chain]
    messages = [{"role": "user", "content": "Book the flight"}, *messages[1:]]
    transcript = counted(transcript_of(provider, messages), ESTIMATE)
    budget = Budget(target=800, usable=1_600)
    made = compact(transcript, budget, provider=provider, counter=ESTIMATE)
    assert made.plan.cut == len(transcript.turns) - budget.recent_turns
    assert [(one.turn, one.what) for one in made.plan.repeated] == [(0, "request")]
    lead = view(transcript, made).turns[0]
    assert (lead.user_message, lead.media) == ("Book the flight", ())


# Which bond gives way.


def test_the_weakest_bond_of_a_chain_gives_way() -> None:
    """The strong rule comes first, as in the tables."""
    turns = [Turn()] * 80

    def strong(_: Any) -> list[Together]:
        return [Together(n, n + 1, "strong") for n in range(79) if n not in (20, 50)]

    def weak(_: Any) -> list[Together]:
        return [Together(20, 21, "weak"), Together(50, 51, "weak")]

    assert allowed_cuts(turns, [strong, weak]) == [0, 21, 51, 80]


def test_half_of_a_tool_of_the_provider_is_the_last_thing_to_be_lost() -> None:
    """A paused tool in the middle of sixty screenshots."""
    block = {"id": "s1"}
    answer = {"tool_use_id": "s1"}
    turns = [
        Turn(
            index=n,
            tool_calls=(ToolCall(id=f"c{n}", tool="click"),),
            tool_results=(ToolResult(call_id=f"c{n}"),),
            media=(Media(data=PIXEL),),
        )
        for n in range(STEPS)
    ]
    for n, wire in ((30, block), (33, answer)):
        part = Opaque(kind="server_tool_use", wire={"block": wire})
        turns[n] = replace(turns[n], messages=(Message(role="assistant", parts=(part,)),))
    assert sorted(forbidden(turns, rules.EVERYWHERE)) == [31, 32, 33]


# Turns in flight.


def never_answered(count: int) -> list[Turn]:
    return [
        Turn(index=n, tokens=100, tool_calls=(ToolCall(id=f"c{n}", tool="Bash"),))
        for n in range(count)
    ]


def test_a_client_that_writes_no_results_down_does_not_stop_progress() -> None:
    assert make_plan(never_answered(200), [], Budget()).cut == 197
    few = make_plan(never_answered(REACH), [], Budget())
    assert few.nothing_to_do
    assert few.reason == f"all {REACH} turns wait for results of their calls"


def test_a_result_that_came_one_turn_late_is_not_waited_for() -> None:
    late = [
        Turn(
            index=n,
            tokens=100,
            tool_calls=(ToolCall(id=f"c{n}", tool="Bash"),),
            tool_results=(ToolResult(call_id=f"c{n - 1}"),),
        )
        for n in range(20)
    ]
    assert bounds(late, Budget(recent_turns=1)).latest == 19


# A rule gives way where otherwise nothing could be sent.


def few_screenshots() -> list[Turn]:
    """Fewer than a chain may have: 20 steps with 2,000 tokens each."""
    steps = [turn(n, bash("click"), media=(Media(data=PIXEL),), tokens=2_000) for n in range(20)]
    return [replace(steps[0], user_message="Book the flight"), *steps[1:]]


def test_in_a_window_that_is_too_small_the_weakest_rule_gives_way() -> None:
    plan = make_plan(few_screenshots(), [], Budget(usable=12_000, target=8_000, summary=500))
    assert plan.cut == 17
    assert plan.reason.endswith("a rule gave way: an image or file that a tool gave back")


def test_in_a_window_that_is_large_enough_no_rule_gives_way() -> None:
    plan = make_plan(few_screenshots(), [], Budget(usable=50_000, target=8_000, summary=500))
    assert plan.nothing_to_do
    assert plan.over_budget
    assert plan.reason.endswith("cannot be parted: an image or file that a tool gave back")


def test_a_stronger_rule_holds_where_a_weaker_one_gives_way() -> None:
    steps = few_screenshots()
    job, done = bash("make")
    steps[15] = replace(steps[15], tool_calls=(*steps[15].tool_calls, job))
    steps[18] = replace(steps[18], tool_results=(*steps[18].tool_results, done))
    plan = make_plan(steps, [], Budget(usable=12_000, target=8_000, summary=500))
    assert plan.cut == 15
