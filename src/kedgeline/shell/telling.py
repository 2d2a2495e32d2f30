"""The telling lines of an output: what went wrong, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from kedgeline.shell.evidence import shown_part

# What a line of an output tells of an error.

LONGEST = 1_000
"""Characters of a line looked at; longer ones are data."""
TRACED = re.compile(
    r"node_modules|site-packages|dist-packages|/lib/python\d|/usr/lib/|<frozen|<string>|<stdin>"
    r"|node:internal|internal/modules|/libexec/|/go/pkg/mod/"
)
"""Places in libraries: an error comes through them, but was not made there."""


class ToldError(NamedTuple):
    line: str
    """As it stands in the output; of a test, its name and its message."""
    kind: Literal["test", "compiler", "raised", "other"]
    places: tuple[str, ...] = ()
    """`file:line`, as written."""
    name: str = ""
    """Of the test that failed."""


# Messages of compilers, type checkers and linters, with the places they name.

_FILE = r"(?P<file>(?:[A-Za-z]:[\\/])?[\w.@+~/\\-]{1,300})"
_MESSAGES = (
    re.compile(rf"^{_FILE}:(?P<line>\d{{1,7}}):\d{{1,5}}(?::| -) (?P<rest>\S.*)$"),
    re.compile(
        rf"^{_FILE}:(?P<line>\d{{1,7}}): "
        r"(?P<rest>(?:fatal )?error\b.*|\S.{0,800} \([a-z][\w-]{1,30}\))$",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:\[ERROR\] )?(?P<file>(?:[A-Za-z]:)?[^\s:(\[][^:(\[\n]{0,300}):?"
        r"[(\[](?P<line>\d{1,7}),\d{1,5}[)\]]:? (?P<rest>\S.*)$"
    ),
)
"""`file:line:column: message`; without a column only where it is called an error or ends with a
linter's name, as a log or a search prints `file:line: text` too; `file(line,column): message`."""
_ARROW = re.compile(rf"^\s{{0,12}}(?:-->|╭─\[|┌─) ?{_FILE}:(?P<line>\d{{1,7}}):\d{{1,5}}")
"""The place of a message that stands on the line before."""
_LISTED = re.compile(r"^\s{1,8}(?P<line>\d{1,7}):\d{1,5}\s{1,4}error\s{1,4}\S.*$")
"""A message in a list under its file's name."""
_MILD = re.compile(
    r"^\W{0,2}(?:warning|warn|note|info|remark|help|hint|suggestion)\b", re.IGNORECASE
)
_IS_FILE = re.compile(r"[^\s:]{0,300}(?:[^/\\]\.\w{1,10}|\b(?:Make|Docker|Jenkins)file|\bBUILD)$")


def compiler_messages(lines: Sequence[str]) -> Iterator[ToldError]:
    """Each error with its place, in order; warnings and notes are none."""
    listing = ""
    for before, line in pairwise(("", *lines)):
        if not line[0].isspace():
            listing = line if _IS_FILE.match(line) else ""
        if listing and (found := _LISTED.match(line)):
            message, file = line.strip(), listing
        elif found := _ARROW.match(line):
            message, file = before.strip(), found["file"]
        elif found := next(filter(None, (one.match(line) for one in _MESSAGES)), None):
            message, file = line, found["file"]
            if not _IS_FILE.match(file) or _MILD.match(found["rest"]):
                continue
        else:
            continue
        if message and not _MILD.match(message):
            yield ToldError(message, "compiler", (f"{file}:{found['line']}",))


# Failing tests as their runners print them: the name, and the message that says why.

NEAR = 40
"""Lines around a test's name within which its message stands."""
GO_NEAR = 400
"""The same for Go, which prints a test's whole log there."""

