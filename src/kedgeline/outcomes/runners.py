"""What test runners count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.outcomes.evidence import Counts

# What is known of one test runner: the lines it closes with, and how to count with them.

WORDS = {
    "passed": "pass|passed|passes|passing|succeeded|success|successes|successful|xpassed",
    "failed": "cancelled|canceled|error|errors|exec failed|fail|failed|failing|failure|failures"
    "|interrupted|invalid|subtests failed|timed out|unexpected successes",
    "skipped": "did not run|disabled|excluded|expected fail|expected failures|ignored|incomplete"
    "|omissions|pending|pendings|skip|skipped|skips|todo|todos|xfailed",
    "total": "doctest|doctests|example|examples|properties|property|runs|spec|specs|test|tests"
    "|tests run|total",
}
"""What the word beside a number counts as. All other words count as nothing."""

INDENT = r"[ \t]{0,40}"
"""Most runners may be indented: by themselves, or by what runs them."""

_PLACE = re.compile(r"(?<!\?P)<(\w+)>")
_NUMBER = r"\d{1,9}"
"""Nobody runs more tests than that, and a longer run of digits is no number of tests."""


class Runner(NamedTuple):
    """A row of the table.

    Its patterns are for whole lines. In them `<n>` is a number, and `<passed>` a number that
    counts as passed; so with `failed`, `skipped` and `total`. These groups have a meaning too:

    - `counted`: text to be read by WORDS, as in "3 passed, 1 failed" or "failures=1, errors=2".
    - `one_passed`, `one_failed`, `one_skipped`: the line is about one test.
    - `apart`: failures beside the total, such as modules that could not be loaded.
    - `files`: failed files; they count where fewer tests than files failed.
    - `bad`: the run failed, without a number.
    - `none`: the runner found nothing to run.
    - `sure`: where a row has it, a line must match it or the row says nothing. For runners
      whose other lines are everyday words.
    """

    name: str
    signals: tuple[str, ...]
    """Each line that a pattern matches has one of these, which are cheap to look for. A line ends
    with a line feed."""
    closing: tuple[re.Pattern[str], ...]
    unit: str
    nested: bool
    """It reports parts and then the whole, or its progress: not to be added up."""
    covers: tuple[str, ...]
    """Runners further down whose lines in the same output are about the same tests."""


def row(
    name: str,
    signals: str,
    *lines: str,
    unit: str = "tests",
    nested: bool = False,
    covers: tuple[str, ...] = (),
    indent: str = INDENT,
) -> Runner:
    """Signals are parted by `||`; a line of the output is to match one of the lines as a whole."""
    return Runner(
        name=name,
        signals=tuple(signals.split("||")),
        closing=tuple(re.compile(indent + _with_numbers(line)) for line in lines),
        unit=unit,
        nested=nested,
        covers=covers,
    )


def _with_numbers(line: str) -> str:
    pattern = line.replace("<n>", _NUMBER)
    return _PLACE.sub(lambda place: f"(?P<{place[1]}>{_NUMBER})", pattern)


# Hand-written scripts that count tests, in the words that people use.

PLAIN = "plain"
"""Any other runner is believed before this one."""

_TOOK = r"[\d.]{1,12} ?(?:ms|s|m|h|secs?|seconds)"
_MARK = r"(?:[=*#~-]{2,120} ?|[✓✔✅✗✘✖❌🎉🟢🔴]\ufe0f? {1,2})?"
_HEAD = (
    r"(?:(?:(?:final |overall )?(?:test )?(?:results?|summary)|tests?|total|fail(?:ed|ures?)?"
    r"|pass(?:ed)?|success|ok|done|errors?)(?:[:!.]| -| \|)? {1,4})?"
)
_TESTS = r"(?:unit |integration )?(?:tests?|specs?|test cases?|assertions?) "
_CLAUSE = (
    rf"<n> (?:{_TESTS})?(?:have |has )?(?:passed|failed|succeeded|skipped|ignored|errors?|pending"
    r"|todo|total)"
)
_ABOUT_TESTS = rf"(?=.*passed|.*{_TESTS}(?:failed|succeeded))"
_WHOLE = r"(?:<n> tests?(?: run| total)?[,:;] )?"
_CLAUSES = rf"(?P<counted>{_WHOLE}{_CLAUSE}(?:(?:[,;]| [|/]|,? and) {_CLAUSE}){{0,5}})"
_SCORE = r"(?:tests? )?(?:passed|failed|skipped|errors|total|total tests): {0,8}<n>"
_SCORES = rf"(?P<counted>{_SCORE}(?:(?:[,;]| [|/]|) +{_SCORE}){{0,5}})"
_OF = r"(?: ?/ ?| of | out of )"
_END = rf"(?: successfully)?(?: \([^()]{{1,60}}\)| in {_TOOK})?[.!]{{0,3}}(?: ?[=*#~-]{{2,120}})?"

PLAIN_ROW = row(
    PLAIN,
    "assed||ailed||kipped: ||otal: ||tests: ||ucceeded||PASSED||FAILED",
    rf"(?i:{_MARK}{_HEAD}(?P<sure>)(?:all )?<passed>{_OF}<total> (?:{_TESTS})?passed{_END})",
    rf"(?i:{_MARK}(?P<sure>)all tests passed \(<passed>(?: tests?)?\)[.!]{{0,3}})",
    rf"(?i:{_MARK}{_HEAD}(?P<sure>)<failed>{_OF}<total> (?:{_TESTS})?failed{_END})",
    rf"(?i:{_MARK}(?P<sure>)(?:tests )?passed: {{0,8}}<passed>/<total>{_END})",
    rf"(?i:{_ABOUT_TESTS}{_MARK}{_HEAD}(?P<sure>)(?:all )?{_CLAUSES}{_END})",
    rf"(?i:(?=.*failed){_MARK}{_HEAD}{_CLAUSES}{_END})",
    rf"(?i:(?=.*passed){_MARK}(?P<sure>){_SCORES}{_END})",
    rf"(?i:{_MARK}{_SCORES}{_END})",
    nested=True,
)
"""Nested, since the same is often said twice: in figures and in a sentence."""


# Test runners: how each of them closes.

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
        "rspec",
        " example",
        r"(?P<counted><n> examples?, <n> failures?(?:, <n> pending)?)"
        r"(?:, <apart> errors? occurred outside of examples)?",
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
        covers=("googletest",),
    ),
    row(
        "googletest",
        "[  PASSED  ] ||[  SKIPPED ] ||[  FAILED  ] ",
        r"\[  PASSED  \] <passed> tests?\.",
        r"\[  SKIPPED \] <skipped> tests?, listed below:",
        r"\[  FAILED  \] <failed> tests?, listed below:",
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
    PLAIN_ROW,
)

RUNNERS = tuple(dict.fromkeys(runner.name for runner in TABLE))
"""The names of all runners, for the documentation."""


# What test runners count, read from the lines they close with.

TAIL = 256 * 1024
"""Characters from the end that are looked at. Runners that report by package, binary or test have
lines all over their output and say at its end whether anything failed: in longer output the counts
may be too low, the verdict is not lost. Agents cut what they keep at a small part of this."""
LONGEST_LINE = 500
"""No runner closes with a longer line."""

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"
    r"|[ -/]{1,4}[0-~]|[0-~])"
)
"""Colours, cursor movements, titles and links."""
_PREFIX = re.compile(
    r"(?:[^\t]{1,80}\t[^\t]{1,80}\t)?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z "  # logs of build servers
    r"|[\w@./-]{1,80}:[a-z][\w:-]{0,40}: "  # `web:test: `, by turbo
    r"|[\w@.-]{1,40}/[\w@./-]{1,80} test[\w:-]{0,40}: "  # `packages/web test: `, by pnpm
    r"|[\w.-]{1,60}[-_]\d{1,3} +\| "  # `web-1  | `, by compose
    r"|\[[\w:-]{1,40}\] {1,2}"  # `[INFO] `, `[0] `
)
"""What those who run runners put before each line."""
_FIELD = {word: field for field, words in WORDS.items() for word in words.split("|")}
_WORD = "|".join(sorted(map(re.escape, _FIELD), key=len, reverse=True))
_COUNTED = re.compile(
    r"(\d{1,9}) +(?:(?:tests?|test cases?|specs?|assertions?|scenarios?) +)?(?:have |has )?"
    rf"({_WORD})\b"
    rf"|\b({_WORD})[:=] *(\d{{1,9}})",
    re.IGNORECASE,
)
"""A number and its word, in either order."""
_ONE = {"one_passed": "passed", "one_failed": "failed", "one_skipped": "skipped"}
_MARKS = frozenset({"bad", "none", "sure"})
_SIGNALS = tuple(dict.fromkeys(signal for row in TABLE for signal in row.signals))
"""Each looked for once, whichever rows it is of; most outputs have none of a row's."""

