"""Questions that wait, and what answered them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.decisions import (
    SHOWN,
    QuestionExtractor,
    answers_in,
    question_at_end,
    question_of_user,
)
from kedgeline.model import Asked, ToolCall, Turn
from tests.facts.todo_calls import approved, refused, seen
from tests.turns import bash, called, turn

WHICH = {"question": "Which store?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]}


def asked(*turns: Turn) -> list[Asked]:
    return seen(QuestionExtractor(Setting()), *turns)


def told(*turns: Turn) -> list[tuple[int, str, str, str]]:
    return [(fact.turn, fact.by, fact.question, fact.answer) for fact in asked(*turns)]


def test_a_users_question_waits_for_the_closing_answer():
    found = told(
        turn(0, bash("ls"), user="fix it. why is it slow?", says="Let me look."),
        turn(1, bash("ls"), says="Now the cache."),
        turn(2, says="Good question. The cache is never filled. It should be."),
    )

    assert found == [
        (0, "user", "why is it slow?", ""),
        (2, "agent", "why is it slow?", "The cache is never filled. It should be."),
    ]


def test_a_question_is_answered_once():
    found = told(
        turn(0, bash("ls"), user="why is it slow?"),
        turn(1, says="It reads everything twice."),
        turn(2, says="And the index is missing too."),
    )

    assert len(found) == 2


def test_one_that_is_answered_at_once_never_waits():
    assert told(turn(0, user="is it done?", says="Yes. All of it.")) == [
        (0, "agent", "is it done?", "Yes. All of it.")
    ]


def test_the_open_and_the_answered_question_share_a_key():
    first, second = asked(
        turn(0, bash("ls"), user="Why is it  slow ?"), turn(1, says="It reads everything twice.")
    )

    assert first.key == second.key == "why is it slow"


def test_a_long_text_before_calls_answers_too():
    answer = "The cache is never filled because nobody calls it. " * 10

    assert told(turn(0, bash("ls"), user="why is it slow?", says=answer))[0][3]


def test_a_question_back_answers_nothing():
    found = told(turn(0, user="why is it slow?", says="Which page do you mean?"))

    assert found == [
        (0, "user", "why is it slow?", ""),
        (0, "agent", "Which page do you mean?", ""),
    ]


def test_a_plan_answers_which_way_to_go():
    found = told(
        turn(0, bash("ls"), user="which tests would you write"),
        turn(1, refused(approved("# Plan: Two tests\n"), "one is enough")),
    )

    assert found == [
        (0, "user", "which tests would you write", ""),
        (1, "agent", "which tests would you write", "A plan: Two tests"),
        (1, "user", "Approve the plan: Two tests?", "one is enough"),
    ]


def test_the_user_who_goes_on_leaves_the_question_behind():
    found = told(
        turn(0, bash("ls"), user="why is it slow?"),
        turn(1, bash("ls"), user="never mind, log it", exchange=1),
    )

    assert found[1:] == [(1, "user", "why is it slow?", "never mind, log it")]


def test_a_remark_in_the_same_exchange_does_not():
    found = told(
        turn(0, bash("ls"), user="why is it slow?"),
        turn(1, bash("ls"), user="and mind the cache"),
        turn(2, says="It reads everything twice."),
    )

    assert found[1:] == [(2, "agent", "why is it slow?", "It reads everything twice.")]


def test_a_newer_question_takes_the_place_of_the_last():
    found = told(
        turn(0, bash("ls"), user="why is it slow?"),
        turn(1, bash("ls"), user="is there an index?"),
    )

    assert found[1:] == [
        (1, "user", "why is it slow?", "is there an index?"),
        (1, "user", "is there an index?", ""),
    ]


def test_a_question_inside_a_refusal_is_the_users():
    found = told(
        turn(0, refused(bash("rm -r x"), "what would that delete?")),
        turn(1, says="Only the cache folder."),
    )

    assert found == [
        (0, "user", "what would that delete?", ""),
        (1, "agent", "what would that delete?", "Only the cache folder."),
    ]


def test_pending_words_are_a_question_that_waits():
    assert told(turn(5, user="what is left?")) == [(5, "user", "what is left?", "")]


@pytest.mark.parametrize(
    "words",
    [
        "please fix it",
        "can you fix it?",
        "when it fails, could you also log it?",
        "let's try it?",
        "what a mess!",
        "Which is what we have now.",
        "```\nwhy?\n```",
        "?",
        "",
    ],
)
def test_words_that_ask_for_no_answer(words: str):
    assert question_of_user(words) == ""


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("fine. which one is faster", "which one is faster"),
        ("can you explain why it is slow?", "can you explain why it is slow?"),
        ("how can we know?", "how can we know?"),
        ("It reads it twice, right?", "It reads it twice, right?"),
        ("It reads it twice. Right?", "It reads it twice. Right?"),
        ("what's up with a.py?", "what's up with a.py?"),
    ],
)
def test_words_that_do(words: str, question: str):
    assert question_of_user(words) == question


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("didn't ```\nx y\n``` this one work?", "didn't … this one work?"),
        ("didn't ```\nx\n```\nthis one work?", "didn't … this one work?"),
        ("didn't\n```\nx\n```\n\nthis one work?", "didn't … this one work?"),
        ("I get:\n```\nx\n```\nwhy?", "I get: … why?"),
        ("I get:\n\n```\nx\n```\n\nwhy?", "I get: … why?"),
        ("didn't\n\n$ make\n```\nx\n```\nthis one work?", "this one work?"),
        ("See it. ```x\ny``` is this one right?", "… is this one right?"),
        ("I get this.\n```\nx\n```\nwhat does it mean?", "what does it mean?"),
        ("I ran this\n```\nx\n```\nWhat does it mean?", "What does it mean?"),
        ("is\n\nnot it.\n```\nx\n```\nthis one right?", "this one right?"),
        ("Look. ```x``` is this one right?", "… is this one right?"),
        ("could you ```\nx\n``` run this one?", ""),
    ],
)
def test_a_question_around_a_block_of_code_keeps_its_words(words: str, question: str):
    assert question_of_user(words) == question


def test_a_closing_question_waits_for_the_users_next_words():
    found = told(
        turn(0, says="It is built. Should I commit it?"),
        turn(1, bash("git commit -m x"), user="yes, and push", exchange=1),
    )

    assert found == [
        (0, "agent", "Should I commit it?", ""),
        (1, "user", "Should I commit it?", "yes, and push"),
    ]


def test_a_turn_that_goes_on_asks_nobody():
    assert told(turn(0, bash("ls"), says="Does it exist?")) == []


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Which do you prefer?\n1. SQLite\n2. Postgres", "Which do you prefer?"),
        ("I see two ways.\n\nShall I go on? Or stop?", "Shall I go on? Or stop?"),
        ("1. Keep it?\n2. **Drop it?**", "Keep it? Drop it?"),
        ("Why is it slow? Nobody fills the cache.", ""),
        ("Is there anything else I can help you with?", ""),
        ("```\nready?\n```", ""),
        ("Done.", ""),
    ],
)
def test_how_answers_close(answer: str, question: str):
    assert question_at_end(answer) == question


def test_a_tools_question_is_answered_by_its_result():
    output = 'User has answered your questions: "Which store?"="SQLite". You can now continue.'

    assert told(turn(0, called("AskUserQuestion", output, questions=[WHICH]))) == [
        (0, "user", "Which store? (SQLite / Postgres)", "SQLite")
    ]


def test_several_questions_have_an_answer_each():
    questions = [WHICH, {"question": 'Say "when"?'}, {"question": "Where?"}]
    output = 'Answers: "Which store?"="SQLite, plain", "Where?"="here". You can now continue.'
    call = ToolCall(id="c", tool="question", parameters={"questions": questions})

    assert answers_in(call, output) == ("SQLite, plain", "", "here")


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ({"questions": [{"id": "q", **WHICH}]}, {"answers": {"q": {"answers": ["SQLite"]}}}),
        ({"questions": [WHICH]}, {"answers": {"0": "SQLite"}}),
    ],
)
def test_answers_as_json(given: dict[str, Any], output: dict[str, Any]):
    call = ToolCall(id="c", tool="ask_user", parameters=given)

    assert answers_in(call, json.dumps(output)) == ("SQLite",)


def test_a_plain_answer_to_a_single_question():
    call = ToolCall(id="c", tool="ask_followup_question", parameters={"question": "Which?"})

    assert answers_in(call, "<answer>\nthe first\n</answer>") == ("the first",)
    assert answers_in(call, "the second") == ("the second",)


def test_a_tools_question_without_a_result_waits():
    call, _ = called("AskUserQuestion", questions=[WHICH])
    open_turn = Turn(index=0, tool_calls=(call,))

    found = told(open_turn, turn(1, user="the first", exchange=1, says="Taken."))

    assert [answer for *_, answer in found] == ["", "the first"]


def test_one_that_was_refused_waits_or_is_answered_by_the_reason():
    question = called("AskUserQuestion", questions=[WHICH])

    assert told(turn(0, refused(question)))[0][3] == ""
    assert told(turn(0, refused(question, "neither")))[0][3] == "neither"


def test_the_output_of_a_tool_that_failed_is_no_answer():
    failed = called("AskUserQuestion", "no terminal", success=False, questions=[WHICH])

    assert told(turn(0, failed)) == [(0, "agent", "Which store? (SQLite / Postgres)", "")]


def test_an_approved_plan_is_an_answered_question():
    output = "User has approved your plan. You can now start coding."

    assert told(turn(0, approved("# Plan: Two tests\n", output))) == [
        (0, "user", "Approve the plan: Two tests?", "User has approved your plan")
    ]


def test_questions_and_answers_are_cut():
    found = asked(
        turn(0, bash("ls"), user="why " + "so " * 500 + "slow?"),
        turn(1, says="Because " + "it is " * 500 + "slow."),
    )

    assert all(len(fact.question) <= SHOWN and len(fact.answer) <= SHOWN for fact in found)


@pytest.mark.parametrize("value", [None, 3, [None], [{"question": 3, "options": 4}], {"a": {}}])
def test_hostile_input_raises_nothing(value: Any):
    for output in ("", '{"answers": []}', '{"answers": {"0": {}}}', "[" * 100_000, '"' * 9_000):
        for tool in ("AskUserQuestion", "ask_followup_question", "ExitPlanMode"):
            step = called(tool, output, questions=value, question=value, plan=value)
            assert {fact.turn for fact in asked(turn(0, step))} <= {0}


def test_large_texts_are_read_in_part():
    found = asked(turn(0, user="? " * 500_000, says="is it? " * 300_000))
    assert max((len(fact.question) for fact in found), default=0) < 1_000


def test_a_plan_refused_without_a_word_waits_no_longer_for_approval():
    found = told(turn(0, refused(approved("# Plan: Two tests\n"))))
    blocked = "Blocker: the plan was refused without a word: Two tests"
    assert found == [(0, "agent", blocked, "")]
