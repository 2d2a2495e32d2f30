"""What the console says: which edits were applied, token counts, facts about the session."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, takewhile
from typing import Literal, NamedTuple

import msgspec

from kedgeline.formats.content import usage_in as counted
from kedgeline.model import Note, NoteKind, ToolCall, ToolResult, Usage

# Who wrote a line of a chat history: the user, the console, or the assistant.

Kind = Literal["start", "user", "console", "text", "page", "skip"]

USER, CONSOLE = "####", ">"
START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
PAGE = '<div class="chat-transcript"'
"""How a chat begins inside a web page; what stands outside such sections is not part of it."""
EDIT_BEGIN = re.compile(r"<{5,9} (?:SEARCH|ORIGINAL)\s*$")
EDIT_MIDDLE = re.compile(r"={5,9}\s*$")
EDIT_END = re.compile(r">{5,9} (?:REPLACE|UPDATED)\s*$")
_FENCE = re.compile(r"\s*(?:(`{3,})[^`]*|<(source|code|pre|codeblock|sourcecode)>\w*\s*)$")

_LINE_END = "  "
_MESSAGE_END = re.compile(r"\S  $")
_AFTER_ANSWER = re.compile(
    r"> (?:\^C|Tokens: |Applied edit to |Unexpected error|(?:The LLM|GPT) did not conform)"
)
"""Console lines that show that an answer is over, although a fence or an edit in it is still open:
the user had interrupted it."""
_MODE_LINE = re.compile(r"-\*- .* -\*-\s*$")


def fence_opened(text: str) -> str:
    """What closes the fence that a line opens; empty when it opens none.

    Where the files in the chat hold backticks, aider has the assistant use tags.
    """
    found = _FENCE.match(text)
    if found is None:
        return ""
    return found[1] or f"</{found[2]}>"


def fence_closed(text: str, fence: str) -> bool:
    """Whether a line closes the fence: with the same tag, or with as many backticks or more."""
    text = text.strip()
    return text == fence or (text.startswith(fence) and not text.strip("`"))


class Scanner:
    """Looks at the lines one after the other."""

    def __init__(self) -> None:
        self._fence = ""
        """What closes the fence that is open; empty outside of one."""
        self._editing = False
        self._in_message = False
        """Inside a console message of several lines, of which only the first is marked."""
        self._strict: bool | None = None
        """Whether this session keeps its line ends; unknown until its first marked line."""
        self._page: Literal["", "outside", "inside"] = ""
        self._before: Kind = "skip"
        """Who wrote the last line that was not blank."""
        self._blank_before = True
        self._begun = False

    def kind(self, text: str) -> Kind:
        found = self._kind(text)
        blank = not text.strip()
        if not blank:
            self._begun = True
            self._before = found
        self._blank_before = blank
        return found

    def _kind(self, text: str) -> Kind:
        if START.match(text):
            self._close()
            self._strict = None
            return "start"
        if outside := self._outside(text):
            return outside
        if self._in_message:
            return self._message(text)
        if text.startswith(USER + " ") or text == USER:
            return self._user(text)
        if text.startswith(CONSOLE + " ") or text == CONSOLE:
            return self._console(text)
        return self._text(text)

    def _outside(self, text: str) -> Kind | None:
        """Lines of a web page around the chats, and an editor's mode line."""
        if not self._begun and text.strip() == "---":
            self._page = "outside"
        if text.startswith(PAGE) and (self._page or not self._enclosed):
            self._close()
            self._page, self._strict = "inside", False
            return "page"
        if self._page == "inside" and text.strip() == "</div>" and not self._enclosed:
            self._page = "outside"
            return "skip"
        if self._page == "outside" or (not self._begun and _MODE_LINE.match(text)):
            return "skip"
        return None

    def _user(self, text: str) -> Kind:
        marked = text.endswith(_LINE_END)
        self._decide(marked)
        continues = self._before == "user" and not self._blank_before
        if self._enclosed:
            accepted = marked and (self._blank_before or continues)
        else:
            accepted = marked or continues or not self._strict
        if not accepted:
            return self._text(text)
        self._close()
        return "user"

    def _console(self, text: str) -> Kind:
        marked = text.endswith(_LINE_END)
        self._decide(marked)
        if self._enclosed:
            if not (marked and _AFTER_ANSWER.match(text)):
                return self._text(text)
        elif self._strict and not marked:
            if self._before not in ("user", "console", "start"):
                return self._text(text)
            self._in_message = True
            return "console"
        self._close()
        return "console"

    def _message(self, text: str) -> Kind:
        if text.startswith(USER + " ") and text.endswith(_LINE_END) and self._blank_before:
            return self._user(text)
        if _MESSAGE_END.search(text):
            self._in_message = False
        return "console"

    def _text(self, text: str) -> Kind:
        if self._editing:
            self._editing = not EDIT_END.match(text)
        elif EDIT_BEGIN.match(text):
            self._editing = True
        elif not self._fence:
            self._fence = fence_opened(text)
        elif fence_closed(text, self._fence):
            self._fence = ""
        return "text"

    def _decide(self, marked: bool) -> None:
        if self._strict is None and not self._enclosed:
            self._strict = marked

    @property
    def _enclosed(self) -> bool:
        return bool(self._fence) or self._editing

    def _close(self) -> None:
        self._fence, self._editing, self._in_message = "", False, False


