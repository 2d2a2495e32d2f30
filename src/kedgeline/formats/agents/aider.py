"""aider: chat histories (`.aider.chat.history.md`) and chat transcripts in web pages.

Nothing marks the assistant, so everything else must be told from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import Lines, text_lines
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Note, NoteKind, Text, ToolCall, ToolResult, Turn, Usage

# Who wrote a line: the user, the console, or the assistant.

Kind = Literal["start", "user", "console", "text", "page", "skip"]

START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.MULTILINE)
PAGE = '<div class="chat-transcript"'
"""How a chat begins inside a web page; what stands outside such sections is not part of it."""
_SPEAKER = re.compile(r"(####|>)(?: |$)")
_EDIT_BEGIN = re.compile(r"<{5,9} (?:SEARCH|ORIGINAL)\s*$")
_EDIT_END = re.compile(r">{5,9} (?:REPLACE|UPDATED)\s*$")
_FENCE = re.compile(r"\s*(?:(`{3,})[^`]*|<(source|code|pre|codeblock|sourcecode)>\w*\s*)$")
_MESSAGE_END = re.compile(r"\S  $")
_AFTER_ANSWER = re.compile(
    r"> (?:\^C|Tokens: |Applied edit to |Unexpected error|(?:The LLM|GPT) did not conform)"
)
"""Console lines that show that an answer is over, although a fence or an edit in it is still open:
the user had interrupted it."""
_MODE_LINE = re.compile(r"-\*- .* -\*-\s*$")


def fence_opened(text: str) -> str:
    """What closes the fence that a line opens, if it opens one; where the files in the chat hold
    backticks, aider has the assistant use tags."""
    found = _FENCE.match(text)
    return "" if found is None else found[1] or f"</{found[2]}>"


def fence_closed(text: str, fence: str) -> bool:
    """Whether a line closes the fence: with the same tag, or with as many backticks or more."""
    text = text.strip()
    return text == fence or (text.startswith(fence) and not text.strip("`"))


class _Scanner:
    """Looks at the lines one after the other."""

    def __init__(self) -> None:
        self._fence = ""
        """What closes the fence that is open; empty outside of one."""
        self._editing = False
        self._in_message = False
        """Inside a console message of several lines, of which only the first is marked."""
        self._strict: bool | None = None
        """Whether this session ends marked lines with two blanks; unknown until the first one."""
        self._page: Literal["", "outside", "inside"] = ""
        self._before: Kind = "skip"
        """Who wrote the last line that was not blank."""
        self._blank_before = True
        self._begun = False

    def kind(self, text: str) -> Kind:
        found = self._outside(text) or self._inside(text)
        self._blank_before = not text.strip()
        if not self._blank_before:
            self._begun, self._before = True, found
        return found

    def _outside(self, text: str) -> Kind | None:
        """The beginning of a session, lines of a web page around the chats, a mode line."""
        enclosed = bool(self._fence) or self._editing
        if START.match(text):
            self._close()
            self._strict = None
            return "start"
        if not self._begun and text.strip() == "---":
            self._page = "outside"
        if text.startswith(PAGE) and (self._page or not enclosed):
            self._close()
            self._page, self._strict = "inside", False
            return "page"
        if self._page == "inside" and text.strip() == "</div>" and not enclosed:
            self._page = "outside"
        skipped = self._page == "outside" or (not self._begun and _MODE_LINE.match(text))
        return "skip" if skipped else None

    def _inside(self, text: str) -> Kind:
        found = _SPEAKER.match(text)
        speaker: Kind = "text" if found is None else "user" if found[1] == "####" else "console"
        marked, enclosed = text.endswith("  "), bool(self._fence) or self._editing
        continues = self._before == "user" and not self._blank_before
        if self._in_message and not (speaker == "user" and marked and self._blank_before):
            self._in_message = not _MESSAGE_END.search(text)
            return "console"
        if speaker != "text" and self._strict is None and not enclosed:
            self._strict = marked
        if speaker == "user":
            real = marked or continues or not self._strict
            if enclosed:
                real = marked and (self._blank_before or continues)
        elif enclosed:
            real = marked and _AFTER_ANSWER.match(text) is not None
        else:
            real = marked or not self._strict or self._before in ("user", "console", "start")
        if speaker == "text" or not real:
            return self._text(text)
        self._close()
        self._in_message = speaker == "console" and bool(self._strict) and not marked
        return speaker

    def _text(self, text: str) -> Kind:
        if self._editing:
            self._editing = not _EDIT_END.match(text)
        elif _EDIT_BEGIN.match(text):
            self._editing = True
        elif not self._fence:
            self._fence = fence_opened(text)
        elif fence_closed(text, self._fence):
            self._fence = ""
        return "text"

    def _close(self) -> None:
        self._fence, self._editing, self._in_message = "", False, False


# Edit blocks of an answer, and what the console says became of them.

_MARK = r"^(?:<{5,9} (?:SEARCH|ORIGINAL)|={5,9}|>{5,9} (?:REPLACE|UPDATED))[ \t\r]*$"
_EDIT = re.compile(
    rf"^<{{5,9}} (?:SEARCH|ORIGINAL)[ \t\r]*\n(?P<search>(?:(?!{_MARK}).*\n)*)"
    rf"={{5,9}}[ \t\r]*\n(?P<replace>(?:(?!{_MARK}).*\n|={{5,9}}[ \t\r]*\n)*)"
    r">{5,9} (?:REPLACE|UPDATED)[ \t\r]*(?:\n|\Z)",
    re.MULTILINE,
)
"""An edit that is not complete was never applied, and stays prose."""
LONGEST_NAME = 300
"""A longer line is no file name."""
LINES_ABOVE = 4
"""How far above a block its file name may stand: fences may come between."""
VERDICTS = (
    (re.compile(r"Applied edit to (.+)$"), True, False),
    (re.compile(r"(?:Did not|Failed to) apply edit to (.+?)(?: \(--dry-run\))?$"), False, False),
    (re.compile(r"Skipping edits? to (.+?)(?: that matches .*)?$"), False, True),
)
"""What is said of the edits of a file: whether they succeeded, and whether the user refused."""
_NO_MATCH = re.compile(r"#* ?SearchReplaceNoExactMatch: ")
_MALFORMED = re.compile(r"(?:The LLM|GPT) did not conform to the edit format|Malformed ORIGINAL/")
_OTHERS_APPLIED = re.compile(r"# The other \d+ SEARCH/REPLACE blocks? w\w+ applied successfully")
_CREATED = re.compile(r"Allow creation of new file (.+)\? y(?:es)?$")
_CREATE_ASKED = re.compile(r"Create new file\?.* y(?:es)?$")


class _Verdict(NamedTuple):
    line: str
    success: bool
    refused: bool = False


def _said_in(lines: list[str]) -> list[Piece]:
    """Prose and edit blocks, in their order."""
    text = "".join(f"{line}\n" for line in lines)
    said: list[Piece] = []
    path, fence, position = "", "", 0
    for found in _EDIT.finditer(text):
        prose = text[position : found.start()].split("\n")[:-1]
        name, opened = _file_name(prose)
        path, fence = name or path, opened or fence
        said += _prose("\n".join(prose))
        parameters = {"path": path, **found.groupdict()}
        said.append(ToolCall(id="", tool="edit_block", parameters=parameters))
        position = found.end()
        behind = text[position:].partition("\n")[0]
        if fence and fence_closed(behind, fence):
            position, fence = position + len(behind) + 1, ""
    return [*said, *_prose(text[position:])]


def _prose(text: str) -> list[Piece]:
    return pieces.texts(text.strip("\n")) if text.strip() else []


def _file_name(prose: list[str]) -> tuple[str, str]:
    """The file name above a block, and what closes the fence opened there; both leave the prose."""
    name = fence = ""
    for line in reversed(prose[-LINES_ABOVE:]):
        if opened := fence_opened(line):
            if name and fence:
                break  # the fence of something else, further up
            fence = fence or opened
        elif name or not (name := _as_name(line)):
            break
        prose.pop()
    return name, fence


def _as_name(line: str) -> str:
    line = line.strip().rstrip(":").lstrip("#").strip().strip("*").strip("`").strip()
    return "" if line == "..." or len(line) > LONGEST_NAME or len(line.split()) != 1 else line


class _Report:
    """The console lines behind an answer."""

    def __init__(self, lines: list[str]) -> None:
        self.text = "\n".join(lines).strip("\n")
        self.edits: dict[str, list[_Verdict]] = {}
        """What is said about the edits of each file, in order."""
        self._unmatched: dict[str, str] = {}
        """Searched lines that were not found, with the line that says so."""
        self._created: set[str] = set()
        self._malformed = self._others = ""
        for number, line in enumerate(lines):
            self._take(line, lines[number - 1] if number else "", lines[number + 1 :])

    def _take(self, line: str, before: str, behind: list[str]) -> None:
        for pattern, success, refused in VERDICTS:
            if found := pattern.match(line):
                self.edits.setdefault(found[1], []).append(_Verdict(line, success, refused))
        if _NO_MATCH.match(line):
            repeated = _EDIT.match("".join(f"{one}\n" for one in behind))
            self._unmatched[_bare(repeated["search"]) if repeated else ""] = line
        elif found := _CREATED.match(line):
            self._created.add(found[1])
        elif _CREATE_ASKED.match(line):
            self._created.add(before)
        elif _MALFORMED.match(line):
            self._malformed = line
        elif _OTHERS_APPLIED.match(line):
            self._others = line

    def path_of(self, written: str) -> str:
        """The path aider found for a file name that the answer wrote short."""
        if written in self.edits or not written:
            return written
        return next((path for path in self.edits if path.endswith("/" + written)), written)

    def results(self, calls: list[ToolCall]) -> list[ToolResult]:
        """Results for the calls something is said about. Each has the line that says it; the last
        one has all of the console, which follows them all."""
        told = [(call, verdict) for call in calls if (verdict := self._verdict(call))]
        return [
            pieces.result(
                call.id,
                verdict.line if number < len(told) else self.text,
                failed=not verdict.success,
                refused=verdict.refused,
                error=verdict.line,
                change="create" if call.parameters["path"] in self._created else "",
            )
            for number, (call, verdict) in enumerate(told, 1)
        ]

    def _verdict(self, call: ToolCall) -> _Verdict | None:
        """What is said about one edit; nothing is said about an answer that was interrupted."""
        if line := self._unmatched.get(_bare(call.parameters.get("search", ""))):
            return _Verdict(line, success=False)
        if told := self.edits.get(call.parameters["path"]):
            # Older versions tell of every block, newer ones once of every file.
            return told.pop(0) if len(told) > 1 else told[0]
        if self._malformed:
            return _Verdict(self._others or self._malformed, success=bool(self._others))
        return None


def _bare(search: str) -> str:
    """Lines without indentation, which the console does not keep."""
    return "\n".join(filter(None, map(str.strip, search.split("\n"))))


# What else the console says.

_OWN_NOTES: tuple[tuple[re.Pattern[str], NoteKind], ...] = (
    (re.compile(r"\^C\b"), "interruption"),
    (re.compile(r"Unexpected error: |litellm\.\w+Error"), "failure"),
)
"""Console lines that are a note of their own wherever they stand."""
_COUNT = re.compile(r"([\d.,]{1,16})([kM]?) (sent|received|cache write|cache hit)")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
OUTPUTS: dict[str, NoteKind] = {"shell": "shell_output", "command": "command_output"}
"""What the console says behind a note of the user's."""
_FACTS = (
    ("client", "aider v", re.compile(r"Aider v(\S+)$")),
    ("model", "", re.compile(r"(?:Models?|Main model): (\S+) with ")),
    ("root", "", re.compile(r"Git working dir: (.+)$")),
)


