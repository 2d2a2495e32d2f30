"""Test runners: how each of them closes. Adding a runner is adding a row.

A row that covers another stands before it. The patterns see single lines of bounded length, and
nothing in them repeats without a bound over what could match in another way as well.
"""

from __future__ import annotations

from kedge.outcomes.runners.plain import PLAIN_ROW
from kedge.outcomes.runners.row import Runner, row

_TOOK = r"[\d.]{1,12} ?(?:ms|s|m|h|secs?|seconds)"
_GO = r"(?:(?P<one_passed>PASS|pass)|(?P<one_failed>FAIL|fail)|(?P<one_skipped>SKIP|skip))"
_GO_JSON = rf'\{{"Time":"[^"]{{1,40}}","Action":"{_GO}","Package":"[^"]{{1,200}}"'
_GO_PACKAGE = r"[ \t]{1,12}\S{1,200}[ \t]{1,12}"
_GO_TIMED = rf"{_GO_PACKAGE}(?:\d+\.\d+s|\(cached\))"
_PYTEST = (
    r"<n> (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun"
    r"|subtests (?:passed|failed))"
)
_CARGO = (
    r"(?P<counted><n> passed; <n> failed; <n> ignored(?:; <n> measured)?)(?:; <n> filtered out)?"
)
_STEPS = r"(?: \(<n> steps?\))?"
_JEST = r"(?:<n> (?:failed|skipped|pending|todo|passed), ){0,6}"
_PEST = r"<n> (?!passed\b)[a-z]{1,20}"
_VITEST = r"<n> (?:failed|passed|skipped|todo|expected fail)"

