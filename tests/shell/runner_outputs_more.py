"""More of the same: runners of other languages than Python, Go, Rust and JavaScript."""

from __future__ import annotations

from tests.shell.runner_outputs import Closing

MORE_CLOSINGS: dict[str, tuple[Closing, ...]] = {
    "maven": (
        Closing(
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in"
            " com.example.TideTest\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time"
            " elapsed: 0.01 s - in com.example.EbbTest\n[INFO] \n[INFO] Results:\n[INFO] \n"
            "[WARNING] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS",
            4,
            0,
            1,
        ),
        Closing("[ERROR] Tests run: 5, Failures: 1, Errors: 2, Skipped: 0", 2, 3),
        Closing("Results :\n\nTests run: 5, Failures: 0, Errors: 0, Skipped: 0\n", 5),
        Closing("Tests run: 3,  Failures: 1", 2, 1),
        Closing("[WARNING] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1", 4),
        Closing(
            "[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0\n"
            "[INFO] Tests run: 6, Failures: 0, Errors: 0, Skipped: 0",
            9,
            1,
        ),
    ),
    "junit": (
        Closing("Time: 0.005\n\nOK (3 tests)\n", 3),
        Closing(
            "[         5 tests found           ]\n[         1 tests skipped         ]\n"
            "[         3 tests successful      ]\n[         1 tests failed          ]",
            3,
            1,
            1,
        ),
    ),
    "gradle": (
        Closing("5 tests completed, 1 failed\n\n> Task :test FAILED\nBUILD FAILED in 2s", 4, 1),
        Closing("8 tests completed, 2 failed, 1 skipped", 5, 2, 1),
        Closing("SUCCESS: Executed 5 tests in 1.2s\n\nBUILD SUCCESSFUL in 2s", 5),
        Closing("FAILURE: Executed 5 tests in 1m 2s (1 failed, 1 skipped)", 3, 1, 1),
        Closing("Results: FAILURE (5 tests, 3 passed, 1 failed, 1 skipped)", 3, 1, 1),
    ),
    "rspec": (
        Closing("Finished in 0.01 seconds\n5 examples, 0 failures", 5),
        Closing("5 examples, 1 failure, 2 pending\n\nFailed examples:\n\nrspec ./a.rb:3", 2, 1, 2),
        Closing("0 examples, 0 failures, 1 error occurred outside of examples", 0, 1),
    ),
    "minitest": (
        Closing("5 runs, 10 assertions, 0 failures, 0 errors, 0 skips", 5),
        Closing("9 runs, 10 assertions, 1 failures, 2 errors, 1 skips", 5, 3, 1),
        Closing(
            "5 tests, 10 assertions, 1 failures, 0 errors, 1 pendings, 0 omissions, "
            "0 notifications\n80% passed",
            3,
            1,
            1,
        ),
    ),
    "exunit": (
        Closing("Finished in 0.02 seconds\n5 tests, 0 failures\n\nRandomized with seed 1", 5),
        Closing("1 doctest, 2 properties, 5 tests, 1 failure, 1 skipped", 6, 1, 1),
        Closing("9 tests, 0 failures, 6 excluded", 3, 0, 6),
        Closing("3 tests, 0 failures (6 excluded)", 3),
        Closing("3 tests, 0 failures, 1 invalid", 2, 1),
        Closing("1..x\n2 tests, 1 failure", 1, 1),
    ),
    "phpunit": (
        Closing("OK (5 tests, 10 assertions)", 5),
        Closing("FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", 4, 1),
        Closing("ERRORS!\nTests: 5, Assertions: 9, Errors: 1, Failures: 1, Skipped: 1.", 2, 2, 1),
        Closing(
            "OK, but incomplete, skipped, or risky tests!\nTests: 5, Assertions: 8, Skipped: 2.",
            passed=3,
            skipped=2,
        ),
        Closing("OK, but there were issues!\nTests: 5, Assertions: 8, PHPUnit Deprecations: 1.", 5),
        Closing("No tests executed!"),
    ),
    "pest": (
        Closing(
            "  Tests:    1 failed, 2 skipped, 5 passed (12 assertions)\n  Duration: 0.4s",
            5,
            1,
            skipped=2,
        ),
        Closing("  Tests:    2 failed (2 assertions)", 0, 2),
        Closing("  Tests:  5 passed\n  Time:   0.10s", 5),
        Closing("  Tests:    1 deprecated, 1 todo, 5 passed (9 assertions)", 5, 0, 1),
    ),
    "dotnet": (
        Closing(
            "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, "
            "Duration: 12 ms - Tide.Tests.dll (net8.0)\n"
            "Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, "
            "Duration: 9 ms - Ebb.Tests.dll (net8.0)",
            7,
            1,
            1,
        ),
        Closing(
            "Test Run Failed.\nTotal tests: 4\n     Passed: 2\n     Failed: 1\n    Skipped: 1\n"
            " Total time: 1.2345 Seconds",
            2,
            1,
            1,
        ),
        Closing(
            "Test Run Successful.\nTotal tests: 3\n     Passed: 3\n Total time: 1,2 Seconds", 3
        ),
        Closing("Test Run Failed.\nTotal tests: 3\n     Passed: 2", 2, 1),
        Closing("Total tests: 3. Passed: 2. Failed: 1. Skipped: 0.\nTest Run Failed.", 2, 1),
        Closing(
            "Test summary: total: 5, failed: 1, succeeded: 4, skipped: 0, duration: 1.2s", 4, 1
        ),
        Closing(
            "Test run summary: Passed! - bin/Tide.dll (net9.0|x64)\n  total: 5\n  failed: 0\n"
            "  succeeded: 4\n  skipped: 1\n  duration: 1s 200ms",
            4,
            0,
            1,
        ),
    ),
    "ctest": (
        Closing(
            "100% tests passed, 0 tests failed out of 5\n\nTotal Test time (real) = 0.1 sec", 5
        ),
        Closing(
            "[  FAILED  ] 1 test, listed below:\n50% tests passed, 2 tests failed out of 4", 2, 2
        ),
    ),
    "googletest": (
        Closing("[==========] 3 tests from 1 test suite ran.\n[  PASSED  ] 3 tests.", 3),
        Closing(
            "[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Tide.Ebb\n"
            "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Tide.Flow\n\n 1 FAILED TEST",
            2,
            1,
            1,
        ),
    ),
    "deno": (
        Closing("ok | 5 passed | 0 failed (12ms)", 5),
        Closing("FAILED | 4 passed (2 steps) | 1 failed (1 step) | 2 ignored (1m3s)", 4, 1, 2),
        Closing(
            "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out (12ms)",
            passed=5,
        ),
    ),
    "bun": (
        Closing(" 5 pass\n 0 fail\n 9 expect() calls\nRan 5 tests across 2 files. [12.00ms]", 5),
        Closing(
            " 4 pass\n 1 skip\n 2 fail\n 1 error\nRan 7 tests across 2 files. [9.00ms]", 4, 3, 1
        ),
    ),
    "xctest": (
        Closing(
            "Test Suite 'TideTests' passed at 10:00.\n"
            "\t Executed 3 tests, with 0 failures (0 unexpected) in 0.012 (0.014) seconds\n"
            "Test Suite 'EbbTests' failed at 10:00.\n"
            "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.012 (0.014) seconds\n"
            "Test Suite 'All tests' failed at 10:00.\n"
            "\t Executed 5 tests, with 1 failure (0 unexpected) in 0.024 (0.028) seconds",
            4,
            1,
        ),
        Closing(
            "\t Executed 5 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.1 (0.1)"
            " seconds",
            3,
            0,
            2,
        ),
    ),
    "flutter": (
        Closing("00:01 +5: All tests passed!", 5),
        Closing("00:01 +4 ~1 -2: Some tests failed.", 4, 2, 1),
    ),
    "playwright": (
        Closing("Running 3 tests using 2 workers\n  3 passed (2.1s)", 3),
        Closing(
            "  1 failed\n    [chromium] › tide.spec.ts:3:5 › ebbs ───────\n  1 flaky\n"
            "    [chromium] › tide.spec.ts:9:5 › flows ───────\n  2 skipped\n  3 did not run\n"
            "  4 passed (1.2m)",
            4,
            1,
            5,
        ),
        Closing(
            "  2 failed\n    tide.spec.ts:3:5 › ebbs ────\n    tide.spec.ts:9:5 › flows ──", 0, 2
        ),
        Closing("1 passed (900ms)", 1),
    ),
    "plain": (
        Closing("All 5 tests passed", 5),
        Closing("All 5 tests passed successfully", 5),
        Closing("✅ ALL 12 TESTS PASSED!", 12),
        Closing("15 tests passed", 15),
        Closing("3 tests failed", 0, 3),
        Closing("15 passed, 0 failed", 15),
        Closing("3 passed; 1 failed", 3, 1),
        Closing("FAILED: 3 tests failed", 0, 3),
        Closing("=== Results: 7 passed, 2 failed, 1 skipped ===", 7, 2, 1),
        Closing("Test Summary: 4 passed and 1 failed (0.3s)", 4, 1),
        Closing("10/12 tests passed", 10, 2),
        Closing("1 out of 5 tests failed (0.00s)", 4, 1),
        Closing("Passed: 12\nFailed: 0", 12),
        Closing("Total: 12 | Passed: 10 | Failed: 2", 10, 2),
        Closing("Tests passed: 12/12", 12),
        Closing("Passed: 5\nFailed: 0\n\nAll 5 tests passed!", 5),
        Closing("Results (0.12s):\n       3 passed\n       1 failed", 3, 1),
        Closing("All tests passed (14 tests)", 14),
        Closing("Tests: 5 passed, 1 failed", 5, 1),
        Closing("5 tests, 4 passed, 1 failed", 4, 1),
        Closing("Total tests: 3\nPassed: 2\nFailed: 1\nTotal time: 2 seconds", 2, 1),
    ),
}