_APPLIED = re.compile(r"Applied edit to (.+)$")
_NOT_APPLIED = re.compile(r"(?:Did not apply|Failed to apply) edit to (.+?)(?: \(--dry-run\))?$")
_SKIPPED = re.compile(r"Skipping edits? to (.+?)(?: that matches .*)?$")
_NO_MATCH = re.compile(r"#* ?SearchReplaceNoExactMatch: ")
_MALFORMED = re.compile(r"(?:The LLM|GPT) did not conform to the edit format|Malformed ORIGINAL/")
_OTHERS_APPLIED = re.compile(r"# The other \d+ SEARCH/REPLACE blocks? w\w+ applied successfully")
_CREATED = re.compile(r"Allow creation of new file (.+)\? y(?:es)?$")
_CREATE_ASKED = re.compile(r"Create new file\?.* y(?:es)?$")
_OWN_NOTES: tuple[tuple[re.Pattern[str], NoteKind], ...] = (
    (re.compile(r"\^C\b"), "interruption"),
    (re.compile(r"Unexpected error: |litellm\.\w+Error"), "failure"),
)
"""Console lines that are a note of their own wherever they stand."""
_COUNT = re.compile(r"([\d.,]{1,16})([kM]?) (sent|received|cache write|cache hit)")
_FACTS = (
    ("client", re.compile(r"Aider v(\S+)$")),
    ("model", re.compile(r"(?:Models?|Main model): (\S+) with ")),
    ("root", re.compile(r"Git working dir: (.+)$")),
)


class Verdict(NamedTuple):
    line: str
    success: bool
    refused: bool = False


