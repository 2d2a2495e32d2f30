"""What the user asked for: every word of it, and whether it opens another scope."""

from __future__ import annotations

import pytest

from kedgeline.facts import facts_of
from kedgeline.facts.extractor import Setting
from kedgeline.facts.requests import RequestExtractor
from kedgeline.model import InstructionGiven, Note, Requested, Stated, Transcript
from tests.facts.speaking import noted, queued, refused, told_by
from tests.turns import bash, edit, turn

FIRST = turn(
    0,
    bash("pytest", "3 passed"),
    edit("src/parser/tokens.py"),
    user="fix the tokens of the parser in src/parser/tokens.py",
    says="The parser splits the tokens of each line now, and the tests of the parser pass.",
)


def scope_after(words: str, *, says: str = "") -> str:
    """The scope of words that follow some work."""
    before = turn(1, bash("pytest"), says=says) if says else turn(1, bash("pytest"))
    return str(told_by(RequestExtractor(Setting()), FIRST, before, turn(2, user=words))[-1].scope)


def test_a_request_is_given_whole() -> None:
    words = "  look at this:\n```\n" + "line\n" * 5_000 + "```\n\nthanks "
    (fact,) = told_by(RequestExtractor(Setting()), turn(3, user=words))
    assert (fact.turn, fact.by, fact.text, fact.queued) == (3, "user", words, False)


def test_the_first_request_opens_a_scope_and_a_greeting_does_not() -> None:
    extractor = RequestExtractor(Setting())
    given = told_by(
        extractor, turn(0, user="hi", says="Hello!"), turn(1, user="what is this repository?")
    )
    assert [fact.scope for fact in given] == ["step", "new"]


STEPS = (
    "yes",
    "ok, go on",
    "thanks, looks good!",
    "continue",
    "let's do this",
    "please proceed",
    "👍",
)


@pytest.mark.parametrize("words", STEPS)
def test_words_on_the_way_are_a_step(words: str) -> None:
    assert scope_after(words) == "step"


ANSWERS = ("2", "option 3", "the second one please")
LONGER_ANSWERS = ("no, keep the old name", "the branch name")


@pytest.mark.parametrize("words", ANSWERS + LONGER_ANSWERS)
def test_an_answer_to_a_question_is_a_step(words: str) -> None:
    assert scope_after(words, says="Which of these would you like?") == "step"


@pytest.mark.parametrize("words", LONGER_ANSWERS)
def test_without_a_question_it_says_something_new(words: str) -> None:
    assert scope_after(words, says="The parser is done.") == "same"


NO_ANSWERS = (
    "which parser?",
    "where is the parser used?",
    "add a test for the parser",
    "I think the parser should keep the tokens of the line before as well, or it breaks",
)


@pytest.mark.parametrize("words", NO_ANSWERS)
def test_a_question_a_request_or_many_words_are_no_step(words: str) -> None:
    assert scope_after(words, says="Which of these would you like?") == "same"


NEW = (
    "now let's work on the importer",
    "next task: the release notes",
    "/review the last commit",
)


@pytest.mark.parametrize("words", NEW)
def test_another_task_opens_a_scope(words: str) -> None:
    assert scope_after(words) == "new"


SAME = (
    "can you add a test for it?",
    "can you also make the parser keep the tokens of the line before in src/parser?",
    "commit this",
    "why is the parser slow?",
    "the release notes for the customers lack pictures of the invoice dialogue everywhere",
)


@pytest.mark.parametrize("words", SAME)
def test_more_of_the_same_does_not(words: str) -> None:
    assert scope_after(words) == "same"


def test_before_any_work_nothing_is_turned_away_from() -> None:
    given = told_by(
        RequestExtractor(Setting()),
        turn(0, user="fix the tokens of the parser"),
        turn(1, user="now let's work on the importer"),
    )
    assert [fact.scope for fact in given] == ["new", "same"]


def test_a_plan_is_the_agents_word_and_opens_a_scope() -> None:
    plan = "Implement the following plan:\n\n# Plan: cache the index\n"
    extractor = RequestExtractor(Setting())
    given = told_by(extractor, FIRST, noted(1, "plan", plan), turn(2, user=plan))
    assert [(fact.by, fact.scope, fact.text) for fact in given[1:]] == [("agent", "new", plan)] * 2


