"""Questions with their answers, what an answer proposes and the user replies, stated choices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.facts.decisions import DecisionExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.facts.questions import QuestionExtractor, question_at_end
from kedgeline.model import Asked, Summary, ToolCall, ToolResult, Turn
from kedgeline.summary.listing import decisions
from tests.facts.speaking import noted, queued, refused, told_by
from tests.turns import bash, called, edit, turn

STORE: dict[str, Any] = {
    "question": "How should the index be stored?",
    "options": [
        {"label": "SQLite", "description": "One file, no server"},
        {"label": "Postgres", "description": "Shared by the team"},
        {"label": "Flat files"},
    ],
}
PARTS = {"question": "Which parts?", "options": [{"label": "A1"}, {"label": "B2"}, {"label": "C3"}]}
SAID = 'User has answered your questions: "How should the index be stored?"="{}". You can now'


def decided(*turns: Turn) -> list[Any]:
    return told_by(DecisionExtractor(Setting(root="/srv/app")), *turns)


def asked(*turns: Turn) -> list[Asked]:
    return told_by(QuestionExtractor(Setting()), *turns)


def answering(output: str, *questions: Any) -> Turn:
    return turn(4, called("AskUserQuestion", output, questions=list(questions or (STORE,))))


# What a tool asks.


def test_an_answered_question_is_a_decision_of_the_users() -> None:
    (fact,) = decided(answering(SAID.format("SQLite")))
    assert (fact.turn, fact.by, fact.rationale) == (4, "user", "One file, no server")
    assert fact.decision == "How should the index be stored? SQLite"
    assert fact.rejected == "Postgres; Flat files"
    (other,) = decided(answering(SAID.format("Postgres")))
    assert fact.key == other.key


def test_several_questions_several_choices_and_own_words() -> None:
    output = (
        'User has answered your questions: "How should the index be stored?"="in memory, with a'
        ' "cache"", "Which parts?"="A1, C3". You can now continue with the user\'s answers in mind.'
    )
    first, second = decided(answering(output, STORE, PARTS))
    assert first.decision == 'How should the index be stored? in memory, with a "cache"'
    assert first.rejected == "SQLite; Postgres; Flat files"
    assert (second.decision, second.rejected) == ("Which parts? A1, C3", "B2")
    assert [fact.answer for fact in asked(answering(output, STORE, PARTS))] == [
        'in memory, with a "cache"',
        "A1, C3",
    ]


@pytest.mark.parametrize(
    "answers", [{"0": "SQLite"}, {"store": {"answers": ["SQLite"]}}, {"store": ["SQLite"]}]
)
def test_answers_written_as_json_are_read(answers: dict[str, Any]) -> None:
    one = answering(json.dumps({"answers": answers}), {**STORE, "id": "store"})
    assert decided(one)[0].decision == "How should the index be stored? SQLite"
    assert asked(one)[0].answer == "SQLite"


@pytest.mark.parametrize("output", ["", "{", '{"answers": 3}', '{"answers": {"0": []}}', "ok"])
def test_a_question_without_an_answer_decides_nothing(output: str) -> None:
    assert decided(answering(output)) == []


def test_a_plain_answer_and_one_in_tags() -> None:
    single = {"question": "Which store?", "options": ["SQLite", "Postgres"]}
    for output in ("SQLite", "<answer>\nSQLite\n</answer>"):
        (fact,) = asked(turn(0, called("ask_user", output, **single)))
        assert (fact.question, fact.answer) == ("Which store? (SQLite / Postgres)", "SQLite")


@pytest.mark.parametrize("questions", [None, 3, [3], [{}], [{"question": 3}], {"question": "x"}])
def test_a_question_of_a_wrong_shape_is_passed_over(questions: Any) -> None:
    call = ToolCall(id="q", tool="AskUserQuestion", parameters={"questions": questions, "plan": 3})
    assert decided(turn(1, (call, ToolResult(call_id="q", output='"x"="y"')))) == []


def test_a_question_without_a_result_waits_for_the_users_next_words() -> None:
    call, _ = called("AskUserQuestion", questions=[STORE])
    waits = Turn(index=0, tool_calls=(call,))
    open_, closed = asked(waits, turn(1, user="Postgres, we have one"))
    assert (open_.by, open_.answer, closed.answer) == ("agent", "", "Postgres, we have one")
    assert open_.key == closed.key
    reason = asked(turn(0, refused("AskUserQuestion", "neither", questions=[STORE])))
    assert reason[0].answer == "neither"


def test_a_plan_that_is_approved_or_refused() -> None:
    plan = (
        "# Plan: a faster index\n\n## Context\n\nEvery search reads the whole file.\n\n1. measure"
    )
    approval = turn(1, called("ExitPlanMode", "approved", plan=plan))
    (fact,) = decided(approval)
    assert (fact.by, fact.decision) == ("user", "plan approved: a faster index")
    assert fact.rationale == "Every search reads the whole file"
    repeated = turn(1, called("ExitPlanMode", f"ok\n\n## Approved Plan:\n{plan}"))
    given_back = noted(2, "plan", f"Implement the following plan:\n\n{plan}")
    assert decided(repeated)[0].key == decided(given_back)[0].key == fact.key
    assert decided(turn(1, called("ExitPlanMode", "no", success=False, plan=plan))) == []
    assert asked(approval)[0].answer == "approved"
    (waits,) = asked(turn(1, refused("ExitPlanMode", plan=plan)))
    assert waits.question == "Blocker: the plan was refused without a word: a faster index"


# What an answer offers or proposes, and the user's reply.

OFFER = turn(
    1,
    says="There are three ways:\n\n1. **Keep** the table\n2. Use a view\n3. Drop it\n\nWhich one?",
)
LETTERS = turn(
    1, says="**Option A: tabs**\n\n1. easy\n2. fast\n\n**Option B: spaces**\n\nYour call."
)
TWO_LISTS = turn(1, says="I saw:\n1. a gap\n2. a leak\n\nWhat we can do:\n1. close it\n2. wait")


@pytest.mark.parametrize(
    ("offer", "words", "taken", "rejected"),
    [
        (OFFER, "option 2 please", "Use a view", "Keep the table; Drop it"),
        (OFFER, "do 1 and 3", "Keep the table; Drop it", "Use a view"),
        (OFFER, "can you write it down with option 2", "Use a view", "Keep the table; Drop it"),
        (TWO_LISTS, "2", "wait", "close it"),
        (LETTERS, "I like Option B", "spaces", "tabs"),
    ],
)
def test_a_number_chooses_among_what_was_offered(
    offer: Turn, words: str, taken: str, rejected: str
) -> None:
    (fact,) = decided(offer, turn(2, user=words))
    assert (fact.by, fact.decision, fact.rejected) == ("user", words, rejected)
    assert (fact.about, fact.offered) == (f"that is: {taken}", 1)


def test_another_choice_from_the_same_offer_supersedes() -> None:
    first, second = decided(OFFER, turn(2, user="1"), turn(3, user="2"))
    assert first.key == second.key
    assert decided(turn(9, says="1. red\n2. blue"), turn(10, user="2"))[0].key != first.key


@pytest.mark.parametrize(
    "words",
    [
        "2. nobody\n3. ten",
        "is option 2 faster?",
        "option 2 doesn't work here",
        "4",
        "2 tests fail?",
    ],
)
def test_what_chooses_nothing_is_not_taken_for_an_option(words: str) -> None:
    assert all("Use a view" not in fact.decision for fact in decided(OFFER, turn(2, user=words)))


DROP = "Want me to drop the old index?"


@pytest.mark.parametrize(
    ("answer", "words", "about"),
    [
        (DROP, "yes please", DROP),
        (
            "It is slow. Would you like me to **cache** the result?",
            "Yes, for an hour.",
            "It is slow. Would you like me to cache the result?",
        ),
        (
            "Sorted:\n```\nvalue = 1\n```\nWant me to write this to a file?",
            "yes",
            "Sorted: Want me to write this to a file?",
        ),
        (
            "Want me to fix this? The fix would read the header first.",
            "do it",
            "Want me to fix this? The fix would read the header first.",
        ),
    ],
)
def test_a_yes_decides_for_what_was_proposed(answer: str, words: str, about: str) -> None:
    (fact,) = decided(turn(1, bash("ls"), says=answer), turn(2, user=words))
    assert (fact.turn, fact.by, fact.decision, fact.rejected) == (2, "user", words, "")
    assert fact.about == f"to the agent's “{about}”"
    (item,) = decisions(Summary(decisions={fact.key: (fact,)}))
    assert item.text == f"{words} ({fact.about}; no reason given)"
    assert item.turns == (1, 2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Want me to commit these changes?", "yes"),
        ("Would you like me to open a pull request?", "sure"),
        ("Should I merge both tables or keep them?", "yes"),
        ("All tests pass.", "yes"),
        (DROP, "ok, now rename the class"),
        (DROP, "go ahead and rename the class"),
        (DROP, "yes. But what would be faster?"),
    ],
)
def test_a_yes_to_a_step_to_two_ways_or_to_nothing_decides_nothing(answer: str, words: str) -> None:
    assert decided(turn(1, says=answer), turn(2, user=words)) == []


@pytest.mark.parametrize(
    ("answer", "words", "decides"),
    [
        ("Drop the index? Shall I go ahead, or do you have another idea?", "Go ahead.", True),
        ("Two ways are open. Which approach do you prefer?", "yeah, it is late", False),
        ("Ask the clerk who sells them. Shall I send you to the desk?", "Yes, please.", True),
        ("Should I book a cabin for you or a deck chair for the crossing?", "a chair", False),
        (
            "Should I book a cabin for you or a deck chair for the crossing?",
            "Could you book the deck chair for my crossing?",
            True,
        ),
        (
            "Should I book a cabin for you or a deck chair for the crossing?",
            "Could you check what the deck chair for the crossing costs?",
            False,
        ),
    ],
)
def test_what_a_question_leaves_open(answer: str, words: str, *, decides: bool) -> None:
    found = decided(turn(1, says=answer), turn(2, user=words))
    assert [fact.decision for fact in found] == ([words] if decides else [])


def test_answers_by_number_stand_with_the_questions() -> None:
    answer = "To settle:\n\n### 1. **Flag or name?**\nText.\n\n### 2. **Which folder?**\nText."
    words = "1. the former 2. below the root"
    (fact,) = decided(turn(1, says=answer), turn(2, user=words))
    assert fact.about == "to the agent's “1. Flag or name?; 2. Which folder?”"
    answer = "Issue 1: the hour is wrong\n\nIssue 2: the tide is missing"
    (fact,) = decided(turn(1, says=answer), turn(2, user="can you fix issue 2"))
    assert (fact.about, fact.rejected) == ("that is: the tide is missing", "the hour is wrong")


def test_an_option_is_known_by_a_name_that_no_other_has() -> None:
    answer = "You can take:\n\n1. Ferry **HT-104**, 8 crowns\n2. Ferry **HT-207**, 9 crowns"
    assert decided(turn(1, says=answer), turn(2, user="Could you please book HT-207?")) == []
    answer += "\n\nWhich one do you want?"
    (fact,) = decided(turn(1, says=answer), turn(2, user="Could you please book HT-207?"))
    assert (fact.about, fact.rejected) == (
        "that is: Ferry HT-207, 9 crowns",
        "Ferry HT-104, 8 crowns",
    )


def test_a_no_leaves_what_was_proposed_or_corrects_what_was_written() -> None:
    (fact,) = decided(turn(1, says=DROP), turn(2, user="No, it is still read."))
    assert (fact.decision, fact.about) == ("No, it is still read.", f"to the agent's “{DROP}”")
    words = "no, dimGray should be that, no need for linkGray"
    (fact,) = decided(turn(1, edit("a.py"), says="Done."), turn(2, user=words))
    assert (fact.by, fact.decision) == ("user", words)
    assert decided(turn(1, says="Done."), turn(2, user="no, it is blue")) == []


def test_a_proposal_is_answered_once_and_only_right_behind_it() -> None:
    asks = turn(1, says=DROP)
    assert len(decided(asks, turn(2, user="yes"), turn(3, user="yes"))) == 1
    assert len(decided(asks, queued(2, "yes", before="yes"))) == 1
    assert decided(asks, turn(2, says="I'll read on."), turn(3, user="yes")) == []


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Done. Which one do you want?", "Which one do you want?"),
        ("Which one?\n\n- a\n- b", "Which one?"),
        ("It works. Is there anything else?", ""),
        ("Why did it fail? Because of the cache.", ""),
        ("```\nwhy?\n```", ""),
        ("```\n" + "row of the table\n" * 120 + "```\nShall I go on?", "Shall I go on?"),
        ("Shall I:\n1. Go back?\n2. Go on?", "Shall I: 1. Go back? 2. Go on?"),
    ],
)
def test_how_answers_close(answer: str, question: str) -> None:
    assert question_at_end(answer) == question
    assert [fact.question for fact in asked(turn(0, says=answer))] == [question] * bool(question)
    assert asked(turn(0, bash("ls"), says=answer)) == []


# Choices that say so of themselves.


@pytest.mark.parametrize("between", ["\n", " "])
def test_of_a_very_long_answer_its_beginning_and_its_end_are_read(between: str) -> None:
    """One of 50 MB took ten times its size; one without line breaks was not read at all."""
    words = between.join(["The tide table is read again and again."] * 2_000)
    choices = [f"We chose {name} for the index." for name in ("SQLite", "Postgres", "flat files")]
    answer = between.join([choices[0], words, choices[1], words, choices[2]])
    found = decided(turn(0, says=answer))
    assert [fact.decision.split()[2] for fact in found] == ["SQLite", "flat"]


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        (
            "I'll use a view instead of a table because rows change often.",
            ("I'll use a view instead of a table", "because rows change often", "a table"),
        ),
        ("Decision: SQLite, not Postgres.", ("SQLite, not Postgres", "", "Postgres")),
        (
            "I chose SQLite over Postgres for the cache.",
            ("I chose SQLite over Postgres for the cache", "", "Postgres"),
        ),
    ],
)
def test_a_choice_the_agent_states_is_split_from_its_reason(
    sentence: str, parts: tuple[str, str, str]
) -> None:
    (fact,) = decided(turn(1, says=f"All tests pass. {sentence}"))
    assert (fact.decision, fact.rationale, fact.rejected) == parts
    assert fact.by == "agent"
    assert decided(turn(1, says=sentence, agent="explorer")) == []


@pytest.mark.parametrize(
    "words",
    [
        "The test failed because the file was missing.",
        "Let me check the parser since it reads the whole line.",
        "You could use a view instead of a table.",
        "I'll use a view.",
        "```\nI'll use a view instead of a table\n```",
    ],
)
def test_a_cause_a_proposal_or_an_intention_is_no_choice(words: str) -> None:
    assert decided(turn(1, says=words)) == []


EDIT = edit("fares.py")


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (
            "The sum is rounded twice. The fix is to round it at the end.",
            "after “The sum is rounded twice.”",
        ),
        ("Fix 2: Read the hour from the ticket.", ""),
        ("Since the pier has no clock, I'll take the hour from the ticket.", ""),
        ("The report runs once a day, so I'll leave it in one query.", ""),
        ("I'll take the hour from the ticket to avoid a second clock.", ""),
        ("- [NOTE] The fares of dogs - older code. Skip.\n- Next", ""),
        (
            "The fares are given twice. Let me drop that table since nobody reads it.",
            "after “The fares are given twice.”",
        ),
    ],
)
def test_what_the_agent_takes_up_as_it_works_is_its_decision(words: str, about: str) -> None:
    (fact,) = decided(turn(1, EDIT, says=words))
    assert (fact.by, fact.about) == ("agent", about)
    assert fact.decision.rstrip(".") in words


@pytest.mark.parametrize(
    "words",
    [
        "The fix is straightforward.",
        "Since the test fails, let me check how the fares are read.",
        "I'll run the tests again since the fares changed.",
        "The cleanest fix would be to read it from the ticket.",
        "Let me remove trial.py since it is no longer needed.",
        "Now let me read the fares.",
    ],
)
def test_what_it_looks_at_tidies_up_or_leaves_open_is_none(words: str) -> None:
    assert decided(turn(1, EDIT, says=words)) == []


def test_what_took_the_place_of_what_is_said_of_edits_alone() -> None:
    words = "The fares:\n- now uses whole cents instead of floats\n- the table is shorter"
    (fact,) = decided(turn(1, EDIT), turn(2, says=words))
    assert fact.decision == "The fares: now uses whole cents instead of floats"
    assert decided(turn(1, says=words)) == []
    words = "The conflicts were resolved by keeping both:\n- the fares\n- the tides"
    (fact,) = decided(turn(1, EDIT), turn(2, says=words))
    assert fact.decision == "The conflicts were resolved by keeping both: the fares; the tides"


def test_a_later_change_of_the_same_takes_the_place_of_the_first() -> None:
    first, second = "Changed `fare` from 8 to 9 crowns for all", "Changed `fare` from 9 to 7 crowns"
    one, other = decided(turn(1, EDIT), turn(2, says=first), turn(3, says=second))
    assert one.key == other.key


@pytest.mark.parametrize(
    "words",
    [
        "let's go with the view",
        "I'd prefer one table",
        "use a view instead of a table",
        "We'll use Postgres for the queue",
        "We decided to drop the importer, nobody calls it",
    ],
)
def test_words_of_the_users_that_choose_are_a_decision(words: str) -> None:
    (fact,) = decided(turn(1, says="Done."), turn(2, user=words))
    assert (fact.by, fact.decision) == ("user", words)


@pytest.mark.parametrize(
    ("words", "about"),
    [
        ("we don't need the importer", ""),
        ("the header should stay on top", ""),
        ("just keep it in that file", "to the agent's “The importer reads every row of the file.”"),
    ],
)
def test_a_short_message_that_settles_something_stands_with_what_it_leans_on(
    words: str, about: str
) -> None:
    said = "Let me look.\n\nThe importer reads every row of the file."
    (fact,) = decided(turn(1, says=said), turn(2, user=words))
    assert (fact.by, fact.decision, fact.about) == ("user", words, about)


def test_what_the_user_says_on_refusing_a_call_is_a_decision() -> None:
    (fact,) = decided(turn(1, refused("Edit", "put it into a type of its own", file_path="a.py")))
    assert (fact.by, fact.decision) == ("user", "put it into a type of its own")
    assert fact.about == "on refusing the edit of a.py"
    assert decided(turn(1, refused("Edit", "why?", file_path="a.py"))) == []


@pytest.mark.parametrize(
    "words",
    [
        "should we use a view instead?",
        "add a view",
        "thanks",
        "yes",
        "the view should be sorted but that still fails",
    ],
)
def test_other_words_are_none(words: str) -> None:
    assert decided(turn(1, says="Done."), turn(2, user=words)) == []
