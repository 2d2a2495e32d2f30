"""What the output of a shell line proves about its commands.

Only lines that a program closes with, or that an `echo` of the line itself must have printed; and
what test runners count in theirs, each of which is a row of `runners.toml`."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from pkgutil import get_data
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.model import ToolCall, ToolResult, Value
from kedgeline.shell.prefixes import TABLES, Command

# What a tool call came to, as far as the call and its result say exactly.

Purpose = (
    Literal["test", "build", "lint", "install", "deploy", "migration"]
    | Literal["commit", "push", "pull_request", "merge", "tag", "other"]
)
"""What a command is run for."""
CHECKS: frozenset[Purpose] = frozenset({"test", "build", "lint"})
"""What is run to learn whether the work is right: that it fails is an error even where a pipe hid
it."""


class Counts(Value, frozen=True):
    """What a test runner counted."""

    runner: str
    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0
    unit: str = "tests"
    """What was counted: some runners report packages or files only."""

    @property
    def passing(self) -> bool:
        """Something passed and nothing failed."""
        return self.passed > 0 and self.failed == 0


class Run(Value, frozen=True):
    """One simple command of a shell line."""

    purpose: Purpose
    words: tuple[str, ...]
    """Program and arguments, without quotes, assignments and redirections."""
    success: bool | None = None
    """None where neither an exit code nor the output tells."""
    counts: Counts | None = None
    """For a test run whose runner says how many."""

    @property
    def text(self) -> str:
        return " ".join(self.words)


class Touch(Value, frozen=True):
    """A file that a call changed, or read."""

    path: str
    """As the call names it."""
    action: Literal["created", "modified", "deleted", "renamed", "read"]
    by: Literal["tool", "shell"] = "tool"
    renamed_from: str = ""


class Outcome(Value, frozen=True):
    """One call with all that is known of its effect. A call that failed or was refused touched
    nothing."""

    call: ToolCall
    result: ToolResult | None
    runs: tuple[Run, ...] = ()
    touched: tuple[Touch, ...] = ()

    @property
    def success(self) -> bool:
        return self.result is not None and self.result.success

    @property
    def failed(self) -> bool:
        return self.result is not None and self.result.failed

    @property
    def changed(self) -> tuple[str, ...]:
        """Paths of the files it changed."""
        return tuple(touch.path for touch in self.touched if touch.action != "read")


HEAD, TAIL = 16_384, 49_152
"""Characters looked at from the beginning and the end of an output: errors stand at either."""
LONGEST_ECHO = 500
"""No one has a longer line printed to tell how a command went."""

SELDOM_FAIL = frozenset(
    {"", "cd", "echo", "printf", "export", "set", "source", ".", "true", ":", "sleep", "pwd"}
    | {"mkdir", "date", "unset", "pushd", "popd", "wait", "trap", "declare", "local", "alias"}
)
"""When something failed and one other command could have been the reason, it was."""

SILENT = frozenset({"go build", "go vet", "tsc", "vue-tsc", "gcc", "clang", "javac", "rustc"})
"""What prints nothing when all is well."""
NO_OUTPUT = ("", "(no output)", "(No output)", "[no output]")
"""How clients word an empty output."""

MOST_EXPANSIONS = 2
"""What more of them print could be anything, and take long to look for."""

_ESCAPE = re.compile(r"\x1b\[[\d;]{0,20}[A-Za-z]")
_FRAME = re.compile(
    r"\ACommand: .{0,16000}?\nDirectory: [^\n]{0,400}\n(?:Output|Stdout): (?:\(empty\))?"
    r"|^(?:Error|Stderr): \((?:none|empty)\)$"
    r"|^(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]{0,100}$",
    re.MULTILINE | re.DOTALL,
)
"""What a client writes around an output: its `Error: (none)` is no error, and the first line of the
output stands behind a word of its own."""
_STATUS = re.compile(r"\$(?:\?|\{\?\})")
_END = r"[ \t\r]*$"
_EXPANSION = re.compile(r"\$(?:\w+|\{[^}]*\}|\([^)]*\))")


def _lines(kind: str) -> dict[str, re.Pattern[str]]:
    """Beginnings of lines by purpose, behind what a task runner may put before them."""
    before = r"^(?:\[[\w:.-]{1,60}\] )?"
    return {
        purpose: re.compile(f"{before}(?:{'|'.join(lines)})", re.MULTILINE)
        for purpose, lines in TABLES["lines"][kind].items()
    }


DONE, NOTHING_DONE, BROKEN = _lines("done"), _lines("nothing_done"), _lines("broken")
SURELY_DONE = frozenset({"commit", "install", "pull_request"})
"""Purposes whose closing line is the last word: errors beside it are another command's."""


