"""An error is resolved where a run shows it gone, not where an edit claims to fix it."""

from __future__ import annotations

import pytest

from kedgeline.anchors.detectors.work import ErrorResolution
from kedgeline.outcomes import Counts, Outcome, Run
from tests.anchors.watching import found_by, memory_after
from tests.turns import bash, called, edit, turn

FAILING = bash("pytest", "1 failed, 14 passed in 1.2s", exit_code=1)
PASSING = bash("pytest", "15 passed in 1.1s")


def test_error_reads_edit_and_passing_tests_in_four_turns_resolve_on_the_fourth():
    found = found_by(
        ErrorResolution(),
        turn(0, FAILING, user="the login is broken"),
        turn(1, called("Read", "code", file_path="src/auth.py")),
        turn(2, edit("src/auth.py")),
        turn(3, PASSING),
    )

    assert found == {3: "Error fixed in auth.py and tests pass (15 passed)"}


def test_the_seeds_form_is_one_turn_after_an_error_with_edit_and_passing_tests():
    found = found_by(ErrorResolution(), turn(4, edit("src/auth.py"), PASSING, previous_error=True))

    assert found == {4: "Error fixed in auth.py and tests pass (15 passed)"}


def test_without_an_error_before_the_same_turn_resolves_nothing():
    assert found_by(ErrorResolution(), turn(4, edit("src/auth.py"), PASSING)) == {}


def test_a_build_that_failed_is_resolved_by_a_build():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("go build ./...", "undefined: Login", exit_code=1)),
        turn(1, edit("auth.go")),
        turn(2, bash("go build ./...")),
    )

    assert found == {2: "Error fixed in auth.go and the build passes (go build ./...)"}


def test_failing_tests_are_not_resolved_by_a_build():
    found = found_by(
        ErrorResolution(), turn(0, FAILING), turn(1, edit("a.py")), turn(2, bash("npm run build"))
    )

    assert found == {}


def test_the_very_same_command_resolves_what_it_failed_with():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("python report.py", "KeyError: 'total'", exit_code=1)),
        turn(1, edit("report.py")),
        turn(2, bash("python other.py")),
        turn(3, bash("python report.py", "written")),
    )

    assert found == {3: "Error fixed in report.py and `python report.py` succeeds"}


@pytest.mark.parametrize(
    ("failed", "succeeded"),
    [
        (bash("grep -rn login src", exit_code=1), bash("grep -rn login src", "src/a.py:1: login")),
        (bash("git diff --exit-code", "changed", exit_code=1), bash("git diff --exit-code")),
        (called("Read", "no such file", success=False, file_path="a.py"), called("Read", "text")),
        (called("Grep", "bad pattern", success=False, pattern="("), called("Grep", "a.py")),
    ],
    ids=["grep", "diff", "read", "search"],
)
def test_a_failure_that_is_only_an_answer_is_no_error(failed, succeeded):
    turns = (turn(0, failed), turn(1, edit("a.py")), turn(2, succeeded), turn(3, PASSING))

    assert found_by(ErrorResolution(), *turns) == {}


def test_passing_tests_resolve_what_failed_when_it_was_run():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("python reproduce.py", "KeyError: 'total'", exit_code=1)),
        turn(1, edit("report.py")),
        turn(2, PASSING),
    )

    assert list(found) == [2]


def test_what_was_tried_out_beside_the_work_is_no_error_of_it():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("python /tmp/try.py", "SyntaxError", exit_code=1)),
        turn(1, edit("report.py")),
        turn(2, PASSING),
    )

    assert found == {}


def test_another_task_of_the_same_program_closes_nothing():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("npm run build", "error: no such type", exit_code=1)),
        turn(1, edit("a.ts")),
        turn(2, bash("npm run lint")),
        turn(3, bash("npm run build")),
    )

    assert list(found) == [3]


def test_passing_tests_say_nothing_about_other_commands():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("docker compose up -d", "no such network", exit_code=1)),
        turn(1, edit("report.py")),
        turn(2, PASSING),
    )

    assert found == {}


def test_a_run_in_which_nothing_passed_resolves_nothing_whatever_its_success():
    call, result = bash("pytest", "no tests ran")
    run = Run(purpose="test", words=("pytest",), success=True, counts=Counts(runner="pytest"))
    detector = ErrorResolution()
    found_by(detector, turn(0, FAILING), turn(1, edit("a.py")))

    assert detector.see(turn(2), [Outcome(call=call, result=result, runs=(run,))]) == ""


def test_what_a_linter_complains_of_is_no_error():
    found = found_by(
        ErrorResolution(),
        turn(0, bash("ruff check", "Found 1 error.", exit_code=1)),
        turn(1, edit("a.py")),
        turn(2, bash("ruff check", "All checks passed!")),
    )

    assert found == {}


