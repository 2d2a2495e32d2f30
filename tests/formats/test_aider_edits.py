"""Edits in aider's answers: which were asked for, and which the console says were applied."""

from __future__ import annotations

import pytest

from kedgeline.model import Usage
from tests.formats.aider_history import START, answer, console, edit, read, user


def test_an_edit_block_is_a_call_and_what_the_console_says_its_result() -> None:
    turns, _ = read(
        START,
        user("fix it"),
        answer("So:\n\n" + edit("src/app.py", "a = 1\n", "a = 2\n") + "\n\nThat is all."),
        console("Tokens: 1,234 sent, 56 received.", "Applied edit to src/app.py"),
        console("Commit abc1234 fix: it", "You can use /undo to revert commit abc1234."),
    )
    call, result = turns[0].tool_calls[0], turns[0].tool_results[0]
    assert (call.tool, call.verb) == ("edit_block", "edit")
    assert call.parameters == {"path": "src/app.py", "search": "a = 1\n", "replace": "a = 2\n"}
    assert [turn.assistant_response for turn in turns] == ["So:", "That is all."]
    assert (result.success, "Commit abc1234 fix: it" in result.output) == (True, True)
    assert turns[0].usage == Usage(input=1234, output=56)


@pytest.mark.parametrize(
    ("said", "turns"),
    [("Applied", [("", 1), ("It is fixed.", 0)]), ("Failed to apply", [("It is fixed.", 1)])],
)
def test_what_is_said_behind_edits_that_were_applied_closes_the_request(
    said: str, turns: list[tuple[str, int]]
) -> None:
    """Every answer with an edit passed for one that goes on, and Next Steps asked for its end."""
    words = answer(edit("a.py", "1\n", "2\n") + "\n\nIt is fixed.")
    found, _ = read(START, user("fix it"), words, console(f"{said} edit to a.py"))
    assert [(turn.assistant_response, len(turn.tool_calls)) for turn in found] == turns


def test_older_blocks_have_their_file_inside_the_fence_and_a_line_each() -> None:
    words = ("ORIGINAL", "UPDATED")
    one, two = (edit("a.py", f"{n}\n", f"{n}{n}\n", words=words) for n in "12")
    turns, _ = read(
        user("go"),
        answer(f"{one}\n\n{two}"),
        console("Applied edit to a.py", "Failed to apply edit to a.py"),
    )
    assert [call.parameters["path"] for call in turns[0].tool_calls] == ["a.py", "a.py"]
    assert [result.success for result in turns[0].tool_results] == [True, False]
    assert turns[0].assistant_response == ""


def test_one_line_a_file_tells_of_all_its_blocks() -> None:
    blocks = edit("a.py", "1\n", "2\n") + "\n\n" + edit("a.py", "3\n", "4\n")
    turns, _ = read(START, user("go"), answer(blocks), console("Applied edit to a.py", "Commit 1"))
    outputs = [result.output for result in turns[0].tool_results]
    assert outputs == ["Applied edit to a.py", "Applied edit to a.py\nCommit 1"]
    assert [result.success for result in turns[0].tool_results] == [True, True]


def test_a_block_that_did_not_match_failed_and_the_others_did_not() -> None:
    """The console repeats the block, without its indentation; it is no second edit."""
    blocks = edit("a.py", "    x = 1\n", "x = 2\n") + "\n\n" + edit("b.py", "y\n", "z\n")
    turns, _ = read(
        START,
        user("go"),
        answer(blocks),
        console(
            "The LLM did not conform to the edit format.",
            "# 1 SEARCH/REPLACE block failed to match!",
            "",
            "## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in a.py",
            "<<<<<<< SEARCH",
            "x = 1",
            "=======",
            "x = 2",
            ">>>>>>> REPLACE",
            "",
            "# The other 1 SEARCH/REPLACE block were applied successfully.",
        ),
        answer("Again."),
    )
    assert [len(turn.tool_calls) for turn in turns] == [2, 0]
    assert [result.success for result in turns[0].tool_results] == [False, True]
    assert "SearchReplaceNoExactMatch" in (turns[0].tool_results[0].error or "")
    assert (turns[1].previous_error, turns[1].user_message) == (True, "")


def test_a_malformed_answer_changes_nothing() -> None:
    turns, _ = read(
        START,
        user("go"),
        answer(edit("a.py", "1\n", "2\n") + "\n\nb.py\n```\n<<<<<<< SEARCH\n1\n```"),
        console("The LLM did not conform to the edit format.", "^^^ Expected `=======`"),
    )
    assert [result.success for result in turns[0].tool_results] == [False]


def test_an_edit_the_user_did_not_allow_is_refused() -> None:
    turns, _ = read(
        START,
        user("go"),
        answer(edit("a.py", "1\n", "2\n")),
        console("Allow edits to a.py which was not previously added to chat? n"),
        console("Skipping edits to a.py"),
    )
    assert [(r.refused, r.failed) for r in turns[0].tool_results] == [(True, False)]


def test_a_created_file_is_reported_as_created_and_under_its_full_path() -> None:
    turns, _ = read(
        START,
        user("go"),
        answer(edit("new.py", "", "1\n")),
        console("Allow creation of new file src/new.py? y", "Applied edit to src/new.py"),
    )
    assert turns[0].tool_calls[0].paths() == ("src/new.py",)
    assert turns[0].tool_results[0].change == "create"


def test_a_file_changed_without_a_block_is_still_known() -> None:
    """Whole-file answers hold no block; the console says what they changed."""
    turns, _ = read(START, user("go"), answer("a.py\n```\n1\n```"), console("Applied edit to a.py"))
    assert [call.paths() for call in turns[0].tool_calls] == [("a.py",)]
    assert [turn.assistant_response for turn in turns] == ["", "a.py\n```\n1\n```"]


def test_an_edit_nothing_is_said_about_has_no_result() -> None:
    turns, log = read(START, user("go"), answer(edit("a.py", "1\n", "2\n")), user("wait"))
    assert turns[0].tool_results == ()
    assert log.pending[0, ""].user_message == "wait"


def test_fences_may_be_tags() -> None:
    """Where the file itself holds backticks, aider has the assistant use tags."""
    block = "a.md\n<source>markdown\n<<<<<<< SEARCH\n```\n=======\n````\n>>>>>>> REPLACE\n</source>"
    turns, _ = read(START, user("go"), answer(block), console("Applied edit to a.md"))
    assert turns[0].tool_calls[0].parameters == {
        "path": "a.md",
        "search": "```\n",
        "replace": "````\n",
    }
    assert turns[0].assistant_response == ""
