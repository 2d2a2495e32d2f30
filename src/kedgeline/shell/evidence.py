"""What the output of a shell line proves about its commands.

Only lines that a program closes with, or that an `echo` of the line itself must have printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Literal

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
