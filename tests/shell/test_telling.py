"""Which lines of an output tell what went wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.shell.telling import MOST, told_in

GO = """\
=== RUN   TestOne
--- PASS: TestOne (0.00s)
=== RUN   TestTwo
    two_test.go:8: starting with error handling on
    two_test.go:12: Size = 3, want 4
--- FAIL: TestTwo (0.02s)
FAIL
FAIL\texample.org/two\t0.3s
FAIL
"""
GO_BEHIND = """\
--- FAIL: TestOuter (0.00s)
    --- FAIL: TestOuter/inner (0.00s)
        outer_test.go:31: prepared
        outer_test.go:40: no rows
FAIL\texample.org/outer\t0.1s
"""
GO_BUILD = """\
# example.org/app
./app.go:7:2: "io" imported and not used
[test] ERROR task failed
FAIL\texample.org/app [build failed]
ok  \texample.org/other\t0.1s
"""
GO_BOTH = """\
--- FAIL: TestOld (0.00s)
    old_test.go:3: got 1, want 2
# example.org/app
./app.go:7:2: undefined: y
FAIL\texample.org/app [build failed]
"""
GO_LOG = """\
--- FAIL: TestDoor (0.00s)
    door_test.go:3: opening
    door_test.go:5: the door should be open
    door_test.go:9: closing
"""
GO_FIRST = """\
--- FAIL: TestLock (0.00s)
    lock_test.go:3: turning the key (the bolt should move)
    lock_test.go:5: ✓ the key should fit
    lock_test.go:7: the bolt should be out
    lock_test.go:8: Turns = 0, want 2
"""
GO_LIBRARY = """\
--- FAIL: TestWall (0.00s)
    wall_test.go:3: building
    wall_test.go:5:
        \tError Trace:\t/srv/wall_test.go:5
        \tError:      \tNot equal: 1, 2
    wall_test.go:9: got 3, want 4
"""
PYTEST = """\
____________ test_sum ____________
    def test_sum():
>       assert add(1, 2) == 4
E       assert 3 == 4
tests/test_sum.py:9: AssertionError
=========== short test summary info ===========
FAILED tests/test_sum.py::test_sum
1 failed, 3 passed in 0.1s
"""
JEST = """\
 FAIL  src/sum.test.js
  ● sums › adds

    expect(received).toBe(expected)

    Expected: 4
    Received: 3

      at Object.<anonymous> (src/sum.test.js:5:9)
"""
CARGO = """\
test tests::adds ... FAILED

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: 3
 right: 4
"""
RUST = """\
error[E0425]: cannot find value `x` in this scope
 --> src/main.rs:3:5
  |
warning: unused variable: `y`
 --> src/main.rs:4:9
error: could not compile `app` (bin "app") due to 1 previous error
"""
ESLINT = """\
/app/src/a.js
  3:7   error    'x' is not defined  no-undef
  9:1   warning  Unexpected console  no-console

✖ 2 problems (1 error, 1 warning)
"""
LINTED = """\
[lint] $ linter run
[lint] ERROR task failed

pkg/a.go:3:9: error is unwrapped (wrapcheck)
pkg/a.go:20: 20-33 lines are duplicate of `pkg/b.go:1-14` (dupl)
2 issues:
"""
TRACE = """\
error: something the log says
Traceback (most recent call last):
  File "app/run.py", line 4, in main
    load()
  File "/usr/lib/python3.12/site-packages/lib.py", line 90, in load
    raise KeyError("x")
