"""How test runners close, by runner: outputs written by hand, with what they count."""

from __future__ import annotations

from typing import NamedTuple


class Closing(NamedTuple):
    output: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unit: str = "tests"


CLOSINGS: dict[str, tuple[Closing, ...]] = {
    "pytest": (
        Closing("....  [100%]\n=========== 4 passed in 0.12s ===========", 4),
        Closing("==== 1 failed, 3 passed, 2 warnings in 62.51s (0:01:02) ====", 3, 1),
        Closing("4 passed in 0.12s", 4),
        Closing("1 failed, 2 passed, 3 skipped, 4 deselected in 1.20s", 2, 1, 3),
        Closing("=== 3 passed, 1 warning in 0.20 seconds ===", 3),
        Closing("!!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.10s ===", 0, 1),
        Closing("2 passed, 2 errors in 0.31s", 2, 2),
        Closing("=== no tests ran in 0.01s ==="),
        Closing("4 deselected in 0.02s"),
        Closing("2 skipped in 0.02s", 0, 0, 2),
        Closing("3 passed, 1 xfailed, 1 xpassed, 2 rerun, 5 subtests passed in 3.00s", 4, 0, 1),
        Closing("4 workers [9 items]\n.........\n== 9 passed in 90061.00s (1 day, 1:01:01) ==", 9),
        Closing("2 subtests failed, 1 passed in 0.1s", 1, 2),
        Closing("== 2 passed in 0.1s ==\n== 1 failed, 1 passed in 0.2s ==", 3, 1),
    ),
    "unittest": (
        Closing("....\n------\nRan 4 tests in 0.003s\n\nOK", 4),
        Closing("Ran 1 test in 0.000s\n\nOK\nDestroying test database for alias 'default'...", 1),
        Closing("Ran 6 tests in 0.003s\n\nFAILED (failures=1, errors=2)", 3, 3),
        Closing("Ran 6 tests in 0.003s\n\nOK (skipped=1, expected failures=1)", 4, 0, 2),
        Closing("Ran 3 tests in 0.1s\n\nFAILED (unexpected successes=1)", 2, 1),
        Closing("Ran 0 tests in 0.000s\n\nNO TESTS RAN"),
        Closing("FAILED (errors=1)", 0, 1),
        Closing("Ran 3 tests in 0.02s\n\nPASSED (successes=3)", 3),
        Closing("Ran 2 tests in 0.1s\n\nFAILED (failures=2)\nRan 5 tests in 0.1s\n\nOK", 5, 2),
    ),
    "go": (
        Closing("ok  \texample.com/a\t0.012s\nok  \texample.com/b\t(cached)", 2, unit="packages"),
        Closing("?   \ta.com/a\t[no test files]\nok  \ta.com/b\t0.10s", 1, unit="packages"),
        Closing("?   \texample.com/a\t[no test files]", unit="packages"),
        Closing("ok  \texample.com/a\t0.01s [no tests to run]", unit="packages"),
        Closing("ok  \texample.com/a\t0.51s\tcoverage: 81.2% of statements", 1, unit="packages"),
        Closing("ok      example.com/a   0.012s", 1, unit="packages"),
        Closing(
            "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3\nFAIL\n"
            "FAIL\texample.com/a\t0.004s\nok  \texample.com/b\t0.010s\nFAIL",
            1,
            1,
            unit="packages",
        ),
        Closing(
            "# a.com/b\n./b.go:3:2: undefined: x\nFAIL\ta.com/b [build failed]\nFAIL",
            0,
            1,
            unit="packages",
        ),
        Closing("FAIL\ta.com/b [setup failed]", 0, 1, unit="packages"),
        Closing("FAIL", 0, 1, unit="packages"),
        Closing(
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/low\n"
            "--- FAIL: TestB (0.01s)\n    --- FAIL: TestB/low (0.00s)\n--- SKIP: TestC (0.00s)\n"
            "FAIL\nFAIL\ta.com/b\t0.012s\nFAIL",
            1,
            2,
            1,
        ),
        Closing("--- PASS: TestA (0.00s)\nPASS\nok  \ta.com/b\t0.01s", 1),
        Closing(
            "--- PASS: TestA (0.00s)\nok  \ta.com/b\t0.01s\nFAIL\ta.com/c [build failed]", 1, 1
        ),
        Closing("--- FAIL: TestA (0.00s)", 0, 1),
        Closing(
            '{"Time":"2024-05-01T10:00:00.1Z","Action":"run","Package":"a.com/b","Test":"TestA"}\n'
            '{"Time":"2024-05-01T10:00:00.1Z","Action":"output","Package":"a.com/b",'
            '"Test":"TestA","Output":"--- PASS: TestA (0.00s)\\n"}\n'
            '{"Time":"2024-05-01T10:00:00.1Z","Action":"pass","Package":"a.com/b","Test":"TestA",'
            '"Elapsed":0}\n'
            '{"Time":"2024-05-01T10:00:00.2Z","Action":"fail","Package":"a.com/b","Test":"TestB",'
            '"Elapsed":0.1}\n'
            '{"Time":"2024-05-01T10:00:00.3Z","Action":"fail","Package":"a.com/b","Elapsed":0.2}',
            1,
            1,
        ),
    ),
    "gotestsum": (
        Closing("✓  a.com/b (12ms)\n\nDONE 12 tests in 0.524s", 12),
        Closing("--- FAIL: TestA (0.00s)\n\nDONE 12 tests, 2 skipped, 1 failure in 0.5s", 9, 1, 2),
        Closing("DONE 12 tests, 1 error in 0.5s", 12, 1),
        Closing("DONE 2 runs, 12 tests, 1 failure, 1 error in 3.200s", 11, 2),
    ),
    "cargo": (
        Closing(
            "running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 1 ignored; "
            "0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests tide\n\nrunning 1 test\n"
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; "
            "finished in 0.31s",
            3,
            0,
            1,
        ),
        Closing(
            "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; "
            "finished in 0.02s\n\nerror: test failed, to rerun pass `--test tide`",
            12,
            1,
        ),
        Closing("error: test failed, to rerun pass `--lib`", 0, 1),
        Closing("error: 2 targets failed:\n    `-p tide --lib`", 0, 1),
    ),
    "cargo-nextest": (
        Closing("------------\n     Summary [   0.023s] 5 tests run: 5 passed, 2 skipped", 5, 0, 2),
        Closing(
            "     Summary [   1.200s] 9/12 tests run: 6 passed (1 slow, 1 flaky), 2 failed, "
            "1 timed out, 3 skipped\n        FAIL [   0.004s] tide tests::ebb\n"
            "error: test run failed",
            6,
            3,
            3,
        ),
        Closing("Summary [ 0.1s] 4 tests run: 2 passed, 1 failed, 1 exec failed, 0 skipped", 2, 2),
    ),
    "jest": (
        Closing(
            "Test Suites: 2 passed, 2 total\nTests:       5 passed, 5 total\n"
            "Snapshots:   0 total\nTime:        1.2 s\nRan all test suites.",
            5,
        ),
        Closing(
            "Test Suites: 1 failed, 1 passed, 2 total\n"
            "Tests:       2 failed, 1 skipped, 1 todo, 5 passed, 9 total",
            5,
            2,
            2,
        ),
        Closing("Test Suites: 1 failed, 2 passed, 3 total\nTests:       5 passed, 5 total", 5, 1),
        Closing("Test Suites: 1 failed, 1 of 3 total\nTests:       0 total", 0, 1),
        Closing("Tests: 1 failed, 1 total", 0, 1),
    ),
    "vitest": (
        Closing(
            " Test Files  2 passed (2)\n      Tests  5 passed (5)\n   Start at  10:00:00\n"
            "   Duration  1.20s (transform 20ms, setup 0ms)",
            5,
        ),
        Closing(
            " Test Files  1 failed | 1 passed (2)\n"
            "      Tests  1 failed | 5 passed | 2 skipped | 1 todo (9)",
            5,
            1,
            3,
        ),
        Closing(" Test Files  1 failed (1)\n      Tests  no tests", 0, 1),
        Closing(" Test Files  1 failed | 2 passed (3)\n      Tests  6 passed (6)", 6, 1),
        Closing(
            " Test Files  1 passed (1)\n      Tests  4 passed (4)\n     Errors  2 errors", 4, 2
        ),
    ),
    "mocha": (
        Closing("\n  12 passing (34ms)\n", 12),
        Closing("  4 passing (2s)\n  1 pending\n  2 failing\n\n  1) Tide\n       ebbs:", 4, 2, 1),
        Closing("  0 passing (3ms)\n  1 failing", 0, 1),
    ),
    "node": (
        Closing(
            "ℹ tests 6\nℹ suites 1\nℹ pass 4\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n"
            "ℹ duration_ms 51.3",
            4,
            1,
            1,
        ),
        Closing(
            "ok 1 - ebb\nnot ok 2 - flow\n1..2\n# tests 2\n# suites 0\n# pass 1\n# fail 1\n"
            "# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 51.3",
            1,
            1,
        ),
        Closing("1..3\n# tests 3\n# pass  3\n\n# ok", 3),
        Closing("# pass 2\n# fail 0\n# cancelled 1", 2, 1),
        Closing("ℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 51.3", 0, 1),
    ),
    "tap": (
        Closing("TAP version 13\n1..3\nok 1 - ebb\nok 2 - flow # SKIP no sea\nok 3", 2, 0, 1),
        Closing("1..2\nok 1 ebb\nnot ok 2 flow\n# Failed test 'flow'", 1, 1),
        Closing("    ok 1 - inner\n    1..1\nok 1 - outer\nnot ok 2 - later # TODO\n1..2", 1, 0, 1),
        Closing("not ok 7 - flow", 0, 1),
        Closing("1..4\nok 1\nBail out! No sea.", 1, 1),
    ),
}
