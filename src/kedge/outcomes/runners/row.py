"""What is known of one test runner: the lines it closes with, and how to count with them."""

from __future__ import annotations

import re
from typing import NamedTuple

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