TABLE: tuple[Runner, ...] = (
    row(
        "pytest",
        " in ",
        rf"(?:=+ )?(?:(?P<none>no tests ran)|(?P<counted>{_PYTEST}(?:, {_PYTEST}){{0,11}}))"
        rf" in {_TOOK}(?: \([\w:, ]{{1,40}}\))?(?: =+)?",
    ),
    row(
        "unittest",
        "Ran ||OK||FAILED (||PASSED (||NO TESTS RAN",
        r"Ran <total> tests? in [\d.]{1,12}s",
        r"(?P<sure>OK|PASSED|NO TESTS RAN|(?P<bad>FAILED)(?= \())"
        r"(?: \((?P<counted>[a-z ]{1,30}=<n>(?:, [a-z ]{1,30}=<n>){0,6})\))?",
    ),
    row(
        "gotestsum",
        "DONE ",
        r"DONE (?:<n> runs, )?<total> tests?(?:, <skipped> skipped)?"
        r"(?:, <failed> failures?)?(?:, <apart> errors?)? in [\d.]{1,12}s",
        covers=("go",),
    ),
    row(  # By test, where -v or -json says. It covers the next one, which has the same name.
        "go",
        '--- PASS||--- FAIL||--- SKIP||"Action":"',
        rf"--- {_GO}: \S.{{0,300}} \(\d+\.\d+s\)",
        rf'{_GO_JSON},"Test":".{{1,300}}',
    ),
    row(
        "go",
        'ok  ||FAIL||[no test files]||"Action":"',
        rf"(?P<none>ok{_GO_TIMED}.*\[no tests to run\]|\?{_GO_PACKAGE}\[no test files\])",
        rf"(?P<one_passed>ok){_GO_TIMED}.*",
        rf"(?P<one_failed>FAIL){_GO_TIMED}",
        r"(?P<one_failed>FAIL)[ \t]{1,12}\S{1,200} \[(?:build|setup) failed\]",
        r"(?P<bad>FAIL)",
        rf'{_GO_JSON}(?:,"(?!Test").{{0,200}})?\}}',
        unit="packages",
    ),
    row(
        "cargo",
        "test result: ||error: test failed|| failed:",
        rf"test result: (?:ok|FAILED)\. {_CARGO}(?:; finished in [\d.]{{1,12}}s)?",
        r"(?P<bad>error: (?:test failed, to rerun pass .*|<n> targets? failed:))",
    ),
    row(
        "cargo-nextest",
        "Summary [||error: test run failed",
        r"Summary \[[^\]]{1,20}\] +<n>(?:/<n>)? tests? run: (?P<counted>.{1,300})",
        r"(?P<bad>error: test run failed)",
    ),
    row(
        "deno",
        "ok | ||FAILED | ||test result: ",
        rf"(?:ok|FAILED) \| (?P<counted><n> passed{_STEPS} \| <n> failed{_STEPS}"
        rf"(?: \| <n> (?:ignored|measured|filtered out){_STEPS}){{0,4}})(?: \([\dmsh.]{{1,16}}\))?",
        rf"test result: (?:ok|FAILED)\. {_CARGO} \([\dmsh.]{{1,16}}\)",
    ),
    row(
        "jest",
        "Tests: ||Test Suites: ",
        rf"(?P<sure>Tests): +(?P<counted>{_JEST}<n> total)",
        rf"Test Suites: +(?:(?P<sure>)<files> failed, )?{_JEST}(?:<n> of )?<n> total",
    ),
    row(
        "vitest",
        "Tests  ||Test Files  ||Errors  ",
        rf"(?P<sure>Tests) +(?P<counted>{_VITEST}(?: \| {_VITEST}){{0,5}}) \(<n>\)",
        rf"Test Files +(?:(?P<sure>)<files> failed|{_VITEST})(?: \| {_VITEST}){{0,5}} \(<n>\)",
        r"Tests +(?P<none>no tests)",
        r"Errors +<apart> errors?",
    ),
    row(
        "cypress",
        " specs passed!|| failed (",
        r"\S? +(?:All specs passed!|(?P<bad><n> of <n> failed) \(<n>%\)) +\S{1,12}"
        r" +(?:<total>|-) +(?:<passed>|-) +(?:<failed>|-) +(?:<skipped>|-) +(?:<n>|-)",
        covers=("mocha",),
    ),
    row(
        "mocha",
        " passing|| failing|| pending",
        r"(?P<counted>(?P<sure><n> (?:passing|failing))|<n> pending)(?: \(\d{1,9}(?:ms|[smhd])\))?",
    ),
    row(
        "node",
        "# ||ℹ ",
        r"[#ℹ] (?P<sure>pass) +<passed>",
        r"[#ℹ] (?P<sure>fail) +<failed>",
        r"[#ℹ] cancelled +<failed>",
        r"[#ℹ] (?:skipped|skip|todo) +<skipped>",
        r"[#ℹ] tests +<total>",
        covers=("tap",),
    ),
    row(
        "prove",
        "Files=||Result: || test programs",
        r"Files=<n>, Tests=<total>, .*",
        r"(?P<sure>Result: (?:PASS|(?P<bad>FAIL)|NOTESTS))",
        r"Failed <n>/<n> test programs\. <failed>/<n> subtests failed\.",
        covers=("tap",),
    ),
    row(  # Tests inside of tests are indented, and counted by the one they stand in.
        "tap",
        "1..||ok ||Bail out!",
        r"(?P<one_skipped>(?:not )?ok) <n>\b.*# (?i:skip|todo)\b.*",
        r"(?P<sure>(?P<one_failed>not ok)) <n>(?: .*)?",
        r"(?P<one_passed>ok) <n>(?: .*)?",
        r"(?P<sure>1\.\.<n>)(?: .*)?",
        r"(?P<sure>(?P<bad>Bail out!)).*",
        indent="",
    ),
    row(  # Not the lines by class, which end in a time and a name.
        "maven",
        "Tests run: ",
        r"(?P<counted>Tests run: +<n>, +Failures: +<n>(?:, +Errors: +<n>)?(?:, +Skipped: +<n>)?)"
        r"(?:, +Flakes: +<n>)?",
    ),
    row(
        "junit",
        "OK (|| tests successful || tests failed || tests skipped ",
        r"OK \(<passed> tests?\)",
        r"\[ {1,12}(?P<counted><n> tests (?:successful|failed|skipped)) {1,12}\]",
    ),
    row(
        "gradle",
        " completed, ||: Executed ||Results: ",
        r"(?:SUCCESS|FAILURE): Executed <total> tests? in [\dhms. ]{1,20}"
        r"(?: \((?P<counted>[\da-z, ]{1,60})\))?",
        r"Results: (?:SUCCESS|FAILURE) \(<n> tests?, (?P<counted>[\da-z, ]{1,80})\)",
        r"<total> tests? completed(?P<counted>(?:, <n> (?:failed|skipped)){1,2})",
    ),
    row(
        "sbt",
        ": Total ",
        r"(?:Passed|Failed|Error): Total <total>, Failed <failed>, Errors <apart>, Passed <passed>"
        r"(?:, .{1,80})?",
        covers=("scalatest",),
    ),
    row(
        "scalatest",
        "Tests: succeeded ",
        r"Tests: succeeded <passed>, failed <failed>, canceled <n>, ignored <skipped>, pending <n>",
    ),
    row(
        "rspec",
        " example",
        r"(?P<counted><n> examples?, <n> failures?(?:, <n> pending)?)"
        r"(?:, <apart> errors? occurred outside of examples)?",
    ),
    row(
        "jasmine",
        " spec",
        r"(?P<counted><n> specs?, <n> failures?)(?:, <skipped> pending specs?)?",
    ),
    row(
        "minitest",
        " assertions, ",
        r"(?P<counted><n> (?:runs|tests), <n> assertions, <n> failures, <n> errors"
        r"(?:, <n> (?:skips|pendings|omissions|notifications)){0,4})",
    ),
    row(  # bats closes with the same words.
        "exunit",
        " failure",
        r"(?P<counted>(?:<n> (?:doctests?|property|properties|features?), ){0,4}<n> tests?,"
        r" <n> failures?(?:, <n> (?:excluded|invalid|skipped)){0,3})(?: \(<n> excluded\))?",
    ),
    row(
        "phpunit",
        "assertion||Assertions: ||No tests executed!",
        r"OK \(<total> tests?, <n> assertions?\)",
        r"(?P<counted>Tests: <n>, Assertions: <n>(?:, [A-Za-z ]{1,30}: <n>){0,12})\.",
        r"(?P<none>No tests executed!)",
    ),
    row(
        "pest",
        "Tests: ",
        rf"Tests: +(?P<counted>(?:{_PEST}, ){{0,8}}<n> passed)(?: \(<n> assertions?\))?",
        rf"Tests: +(?P<counted>{_PEST}(?:, {_PEST}){{0,8}}) \(<n> assertions?\)",
    ),
    row(
        "dotnet",
        "Passed||Failed||Skipped||Total t||total: ||succeeded: ||failed: ||skipped: ||Test Run "
        "||Test run summary||Test summary",
        r"(?P<sure>Passed|Failed|Skipped)! +- (?P<counted>Failed: .{1,80} Total: +<n>)(?:, .*)?",
        r"(?P<sure>Test summary): (?P<counted>total: .{1,80} skipped: <n>)(?:, .*)?",
        r"(?P<sure>Test run summary): .{1,80}",
        r"(?P<sure>Test Run) (?:Successful|Aborted|(?P<bad>Failed))\.",
        r"(?P<sure>Total time): [\d.,]{1,12} (?:Milliseconds|Seconds|Minutes|Hours)",
        r"(?P<sure>Total tests): (?P<counted><n>\. .{1,80})",
        r"Total tests: <total>",
        r"(?P<counted>(?:Passed|Failed|Skipped|total|succeeded|failed|skipped): <n>)",
    ),
    row(
        "ctest",
        "% tests passed",
        r"<n>% tests passed(?:, <failed> tests? failed)? out of <total>",
        covers=("googletest", "catch2"),
    ),
    row(
        "googletest",
        "[  PASSED  ] ||[  SKIPPED ] ||[  FAILED  ] ",
        r"\[  PASSED  \] <passed> tests?\.",
        r"\[  SKIPPED \] <skipped> tests?, listed below:",
        r"\[  FAILED  \] <failed> tests?, listed below:",
    ),
    row(
        "catch2",
        "All tests passed (||test cases: ",
        r"All tests passed \(<n> assertions? in <passed> test cases?\)",
        r"test cases: +<n> \|(?P<counted>(?: +<n> [a-z ]{1,30}\|?){1,5})",
    ),
    row(
        "bun",
        "pass\n||fail\n||skip\n||todo\n||error\n||errors\n",
        r"(?P<counted>(?P<sure><n> (?:pass|fail))|<n> (?:skip|todo|errors?))",
    ),
    row(
        "xctest",
        "Executed ",
        r"Executed (?P<counted><n> tests?, with (?:<n> tests? skipped and )?<n> failures?)"
        r" \(<n> unexpected\) in .*",
        nested=True,
    ),
    row(
        "swift-testing",
        "Test run with ",
        r"\S{0,2} {0,3}Test run with <total> tests?(?: in <n> suites?)? (?:passed|(?P<bad>failed))"
        r" after [\d.]{1,12} seconds(?: with .{1,80})?\.?",
    ),
    row(
        "flutter",
        " tests ",
        r"\d\d:\d\d \+<passed>(?: ~<skipped>)?(?: -<failed>)?:"
        r" (?:All (?:other )?tests passed!|(?P<bad>Some tests failed\.))",
    ),
    row(
        "playwright",
        " passed (|| › ||failed\n||skipped\n||interrupted\n||did not run\n||not a part of any test",
        rf"(?P<sure>)(?P<counted>(?:  )?<n> passed) \({_TOOK}\)",
        r"(?:  )?(?P<counted><n> (?:failed|skipped|interrupted|did not run))",
        r"(?P<sure>    )(?:\[[^\]]{1,60}\] › )?\S{1,200}:<n>:<n> › .*",
        r"  <apart> errors? (?:was|were) not a part of any test, see above for details",
        indent="",
    ),
    row(
        "cucumber",
        " scenario",
        r"<n> scenarios? \((?P<counted>[\da-z, ]{1,120})\)",
        r"(?P<counted><n> scenarios? passed, <n> failed(?:, <n> [a-z]{1,20}){1,3})",
        unit="scenarios",
    ),
    row(
        "forge",
        " total tests)",
        r"Ran <n> test suites? in .{1,60}: (?P<counted><n> tests passed, <n> failed, <n> skipped)"
        r" \(<n> total tests\)",
    ),
    row(
        "karma",
        "Executed ",
        r".{0,80}\bExecuted <total> of <n>(?: \(<failed> FAILED\))?(?: \(skipped <n>\))?"
        r"(?: [A-Z]{1,20})? \(.{1,60}\)",
        nested=True,
    ),
    PLAIN_ROW,
)

RUNNERS = tuple(dict.fromkeys(runner.name for runner in TABLE))
"""The names of all runners, for the documentation."""