def shown_part(output: str) -> str:
    """The beginning and the end of an output, without colours and what a client put around it."""
    if len(output) > HEAD + TAIL:
        output = output[:HEAD] + "\n" + output[-TAIL:]
    if output.startswith("Command: "):
        output = _FRAME.sub("", output)
    return _ESCAPE.sub("", output) if "\x1b" in output else output


def told_by_output(command: Command, purpose: Purpose, text: str) -> bool | None:
    """What a command's own lines say; None when they say nothing, or nothing was to be done."""
    if not text or purpose == "other":
        return False if _not_found(command, text) else None
    done = purpose in DONE and DONE[purpose].search(text) is not None
    if done and purpose in SURELY_DONE:
        return True
    if BROKEN.get(purpose, BROKEN["any"]).search(text) or _not_found(command, text):
        return False
    return True if done else None


def is_silent(commands: Sequence[Command], place: int, text: str) -> bool:
    """Whether a command that prints nothing but errors printed nothing, and nothing was hidden."""
    command = commands[place]
    if " ".join(command.plain[:2]) not in SILENT and command.program not in SILENT:
        return False
    if command.redirects or command.inside or text.strip() not in NO_OUTPUT:
        return False
    piped = takewhile(lambda one: one.joint == "|", commands[place + 1 :])
    shows_all = all(one.program in ("head", "tail", "cat", "tee") for one in piped)
    return shows_all and command.joint in ("", ";")


def idle(purpose: Purpose, text: str) -> bool:
    """Whether a command says that there was nothing to do."""
    return purpose in NOTHING_DONE and NOTHING_DONE[purpose].search(text) is not None


def echoed(commands: Sequence[Command], text: str) -> Iterator[tuple[int, bool]]:
    """What the line has itself told about its commands, with their places.

    `; echo "exit $?"` prints a status, `&& echo OK` prints only behind a success, `|| echo FAILED`
    only behind a failure.
    """
    for place, command in enumerate(commands):
        if not place or command.words[:1] not in (("echo",), ("printf",)) or command.redirects:
            continue
        template = " ".join(command.words[1:])[:LONGEST_ECHO]
        if len(_EXPANSION.findall(template)) > MOST_EXPANSIONS:
            continue
        before = commands[:place]
        if command.joint == ";" and (status := _STATUS.search(template)):
            printed = f"^{_pattern(template[: status.start()])}(\\d{{1,3}})"
            printed += f"{_pattern(template[status.end() :])}{_END}"
            if found := re.search(printed, text, re.MULTILINE):
                yield from _blamed(before, success=int(found[1]) == 0)
        elif command.joint in ("&&", "||") and _printed(template, text):
            yield from _blamed(before, success=command.joint == "&&")


def _printed(template: str, text: str) -> bool:
    says_something = len(_EXPANSION.sub("", template).strip()) > 1
    pattern = f"^{_pattern(template)}{_END}"
    return says_something and re.search(pattern, text, re.MULTILINE) is not None


def _blamed(before: Sequence[Command], *, success: bool) -> Iterator[tuple[int, bool]]:
    """The last command, if all went well; the only one that can have failed, if not."""
    ends = [len(before) - 1]
    start = _pipeline_start(before, len(before))
    if success:
        if not before[-1].inside and before[start].joint != "||":
            yield ends[0], True
        return
    while start > 0 and before[start].joint == "&&":
        ends.append(start - 1)
        start = _pipeline_start(before, start)
    able = [end for end in ends if before[end].program not in SELDOM_FAIL]
    if len(able) == 1:
        yield able[0], False


def _pattern(template: str) -> str:
    """What a template prints, as a pattern; expansions print anything on the line."""
    template = re.sub(r"\\n$", "", template.removeprefix("-e ").removeprefix("-n "))
    parts = [re.escape(part) for part in _EXPANSION.split(template.lstrip("\\n"))]
    return "[^\n]{0,80}".join(parts)


