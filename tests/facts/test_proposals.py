"""What the agent proposed and the user took or left, what it did, and what an edit overtook."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.said.decisions import DecisionExtractor
from kedgeline.model import Summary, Turn
from kedgeline.summary.listing import decisions
from tests.facts.speaking import facts_of, queued, refused
from tests.turns import bash, edit, turn


def decided(*turns: Turn) -> list[Any]:
    return facts_of(DecisionExtractor(Setting(root="/srv/app")), *turns)


def after(answer: str, words: str) -> list[Any]:
    return decided(turn(1, says=answer), turn(2, user=words))


TAKEN = (
    ("Want me to drop the old index?", "yes please", "yes please: drop the old index"),
    ("Should I merge both tables into one?", "ok", "ok: merge both tables into one"),
    (
        "It is slow. Would you like me to **cache** the result?",
        "Yes, for an hour.",
        "Yes, for an hour: cache the result",
    ),
    (
        "The list could be sorted once. Shall I do that?",
        "yes",
        "yes: do that: The list could be sorted once",
    ),
    (
        "Want me to fix this? The fix would read the header first.",
        "do it",
        "do it: fix this: The fix would read the header first",
    ),
    (
        "We have a spare one. It is free. Shall I?",
        "go ahead",
        "go ahead: We have a spare one. It is free",
    ),
    ("```\nx = 1\n```\nWant me to write this to a file?", "yes", "yes: write this to a file"),
)


@pytest.mark.parametrize(("answer", "words", "decision"), TAKEN)
def test_a_yes_decides_for_what_was_proposed(answer: str, words: str, decision: str) -> None:
    (fact,) = after(answer, words)
    assert (fact.turn, fact.by, fact.decision, fact.rejected) == (2, "user", decision, "")
    assert fact.offered == 1


def test_a_line_of_the_summary_cites_the_answer_that_proposed_it_too() -> None:
    (fact,) = after("Want me to drop the old index?", "yes")
    (item,) = decisions(Summary(decisions={fact.key: (fact,)}))
    assert (item.text, item.turns) == ("yes: drop the old index (no reason given)", (1, 2))


NOT_TAKEN_UP = (
    ("Want me to commit these changes?", "yes"),
    ("Shall I push?", "yes"),
    ("Would you like me to open a pull request?", "sure"),
    ("Is there anything else?", "yes"),
    ("Should I merge both tables or keep them?", "yes"),
    ("Which approach do you prefer?", "yes"),
    ("All tests pass.", "yes"),
    ("Want me to drop the old index?", "ok, now rename the class"),
    ("Want me to drop the old index?", "go ahead and rename the class"),
    ("Want me to drop the old index?", "yes. But what would be faster?"),
    ("Want me to drop the old index? I have one question: which one is it?", "yes"),
)


@pytest.mark.parametrize(("answer", "words"), NOT_TAKEN_UP)
def test_a_yes_to_a_step_to_two_ways_or_to_nothing_decides_nothing(answer: str, words: str) -> None:
    assert after(answer, words) == []


def test_a_no_leaves_what_was_proposed() -> None:
    (fact,) = after("Want me to drop the old index?", "No, it is still read. Fix the test.")
    assert (fact.decision, fact.rejected) == ("No, it is still read.", "drop the old index")


def test_a_proposal_is_answered_once_and_only_right_behind_it() -> None:
    asks = turn(1, says="Want me to drop the old index?")
    assert len(decided(asks, turn(2, user="yes"), turn(3, user="yes"))) == 1
    assert len(decided(asks, queued(2, "yes", before="yes"))) == 1
    assert decided(asks, turn(2, says="I'll read on."), turn(3, user="yes")) == []


def test_a_yes_after_calls_in_the_same_turn_counts() -> None:
    asks = turn(1, bash("ls"), says="Looked. Want me to drop the old index?")
    assert decided(asks, turn(2, user="yes"))[0].decision == "yes: drop the old index"


def test_who_repeats_an_option_chooses_it() -> None:
    offer = "1. Fail at once with an error\n2. Move the branch before saving\n\nWhich one?"
    words = "since we can't stop there I'd look at move the branch before saving first"
    (fact,) = after(offer, words)
    assert (fact.decision, fact.rejected) == (
        f"{words}: Move the branch before saving",
        "Fail at once with an error",
    )
    assert after("1. Tests\n2. Documentation", "the documentation is old") == []


def test_after_a_question_lets_chooses() -> None:
    assert after("Rename it, or add another?", "ok, lets just rename it")[0].by == "user"
    assert after("Done.", "ok, lets just rename it") == []
    assert after("Rename it, or add another?", "ok, let's sum it up") == []


def test_what_a_correction_takes_back_is_named_by_what_was_changed() -> None:
    written = turn(1, edit("/srv/app/src/a.py"), edit("/srv/app/src/b.py"), says="Done.")
    (fact,) = decided(written, turn(2, user="no remove this again, it is too risky"))
    assert fact.rejected == "the changes of t1 in src/a.py, src/b.py"
    assert decided(turn(1, says="Done."), turn(2, user="no remove this again")) == []


ACTED = (
    ("The fix is to read the header before the rows.", "", ""),
    ("So Option 2 is correct: look the commit up by its trailer.", "", ""),
    ("The format is binary, so the fix is to skip such a file there.", "The format is binary", ""),
)


@pytest.mark.parametrize(("says", "why", "left"), ACTED)
def test_what_the_agent_says_and_does_at_once_is_its_choice(says: str, why: str, left: str) -> None:
    (fact,) = decided(turn(1, edit("a.py"), says=says))
    assert (fact.by, fact.rationale, fact.rejected) == ("agent", why, left)
    assert decided(turn(1, says=says)) == []


@pytest.mark.parametrize(
    "says",
    [
        "The fix would be to read the header before the rows.",
        "The fix is to read the header first, or to sort the rows.",
        "The fix is straightforward.",
        "It now returns a string instead of a list.",
        "Let me fix the test by passing a function instead of a tuple:",
        "Now update the helper to use a marker rather than the file.",
        "The row is read as text instead of a number.",
    ],
)
def test_what_is_left_open_or_only_told_is_no_choice(says: str) -> None:
    assert decided(turn(1, edit("a.py"), says=says)) == []


def test_a_second_fix_takes_the_place_of_one_that_was_not_begun() -> None:
    first, second = "The fix is to skip such rows there.", "The fix is to read the kind of file."
    searching = [turn(n, bash("ls"), says=says) for n, says in enumerate((first, second))]
    one, other = decided(*searching)
    assert one.key == other.key
    begun = turn(1, edit("a.py"))
    one, other = decided(searching[0], begun, turn(2, bash("ls"), says=second))
    assert one.key != other.key


def test_a_refusal_decides_where_its_words_say_what_to_do_instead() -> None:
    edited = refused("Edit", "a type of its own please", file_path="src/app.py")
    ran = refused("Bash", "we don't need the branch", command="git push")
    plan = refused("ExitPlanMode", "leave the cache out", plan="# Plan: a faster index\n\ntext")
    given = decided(turn(1, edited), turn(2, ran), turn(3, plan))
    assert [(fact.decision, fact.rejected) for fact in given] == [
        ("a type of its own please", "Edit app.py"),
        ("we don't need the branch", "Bash git push"),
        ("leave the cache out", "ExitPlanMode a faster index"),
    ]
    assert {fact.by for fact in given} == {"user"}
    assert decided(turn(1, refused()), turn(2, refused(reason="what would that do?"))) == []


@pytest.mark.parametrize(
    "words",
    [
        "not on this branch",
        "fetch the branch first",
        "i'll do it myself",
        "delete the old one first",
    ],
)
def test_words_that_refuse_a_command_and_choose_nothing_decide_nothing(words: str) -> None:
    assert decided(turn(1, refused("Bash", words, command="git push"))) == []
    assert decided(turn(1, refused("Edit", "wait let's discuss", file_path="a.py"))) == []
