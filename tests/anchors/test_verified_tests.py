"""Tests that pass after something changed: edit and test usually lie in different turns."""

from __future__ import annotations

from kedgeline.anchors.detectors.work import VerifiedTests
from tests.anchors.watching import found_by, memory_after
from tests.turns import bash, called, edit, turn

PASSING = bash("pytest", "15 passed in 1.1s")


def test_passing_tests_verify_what_changed_turns_before():
    found = found_by(
        VerifiedTests(),
        turn(0, edit("src/auth.py")),
        turn(1, edit("src/login.py")),
        turn(2, says="Now the tests."),
        turn(3, PASSING),
    )

    assert found == {3: "Changes in auth.py, login.py verified: tests pass (15 passed)"}


def test_changes_and_tests_may_lie_in_different_exchanges():
    found = found_by(
        VerifiedTests(),
        turn(0, edit("auth.py"), user="fix the login"),
        turn(1, PASSING, user="and run the tests", exchange=1),
    )

    assert list(found) == [1]


def test_the_seeds_third_example_is_found():
    """Its turn with the passing tests has neither an edit nor a word of a milestone."""
    found = found_by(
        VerifiedTests(),
        turn(0, called("Write", "created", file_path="src/app.rs", content="fn main() {}")),
        turn(1, bash("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored")),
    )

    assert found == {1: "Changes in app.rs verified: tests pass (3 passed)"}


def test_a_pass_with_nothing_changed_is_nothing():
    assert found_by(VerifiedTests(), turn(0, PASSING), turn(1, PASSING)) == {}


def test_after_an_anchor_it_takes_new_changes():
    found = found_by(
        VerifiedTests(),
        turn(0, edit("a.py")),
        turn(1, PASSING),
        turn(2, PASSING),
        turn(3, edit("b.py")),
        turn(4, PASSING),
    )

    assert found == {
        1: "Changes in a.py verified: tests pass (15 passed)",
        4: "Changes in b.py verified: tests pass (15 passed)",
    }


def test_changes_wait_until_tests_pass():
    found = found_by(
        VerifiedTests(),
        turn(0, edit("a.py")),
        turn(1, bash("pytest", "3 passed, 1 failed in 1s", exit_code=1)),
        turn(2, edit("b.py")),
        turn(3, PASSING),
    )

    assert found == {3: "Changes in a.py, b.py verified: tests pass (15 passed)"}


def test_a_run_in_which_nothing_passed_verifies_nothing():
    """R11: "0 passed", "password" and "bypass" are no passing tests."""
    for output in ("0 passed in 0.1s", "no tests ran in 0.01s", "bypass the password test"):
        assert (
            found_by(VerifiedTests(), turn(0, edit("a.py")), turn(1, bash("cat log", output))) == {}
        )
    assert (
        found_by(
            VerifiedTests(),
            turn(0, edit("a.py")),
            turn(1, bash("pytest", "no tests ran", exit_code=5)),
        )
        == {}
    )


def test_an_edit_that_failed_changed_nothing():
    found = found_by(VerifiedTests(), turn(0, edit("a.py", success=False)), turn(1, PASSING))

    assert found == {}


def test_documents_are_not_verified_by_tests():
    found = found_by(VerifiedTests(), turn(0, edit("docs/plan.md")), turn(1, PASSING))

    assert found == {}


def test_what_is_only_tried_out_is_no_change_where_the_work_is_elsewhere():
    found = found_by(
        VerifiedTests(),
        turn(0, edit("src/app.py")),
        turn(1, edit("/tmp/try.py"), PASSING),
        turn(2, edit("/tmp/try.py"), PASSING),
    )

    assert found == {1: "Changes in app.py verified: tests pass (15 passed)"}


def test_work_that_lies_in_a_folder_for_scratch_counts():
    found = found_by(VerifiedTests(), turn(0, edit("/tmp/project/app.py")), turn(1, PASSING))

    assert list(found) == [1]


def test_a_turn_in_which_other_tests_fail_verifies_nothing():
    failing = bash("pytest e2e", "2 failed in 3s", exit_code=1)
    found = found_by(
        VerifiedTests(), turn(0, edit("a.py")), turn(1, PASSING, failing), turn(2, PASSING)
    )

    assert list(found) == [2]


def test_memory_does_not_grow_with_the_conversation():
    def make(index):
        return turn(index, edit(f"src/{index}.py"))

    short, long = (memory_after(VerifiedTests(), turns, make) for turns in (500, 5_000))

    assert long <= short * 1.1