_HEADERS = re.compile(
    r"^\s{0,16}--- FAIL: (?P<go>\S{1,300})"
    r"|^(?:FAILED|ERROR) (?P<pytest>\S{1,300}?\.py(?:::\S.{0,300}?)?)(?: - (?P<why>.{1,800}))?$"
    r"|^_{3,} (?P<titled>\S.{0,200}?) _{3,}$"
    r"|^(?:FAIL|ERROR): (?P<unittest>\w{1,200}(?: \([\w.]{1,300}\))?)"
    r"|^---- (?P<cargo>\S{1,300}) stdout ----$"
    r"|^\s{0,4}● (?P<jest>(?!Console\b)\S.{0,300})$"
    r"|^\s{0,4}(?:❯|×|FAIL) {1,4}(?P<vitest>\S{1,200}\.\w{1,4} > \S.{0,300})$"
    r"|^\s{0,16}not ok \d{1,6} -? ?(?P<tap>\S.{0,300})$"
    r"|^\s{0,16}✖ (?!\d{1,6} problem|failing tests)(?P<spec>\S.{0,300}?)(?: \([\d.]{1,12} ?m?s\))?$"
    r"|^\s{0,8}Failed (?P<dotnet>\S.{0,300}?) \[[^\]]{1,20}\]$"
    r"|^(?P<gradle>\S.{0,200} > \S.{0,200}) FAILED$"
    r"|^\[ERROR\] {1,4}(?P<surefire>[\w.$]{1,200}:\d{1,6}) (?P<because>\S.{0,800})$"
    r"|^\s{0,8}\d{1,4}\) (?P<numbered>\S.{0,300})$"
)
_LIST = re.compile(
    r"^\s{0,4}(?:\d{1,6} failing|Failures:|Failed examples:|There (?:was|were) \d{1,6} "
    r"(?:failure|error)s?:)|^\s{0,8}\d{1,4}\) (?:Failure|Error):$"
)
"""Opens a numbered list of failures; other numbered lines are none."""
_SUMMED_UP = re.compile(r"^✖ failing tests:|^ℹ |^=+ short test summary")
_GO_MESSAGE = re.compile(r"^\s{4,24}(?P<place>[\w.-]{1,100}\.go:\d{1,6}):(?P<text>(?: .{0,900})?)$")
_GO_FAILED = re.compile(r"^FAIL\s+(?P<package>\S{1,300})\s+\(?[\d.]{1,12}s")
_GO_RUN = re.compile(r"^=== (?:RUN|CONT|NAME|PAUSE)\s")
_EXPECTS = re.compile(
    r"\b(?i:want|wanted|got|mismatch|unexpected|not equal|should|must)\b|\b[Ee]xpected\b|!=|Error\b"
    r"|\bfail(?:ed|ure)\b|^$"
)
"""What a message of a test says, and a line of its log seldom does; the message of a library stands
on the lines behind its place."""
_LOGGED = re.compile(r"✓|✔|✅|\b(?:INFO|DEBUG|WARN|TRACE)\b|\b[Oo]utput:|\blevel=")
_ASIDE = re.compile(r"\([^()]{0,300}\)")
"""What a log says in passing: "user commits (a checkpoint should appear)"."""
_RAISED = re.compile(
    r"^\s{0,16}(?:E {1,6})?(?P<text>(?:[\w.]{0,120}(?:Error|Exception|Failure)\b(?: \[\w{1,40}\])?"
    r"[:(]|(?:thread '.{0,200}' .{0,20})?panicked at|assert|Assert|Expected|expected|Failed"
    r" asserting|Failure/Error:|Error Message:|error: |Not equal|not equal|Error:\s{1,8}\S)"
    r".{0,900})"
)
_COMPARED = re.compile(
    r"^\s{0,24}(?:E {1,6})?(?P<text>(?:Expected|expected|Received|received|Actual|actual|left"
    r"|right|got|Got|to equal|but was)\b\s{0,8}:.{0,300})$"
)
_PYTEST_PLACE = re.compile(r"^(?P<place>[^\s:]{1,300}\.py:\d{1,7}): \w")
_PLACE = re.compile(
    r"(?P<file>(?:[A-Za-z]:)?[\w.@+/\\-]{1,300}\.(?:[cm]?[jt]sx?|rs|rb|py|php|cs|java|kt|vue|exs?)"
    r'):(?P<line>\d{1,7})|File "(?P<named>[^"]{1,300})", line (?P<row>\d{1,7})'
)


