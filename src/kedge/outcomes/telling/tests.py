"""Failing tests as their runners print them: the name, and the message that says why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedge.outcomes.telling.told import TRACED, Told

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
_COMPARES = re.compile(
    r"\b(?i:want|wanted|got|mismatch|unexpected|not equal)\b|\b[Ee]xpected\b|!=|Error\b"
    r"|\bfail(?:ed|ure)\b"
)
_LOGGED = re.compile(r"\b(?:INFO|DEBUG|WARN|TRACE)\b|\b[Oo]utput:|\blevel=")
_DEMANDS = re.compile(r"\b(?i:should|must)\b")
_ASIDE = re.compile(r"\([^()]{0,300}\)")
"""What a log says in passing: "user commits (a checkpoint should appear)"."""
_TICKED = ("✓", "✔", "✅")
_ASSERTS = re.compile(
    r"\b(?i:error|invalid|missing|cannot|could not|not found|timeout|timed out|panic)\b"
)
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


def failing_tests(lines: Sequence[str]) -> Iterator[Told]:
    """Each failing test once, in order; those within others instead of the others."""
    headers = list(_headers(lines))
    summed_up = {header.name for header in headers if header.runner == "pytest"}
    names = [header.name for header in headers]
    seen: set[str] = set()
    for place, header in enumerate(headers):
        inner = header.runner == "go" and any(n.startswith(header.name + "/") for n in names)
        if header.name in seen or inner or (header.runner == "titled" and summed_up):
            continue
        seen.add(header.name)
        end = headers[place + 1].number if place + 1 < len(headers) else len(lines)
        near = GO_NEAR if header.runner == "go" else NEAR
        yield _told(lines, header, min(end, header.number + 1 + near))
    if not headers:
        yield from _packages(lines)


def _packages(lines: Sequence[str]) -> Iterator[Told]:
    """Go packages whose failing tests were cut off."""
    for line in lines:
        if found := _GO_FAILED.match(line):
            yield Told(line, "test", (), found["package"])


def _headers(lines: Sequence[str]) -> Iterator[_Header]:
    listed = False
    for number, line in enumerate(lines):
        listed = listed or _LIST.match(line) is not None
        found = _HEADERS.match(line)
        if found is None or found.lastgroup is None:
            continue
        groups = {name: text for name, text in found.groupdict().items() if text}
        why = groups.pop("why", "") or groups.pop("because", "")
        runner, name = next(iter(groups.items()))
        if runner == "numbered" and (not listed or _LIST.match(line)):
            continue
        yield _Header(number, runner, name.strip(), why)


def _told(lines: Sequence[str], header: _Header, end: int) -> Told:
    near = lines[header.number + 1 : end]
    message = ""
    if header.runner == "go":
        message, place = _go_message(lines, header, near)
    elif header.runner == "pytest":
        place = _pytest_place(lines, header.name)
        message = "" if header.why else _pytest_message(lines, header.name)
    elif header.why:
        place = header.name
    else:
        message, place = _message(near), _place(near)
    line = f"{header.name}: {message}" if message else lines[header.number].strip()
    return Told(line, "test", (place,) if place else (), header.name)


def _message(behind: Sequence[str]) -> str:
    """The first line that says what was wrong, with what it compares."""
    for number, line in enumerate(behind):
        if _SUMMED_UP.match(line):
            return ""
        if found := _RAISED.match(line):
            text = [found["text"].strip()]
            near = behind[number + 1 : number + 5]
            if _says_where(text[0]) or text[0].endswith(("Error Message:", "panicked at")):
                text += [near[0].strip()] if near else []
                near = near[1:]
            compared = (_COMPARED.match(other) for other in near)
            return " ".join([*text, *(other["text"].strip() for other in compared if other)])
    return ""


def _says_where(text: str) -> bool:
    """Whether a panic's line names only its place: what it says stands behind it."""
    return "panicked at" in text and text.endswith(":")


def _place(behind: Sequence[str]) -> str:
    for line in behind:
        found = _PLACE.search(line)
        if found and not TRACED.search(line):
            return f"{found['file'] or found['named']}:{found['line'] or found['row']}"
    return ""


def _go_message(lines: Sequence[str], header: _Header, following: Sequence[str]) -> tuple[str, str]:
    """A test's messages stand behind its name, or before it where each is printed at once."""
    for near in (_until_flush(following), _back_to_run(lines[: header.number])):
        found = [
            (number, one) for number, line in enumerate(near) if (one := _GO_MESSAGE.match(line))
        ]
        said = [one for one in found if not _LOGGED.search(one[1]["text"][:200])]
        if not said:
            continue
        number, message = _most_telling(said)
        text = message["text"].strip() or _message(near[number + 1 :])
        if text.endswith(":") and number + 1 < len(near):
            text = f"{text} {near[number + 1].strip()}"
        return f"{message['place']}: {text}", message["place"]
    return "", ""


def _most_telling(said: Sequence[tuple[int, re.Match[str]]]) -> tuple[int, re.Match[str]]:
    """A test's log stands among its messages: the first that compares or demands is preferred, as
    others follow from it; then the last that speaks of an error, then the last, as a test ends with
    the one that is fatal."""
    failed = [one for one in said if _is_assertion(one[1]["text"].strip())]
    asserting = [one for one in said if _ASSERTS.search(one[1]["text"])]
    return (failed or asserting[-1:] or said[-1:])[0]


def _is_assertion(text: str) -> bool:
    """Whether a message says what was expected; one of a library stands on the lines behind."""
    if not text:
        return True
    if text.startswith(_TICKED):
        return False
    return bool(_COMPARES.search(text) or _DEMANDS.search(_ASIDE.sub("", text)))


def _until_flush(lines: Sequence[str]) -> Sequence[str]:
    """Lines behind a name that belong to it: all are indented."""
    end = next((n for n, line in enumerate(lines) if not line[0].isspace()), len(lines))
    return lines[:end]


def _back_to_run(lines: Sequence[str]) -> Sequence[str]:
    for back in range(len(lines) - 1, max(-1, len(lines) - 1 - GO_NEAR), -1):
        if _GO_RUN.match(lines[back]) or "--- " in lines[back][:24]:
            return lines[back + 1 :]
    return lines[-GO_NEAR:]


def _pytest_place(lines: Sequence[str], name: str) -> str:
    """Where a test of this file failed, from the first place printed that lies in it."""
    file = name.partition("::")[0]
    places = (found["place"] for line in lines if (found := _PYTEST_PLACE.match(line)))
    return next((place for place in places if place.rpartition(":")[0] == file), "")


def _pytest_message(lines: Sequence[str], name: str) -> str:
    """The first message under the test's title."""
    title = name.rpartition("::")[2].partition("[")[0]
    for number, line in enumerate(lines):
        if line.startswith("___") and title and title in line:
            behind = lines[number + 1 : number + 1 + GO_NEAR]
            return next((one[1:].strip() for one in behind if one.startswith("E  ")), "")
    return ""