def _pipeline_start(commands: Sequence[Command], place: int) -> int:
    """Where the pipeline begins that ends before a place."""
    start = place - 1
    while start > 0 and commands[start].joint == "|":
        start -= 1
    return start


def _not_found(command: Command, text: str) -> bool:
    """`bash: line 1: foo: command not found`, and what other shells say instead."""
    if not command.plain or "not found" not in text:
        return False
    name = re.escape(command.plain[0])
    says = rf"(?:{name}: (?:command )?not found|command not found: {name}){_END}"
    return re.search(rf"^(?:[^\n:]{{1,60}}: ){{0,3}}{says}", text, re.MULTILINE) is not None


# What test runners count, read from the lines they close with.

RUNNERS_TAIL = 256 * 1024
"""Characters from the end that are looked at. Runners that report by package, binary or test have
lines all over their output and say at its end whether anything failed: in longer output the counts
may be too low, the verdict is not lost. Agents cut what they keep at a small part of this."""
LONGEST_CLOSING = 500
"""No runner closes with a longer line."""
PLAIN = "plain"
"""Any other runner is believed before this one."""


class Runner(NamedTuple):
    """A row of the table, which says what the fields mean."""

    name: str
    signals: tuple[str, ...]
    lines: tuple[str, ...]
    unit: str
    nested: bool
    covers: tuple[str, ...]

    @property
    def closing(self) -> tuple[re.Pattern[str], ...]:
        return _compiled(self.lines)


@cache
def _compiled(lines: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Only of runners that a session uses: all of them take a tenth of what an import takes."""
    return tuple(map(re.compile, lines))


_TABLES: dict[str, Any] = tomllib.loads(
    (get_data("kedgeline.shell", "runners.toml") or b"").decode()
)
_FIELD = {
    word.strip(): field for field, words in _TABLES["words"].items() for word in words.split("|")
}
_PLACE = re.compile(r"(?<!\?P)<(\w+)>")
_NUMBER = r"\d{1,9}"
"""Nobody runs more tests than that, and a longer run of digits is no number of tests."""
_INDENT = r"[ \t]{0,40}"
"""Most runners may be indented: by themselves, or by what runs them."""


def _line_pattern(line: str) -> str:
    """A line of the table as a regular expression, its places filled in."""

    def filled(place: re.Match[str]) -> str:
        name = place[1]
        if name in _TABLES["parts"]:
            return _line_pattern(_TABLES["parts"][name])
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
    closing = tuple(("" if flush else _INDENT) + _line_pattern(line) for line in lines)
    return Runner(name, tuple(signals), closing, unit, nested, tuple(covers))


TABLE = tuple(_runner(**row) for row in _TABLES["runners"])
RUNNERS = tuple(dict.fromkeys(runner.name for runner in TABLE))
"""The names of all runners, for the documentation."""

_SIGNALS = tuple(dict.fromkeys(signal for row in TABLE for signal in row.signals))
"""Each looked for once, whichever rows it is of; most outputs have none of a row's."""
_CONTROL = re.compile(
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
    if len(output) > RUNNERS_TAIL:
        text = output[-RUNNERS_TAIL:]
        text = text[text.find("\n") + 1 :]  # the first line may be the end of one
    text = _CONTROL.sub("", text).replace("\r", "\n") + "\n"
    present = {signal for signal in _SIGNALS if signal in text}
    rows = [row for row in TABLE if not present.isdisjoint(row.signals)] if present else ()
    found = [(row, counts) for row in rows if (counts := _closed(row, text)) is not None]
    return _together(_standing(found)) if found else None


def _closed(row: Runner, text: str) -> Counts | None:
    """What a runner counted, where its lines are there."""
    tally: Tally = Counter()
    for line in _signal_lines(text, row.signals):
        if match := next(filter(None, (one.fullmatch(line) for one in row.closing)), None):
            _add(tally, _read(match), nested=row.nested)
    return _settled(row, tally) if tally else None


def _signal_lines(text: str, signals: Sequence[str]) -> Iterator[str]:
    """Those that have a signal, in order, without their end and what is put before them."""
    starts: dict[int, int] = {}
    for signal in signals:
        end = -1
        while (place := text.find(signal, end + 1)) >= 0:
            start = text.rfind("\n", end + 1, place) + 1 or end + 1
            end = text.find("\n", place)
            if end - start <= LONGEST_CLOSING:
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