class _Header(NamedTuple):
    number: int
    runner: str
    name: str
    why: str


def failing_tests(lines: Sequence[str]) -> Iterator[ToldError]:
    """Each failing test once, in order; those within others instead of the others."""
    headers = list(_headers(lines))
    summed_up = any(header.runner == "pytest" for header in headers)
    outer = {header.name.rpartition("/")[0] for header in headers if header.runner == "go"}
    seen: set[str] = set()
    for place, header in enumerate(headers):
        if header.name in seen | outer or (header.runner == "titled" and summed_up):
            continue
        seen.add(header.name)
        end = headers[place + 1].number if place + 1 < len(headers) else len(lines)
        near = GO_NEAR if header.runner == "go" else NEAR
        yield _told(lines, header, lines[header.number + 1 : min(end, header.number + 1 + near)])
    for line in () if headers else lines:  # the failing tests of a package were cut off
        if found := _GO_FAILED.match(line):
            yield ToldError(line, "test", (), found["package"])


def _headers(lines: Sequence[str]) -> Iterator[_Header]:
    listed = False
    for number, line in enumerate(lines):
        opens = _LIST.match(line) is not None
        listed = listed or opens
        found = _HEADERS.match(line)
        if found is None:
            continue
        groups = {name: text for name, text in found.groupdict().items() if text}
        why = groups.pop("why", "") or groups.pop("because", "")
        runner, name = next(iter(groups.items()))
        if runner != "numbered" or (listed and not opens):
            yield _Header(number, runner, name.strip(), why)


def _told(lines: Sequence[str], header: _Header, behind: Sequence[str]) -> ToldError:
    if header.runner == "go":
        message, place = _go_message(lines, header, behind)
    elif header.runner == "pytest":
        file, _, title = header.name.partition("::")
        message = "" if header.why else _titled(lines, title.rpartition("::")[2].partition("[")[0])
        places = (found["place"] for line in lines if (found := _PYTEST_PLACE.match(line)))
        place = next((one for one in places if one.rpartition(":")[0] == file), "")
    elif header.why:
        message, place = "", header.name
    else:
        message, place = _message(behind), _place(behind)
    line = f"{header.name}: {message}" if message else lines[header.number].strip()
    return ToldError(line, "test", (place,) if place else (), header.name)


def _message(behind: Sequence[str]) -> str:
    """The first line that says what was wrong, with what it compares."""
    for number, line in enumerate(behind):
        if _SUMMED_UP.match(line):
            break
        if found := _RAISED.match(line):
            text = found["text"].strip()
            near = list(behind[number + 1 : number + 5])
            panicked = "panicked at" in text and text.endswith((":", "panicked at"))
            if near and (panicked or text.endswith("Error Message:")):
                text = f"{text} {near.pop(0).strip()}"
            compared = (_COMPARED.match(other) for other in near)
            return " ".join([text, *(other["text"].strip() for other in compared if other)])
    return ""


def _place(behind: Sequence[str]) -> str:
    for line in behind:
        found = _PLACE.search(line)
        if found and not TRACED.search(line):
            return f"{found['file'] or found['named']}:{found['line'] or found['row']}"
    return ""


def _go_message(lines: Sequence[str], header: _Header, behind: Sequence[str]) -> tuple[str, str]:
    """A test's messages stand behind its name, or before it where each is printed at once. Its log
    stands among them: the first that says what was expected is preferred, as others follow from it;
    else the last, as a test ends with the one that is fatal."""
    indented = list(takewhile(lambda line: line[0].isspace(), behind))
    before: list[str] = []
    for line in reversed(lines[max(0, header.number - GO_NEAR) : header.number]):
        if _GO_RUN.match(line) or "--- " in line[:24]:
            break
        before.insert(0, line)
    for near in (indented, before):
        found = [(n, one) for n, line in enumerate(near) if (one := _GO_MESSAGE.match(line))]
        said = [one for one in found if not _LOGGED.search(one[1]["text"][:200].strip())]
        if said:
            expects = (
                one for one in said if _EXPECTS.search(_ASIDE.sub("", one[1]["text"]).strip())
            )
            number, message = next(expects, said[-1])
            text = message["text"].strip() or _message(near[number + 1 :])
            if text.endswith(":") and number + 1 < len(near):
                text = f"{text} {near[number + 1].strip()}"
            return f"{message['place']}: {text}", message["place"]
    return "", ""