Tally = Counter[str]
"""Numbers by group; a group that was not seen is not in it."""


def counts_in(output: str) -> Counts | None:
    """What the test runners in this output counted; None where none of them closed.

    Runs of one runner are added up, and so are different runners: a failure of an earlier run is
    not forgotten because a later one passed.
    """
    text = _tail(output)
    present = {signal for signal in _SIGNALS if signal in text}
    rows = [row for row in TABLE if not present.isdisjoint(row.signals)] if present else ()
    found = [(row, counts) for row in rows if (counts := _closed(row, text)) is not None]
    return _together(_standing(found)) if found else None


def _tail(output: str) -> str:
    text = output
    if len(output) > TAIL:
        text = output[-TAIL:]
        text = text[text.find("\n") + 1 :]  # the first line may be the end of one
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = text.replace("\r", "\n")
    return text + "\n"


def _closed(row: Runner, text: str) -> Counts | None:
    """What a runner counted, where its lines are there."""
    found = [
        match
        for line in _lines(text, row.signals)
        if (match := next(filter(None, (one.fullmatch(line) for one in row.closing)), None))
    ]
    if not found:
        return None
    tally: Tally = Counter()
    for match in found:
        _add(tally, _read(match), nested=row.nested)
    return _settled(row, tally)


def _lines(text: str, signals: Sequence[str]) -> Iterator[str]:
    """Those that have a signal, in order, without their end and what is put before them."""
    starts: dict[int, int] = {}
    for signal in signals:
        end = -1
        while (place := text.find(signal, end + 1)) >= 0:
            start = text.rfind("\n", end + 1, place) + 1 or end + 1
            end = text.find("\n", place)
            if end - start <= LONGEST_LINE:
                starts[start] = end
    for start in sorted(starts):
        line = text[start : starts[start]].rstrip()
        prefix = _PREFIX.match(line)
        yield line[prefix.end() :] if prefix else line