def _usage_in(lines: list[str]) -> Usage | None:
    """Token counts of the last request; aider rounds them, and counts the cache among the sent."""
    line = next((line for line in reversed(lines) if line.startswith("Tokens: ")), "")
    numbers = {name: _number(digits, unit) for digits, unit, name in _COUNT.findall(line)}
    return pieces.usage_in(numbers, "sent", "received", "cache hit", "cache write", within=True)


def _number(digits: str, unit: str) -> int | None:
    try:
        return int(float(digits.replace(",", "").rstrip(".")) * _UNITS[unit])
    except ValueError:
        return None


def notes_of(lines: list[str], kind: NoteKind) -> list[Piece]:
    """Console lines as notes; an interruption or a failed request is a note of its own."""
    groups: list[tuple[NoteKind, list[str]]] = []
    for line in lines:
        known = next((own for pattern, own in _OWN_NOTES if pattern.match(line)), kind)
        if line.strip() and (not groups or groups[-1][0] != known):
            groups.append((known, []))
        if groups:
            groups[-1][1].append(line)
    return [Note(kind=kind, text="\n".join(text).rstrip()) for kind, text in groups]


# User lines: the user's words, commands, and what aider sent in the user's place.

CARRY_WORDS = re.compile(r"/(?:as|cod|ar)\w* +(?=\S)")
"""Commands whose argument is a message to the model; they may be typed short."""
RUN_SHELL = re.compile(r"!|/(?:ru|te|gi)\w* +\S")
"""Commands that run their argument in a shell."""
REFLECTED = re.compile(
    r"# Fix any errors below, if possible\.|I ran this command:\n\n"
    r"|[^\n]{0,500}\(Y\)es/\(N\)o[^\n]{0,80}\]: *\S{1,10}$"
)
"""How messages begin that aider sends in the user's place: lint errors, the output of a command,
questions that an earlier answer of the user's settled."""
ANNOUNCEMENT = "# Announcement lines from when this session of aider was launched:"
"""What aider adds to a question about itself."""


