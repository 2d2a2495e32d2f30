"""`make seeds`: the rows of the seeds, each with what its check came to, as a table."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.seeds.rows import NUMBER

_FOUND: dict[str, tuple[str, str, str]] = {}
_MARKS: dict[str, tuple[str, str, str]] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if (mark := item.get_closest_marker("seed")) is not None:
            _MARKS[item.nodeid] = mark.args


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    number = NUMBER.search(report.nodeid)
    if number is None or report.nodeid not in _MARKS:
        return
    requirement, mark, reason = _MARKS[report.nodeid]
    if report.failed:
        mark, reason = "FAILS", f"it should be: {mark}"
    if report.failed or report.when == "call":
        _FOUND["-".join(number.groups())] = (requirement, mark, reason)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("the seeds")
    for number, (requirement, mark, reason) in sorted(_FOUND.items()):
        terminalreporter.write_line(f"{number}  {mark:8}  {requirement}")
        if reason:
            terminalreporter.write_line(f"{'':18}{reason}")
    for seed in sorted({number.partition("-")[0] for number in _FOUND}):
        marks = Counter(mark for number, (_, mark, _) in _FOUND.items() if number.startswith(seed))
        told = ", ".join(f"{mark} {count}" for mark, count in marks.most_common())
        terminalreporter.write_line(f"seed {seed}: {sum(marks.values())} rows: {told}")