def test_a_command_is_given_as_it_was_typed() -> None:
    tags = (
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>158 and be strict</command-args>"
    )
    given = told_by(
        RequestExtractor(Setting()),
        noted(0, "command", tags),
        noted(1, "command", "/plan-sprint 4"),
        noted(2, "command", "<command-name>/model</command-name>"),
        noted(3, "command", "/undo"),
    )
    assert [(fact.text, fact.scope) for fact in given] == [
        ("/review 158 and be strict", "new"),
        ("/plan-sprint 4", "new"),
    ]


REVIEW = (
    "You are a code reviewer. Your job is to review code changes and provide actionable feedback."
    "\n\n---\n\nInput: {}\n\n---\n\n## How\n\nNever guess. Always read the whole file.\n"
)
INIT = (
    "Create or update `AGENTS.md` for this repository.\n\nThe goal is a compact file.\n\n"
    "User-provided focus or constraints (honor these):\n{}\n\n## How to investigate\n\nRead.\n"
)


@pytest.mark.parametrize(
    ("expanded", "typed"),
    [
        (REVIEW.format(""), "/review"),
        (REVIEW.format("the newest commit"), "/review the newest commit"),
        (INIT.format("only the server"), "/init only the server"),
    ],
)
def test_a_command_that_the_client_expanded_is_told_by_its_name(expanded: str, typed: str) -> None:
    """Incident: the template of OpenCode's `/review` stood as the user's words, and filled the
    intent."""
    session = Transcript(format="test", turns=(turn(0, user=expanded, says="Nothing found."),))
    given = [*facts_of(session)]
    assert [fact.text for fact in given if isinstance(fact, Requested)] == [typed]
    assert not [fact for fact in given if isinstance(fact, InstructionGiven)]
    said = [fact for fact in given if isinstance(fact, Stated) and fact.by == "user"]
    assert not [one for one in said if one.text not in typed]


@pytest.mark.parametrize(
    ("first", "second", "scope"),
    [
        ("/execute slowly", "/execute with agents", "same"),
        ("/execute", "/execute", "same"),
        ("/execute", "/execute with agents", "new"),
    ],
)
def test_a_command_given_again_before_any_work_is_the_same_unless_it_said_nothing(
    first: str, second: str, scope: str
) -> None:
    turns = noted(0, "command", first), noted(1, "command", second)
    given = told_by(RequestExtractor(Setting()), *turns)
    assert [fact.scope for fact in given] == ["new", scope]


def test_words_between_belong_to_the_scope_of_a_bare_command() -> None:
    given = told_by(
        RequestExtractor(Setting()),
        noted(0, "command", "/execute"),
        turn(1, user="the parser first, and all of its tests"),
        noted(2, "command", "/execute with agents"),
    )
    assert [fact.scope for fact in given] == ["new", "same", "same"]


@pytest.mark.parametrize(
    ("notes", "scopes"),
    [
        (("/debug", "/debug why is it slow"), ["step", "new"]),
        (("/debug", "/debug"), ["step", "new"]),
        (("/debug it", "/debug"), ["new", "same"]),
        (("/debug", "/review"), ["new", "new"]),
    ],
)
def test_a_bare_command_typed_again_before_anybody_answered_was_given_up(
    notes: tuple[str, ...], scopes: list[str]
) -> None:
    one = turn(0, notes=tuple(Note(kind="command", text=text) for text in notes))
    given = told_by(RequestExtractor(Setting()), one)
    assert [(fact.text, fact.scope) for fact in given] == list(zip(notes, scopes, strict=True))


def test_a_cleared_conversation_and_another_session_begin_anew() -> None:
    words = "fix the tokens of the parser"
    cleared = noted(1, "command", "/clear", user=words)
    assert told_by(RequestExtractor(Setting()), FIRST, cleared)[-1].scope == "new"
    other = turn(1, user=words, session=1)
    assert told_by(RequestExtractor(Setting()), FIRST, other)[-1].scope == "new"
    assert told_by(RequestExtractor(Setting()), FIRST, turn(1, user=words))[-1].scope == "same"


def test_queued_words_are_marked_and_stay_in_the_scope() -> None:
    given = told_by(
        RequestExtractor(Setting()),
        FIRST,
        queued(1, "now let's work on the importer", before="go on with the parser"),
    )
    assert [(fact.text, fact.queued, fact.scope) for fact in given[1:]] == [
        ("go on with the parser", False, "same"),
        ("now let's work on the importer", True, "same"),
    ]


def test_reasons_notes_and_words_to_a_sub_agent_are_no_requests() -> None:
    given = told_by(
        RequestExtractor(Setting()),
        turn(0, refused(reason="not like that")),
        turn(1, user="explore the parser", agent="explorer"),
        noted(2, "injected", "fix the parser"),
    )
    assert given == []