def _titled(lines: Sequence[str], title: str) -> str:
    """The first message under the title of a test of pytest."""
    for number, line in enumerate(lines):
        if line.startswith("___") and title and title in line:
            behind = lines[number + 1 : number + 1 + GO_NEAR]
            return next((one[1:].strip() for one in behind if one.startswith("E  ")), "")
    return ""


# The lines of an output that tell what went wrong.

MOST = 60
"""Errors taken from one output: enough to know whether an earlier one is still among them."""
REMEMBERED = 8
"""Outputs whose errors are kept: several extractors ask for those of one call."""
ENDS_OPEN = 120
"""Characters of a line to which the next one is joined where it ends with a colon."""

_DECORATION = re.compile(r"</?(?:tool_use_error|error)>")
_TASK = re.compile(r"^\[(?!(?i:error|warn|info|debug|fatal))[a-z][\w:.@/-]{0,60}\] ")
"""What a task runner puts before the lines of a task."""
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s{0,40}\|?\s{0,8}File "([^"\n]{1,400})", line (\d{1,7})')
_SYNTAX = re.compile(r"^(?:Syntax|Indentation|Tab)Error: ")
"""What Python raises about a file that it cannot read; no traceback need stand before it."""
_CLEAR = re.compile(
    r"(?:\b(?i:error|fatal|panic|exception|failed)\b|(?:Error|Exception)\b)"
    r"(?:\[\w{1,12}\]| TS\d{1,6})?\s?:"
    r"|^\W{0,4}(?:FAILED|FAIL|ERROR|FATAL|fatal|panic)\b"
    r"|^(?:npm|pnpm|yarn|mise|bun) (?:ERR!|error|ERROR)\b|^\W{0,3}[EF]\d{3,4} "
)
"""An error announced as one: its word with a colon, or at the beginning of the line."""
_VAGUE = re.compile(
    r"\b(?i:errors?|exception|failed|failure|fatal|panic(?:ked)?|cannot|could not|not found"
    r"|no such file|denied|refused|timed out)\b|(?:Error|Exception)\b"
)
_LINES_PLACED = re.compile(r"\s{0,8}[^\s:]{1,200}:\d{1,7}(?::\d{1,5})?:? ")
"""A message with its file and line, which need not have a word for error in it."""
_NOTHING_WRONG = re.compile(r"\b(?i:0|no|zero) (?i:errors?|failed|failures?|exceptions?)\b")
_FINE = re.compile(r"\bPASS(?:ED)?\b|\.\.\. ok\b|^\s{0,8}[✓✔] ")
_SAYS_NOTHING = re.compile(
    r"(?:command |process )?(?:failed |exited |exit )?(?:with )?(?:exit )?"
    r"(?:code|status)[: ]{0,2}-?\d{1,6}|no output|https?://\S+|sibling tool call errored",
    re.IGNORECASE,
)
"""Exit codes are known without their being told; and a call that a client gave up because another
one failed has no error of its own."""
_ONLY_THAT = re.compile(
    r"^(?:FAIL|FAILED|PASS)\W{0,4}$|^FAIL\s+\S+ \[(?:build|setup) failed\]"
    r"|\bERROR task failed\b|^make(?:\[\d{1,3}\])?: \*\*\* .{0,300}\bError \d|^exit status \d"
    r"|^npm (?:ERR!|error)(?: (?:code|errno|path|workspace|location|command|Lifecycle"
    r"|A complete log|signal|syscall|in workspace)\b|\s{0,4}$)|\bELIFECYCLE\b|^ERR_PNPM_RECURSIVE"
    r"|Command failed with exit code|^error: (?:script|Recipe) .{1,200} (?:exited|failed)"
    r"|^husky - |^task: Failed to run|^##\[error\]|^error: failed to push some refs"
    r"|^\+ (?:CategoryInfo|FullyQualifiedErrorId)\b",
    re.IGNORECASE,
)
"""Says only that something failed: what did stands elsewhere, if anywhere."""


