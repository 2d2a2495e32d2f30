"""What test runners count, read from the lines they close with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.outcomes.runners.plain import PLAIN
from kedge.outcomes.runners.row import WORDS, Runner
from kedge.outcomes.runners.table import RUNNERS, TABLE
from kedge.outcomes.values import Counts

__all__ = ["RUNNERS", "counts_in"]

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
    found = [match for line in _lines(text, row.signals) if (match := _match(row, line))]
    if not found:
        return None
    tally: Tally = Counter()
    for match in found:
        _add(tally, _read(match), nested=row.nested)
    return _settled(row, tally)


def _match(row: Runner, line: str) -> re.Match[str] | None:
    for pattern in row.closing:
        if found := pattern.fullmatch(line):
            return found
    return None


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