KeyError: 'x'
"""
NPM = """\
npm error code E404
npm error 404 Not Found - GET https://registry.example/none
npm error path /app
"""


@pytest.mark.parametrize(
    ("output", "line", "places"),
    [
        (GO, "TestTwo: two_test.go:12: Size = 3, want 4", ("two_test.go:12",)),
        (GO_BEHIND, "TestOuter/inner: outer_test.go:40: no rows", ("outer_test.go:40",)),
        (GO_BUILD, './app.go:7:2: "io" imported and not used', ("./app.go:7",)),
        (GO_BOTH, "./app.go:7:2: undefined: y", ("./app.go:7",)),
        (GO_LOG, "TestDoor: door_test.go:5: the door should be open", ("door_test.go:5",)),
        (GO_FIRST, "TestLock: lock_test.go:7: the bolt should be out", ("lock_test.go:7",)),
        (
            GO_LIBRARY,
            "TestWall: wall_test.go:5: Error:      \tNot equal: 1, 2",
            ("wall_test.go:5",),
        ),
        (PYTEST, "tests/test_sum.py::test_sum: assert 3 == 4", ("tests/test_sum.py:9",)),
        (JEST, "sums › adds: Expected: 4 Received: 3", ("src/sum.test.js:5",)),
        (
            CARGO,
            "tests::adds: thread 'tests::adds' panicked at src/lib.rs:12:9:"
            " assertion `left == right` failed left: 3 right: 4",
            ("src/lib.rs:12",),
        ),
        (RUST, "error[E0425]: cannot find value `x` in this scope", ("src/main.rs:3",)),
        (ESLINT, "3:7   error    'x' is not defined  no-undef", ("/app/src/a.js:3",)),
        (LINTED, "pkg/a.go:3:9: error is unwrapped (wrapcheck)", ("pkg/a.go:3",)),
        (TRACE, "KeyError: 'x'", ("app/run.py:4",)),
        (
            '  File "a.py", line 3\n    x = (\n        ^\nSyntaxError: never closed',
            *("SyntaxError: never closed", ("a.py:3",)),
        ),
        (NPM, "npm error 404 Not Found - GET https://registry.example/none", ()),
        ("FAIL\texample.org/app\t4.5s\nok  \tx\t1s", "FAIL\texample.org/app\t4.5s", ()),
        ("# .\nno Go files in /app\nFAIL\t. [setup failed]", "no Go files in /app", ()),
        ("warn\nerror: would be lost:\n\ta.py\nAborting", "error: would be lost: a.py", ()),
        ("a.cs(3,4): error CS0103: no name", "a.cs(3,4): error CS0103: no name", ("a.cs:3",)),
        ("https://example.org/help\nit broke", "it broke", ()),
    ],
)
def test_the_line_that_tells(output: str, line: str, places: tuple[str, ...]) -> None:
    first = told_in(output)[0]
    assert (first.line, first.places) == (line, places)


def test_every_error_of_a_compiler_is_given_and_no_warning() -> None:
    output = "a.c:1:1: error: one\na.c:2:1: warning: two\nb.c:3:1: fatal error: three\n"
    assert [told.line[:5] for told in told_in(output)] == ["a.c:1", "b.c:3"]
    assert [told.kind for told in told_in(LINTED)] == ["compiler", "compiler"]


def test_each_failing_test_is_given_by_name_once() -> None:
    output = "FAILED a.py::one - x\nFAILED a.py::two\nFAILED a.py::one - x\n"
    assert [told.name for told in told_in(output)] == ["a.py::one", "a.py::two"]


def test_a_numbered_line_is_a_failing_test_only_in_a_list_of_failures() -> None:
    assert told_in("1) do this\n2) error: do that")[0].kind == "other"
    mocha = "  1 failing\n\n  1) adds\n     AssertionError: expected 3 to equal 4\n"
    assert told_in(mocha)[0].line == "adds: AssertionError: expected 3 to equal 4"


def test_lines_of_a_log_or_of_a_search_are_no_compiler_messages() -> None:
    assert told_in("a.go:12: opened\nb.py:3:text\nfatal: no")[0].line == "fatal: no"


def test_many_errors_are_cut_off_and_long_outputs_looked_at_from_both_ends() -> None:
    many = "\n".join(f"a.c:{n}:1: error: e{n}" for n in range(1, 500))
    assert len(told_in(many)) == MOST
    giant = "x" * 3_000_000 + "\nerror: " + "y" * 5_000
    assert told_in(giant)[0].line.startswith("error: yyy")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            "\n".join(
                (GO, PYTEST, RUST, TRACE, JEST, ESLINT, " ", "\x00", "1) x", "2 failing")
            ).splitlines()
        )
        | st.text(max_size=40),
        max_size=30,
    )
)
def test_hostile_output_never_raises(lines: list[str]) -> None:
    for told in told_in("\n".join(lines)):
        assert told.line
