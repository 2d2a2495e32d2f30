"""Errors that are open, and what the latest test or build run came to."""

from __future__ import annotations

import pytest

from kedgeline.outcomes import Counts, Outcome
from tests.context.made import after, ran, used


def test_the_telling_line_of_a_failure_is_open() -> None:
    found = after(ran("node x", "loading\nerror: cannot find module xyz\nbye", success=False))
    assert found.error_states == ("error: cannot find module xyz",)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("\n\nnothing here speaks\nof it", "nothing here speaks"),
        ("0 errors, 2 warnings\nthe disk is full", "0 errors, 2 warnings"),
        ("compiled with 0 errors\ncannot write", "cannot write"),
        ("--- PASS: TestError (0.00s)\ncould not connect", "could not connect"),
        ("12 passed, 0 failed\nfatal: no remote", "fatal: no remote"),
        ("test_errors.py::test_error PASSED\nFAILED a.py::b - boom", "FAILED a.py::b - boom"),
        ("\x1b[31merror\x1b[0m: red", "error: red"),
        ("# example.org/pkg\n./main.go:5:2: undefined: x", "./main.go:5:2: undefined: x"),
        ("Exit code 2\nmake: *** no rule", "make: *** no rule"),
        (
            "src/a.ts(3,4): error TS2304: Cannot find name",
            "src/a.ts(3,4): error TS2304: Cannot find name",
        ),
        ("<tool_use_error>File is gone</tool_use_error>", "File is gone"),
        (
            'noise: error\nTraceback (most recent call last):\n  File "a.py", line 1\n'
            "    raise ValueError('error: x')\nValueError: error: x\nbye",
            "ValueError: error: x",
        ),
    ],
)
def test_which_line_tells(output: str, line: str) -> None:
    assert after(ran("make", output, success=False)).error_states == (line,)


def test_long_lines_are_cut_and_long_outputs_looked_at_from_both_ends() -> None:
    output = "start\n" + "x" * 3_000_000 + "\nerror: " + "y" * 500
    (line,) = after(ran("make", output, success=False)).error_states
    assert line.startswith("error: yyy")
    assert len(line) == 100


def test_an_error_is_resolved_when_the_same_command_succeeds() -> None:
    failed = ran("node x.js", "error: boom", success=False)
    other = ran("node y.js", "fine")
    assert after(failed, other).error_states == ("error: boom",)
    assert after(failed, other, ran("node x.js", "ok")).error_states == ()


def test_an_error_about_a_file_is_resolved_when_it_is_changed() -> None:
    failed = used("Edit", "a.py", error="String to replace not found")
    read = used("Read", "a.py", action="read")
    assert after(failed, read).error_states == ("String to replace not found",)
    assert after(failed, used("Edit", "b.py")).error_states != ()
    assert after(failed, used("Write", "a.py")).error_states == ()
    missing = used("Read", "a.py", error="File does not exist")
    assert after(missing, used("Write", "a.py", action="created")).error_states == ()


def test_passing_tests_resolve_but_not_what_they_do_not_show() -> None:
    passing = ran("pytest", "3 passed", purpose="test")
    built = ran("make", "", purpose="build")
    crash = ran("python a.py", "ValueError: x", success=False)
    deploy = ran("fly deploy", "error: no token", purpose="deploy", success=False)
    red = ran("pytest", "1 failed", purpose="test", success=False)
    assert after(crash, passing).error_states == ()
    assert after(deploy, passing).error_states == ("error: no token",)
    assert after(red, built).error_states == ("1 failed",)
    assert after(ran("make", "error: x", purpose="build", success=False), built, passing)


def test_fewer_tests_than_failed_before_resolve_nothing() -> None:
    """The whole run fails, the one test that was mended passes: others may still fail."""
    red = ran(
        "pytest",
        "2 failed, 98 passed",
        purpose="test",
        success=False,
        counts=Counts(runner="pytest", passed=98, failed=2),
    )
    one = ran("pytest a.py", purpose="test", counts=Counts(runner="pytest", passed=1))
    whole = ran("pytest -q", purpose="test", counts=Counts(runner="pytest", passed=100))
    assert after(red, one).error_states == ("2 failed, 98 passed",)
    assert after(red, one, whole).error_states == ()


def test_failing_tests_are_an_error_although_their_pipe_ends_well() -> None:
    piped = ran(
        "pytest | tail",
        "FAILED a.py::b\n3 passed, 1 failed",
        purpose="test",
        success=False,
        exit_code=0,
    )
    found = after(piped)
    assert found.error_states == ("FAILED a.py::b",)
    assert found.build_status == "failing"


def test_a_command_that_may_fail_is_no_error() -> None:
    tolerated = ran("grep x y", "error: tolerated", success=False, exit_code=0)
    assert after(tolerated).error_states == ()


def test_refused_and_interrupted_calls_are_no_errors() -> None:
    refused = ran("make", "error: refused by the user", success=None, exit_code=1, refused=True)
    stopped = ran("make", "error: stopped", success=None, exit_code=1, interrupted=True)
    assert after(refused, stopped).error_states == ()


def test_a_call_given_up_with_another_one_has_no_error_of_its_own() -> None:
    given_up = used(
        "Edit", "a.py", error="<tool_use_error>Sibling tool call errored</tool_use_error>"
    )
    assert after(given_up).error_states == ()


def test_a_search_without_a_match_is_no_error() -> None:
    assert after(ran("grep -q x y", "", success=False)).error_states == ()
    assert after(ran("rg x", "Exit code 1", success=False)).error_states == ()


def test_what_only_looks_breaks_nothing() -> None:
    """Such errors stayed open to the end of a session, as nobody runs them again."""
    assert after(ran("grep x y", "grep: y: No such file", success=False)).error_states == ()
    assert after(ran("rg x", "rg: command not found", success=False)).error_states == ()
    assert after(ran("make", "make: no rule", success=False)).error_states != ()


def test_the_last_five_are_named_each_once() -> None:
    failures = [ran(f"run{n}", f"error: {n % 7}", success=False) for n in range(9)]
    found = after(*failures).error_states
    assert found == tuple(f"error: {n}" for n in (4, 5, 6, 0, 1))


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([], "unknown"),
        ([ran("pytest", purpose="test")], "passing"),
        ([ran("pytest", purpose="test", success=False)], "failing"),
        (
            [ran("make", purpose="build"), ran("pytest", purpose="test", success=False)],
            "failing",
        ),
        (
            [ran("pytest", purpose="test", success=False), ran("make", purpose="build")],
            "passing",
        ),
        ([ran("pytest", purpose="test"), ran("ls")], "passing"),
        (
            [ran("pytest", purpose="test"), ran("pytest", purpose="test", success=None)],
            "passing",
        ),
        ([ran("ruff", purpose="lint", success=False)], "unknown"),
    ],
)
def test_the_latest_run_that_tells_counts(outcomes: list[Outcome], status: str) -> None:
    assert after(*outcomes).build_status == status


def test_counts_outrank_exit_codes() -> None:
    mixed = Counts(runner="cargo", passed=3, failed=1)
    fine = Counts(runner="cargo", passed=15)
    none = Counts(runner="cargo")
    assert after(ran("t", purpose="test", counts=mixed)).build_status == "failing"
    assert after(ran("t", purpose="test", success=None, counts=fine)).build_status == "passing"
    assert after(ran("t", purpose="test", counts=none)).build_status == "unknown"
