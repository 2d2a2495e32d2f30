"""Decisions: whose, what was left, and which later one takes the place of which earlier one."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.decisions import DecisionExtractor
from kedgeline.model import ToolCall, ToolResult, Turn
from tests.facts.speaking import HOSTILE, facts_of, noted, refused
from tests.turns import called, edit, turn


def decided(*turns: Turn) -> list[Any]:
    return facts_of(DecisionExtractor(Setting()), *turns)


ASKED = {
    "question": "How should the index be stored?",
    "header": "Store",
    "options": [
        {"label": "SQLite", "description": "One file, no server"},
        {"label": "Postgres", "description": "Shared by the team"},
        {"label": "Flat files"},
    ],
}


def answering(output: str, *questions: Any) -> Turn:
    return turn(4, called("AskUserQuestion", output, questions=list(questions or (ASKED,))))


def test_an_answered_question_is_a_decision_of_the_users() -> None:
    output = (
        'User has answered your questions: "How should the index be stored?"="SQLite". You can now'
    )
    (fact,) = decided(answering(output))
    assert (fact.turn, fact.by) == (4, "user")
    assert fact.decision == "How should the index be stored? SQLite"
    assert fact.rationale == "One file, no server"
    assert fact.rejected == "Postgres; Flat files"


def test_several_questions_several_choices_and_own_words() -> None:
    other = {
        "question": "Which parts?",
        "options": [{"label": "A1"}, {"label": "B2"}, {"label": "C3"}],
    }
    output = (
        'User has answered your questions: "How should the index be stored?"="in memory, with a'
        ' "cache"", "Which parts?"="A1, C3". You can now continue with the user\'s answers in mind.'
    )
    first, second = decided(answering(output, ASKED, other))
    assert first.decision == 'How should the index be stored? in memory, with a "cache"'
    assert first.rejected == "SQLite; Postgres; Flat files"
    assert (second.decision, second.rejected) == ("Which parts? A1, C3", "B2")


@pytest.mark.parametrize(
    "answers", [{"0": "SQLite"}, {"store": {"answers": ["SQLite"]}}, {"store": ["SQLite"]}]
)
def test_answers_written_as_json_are_read(answers: dict[str, Any]) -> None:
    (fact,) = decided(answering(json.dumps({"answers": answers}), {**ASKED, "id": "store"}))
    assert fact.decision == "How should the index be stored? SQLite"


@pytest.mark.parametrize("output", ["", "{", '{"answers": 3}', '{"answers": {"0": []}}', "ok"])
def test_a_question_without_an_answer_decides_nothing(output: str) -> None:
    assert decided(answering(output)) == []


def test_the_same_question_answered_again_supersedes() -> None:
    said = 'User has answered your questions: "How should the index be stored?"="{}". You can now'
    first, second = decided(*(answering(said.format(name)) for name in ("SQLite", "Postgres")))
    assert first.key == second.key
    assert first.decision != second.decision


OFFER = turn(
    1,
    says="There are three ways:\n\n1. **Keep** the table\n2. Use a view\n3. Drop it\n\nWhich one?",
)


def test_a_number_chooses_among_the_options_of_the_last_answer() -> None:
    (fact,) = decided(OFFER, turn(2, user="option 2 please"))
    assert (fact.turn, fact.by) == (2, "user")
    assert fact.decision == "option 2 please: Use a view"
    assert fact.rejected == "Keep the table; Drop it"


def test_of_two_lists_the_last_one_is_the_offer() -> None:
    says = "What I saw:\n1. a gap\n2. a leak\n\nWhat we can do:\n1. close it\n2. wait"
    (fact,) = decided(turn(1, says=says), turn(2, user="2"))
    assert (fact.decision, fact.rejected) == ("2: wait", "close it")


def test_several_numbers_choose_several() -> None:
    (fact,) = decided(OFFER, turn(2, user="do 1 and 3"))
    assert fact.decision == "do 1 and 3: Keep the table; Drop it"
    assert fact.rejected == "Use a view"


def test_letters_choose_where_they_are_offered() -> None:
    offer = turn(
        1, says="**Option A: tabs**\n\n1. easy\n2. fast\n\n**Option B: spaces**\n\nYour call."
    )
    (fact,) = decided(offer, turn(2, user="I like Option B"))
    assert (fact.decision, fact.rejected) == ("I like Option B: spaces", "tabs")
    assert decided(offer, turn(2, user="use a loop there")) == []


def test_another_choice_from_the_same_offer_supersedes() -> None:
    first, second = decided(OFFER, turn(2, user="1"), turn(3, user="2"))
    assert first.key == second.key
    third = decided(turn(9, says="1. red\n2. blue"), turn(10, user="2"))[0]
    assert third.key != first.key


@pytest.mark.parametrize(
    "words",
    [
        "2. nobody\n3. ten",
        "is option 2 faster?",
        "option 2 doesn't work here",
        "4",
        "2 tests fail now?",
    ],
)
def test_what_chooses_nothing_is_not_taken_for_an_option(words: str) -> None:
    assert all("Use a view" not in fact.decision for fact in decided(OFFER, turn(2, user=words)))


WORDS = (
    "let's go with the view",
    "I'd prefer one table",
    "use a view instead of a table",
    "no, keep the old name",
    "we don't need the importer",
    "Decision: REST, not gRPC",
    "We'll use Postgres for the queue",
    "We decided to drop the importer, nobody calls it",
    "I'll go with the second parser",
    "option 2 doesn't work since ids change",
    "can we use the logger instead of print?",
)


@pytest.mark.parametrize("words", WORDS)
def test_words_that_choose_are_a_decision(words: str) -> None:
    (fact,) = decided(turn(1, says="Done."), turn(2, user=words))
    assert (fact.by, fact.decision) == ("user", words)


@pytest.mark.parametrize(
    "words",
    [
        "should we use a view instead?",
        "add a view",
        "thanks",
        "yes",
        "so we could use something like id/<hash>",
        "let's go with this one",
        "I like 2 watch it w/ friends",
        "Option 3 is close, but it costs too much",
    ],
)
def test_other_words_are_none(words: str) -> None:
    assert decided(turn(1, says="Done."), turn(2, user=words)) == []


def test_a_correction_is_a_decision_where_the_agent_has_just_written() -> None:
    words = "the test should compare both files, not only one"
    written = turn(1, edit("a.py"), says="Done.")
    (fact,) = decided(written, turn(2, user=words))
    assert fact.decision == words
    assert decided(turn(1, says="Done."), turn(2, user=words)) == []
    assert len(decided(written, turn(2, user=words), turn(3, user=words))) == 1


def test_an_approved_plan_is_a_decision() -> None:
    plan = "# Plan: a faster index\n\n1. measure"
    (fact,) = decided(turn(1, called("ExitPlanMode", "approved", plan=plan)))
    assert (fact.by, fact.decision) == ("user", "plan approved: a faster index")
    repeated = turn(1, called("ExitPlanMode", f"ok\n\n## Approved Plan:\n{plan}"))
    assert decided(repeated)[0].decision == "plan approved: a faster index"
    note = noted(2, "plan", f"Implement the following plan:\n\n{plan}")
    assert decided(note)[0].key == fact.key
    refusal = called("ExitPlanMode", "no", success=False, plan=plan)
    assert decided(turn(1, refusal)) == []


STATED = (
    (
        "I'll use a view instead of a table because rows change often.",
        ("I'll use a view instead of a table", "because rows change often", "a table"),
    ),
    (
        "Since the list is short, I'll keep the plain loop.",
        ("I'll keep the plain loop", "Since the list is short", ""),
    ),
    (
        "The linter wants a set, but since order matters, I'll keep the list here.",
        ("I'll keep the list here", "The linter wants a set, but since order matters", ""),
    ),
    ("Decision: SQLite, not Postgres.", ("SQLite, not Postgres", "", "Postgres")),
    (
        "I chose SQLite over Postgres for the cache.",
        ("I chose SQLite over Postgres for the cache", "", "Postgres"),
    ),
    (
        "The simplest fix: rename the module, since only two files import it.",
        ("The simplest fix: rename the module", "since only two files import it", ""),
    ),
)


@pytest.mark.parametrize(("sentence", "parts"), STATED)
def test_a_choice_the_agent_states_is_split_from_its_reason(
    sentence: str, parts: tuple[str, str, str]
) -> None:
    (fact,) = decided(turn(1, says=f"All tests pass. {sentence}"))
    assert (fact.decision, fact.rationale, fact.rejected) == parts
    assert fact.by == "agent"


NO_REASONS = (
    "The test failed because the file was missing.",
    "I'll revert the whole parser because the test failed.",
    "It works because the parser reads the whole line.",
    "Let me check the parser since it reads the whole line.",
    "You could use a view instead of a table.",
    "I'll use a view.",
    "I'll add a few tests so that the parser is covered.",
    "I'll use a view instead of a table. Is that fine?",
    "I'll use a view instead of a table:",
    "+ I'll use a view instead of a table",
    "```\nI'll use a view instead of a table\n```",
    "Now update the helper to use a marker instead of the file.",
    "Changed the tests to pass a function instead of a tuple.",
    "Uses a view instead of a table.",
)


@pytest.mark.parametrize("words", NO_REASONS)
def test_a_cause_a_proposal_or_an_intention_is_no_choice(words: str) -> None:
    assert decided(turn(1, says=words)) == []


def test_what_was_done_counts_once_files_were_changed() -> None:
    words = NO_REASONS[-1]
    assert decided(turn(1, edit("a.sql")), turn(2, says=words))[0].rejected == "a table"


def test_a_turn_states_two_choices_at_the_most() -> None:
    says = "\n\n".join(f"I'll use the part number {n} because it is free." for n in range(9))
    assert len(decided(turn(1, says=says))) == 2


def test_a_choice_supersedes_the_one_it_speaks_of() -> None:
    said = (
        "use redis instead of memcached",
        "use a plain dict instead of redis",
        "no, keep memcached",
        "use tabs instead of spaces",
    )
    keys = [fact.key for fact in decided(*(turn(n, user=one) for n, one in enumerate(said)))]
    assert keys[0] == keys[1] == keys[2]
    assert keys[3] != keys[0]


def test_choices_of_different_things_have_different_keys() -> None:
    said = ("let's go with the view", "let's go with the table")
    first, second = decided(*(turn(n, user=one) for n, one in enumerate(said)))
    assert first.key != second.key
    assert decided(turn(1, user=said[0]), turn(2, user="Let's go with a view!"))[1].key == first.key


def test_a_choice_is_told_with_what_the_message_says_beside_it() -> None:
    (found,) = decided(turn(0, says="Which?"), turn(1, user="Let's use oil. Gas smells too much."))
    assert (found.decision, found.rationale) == ("Let's use oil.", "Gas smells too much.")


def test_sub_agents_decide_nothing() -> None:
    says = STATED[0][0]
    assert decided(turn(1, user="use x instead of y", says=says, agent="explorer")) == []


@pytest.mark.torture
@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_neither_raise_nor_take_long(words: str) -> None:
    began = time.perf_counter()
    decided(
        turn(0, refused(reason=words), user=words, says=words),
        turn(1, edit("a.py"), user=words),
        answering(words, {"question": words, "options": [words, 3, None, {"label": 4}]}),
    )
    assert time.perf_counter() - began < 2.0


@pytest.mark.parametrize("questions", [None, 3, [3], [{}], [{"question": 3}], {"question": "x"}])
def test_a_question_of_a_wrong_shape_is_passed_over(questions: Any) -> None:
    call = ToolCall(id="q", tool="AskUserQuestion", parameters={"questions": questions, "plan": 3})
    result = ToolResult(call_id="q", output='"x"="y"')
    assert decided(turn(1, (call, result))) == []
