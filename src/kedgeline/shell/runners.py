"""What test runners count, read from the lines they close with; each runner is a row of
`runners.toml`."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.shell.evidence import Counts

TAIL = 256 * 1024
"""Characters from the end that are looked at. Runners that report by package, binary or test have
lines all over their output and say at its end whether anything failed: in longer output the counts
may be too low, the verdict is not lost. Agents cut what they keep at a small part of this."""
LONGEST_LINE = 500
"""No runner closes with a longer line."""
PLAIN = "plain"
"""Any other runner is believed before this one."""


class Runner(NamedTuple):
    """A row of the table, which says what the fields mean."""

    name: str
    signals: tuple[str, ...]
    closing: tuple[re.Pattern[str], ...]
    unit: str
    nested: bool
    covers: tuple[str, ...]


_TABLES: dict[str, Any] = tomllib.loads(
    files("kedgeline.shell").joinpath("runners.toml").read_text("utf-8")
)
_FIELD = {
    word.strip(): field for field, words in _TABLES["words"].items() for word in words.split("|")
}
_PLACE = re.compile(r"(?<!\?P)<(\w+)>")
_NUMBER = r"\d{1,9}"
"""Nobody runs more tests than that, and a longer run of digits is no number of tests."""
_INDENT = r"[ \t]{0,40}"
"""Most runners may be indented: by themselves, or by what runs them."""


def _pattern(line: str) -> str:
    """A line of the table as a regular expression, its places filled in."""

    def filled(place: re.Match[str]) -> str:
        name = place[1]
        if name in _TABLES["parts"]:
            return _pattern(_TABLES["parts"][name])
        return _NUMBER if name == "n" else f"(?P<{name}>{_NUMBER})"

    return _PLACE.sub(filled, line)


def _runner(
    name: str,
    signals: Sequence[str],
    lines: Sequence[str],
    *,
    unit: str = "tests",
    nested: bool = False,
    covers: Sequence[str] = (),
    flush: bool = False,
) -> Runner:
    closing = tuple(re.compile(("" if flush else _INDENT) + _pattern(line)) for line in lines)
    return Runner(name, tuple(signals), closing, unit, nested, tuple(covers))


TABLE = tuple(_runner(**row) for row in _TABLES["runners"])
RUNNERS = tuple(dict.fromkeys(runner.name for runner in TABLE))
"""The names of all runners, for the documentation."""

_SIGNALS = tuple(dict.fromkeys(signal for row in TABLE for signal in row.signals))
"""Each looked for once, whichever rows it is of; most outputs have none of a row's."""
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
_WORD = "|".join(sorted(map(re.escape, _FIELD), key=len, reverse=True))
_COUNTED = re.compile(
    r"(\d{1,9}) +(?:(?:tests?|test cases?|specs?|assertions?|scenarios?) +)?(?:have |has )?"
    rf"({_WORD})\b"
    rf"|\b({_WORD})[:=] *(\d{{1,9}})",
    re.IGNORECASE,
)
"""A number and its word, in either order."""

Tally = Counter[str]
"""Numbers by group; a group that was not seen is not in it."""


def counts_in(output: str) -> Counts | None:
    """What the test runners in this output counted; None where none of them closed.

    Runs of one runner are added up, and so are different runners: a failure of an earlier run is
    not forgotten because a later one passed.
    """
    text = output
    if len(output) > TAIL:
        text = output[-TAIL:]
        text = text[text.find("\n") + 1 :]  # the first line may be the end of one
    text = _ESCAPE.sub("", text).replace("\r", "\n") + "\n"
    present = {signal for signal in _SIGNALS if signal in text}
    rows = [row for row in TABLE if not present.isdisjoint(row.signals)] if present else ()
    found = [(row, counts) for row in rows if (counts := _closed(row, text)) is not None]
    return _together(_standing(found)) if found else None


def _closed(row: Runner, text: str) -> Counts | None:
    """What a runner counted, where its lines are there."""
    tally: Tally = Counter()
    for line in _lines(text, row.signals):
        if match := next(filter(None, (one.fullmatch(line) for one in row.closing)), None):
            _add(tally, _read(match), nested=row.nested)
    return _settled(row, tally) if tally else None


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
    tally: Tally = Counter({"": 1})  # never empty: a line was there
    for group, text in match.groupdict().items():
        if text is None:
            continue
        if group == "counted":
            for number, word, name, of in _COUNTED.findall(text):
                tally[_FIELD[(word or name).lower()]] += int(number or of)
        elif group in ("bad", "none", "sure") or group.startswith("one_"):
            tally[group.removeprefix("one_")] += 1
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
        else:
            tally[group] = max(tally[group], number) if group == "failed" else number


def _settled(row: Runner, tally: Tally) -> Counts | None:
    tally = _with_missing(tally)
    failed, skipped = tally["failed"], tally["skipped"]
    worst = max(failed + tally["apart"], tally["files"], min(1, tally["bad"]))
    if any("sure" in pattern.groupindex for pattern in row.closing):
        whole = worst or "passed" in tally or "total" in tally
        if not (tally["sure"] and whole):
            return None  # lines that belong together are cut, or words are there by chance
    if "passed" in tally:
        passed = tally["passed"]
    elif tally["bad"] and not failed:
        passed = 0  # how many of the total failed is not said
    else:
        passed = max(0, tally["total"] - failed - skipped)
    return Counts(runner=row.name, passed=passed, failed=worst, skipped=skipped, unit=row.unit)


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