class Report:
    """The console lines behind an answer."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._edits: dict[str, list[Verdict]] = {}
        """What is said about the edits of each file, in order."""
        self._by_name: dict[str, list[str]] = {}
        self._unmatched: dict[tuple[str, ...], str] = {}
        """Searched lines that were not found, with the line that says so."""
        self._created: set[str] = set()
        self._malformed = self._others = ""
        for number, line in enumerate(lines):
            self._take(number, line)

    def _take(self, number: int, line: str) -> None:
        if found := _APPLIED.match(line):
            self._edits.setdefault(found[1], []).append(Verdict(line, success=True))
        elif found := _NOT_APPLIED.match(line):
            self._edits.setdefault(found[1], []).append(Verdict(line, success=False))
        elif found := _SKIPPED.match(line):
            skipped = Verdict(line, success=False, refused=True)
            self._edits.setdefault(found[1], []).append(skipped)
        elif _NO_MATCH.match(line):
            self._unmatched[_searched(self._lines, number + 1)] = line
        elif found := _CREATED.match(line):
            self._created.add(found[1])
        elif _CREATE_ASKED.match(line) and number:
            self._created.add(self._lines[number - 1])
        elif _MALFORMED.match(line):
            self._malformed = line
        elif _OTHERS_APPLIED.match(line):
            self._others = line

    def verdict(self, call: ToolCall) -> Verdict | None:
        """What is said about one edit; nothing is said about an answer that was interrupted."""
        path, search = call.parameters["path"], call.parameters.get("search", "")
        if line := self._unmatched.get(_stripped(search.split("\n"))):
            return Verdict(line, success=False)
        if told := self._edits.get(path):
            # Older versions tell of every block, newer ones once of every file.
            return told.pop(0) if len(told) > 1 else told[0]
        if self._malformed:
            return Verdict(self._others or self._malformed, success=bool(self._others))
        return None

    def completed(self, calls: list[ToolCall]) -> list[ToolCall]:
        """The calls under the paths aider found for them, and one for every file it changed
        although the answer holds no block for it: other edit formats have none."""
        known: set[str] = set()
        completed = []
        for call in calls:
            written = call.parameters["path"]
            path = self._found_for(written)
            known.add(path)
            parameters = {**call.parameters, "path": path}
            completed.append(msgspec.structs.replace(call, parameters=parameters))
        for path, told in self._edits.items():
            if path not in known and told[0].success:
                completed.append(ToolCall(id="", tool="edit_block", parameters={"path": path}))
        return completed

    def _found_for(self, written: str) -> str:
        """The path aider found for a file name that the answer wrote short."""
        if written in self._edits or not written:
            return written
        return next((p for p in self._ending_in(written) if p.endswith("/" + written)), written)

    def _ending_in(self, written: str) -> list[str]:
        if not self._by_name:
            for path in self._edits:
                self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return self._by_name.get(written.rpartition("/")[2], [])

    def results(self, calls: list[ToolCall]) -> list[ToolResult]:
        """Results for the calls something is said about. Each has the line that says it; the last
        one also has the rest of the console, which follows them all."""
        told = [(call, verdict) for call in calls if (verdict := self.verdict(call))]
        own = [verdict.line for _, verdict in told[:-1]]
        rest = _minus(self._lines, own)
        if told and told[-1][1].line not in rest:
            rest.insert(0, told[-1][1].line)  # said once, of several blocks
        outputs = [*own, "\n".join(rest).strip("\n")]
        return [
            self._result(call, verdict, output)
            for (call, verdict), output in zip(told, outputs, strict=False)
        ]

    def _result(self, call: ToolCall, verdict: Verdict, output: str) -> ToolResult:
        failed = not verdict.success and not verdict.refused
        created = verdict.success and call.parameters["path"] in self._created
        return ToolResult(
            call_id=call.id,
            success=verdict.success,
            output=output,
            error=verdict.line if failed else None,
            refused=verdict.refused,
            change="create" if created else "",
        )


def usage_in(lines: list[str]) -> Usage | None:
    """Token counts of the last request; aider rounds them, and counts the cache among the sent."""
    line = next((line for line in reversed(lines) if line.startswith("Tokens: ")), "")
    numbers = {name: _number(digits, unit) for digits, unit, name in _COUNT.findall(line)}
    return counted(numbers, "sent", "received", "cache hit", "cache write", within=True)


def facts_in(lines: list[str]) -> list[tuple[str, str]]:
    """Session facts among the lines aider prints when it starts or changes its model."""
    found = []
    for line in lines:
        for name, pattern in _FACTS:
            if match := pattern.match(line):
                found.append((name, f"aider v{match[1]}" if name == "client" else match[1]))
    return found


def notes_of(lines: list[str], kind: NoteKind) -> list[Note]:
    """Console lines as notes; an interruption or a failed request is a note of its own."""
    groups: list[tuple[NoteKind, list[str]]] = []
    for line in lines:
        if not line.strip():
            if groups:
                groups[-1][1].append(line)
            continue
        said = next((own for pattern, own in _OWN_NOTES if pattern.match(line)), kind)
        if not groups or groups[-1][0] != said:
            groups.append((said, []))
        groups[-1][1].append(line)
    return [Note(kind=said, text="\n".join(text).rstrip()) for said, text in groups]


def _searched(lines: list[str], position: int) -> tuple[str, ...]:
    """The search part of the block that the console repeats from here on."""
    if position >= len(lines) or not EDIT_BEGIN.match(lines[position]):
        return ()
    found = list(
        takewhile(lambda line: not EDIT_MIDDLE.match(line), islice(lines, position + 1, None))
    )
    return _stripped(found)


def _stripped(lines: list[str]) -> tuple[str, ...]:
    """Lines without indentation, which the console does not keep."""
    return tuple(stripped for line in lines if (stripped := line.strip()))


def _minus(lines: list[str], taken: list[str]) -> list[str]:
    left = Counter(taken)
    rest = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            rest.append(line)
    return rest


def _number(digits: str, unit: str) -> int | None:
    try:
        value = float(digits.replace(",", "").rstrip("."))
    except ValueError:
        return None
    return int(value * {"k": 1_000, "M": 1_000_000}.get(unit, 1))
