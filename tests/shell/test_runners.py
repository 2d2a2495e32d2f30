"""Counts of test runners, and all that looks like one and is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from time import process_time

import pytest

from kedgeline.shell.evidence import RUNNERS, RUNNERS_TAIL, TABLE, Counts, counts_in
from tests.shell.runner_outputs import CLOSINGS, Closing
from tests.shell.runner_outputs_more import MORE_CLOSINGS

ALL = CLOSINGS | MORE_CLOSINGS
EACH = [
    pytest.param(runner, closing, id=f"{runner}-{place}")
    for runner, closings in ALL.items()
    for place, closing in enumerate(closings)
]
DRESSED = re.compile(r"\d+|[✓✔✘✖]|passed|failed|ok\b|PASS|FAIL")


def counted(runner: str, closing: Closing) -> Counts:
    return Counts(runner, closing.passed, closing.failed, closing.skipped, closing.unit)


@pytest.mark.parametrize(("runner", "closing"), EACH)
def test_a_runner_is_read(runner: str, closing: Closing) -> None:
    assert counts_in(closing.output) == counted(runner, closing)


def coloured(output: str) -> str:
    shown = DRESSED.sub(lambda word: f"\x1b[1;32m{word[0]}\x1b[0m", output)
    return f"\x1b]8;;https://example.com\x07{shown}\x1b]8;;\x1b\\\x1b[2K\x1b(B"


DRESSES: dict[str, Callable[[str], str]] = {
    "line ends of Windows": lambda output: output.replace("\n", "\r\n") + "\r\n",
    "colours": coloured,
    "text around": "> tide@1.0.0 test\nsetting up the password\n{}\nDone in 3.1s.\n".format,
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(("runner", "closing"), EACH)
def test_what_is_around_the_words_does_not_matter(
    runner: str, closing: Closing, dress: str
) -> None:
    assert counts_in(DRESSES[dress](closing.output)) == counted(runner, closing)


def test_every_row_has_examples_and_every_example_a_row() -> None:
    assert set(RUNNERS) == set(ALL)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "\n\n",
        "password\nbypass\ncompassed\nunsuccessfully",
        "2 passed arguments",
        "tests passed by reference",
        "I think 3 tests passed yesterday",
        "Yesterday 15 passed, 0 failed and we went home",
        'src/run.c:12:  printf("%d passed, %d failed\\n", passed, failed);',
        'src/run.c:12: 3 passed, 1 failed"',
        'assert "3 passed" in output',
        "    expected = '15 tests passed'",
        "print('All 5 tests passed')",
        "- 15 passed, 0 failed",
        "> 3 tests failed",
        "OK",
        "ok",
        "PASS",
        "OK (skipped=2)",
        "Ran 5 tests in 0.1s",
        "FAILED",
        "real    0m3.120s\nuser    0m2.900s",
        "Finished in 0.12 seconds",
        "12 packages in 0.12s",
        "Resolved 3 packages in 12ms",
        "15 tests total",
        "1 error",
        "3 errors in 2 files",
        "3 failed",
        "Failed: 3",
        "Total: 12",
        "3 files succeeded",
        "3 succeeded, 1 failed uploads",
        "1 pending",
        "# tests",
        "# tests 5",
        "ok 1 more thing",
        "ℹ fail 0\nℹ cancelled 0",
        "found 0 vulnerabilities",
        "BUILD SUCCESS",
        "BUILD FAILED in 3s",
        "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in a.TideTest",
        "--- FAIL: somewhere in the text",
        "error: could not compile `tide` (lib test) due to 2 previous errors",
        "FAIL src/tide.test.ts (5.2 s)",
        "Executed 3 queries, with 0 failures",
        f"{'9' * 5000} passed in 0.1s",
        f"{'9' * 10} tests passed",
        "test cases: many | none passed",
    ],
)
def test_words_that_are_no_closing_count_nothing(output: str) -> None:
    assert counts_in(output) is None


@pytest.mark.parametrize("runner", ALL)
def test_a_failure_is_not_forgotten_when_another_run_passes(runner: str) -> None:
    bad = [closing for closing in ALL[runner] if closing.failed]
    good = [closing for closing in ALL[runner] if closing.passed and not closing.failed]
    for failing, passing in product(bad, good):
        for runs in ((failing, passing), (passing, failing)):
            found = counts_in("\n".join(closing.output for closing in runs))
            assert found is not None
            assert found.failed >= failing.failed


def test_a_failure_of_any_runner_fails_all() -> None:
    assert counts_in("1 failed, 3 passed in 0.1s\n\nTests:  5 passed, 5 total") == Counts(
        "pytest, jest", passed=8, failed=1
    )
    assert counts_in("ok  \ta.com/b\t0.1s\n 4 pass\n 1 fail") == Counts(
        "go, bun", passed=5, failed=1, unit="packages and tests"
    )


def test_a_word_inside_a_word_counts_nothing() -> None:
    assert counts_in("  Tests:    2 failovers, 5 passed (9 assertions)") == Counts("pest", passed=5)
    assert counts_in("Tests: 5, Assertions: 8, Nonfailures: 2.") == Counts("phpunit", passed=5)


def test_a_runner_that_ran_nothing_is_not_named_beside_one_that_did() -> None:
    assert counts_in("no tests ran in 0.01s\n\nTests:  5 passed, 5 total") == Counts(
        "jest", passed=5
    )


def test_plain_words_beside_a_runner_count_only_where_they_fail() -> None:
    assert counts_in("3 passed in 0.1s\nAll 3 tests passed") == Counts("pytest", passed=3)
    assert counts_in("1 failed in 0.1s\n1 test failed") == Counts("pytest", failed=1)
    found = counts_in("3 passed in 0.1s\n2 tests failed")
    assert found is not None
    assert (found.passed, found.failed) == (3, 2)


@pytest.mark.parametrize(
    ("prefix", "closing"),
    [
        ("web:test: ", "Tests:       5 passed, 5 total"),
        (
            "@tide/web:test:unit: ",
            " Test Files  1 passed (1)\n@tide/web:test:unit: Tests  5 passed (5)",
        ),
        ("packages/web test: ", "Tests:       5 passed, 5 total"),
        ("web-1  | ", "5 passed in 0.1s"),
        ("2024-05-01T10:00:00.1234567Z ", "5 passed in 0.1s"),
        ("unit\tRun tests\t2024-05-01T10:00:00.1234567Z ", "== 5 passed in 0.1s =="),
        ("[test] ", "  5 passing (3ms)"),
    ],
)
def test_what_a_wrapper_puts_before_lines_does_not_matter(prefix: str, closing: str) -> None:
    found = counts_in(prefix + closing)
    assert found is not None
    assert (found.passed, found.failed) == (5, 0)


@pytest.mark.parametrize(
    ("whole", "passed", "failed"),
    [
        ("test a ... ok\n" * 40 + CLOSINGS["cargo"][1].output, 12, 1),
        ("ok  \ta.com/b\t0.1s\n" * 9 + "FAIL\ta.com/c\t0.1s\nFAIL", 3, 1),
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1)", 3, 1),
        ("ok 1 - a\n" * 9 + "# tests 9\n# pass 8\n# fail 1\n# cancelled 0\n# skipped 0", 8, 1),
    ],
)
def test_a_tail_is_enough(whole: str, passed: int, failed: int) -> None:
    found = counts_in("\n".join(whole.splitlines()[-5:]))
    assert found is not None
    assert (found.passed, found.failed) == (passed, failed)


def test_only_the_end_of_long_output_is_looked_at() -> None:
    filler = "nothing of note happened here\n" * (RUNNERS_TAIL // 30 + 1)
    assert counts_in("3 passed in 0.1s\n" + filler) is None
    assert counts_in(filler + "3 passed in 0.1s\n") == Counts("pytest", passed=3)


def test_the_end_of_a_line_that_was_cut_is_not_a_line() -> None:
    tail = "3 passed in 0.1s\n"
    tail += "\n" * (RUNNERS_TAIL - len(tail))
    assert counts_in(tail) == Counts("pytest", passed=3)
    assert counts_in("I said: " + tail) is None


MEGABYTE = 1_000_000
HOSTILE = {
    "digits": "1",
    "spaces": " ",
    "tabs": "\t",
    "equals": "=",
    "line-feeds": "\n",
    "passed": "1 passed, ",
    "passed-lines": "1 passed, 1 failed, 1 skipped x\n",
    "jest": "Tests: 1 failed, ",
    "jest-lines": "Tests: " + "1 failed, " * 40 + "\n",
    "vitest-lines": "Tests  " + "1 failed | " * 40 + "\n",
    "spaced-lines": " " * 400 + " 1 passed in\n",
    "go": "ok  \ta\t",
    "go-lines": "ok  \t" + "a" * 400 + "\t\n",
    "json": '{"Time":"2024","Action":"pass","Package":"a"\n',
    "short-words": "OK",
    "short-lines": "OK\n",
    "tap": "ok 1 - # skip # skip # ski\nnot ok\n",
    "plain-lines": "Passed: 1 " * 40 + "x\n",
    "marks": "=== " * 100 + " 1 tests passed x\n",
    "escapes": "\x1b[",
    "links": "\x1b]8;;",
    "colours": "\x1b[32mok\x1b[0m \n",
    "prefixes": "a:a: a test: a-1 | passed\n",
    "karma": "Executed " * 50 + "\n",
    "nested": "(" * 400 + " passed\n",
    "returns": "1 passed\r",
}
SIGNALS = [signal.strip("\n") for runner in TABLE for signal in runner.signals]
for filler in ("=", "1", " ", "a", "1 passed, ", "= ", "1 "):
    run = filler * (240 // len(filler))
    HOSTILE[f"signals-in-{filler}"] = "".join(f"{run}{one}{run}\n" for one in SIGNALS)


@pytest.mark.torture
@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_text_takes_time_in_proportion(shape: str) -> None:
    """Of a megabyte twice as much is looked at as of the short text."""
    unit = HOSTILE[shape]
    short = seconds(unit * (RUNNERS_TAIL // 2 // len(unit)))
    long = seconds(unit * (MEGABYTE // len(unit)))
    assert long < 3 * short + 0.02
    assert long < 1


def seconds(text: str) -> float:
    started = process_time()
    counts_in(text)
    return process_time() - started
