"""A request is done where tests pass on what changed, or where the closing answer reports it and
calls bear it out."""

from __future__ import annotations

import pytest

from kedgeline.anchors.detectors.work import TaskCompletion
from kedgeline.anchors.evidence import HEAD, reported_done
from kedgeline.model import Turn
from tests.anchors.watching import found_by, memory_after
from tests.turns import bash, called, edit, turn

PASSING = bash("pytest", "15 passed in 1.1s")
FAILING = bash("pytest", "1 failed, 14 passed in 1.2s", exit_code=1)


def closing(answer: str, *steps, user: str = "please"):
    """What is found in the closing answer after a turn with these calls."""
    found = found_by(TaskCompletion(), turn(0, *steps, user=user), turn(1, says=answer))
    return found.get(1, "")


def test_files_changed_and_tests_pass_in_one_turn():
    """The seed's form."""
    found = found_by(TaskCompletion(), turn(3, edit("src/auth.py"), PASSING))

    assert found == {3: "auth.py changed and tests pass (15 passed)"}


def test_files_changed_and_tests_pass_in_different_turns_of_an_exchange():
    found = found_by(TaskCompletion(), turn(0, edit("src/auth.py")), turn(1, PASSING))

    assert found == {1: "auth.py changed and tests pass (15 passed)"}


def test_an_edit_alone_completes_nothing():
    assert found_by(TaskCompletion(), turn(0, edit("src/auth.py"), says="File updated.")) == {}


def test_files_of_another_exchange_do_not_count():
    found = found_by(
        TaskCompletion(), turn(0, edit("a.py")), turn(1, PASSING, user="test it", exchange=1)
    )

    assert found == {}


def test_passing_tests_complete_an_exchange_once():
    found = found_by(
        TaskCompletion(),
        turn(0, edit("a.py"), PASSING),
        turn(1, edit("b.py"), PASSING),
        turn(2, edit("c.py"), PASSING, user="next", exchange=1),
    )

    assert list(found) == [0, 2]


def test_a_pass_that_ends_an_error_is_not_told_again_by_the_next_pass():
    found = found_by(
        TaskCompletion(),
        turn(0, FAILING),
        turn(1, edit("a.py")),
        turn(2, PASSING),
        turn(3, PASSING),
    )

    assert found == {}


def test_documents_are_not_verified_by_tests():
    assert found_by(TaskCompletion(), turn(0, edit("docs/plan.md"), PASSING)) == {}


def test_after_an_open_error_passing_tests_are_for_error_resolution():
    found = found_by(TaskCompletion(), turn(0, FAILING), turn(1, edit("a.py")), turn(2, PASSING))

    assert found == {}


def test_the_closing_answer_reports_what_a_booking_tool_did():
    booked = called("book_reservation", '{"id": "R1"}', flight="F7")

    assert closing("Your flight has been booked. Safe travels!", booked) == (
        "Completed: Your flight has been booked. (book_reservation)"
    )


def test_the_closing_answer_reports_edits_without_tests():
    assert closing("Done. I've updated the handler to retry.", edit("src/app/handler.ts")) == (
        "Completed: I've updated the handler to retry. (handler.ts)"
    )


def test_the_closing_answer_reports_a_commit():
    committed = bash("git commit -m 'Add retries'", "[main 1234567] Add retries")

    assert closing("Committed.", committed) == "Completed: Committed. (commit)"


@pytest.mark.parametrize(
    "tool", ["createIssue", "mcp__tracker__update-ticket", "send_email", "Tracker.DeleteItem"]
)
def test_tools_outside_the_catalogue_change_something_by_their_name(tool):
    assert closing("All set!", called(tool, "ok"))


@pytest.mark.parametrize(
    "tool", ["get_reservation_details", "search_flights", "calculate", "settings_list", "address"]
)
def test_tools_that_only_look_bear_nothing_out(tool):
    assert closing("Your flight has been booked.", called(tool, "ok")) == ""


def test_handing_in_what_was_changed_completes_too():
    """Agents that end with a call have no closing answer."""
    submit = called("submit", "diff")
    found = found_by(
        TaskCompletion(),
        turn(0, submit),
        turn(1, edit("src/a.py")),
        turn(2, submit),
        turn(3, submit),
    )

    assert found == {2: "Completed: submit (a.py)"}