def _read(match: re.Match[str]) -> Tally:
    tally: Tally = Counter()
    for group, text in match.groupdict().items():
        if text is None:
            continue
        if group == "counted":
            for number, word, name, of in _COUNTED.findall(text):
                tally[_FIELD[(word or name).lower()]] += int(number or of)
        elif group in _MARKS or group in _ONE:
            tally[_ONE.get(group, group)] += 1
        else:
            tally[group] += int(text)
    return _with_missing(tally)


def _with_missing(tally: Tally) -> Tally:
    """What was counted, and neither passed nor was skipped, failed: where nothing else is said."""
    if "failed" not in tally and "passed" in tally:
        missing = tally["total"] - tally["passed"] - tally["skipped"]
        if missing > 0:
            tally["failed"] = missing
    return tally


def _add(tally: Tally, more: Tally, *, nested: bool) -> None:
    """Where a runner reports parts and then the whole, the last number counts; of failures the
    largest, since a later run may have had none."""
    for group, number in more.items():
        if not nested:
            tally[group] += number
        elif group == "failed":
            tally[group] = max(tally[group], number)
        else:
            tally[group] = number


def _settled(row: Runner, tally: Tally) -> Counts | None:
    tally = _with_missing(tally)
    failed, skipped = tally["failed"], tally["skipped"]
    passed = tally["passed"]
    if "passed" not in tally:
        passed = max(0, tally["total"] - failed - skipped)
    worst = max(failed + tally["apart"], tally["files"], min(1, tally["bad"]))
    if tally["bad"] and not failed and "passed" not in tally:
        passed = 0  # how many of the total failed is not said
    if _needs_more(row, tally, worst):
        return None
    return Counts(runner=row.name, passed=passed, failed=worst, skipped=skipped, unit=row.unit)


def _needs_more(row: Runner, tally: Tally, failed: int) -> bool:
    """Whether lines that belong together are cut, or words are there by chance."""
    if not any("sure" in pattern.groupindex for pattern in row.closing):
        return False
    whole = failed or "passed" in tally or "total" in tally
    return not (tally["sure"] and whole)


def _standing(found: Sequence[tuple[Runner, Counts]]) -> list[Counts]:
    """Leaves out what another runner counted as well, or better."""
    standing: list[tuple[Runner, Counts]] = []
    for row, counts in found:
        for place, (above, better) in enumerate(standing):
            if row.name == above.name or row.name in above.covers:
                standing[place] = above, _better(better, counts)
                break
        else:
            standing.append((row, counts))
    named = [counts for row, counts in standing if row.name != PLAIN]
    if not named or any(counts.failed for counts in named):
        return named or [counts for _, counts in standing]
    # The words of a runner's own line may be plain ones: what passed is counted already.
    plain = [replace(counts, passed=0, skipped=0) for row, counts in standing if row.name == PLAIN]
    return named + plain


def _better(first: Counts, second: Counts) -> Counts:
    """The one that knows what passed, with the failures of both."""
    if not first.passed and second.passed:
        first, second = second, first
    return replace(first, failed=max(first.failed, second.failed))


def _together(found: Sequence[Counts]) -> Counts:
    ran = [counts for counts in found if counts.passed or counts.failed] or found[:1]
    if len(ran) == 1:
        return ran[0]
    return Counts(
        runner=", ".join(dict.fromkeys(counts.runner for counts in ran)),
        passed=sum(counts.passed for counts in ran),
        failed=sum(counts.failed for counts in ran),
        skipped=sum(counts.skipped for counts in ran),
        unit=" and ".join(dict.fromkeys(counts.unit for counts in ran)),
    )
