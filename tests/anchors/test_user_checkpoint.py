"""What the user says outranks everything, so only what the user really says may count."""

from __future__ import annotations

import pytest

from kedgeline.anchors.detectors.talk import UserCheckpoint
from kedgeline.model import Note, ToolCall, ToolResult, Turn
from tests.anchors.watching import found_by, memory_after
from tests.turns import bash, called, edit, turn

DONE = "The parser is rewritten and its cases are covered."
PROPOSES = "I would split the parser in two files. Would you like me to go ahead?"
ASKS = "Which of the two databases does the staging server use?"


def said(words: str, after: str = DONE) -> str:
    """What is found where the user says this after an answer."""
    turns = (turn(0, user="do it", says=after), turn(1, user=words, exchange=1, says="Fine."))
    return found_by(UserCheckpoint(), *turns).get(1, "")


@pytest.mark.parametrize(
    "words",
    [
        "looks good",
        "Looks good to me!",
        "that looks great, now add the docs",
        "the new layout looks perfect",
        "LGTM",
        "Perfect!",
        "perfect, thanks",
        "ok perfect. Please also update the readme",
        "That works",
        "nice, it works now",
        "great, thanks",
        "thanks!",
        "Thank you for handling that. Can you tell me the total?",
        "great job",
        "ship it",
        "Approved.",
        "sounds good",
        "I love it",
        "great!",
        "looks good, can you commit it?",
        "Great! That works for me.",
        "Here is the id you asked for. Thanks for your help!",
    ],
)
def test_approval_is_found_whatever_was_asked_before(words: str):
    assert said(words).startswith(("User approved: ", "User closed with thanks: "))


def test_thanks_are_no_consent() -> None:
    """CC#46602: a summary that invents the user's consent is acted upon."""
    assert said("Thank you for handling that. Can you tell me the total?").startswith(
        "User closed with thanks: "
    )
    assert said("looks good, thanks").startswith("User approved: ")


@pytest.mark.parametrize(
    "words",
    [
        "looks good but the margins are off",
        "Looks good. But the margins are off",
        "not perfect",
        "it doesn't work",
        "that doesn't look good",
        "looks good?",
        "that works, right?",
        "if it looks good, push it",
        "make sure it looks good",
        "it works only on my machine",
        "perfect numbers are listed twice",
        "thanks, but that is not what I meant",
        "could you add a test? Thanks!",
        "thanks in advance for a fix",
        "what does looks good mean here",
        "```\nperfect\n```\nwhat does this print",
        '"looks good" is what the button must say',
        '"It fails. Perfect." is what it printed',
        "> looks good\nwho wrote this",
        "`perfect` is printed twice",
        "no, thanks",
        "I ran the suite again. Two cases fail. Perfect would be none",
        "great, the login is broken again",
        "works for nobody",
        " \n\t",
        "```\nonly code\n```",
        "",
    ],
)
def test_what_only_looks_like_approval_is_none(words: str):
    assert said(words) == ""


@pytest.mark.parametrize(
    "words",
    ["yes", "yes please", "Yes, go ahead", "yep, do it", "ok", "sure", "I'll go with the second"],
)
def test_a_proposal_is_accepted(words: str):
    assert said(words, after=PROPOSES).startswith("User approved: ")


@pytest.mark.parametrize("words", ["yes", "yeah, the second", "ok", "sure", "exactly", "option 2"])
def test_the_answer_to_a_mere_question_is_no_approval(words: str):
    assert said(words, after=ASKS) == ""


@pytest.mark.parametrize(
    "words",
    [
        "yes, but only the first file",
        "ok, what would that change in the tests?",
        "Option 1 doesn't work since the hash changes",
        "no",
        "yes? why would you",
    ],
)
def test_a_proposal_is_not_accepted_by_objecting_or_asking(words: str):
    assert said(words, after=PROPOSES) == ""


def test_agreeing_with_a_statement_approves_it():
    assert said("yes, exactly", after="The cache is stale, so it has to be emptied first.") != ""
    assert said("correct the typo in line 3") == ""
    assert said("yeah you can undo that") == ""


@pytest.mark.parametrize(
    "words",
    [
        "save this",
        "Please save our progress",
        "checkpoint",
        "ok, let's checkpoint this",
        "remember this point",
        "let's commit this state",
    ],
)
def test_a_point_is_saved(words: str):
    assert said(words).startswith("User saved this point: ")


@pytest.mark.parametrize(
    "words",
    [
        "the save button is broken",
        "save the user's name in the profile table",
        "the checkpoint of the model is missing",
        "checkpoints are written twice",
        "did you save this?",
    ],
)
def test_work_on_saving_saves_no_point(words: str):
    assert said(words) == ""


def test_nothing_can_be_approved_before_an_answer():
    first = turn(0, user="perfect, now build the parser", says="Building.")

    assert found_by(UserCheckpoint(), first) == {}


def test_words_in_the_middle_of_a_long_message_are_pasted():
    pasted = "Here is the log.\nstarting\nLooks good\nLGTM\nfailed with code 3\n" * 40

    assert said("The build fails. See below.\n" + pasted) == ""


def test_only_the_user_approves():
    """A tool's output and a reminder of the client said "looks good"; nobody had approved."""
    turns = (
        turn(0, user="check it", says=PROPOSES),
        turn(
            1,
            bash("cat review.txt", "Looks good! LGTM, ship it"),
            notes=(Note(kind="injected", text="Looks good to me, thanks!"),),
            says="Looks good! Perfect.",
        ),
    )

    assert found_by(UserCheckpoint(), *turns) == {}


def test_a_row_of_farewells_is_one_checkpoint():
    turns = [turn(0, user="help", says=DONE)]
    words = ("Thank you for your help!", "Thanks!", "Thank you, bye")
    turns += [turn(n, user=one, exchange=n, says="Bye!") for n, one in enumerate(words, start=1)]

    assert list(found_by(UserCheckpoint(), *turns)) == [1]


def test_a_plan_is_approved_in_the_clients_dialogue():
    plan = "We go on like this:\n\n# Split the parser\n\n1. Two files"

    found = found_by(
        UserCheckpoint(),
        turn(0, called("ExitPlanMode", "User has approved your plan.", plan=plan)),
        turn(1, called("exit_plan_mode", "approved")),
    )

    assert found == {0: "Plan approved: Split the parser", 1: "Plan approved"}


def test_a_plan_that_was_refused_or_never_answered_is_not_approved():
    call = ToolCall(id="p", tool="ExitPlanMode", parameters={"plan": "# Split"})
    refused = ToolResult(call_id="p", success=False, refused=True, reason="looks good but wait")

    found = found_by(UserCheckpoint(), turn(0, (call, refused)), Turn(index=1, tool_calls=(call,)))

    assert found == {}


def test_a_plan_given_back_as_the_task_begins_with_an_approval():
    note = Note(kind="plan", text="Implement the following plan:\n\n# Split the parser")

    assert found_by(UserCheckpoint(), turn(0, notes=(note,))) == {
        0: "Plan approved: Split the parser"
    }


def test_memory_does_not_grow():
    def make(index: int):
        words = f"thanks for step {index}" if index % 3 == 0 else f"do step {index}"
        return turn(index, edit(f"f{index}.py"), user=words, exchange=index, says=PROPOSES * 40)

    assert memory_after(UserCheckpoint(), 5_000, make) <= memory_after(UserCheckpoint(), 500, make)