def test_handing_in_is_often_not_answered():
    call, _ = called("submit")
    last = Turn(index=1, tool_calls=(call,))

    assert list(found_by(TaskCompletion(), turn(0, edit("a.py")), last)) == [1]


def test_an_answer_without_any_change_completes_nothing():
    assert closing("I've fixed it.", bash("ls", "a.py")) == ""


def test_a_change_that_failed_bears_nothing_out():
    failed = called("book_reservation", "no seats", success=False, flight="F7")

    assert closing("Your flight has been booked.", failed) == ""


def test_the_exchange_before_bears_nothing_out():
    found = found_by(
        TaskCompletion(),
        turn(0, called("cancel_order", "ok")),
        turn(1, says="Your order has been cancelled.", user="and now?", exchange=1),
    )

    assert found == {}


def test_what_failed_and_was_left_at_that_keeps_the_request_open():
    assert closing("I've updated the parser.", edit("parser.py"), FAILING) == ""


def test_what_failed_and_was_tried_again_does_not():
    assert closing(
        "I've updated the parser.",
        called("update_ticket", "locked", success=False),
        called("update_ticket", "ok"),
    )


def test_a_linter_that_failed_need_not_be_asked_in_the_same_words():
    complains = bash("ruff check .", "Found 1 error.", exit_code=1)
    content = bash("ruff check src", "All checks passed!")

    assert closing("I've updated the parser.", edit("parser.py"), complains) == ""
    assert closing("I've updated the parser.", complains, edit("parser.py"), content)


def test_a_plain_command_that_failed_is_left_behind_by_the_next_success():
    wrong = bash("python tools/show.py", "no such option", exit_code=2)

    assert closing("I've updated the parser.", wrong, edit("parser.py"))
    assert closing("I've updated the parser.", edit("parser.py"), wrong) == ""


def test_one_report_for_an_exchange():
    found = found_by(
        TaskCompletion(),
        turn(0, edit("a.py")),
        turn(1, says="Done, the name is changed."),
        turn(2, says="I've updated the name."),
    )

    assert list(found) == [1]


def test_a_turn_that_goes_on_to_call_tools_is_no_closing_answer():
    found = found_by(
        TaskCompletion(), turn(0, edit("a.py")), turn(1, bash("ls"), says="I've fixed the parser.")
    )

    assert found == {}


@pytest.mark.parametrize(
    "answer",
    [
        "Done.",
        "All set!",
        "Fixed. The parser now accepts tabs.",
        "Your reservation has been cancelled. Is there anything else?",
        "I've updated both files.",
        "I updated both files, and will look at the third tomorrow.",
        "The migration is complete.",
        "The bug is now fixed.",
        "Perfect! All 12 tests pass.",
        "**Implementation complete.** Here is how it works.",
        "Added `retry` to the client so that it will not fail at once.",
        "Pull request created: https://example.org/team/app/pull/7",
    ],
)
def test_answers_that_report_completion(answer):
    assert reported_done(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "I will update both files.",
        "I'll have updated both files by then.",
        "The reservation has not been cancelled yet.",
        "I could not update the second file. I've updated the first.",
        "I was unable to book the flight.",
        "The change is partially done.",
        "Your order has been cancelled, is that right?",
        "Would you like to have it cancelled?",
        "Once it has been merged, the job runs by itself.",
        "If the order has been cancelled, you get a refund.",
        "This remains to be done.",
        "The work was unsuccessfully finished, I think.",
        "I found three problems in the parser.",
        "Shall I proceed? I've created a draft.",
        "Here is the plan:\n- Cache what has been removed.\n- Drop the lock.",
        "## The order has been cancelled\nThis is how a cancellation is shown.",
        "",
    ],
)
def test_answers_that_do_not(answer):
    assert reported_done(answer) == ""


def test_only_the_beginning_and_the_end_of_a_long_answer_are_read():
    filler = "This is how the parser works in detail. " * (HEAD // 10)

    assert reported_done(f"{filler}I've updated the parser. {filler}") == ""
    assert reported_done(f"{filler}I've updated the parser.") == "I've updated the parser."


def test_memory_does_not_grow_with_the_conversation():
    def make(index):
        steps = (edit(f"src/{index}.py"), bash(f"python run{index}.py", exit_code=1))
        return turn(index, *steps)

    short, long = (memory_after(TaskCompletion(), turns, make) for turns in (500, 5_000))

    assert long <= short * 1.1