def _heard(message: str) -> tuple[list[Piece], str]:
    """What one message of the user's says, and the words of a command that aider writes once more
    as a message of their own."""
    text = message.strip()
    if text in ("", "<blank>"):
        return [], ""
    if carries := CARRY_WORDS.match(text):
        words = text[carries.end() :].strip()
        return [Text(text=words)], words
    if RUN_SHELL.match(text):
        return [Note(kind="shell", text=text)], ""
    if text.startswith("/"):
        return [Note(kind="command", text=text)], text.partition(" ")[2].strip()
    if REFLECTED.match(text):
        return [Note(kind="injected", text=text)], ""
    words, announcement, lines = text.partition(ANNOUNCEMENT)
    said = pieces.heard(words.strip())
    if announcement:
        said.append(Note(kind="injected", text=announcement + lines))
    return said, ""


# Lines gathered into messages, and an answer with the console behind it into a turn.


class _Said:
    """Lines of one writer, as long as nobody else writes."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.lines: list[str] = []
        self.place = Line(0)
        """From the first line to the last that is not blank."""

    def add(self, line: Line, text: str) -> None:
        if not self.lines:
            self.place = line
        elif text.strip():
            self.place = self.place.to(line)
        self.lines.append(text)


class _Session(SessionReader):
    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._scanner = _Scanner()
        self._said = _Said("skip")
        self._answer: _Said | None = None
        self._console = _Said("console")
        """What the console says behind the answer."""
        self._output: NoteKind = "injected"
        """What console lines are that come before an answer."""
        self._repeated = ""
        self._begun = False

    def take(self, line: Line, text: str) -> None:
        kind, blank = self._scanner.kind(text), not text.strip()
        if kind in ("start", "page"):
            self._begin(kind, text)
        elif kind == "skip" or (blank and kind == "text" and self._said.kind != "text"):
            self._end()  # a blank line ends the user's message
        else:
            if self._said.kind != kind:
                self._end()
                self._said = _Said(kind)
            if kind != "text":
                found = _SPEAKER.match(text)
                text = text[found.end() if found else 0 :].rstrip()
            self._said.add(line, text)

    def close(self) -> None:
        self._end()
        self._flush()

    def _begin(self, kind: Kind, text: str) -> None:
        if kind == "page":
            if self._begun:
                self._end()
                return
            self._said, self._answer = _Said("skip"), None  # the page's own introduction
        self.close()
        if found := START.match(text):
            self.facts(start=found[1])
        self._output, self._begun = "environment", True

    def _end(self) -> None:
        """Nobody adds to the lines gathered: they are a message."""
        said, self._said = self._said, _Said("skip")
        if said.kind == "text":
            self._flush()
            self._answer, self._console = said, _Said("console")
        elif said.kind == "user":
            self._user(said)
        elif said.kind == "console" and self._answer is not None:
            place = self._console.place.to(said.place) if self._console.lines else said.place
            self._console.lines += said.lines
            self._console.place = place
        elif said.kind == "console":
            self._begun = True
            if self._output in ("environment", "command_output"):
                for name, before, pattern in _FACTS:
                    for match in filter(None, map(pattern.match, said.lines)):
                        self.facts(**{name: before + match[1]})
            self.user(said.place, notes_of(said.lines, self._output))

    def _user(self, said: _Said) -> None:
        self._flush()
        self._begun = True
        found, repeated = _heard("\n".join(said.lines))
        kinds = {piece.kind for piece in found if isinstance(piece, Note)}
        self._output = OUTPUTS.get(
            next((kind for kind in kinds if kind in OUTPUTS), ""), "injected"
        )
        words = "\n\n".join(piece.text for piece in found if isinstance(piece, Text))
        if not words or words != self._repeated:
            self.user(said.place, found)
        self._repeated = repeated

    def _flush(self) -> None:
        """The answer is over, and so is the console behind it."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        lines, report = self._console.lines, _Report(self._console.lines)
        said: list[Piece] = []
        for piece in _said_in(answer.lines):
            if isinstance(piece, ToolCall):
                parameters = {**piece.parameters, "path": report.path_of(piece.parameters["path"])}
                piece = ToolCall(id="", tool=piece.tool, parameters=parameters)
            said.append(self.numbered(piece, "edit"))
        known = {call.parameters["path"] for call in _calls(said)}
        for path, told in report.edits.items():
            if path not in known and told[0].success:  # other edit formats have no blocks
                made = ToolCall(id="", tool="edit_block", parameters={"path": path})
                said.insert(_behind_calls(said), self.numbered(made, "edit"))
        results = report.results(_calls(said))
        # aider asks nothing more of the model once the edits are applied: what the answer says
        # behind them is said of what was done.
        done = bool(results) and all(result.success for result in results)
        end = _behind_calls(said) if done else len(said)
        model = self.log.latest("model")
        self.answer(answer.place, said[:end], model=model, usage=_usage_in(lines))
        if results:
            self.main.results(self._console.place, results)
        else:
            self.user(self._console.place, notes_of(lines, "injected"))
        if said[end:]:
            self.answer(answer.place, said[end:], model=model)
        self._output, self._repeated = "injected", ""