def test_of_a_failed_line_that_does_not_tell_which_command_failed_the_first_is_blamed():
    both = bash("go build ./... && go vet ./...", "internal trouble", exit_code=1)
    found = found_by(ErrorResolution(), turn(0, both), turn(1, edit("a.go")), turn(2, PASSING))

    assert list(found) == [2]

    both = bash("ruff check && pytest", "internal trouble", exit_code=1)
    found = found_by(ErrorResolution(), turn(0, both), turn(1, edit("a.py")), turn(2, PASSING))

    assert found == {}


def test_adding_is_never_what_a_line_fails_at():
    command = "git add a.py && git rebase --continue"
    found = found_by(
        ErrorResolution(),
        turn(0, bash(command, "CONFLICT in b.py", exit_code=1)),
        turn(1, edit("b.py")),
        turn(2, bash(command)),
    )

    assert found == {2: "Error fixed in b.py and `git rebase --continue` succeeds"}


def test_tests_of_another_place_show_nothing():
    """The tests of one package pass; those of the other were left failing."""
    failing = bash("pytest tests/web/test_login.py", "1 failed in 1s", exit_code=1)
    elsewhere = bash("pytest tests/core", "9 passed in 1s")
    narrower = bash("pytest tests/web/test_login.py::test_logout", "1 passed in 1s")
    wider = bash("pytest tests/", "90 passed in 9s")
    before = (turn(0, failing), turn(1, edit("a.py")))

    assert found_by(ErrorResolution(), *before, turn(2, elsewhere)) == {}
    assert list(found_by(ErrorResolution(), *before, turn(2, narrower))) == [2]
    assert list(found_by(ErrorResolution(), *before, turn(2, elsewhere), turn(3, wider))) == [3]


def test_a_pass_without_a_change_resolves_nothing():
    """A flaky test that passes the second time was not fixed."""
    found = found_by(
        ErrorResolution(),
        turn(0, edit("a.py")),
        turn(1, FAILING),
        turn(2, PASSING),
        turn(3, edit("a.py")),
        turn(4, PASSING),
    )

    assert found == {}


def test_an_error_is_resolved_once():
    found = found_by(
        ErrorResolution(),
        turn(0, FAILING),
        turn(1, edit("a.py")),
        turn(2, PASSING),
        turn(3, edit("b.py")),
        turn(4, PASSING),
    )

    assert list(found) == [2]


def test_tests_that_ran_before_the_edit_in_one_batch_show_nothing():
    found = found_by(ErrorResolution(), turn(0, FAILING), turn(1, PASSING, edit("a.py")))

    assert found == {}


def test_while_some_tests_of_the_turn_fail_nothing_is_resolved():
    found = found_by(
        ErrorResolution(),
        turn(0, FAILING),
        turn(1, edit("a.py")),
        turn(2, bash("pytest unit", "9 passed in 1s"), bash("pytest e2e", "2 failed", exit_code=1)),
    )

    assert found == {}


def test_counts_outweigh_an_exit_code_that_a_pipe_swallowed():
    piped = bash("pytest 2>&1 | tail -1", "1 failed, 14 passed in 1.2s")
    found = found_by(
        ErrorResolution(), turn(0, piped), turn(1, edit("a.py")), turn(2, piped), turn(3, PASSING)
    )

    assert list(found) == [3]


def test_an_error_left_open_by_the_exchange_before_can_still_be_resolved():
    turns = (
        turn(0, FAILING, user="run the tests"),
        turn(1, says="One test fails."),
        turn(2, edit("auth.py"), user="fix it", exchange=1),
        turn(3, PASSING, exchange=1),
    )

    assert list(found_by(ErrorResolution(), *turns)) == [3]


def test_an_error_of_two_exchanges_ago_is_forgotten():
    turns = (
        turn(0, FAILING, user="run the tests"),
        turn(1, says="It is written in Python.", user="which language is it?", exchange=1),
        turn(2, edit("about.py"), user="say so", exchange=2),
        turn(3, PASSING, exchange=2),
    )

    assert found_by(ErrorResolution(), *turns) == {}


def test_a_refused_run_did_not_fail():
    call, result = bash("pytest", exit_code=1, success=False)
    refused = (call, type(result)(call_id=call.id, success=False, refused=True))
    found = found_by(ErrorResolution(), turn(0, refused), turn(1, edit("a.py")), turn(2, PASSING))

    assert found == {}


def test_three_files_are_named_and_the_others_counted():
    edits = [edit(f"src/part{number}.py") for number in range(5)]
    found = found_by(ErrorResolution(), turn(0, FAILING), turn(1, *edits), turn(2, PASSING))

    assert found == {
        2: "Error fixed in part0.py, part1.py, part2.py +2 more and tests pass (15 passed)"
    }


def test_memory_does_not_grow_with_the_conversation():
    def make(index):
        steps = (edit(f"src/{index}.py"), bash(f"python run{index}.py", exit_code=1))
        return turn(index, *steps)

    short, long = (memory_after(ErrorResolution(), turns, make) for turns in (500, 5_000))

    assert long <= short * 1.1