def told_in(output: str) -> tuple[ToldError, ...]:
    """The errors of an output, in order: failing tests, or a compiler's messages; or else the one
    exception a traceback ends with, line that announces an error, or line that speaks of one, or
    names a place; or the first that says anything."""
    return _told_in(shown_part(output))


@lru_cache(maxsize=REMEMBERED)
def _told_in(text: str) -> tuple[ToldError, ...]:
    lines = _lines(text)
    kinds = (failing_tests, compiler_messages)
    if any("[build failed]" in line or "[setup failed]" in line for line in lines):
        kinds = (compiler_messages, failing_tests)
    for found_in in kinds:
        if found := tuple(found_in(lines))[:MOST]:
            return found
    told = _raised(lines) or _announced(lines)
    return () if told is None else (told,)


def _lines(text: str) -> list[str]:
    """Lines that say something, without a task runner's names before them."""
    text = _DECORATION.sub("", text)
    lines = (_TASK.sub("", line.rstrip()[:LONGEST]) for line in text.splitlines())
    return [line for line in lines if _says_something(line)]


def _says_something(line: str) -> bool:
    words = line.strip("<>()[]{}:=-_*.~ \t")
    return bool(words) and not _SAYS_NOTHING.fullmatch(words)


def _raised(lines: Sequence[str]) -> ToldError | None:
    """The exception behind the frames of the last traceback, or of a file that Python could not
    read, with the last frame that is no library's."""
    raised = next((n for n in range(len(lines) - 1, -1, -1) if _TRACEBACK in lines[n]), -1)
    unread = next((n for n, line in enumerate(lines) if _SYNTAX.match(line)), -1)
    if raised < 0 and unread < 0:
        return None
    place = ""
    for line in lines[raised + 1 if raised >= 0 else max(0, unread - 4) :]:
        if frame := _FRAME.match(line):
            place = place if TRACED.search(frame[1]) else f"{frame[1]}:{frame[2]}"
        elif line[0] not in " \t|" and (raised >= 0 or _SYNTAX.match(line)):
            return ToldError(line, "raised", (place,) if place else ())
    return None


def _announced(lines: Sequence[str]) -> ToldError | None:
    doubtful = [line for line in lines if not _FINE.search(line)]
    telling = [line for line in doubtful if not _ONLY_THAT.search(line.strip())]
    found = (
        _first(_CLEAR, telling)
        or _first(_VAGUE, telling)
        or next(filter(_LINES_PLACED.match, telling), "")
        or _before_the_verdict(lines)
        or next(iter(doubtful if telling == doubtful else ()), "")
        or _first(_ONLY_THAT, doubtful)
        or next(iter(lines), "")
    )
    return ToldError(_whole(found, lines), "other") if found else None


def _whole(line: str, lines: Sequence[str]) -> str:
    """A line that ends with a colon says nothing without the next one."""
    if not line.endswith(":") or len(line) > ENDS_OPEN:
        return line.strip()
    behind = lines.index(line) + 1
    return " ".join([line.strip(), *(next_one.strip() for next_one in lines[behind : behind + 1])])


def _before_the_verdict(lines: Sequence[str]) -> str:
    """What stands before the first line that only says that it failed."""
    before = ""
    for line in lines:
        if _ONLY_THAT.search(line.strip()):
            return before
        before = "" if line.startswith(("#", "$", ">")) else line
    return ""


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str:
    """The first line that matches beyond words such as "0 errors"."""
    found = (line for line in lines if pattern.search(_NOTHING_WRONG.sub("", line.strip())))
    return next(found, "")
