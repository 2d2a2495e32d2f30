"""What stands only in the events of a Codex rollout: reasoning, token counts, rollbacks."""

from __future__ import annotations

import pytest

from kedgeline.model import Thinking, Usage
from tests.formats.codex_rollout import (
    call,
    event,
    output,
    reasoning,
    record,
    said,
    session,
    tokens,
    user,
)
from tests.formats.handmade import notes


def test_events_that_repeat_items_are_not_read_twice() -> None:
    was = session(
        user("hello"),
        event("user_message", message="hello"),
        event("agent_reasoning", text="a greeting"),
        event("agent_message", message="Hi."),
        reasoning("a greeting"),
        said("Hi."),
    )
    (turn,) = was.turns
    assert (turn.user_message, turn.assistant_response) == ("hello", "Hi.")
    assert turn.thinking == "a greeting"


@pytest.mark.parametrize("behind", [False, True], ids=["before the item", "behind it"])
def test_a_sealed_reasoning_item_gets_the_text_the_event_told(behind: bool) -> None:
    told, sealed = event("agent_reasoning", text="in the open"), reasoning()
    was = session(user("go"), *((sealed, told) if behind else (told, sealed)), said("Gone."))
    thought = [p for m in was.turns[0].messages for p in m.parts if isinstance(p, Thinking)]
    assert thought == [Thinking(text="in the open", signature="seal")]


def test_reasoning_of_an_answer_that_was_interrupted_is_kept() -> None:
    """The client writes the items only once the answer is complete."""
    was = session(
        user("go"),
        event("agent_reasoning", text="half a thought"),
        event("turn_aborted", reason="interrupted"),
        user("stop that"),
        said("Stopped."),
    )
    assert [t.thinking for t in was.turns] == ["half a thought", ""]
    assert notes(was.turns[1], "interruption") == ["interrupted"]


@pytest.mark.parametrize("behind", [False, True], ids=["before the items", "behind them"])
def test_a_token_count_goes_to_its_own_answer(behind: bool) -> None:
    first, second = tokens(100, 60, 5, total=105), tokens(200, 150, 7, total=312)
    one, two = [call("c1")], [said("Done.")]
    answers = (*one, first, output("c1"), *two, second)
    if not behind:
        answers = (first, record("turn_context"), *one, output("c1"), second, *two)
    was = session(user("go"), *answers)
    assert [t.usage for t in was.turns] == [
        Usage(input=40, output=5, cache_read=60),
        Usage(input=50, output=7, cache_read=150),
    ]


def test_a_count_that_repeats_the_last_one_is_nobodys() -> None:
    """Clients write the last count again whenever a rate limit changes."""
    count = tokens(100, 60, 5, total=105)
    was = session(user("a"), count, said("A."), user("b"), count, said("B."))
    assert [t.usage is None for t in was.turns] == [False, True]


def test_an_interruption_that_stands_as_message_and_event_is_noted_once() -> None:
    marker = user("<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>")
    was = session(
        user("a"),
        said("A."),
        marker,
        event("turn_aborted", reason="interrupted"),
        user("b"),
        said("B."),
    )
    assert len(notes(was.turns[1], "interruption")) == 1
    assert was.turns[1].user_message == "b"


def test_requests_that_were_rolled_back_no_longer_stand() -> None:
    was = session(
        user("a"), said("A."),
        user("b"), call("c1"), output("c1"), said("B."),
        event("thread_rolled_back", num_turns=1),
        user("c"), said("C."),
    )  # fmt: skip
    assert [(t.user_message, t.exchange) for t in was.standing()] == [("a", 0), ("c", 1)]
    assert was.log.rewound == 2


def test_rolling_back_one_of_two_unanswered_requests_keeps_the_other() -> None:
    """Both were interrupted before an answer came; only the last was taken back."""
    was = session(
        user("a"), said("A."),
        user("keep this"), event("turn_aborted", reason="interrupted"),
        user("not this"), event("thread_rolled_back", num_turns=1),
        user("and this"), said("B."),
    )  # fmt: skip
    assert [t.user_message for t in was.standing()] == ["a", "keep this\n\nand this"]