def _calls(said: list[Piece]) -> list[ToolCall]:
    return [piece for piece in said if isinstance(piece, ToolCall)]


def _behind_calls(said: list[Piece]) -> int:
    return max((n for n, piece in enumerate(said, 1) if isinstance(piece, ToolCall)), default=0)


_USER = re.compile(r"^#### \S", re.MULTILINE)
_CONSOLE = re.compile(r"^> \S", re.MULTILINE)
_MARKED_USER = re.compile(r"^#### .*  $", re.MULTILINE)
_MARKED_CONSOLE = re.compile(r"^> .*  $", re.MULTILINE)
_OWN_CONSOLE = re.compile(r"^> (?:Applied edit to |Tokens: )", re.MULTILINE)
"""Console lines that stand in nearly every history, and in no other Markdown."""


class Aider:
    name = "aider"

    def sniff(self, head: FileHead) -> int:
        if head.is_json:
            return 0
        text = head.text.replace("\r\n", "\n")
        if START.search(text) and (_USER.search(text) or _CONSOLE.search(text)):
            return 3
        if not _USER.search(text):
            return 0
        if PAGE in text or (_MARKED_USER.search(text) and _MARKED_CONSOLE.search(text)):
            return 2
        # Headings and quotations alone are any Markdown.
        marked = _MARKED_USER.search(text) and _CONSOLE.search(text)
        return 1 if marked or _OWN_CONSOLE.search(text) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return _Session(log).turns(text_lines(lines, log))


FORMAT = Aider()
