"""aider: chat histories (`.aider.chat.history.md`) and chat transcripts in web pages.

Nothing marks the assistant, so everything else must be told from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Literal, NamedTuple

import msgspec

from kedgeline.formats.content import said_by_user
from kedgeline.formats.content import usage_in as counted
from kedgeline.formats.intake import Head, Lines, spanning, text_lines
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Piece, SessionReader
from kedgeline.model import Note, NoteKind, Text, ToolCall, ToolResult, Turn, Usage

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
    """What closes the fence that a line opens, if it opens one; where the files in the chat hold
    backticks, aider has the assistant use tags."""
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
VERDICTS = ((_APPLIED, True, False), (_NOT_APPLIED, False, False), (_SKIPPED, False, True))
"""What is said of the edits of a file: whether they succeeded, and whether the user refused."""
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
UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
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
        self._unmatched: dict[tuple[str, ...], str] = {}
        """Searched lines that were not found, with the line that says so."""
        self._created: set[str] = set()
        self._malformed = self._others = ""
        for number, line in enumerate(lines):
            self._take(number, line)

    def _take(self, number: int, line: str) -> None:
        for pattern, success, refused in VERDICTS:
            if found := pattern.match(line):
                self._edits.setdefault(found[1], []).append(Verdict(line, success, refused))
                return
        if _NO_MATCH.match(line):
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
        return next((path for path in self._edits if path.endswith("/" + written)), written)

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
    behind = islice(lines, position + 1, None)
    return _stripped(list(takewhile(lambda line: not EDIT_MIDDLE.match(line), behind)))


def _stripped(lines: list[str]) -> tuple[str, ...]:
    """Lines without indentation, which the console does not keep."""
    return tuple(filter(None, map(str.strip, lines)))


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
        return int(float(digits.replace(",", "").rstrip(".")) * UNITS[unit])
    except ValueError:
        return None


# User lines as pieces: the user's words, commands, and what aider sent in the user's place.

NOTHING = "<blank>"
"""What aider writes when the user sent an empty line."""

CARRY_WORDS = (("ask", "as"), ("code", "cod"), ("architect", "ar"))
"""Commands whose argument is a message to the model, and how short each may be typed."""
RUN_SHELL = (("run", "ru"), ("test", "te"), ("git", "gi"))
"""Commands that run their argument in a shell."""

REFLECTED = (
    "# Fix any errors below, if possible.",
    "I ran this command:\n\n",
)
"""How messages begin that aider sends in the user's place: lint errors, the output of a command."""
ANNOUNCEMENT = "# Announcement lines from when this session of aider was launched:"
"""What aider adds to a question about itself."""
_QUESTION = re.compile(r"[^\n]{0,500}\(Y\)es/\(N\)o[^\n]{0,80}\]: *\S{1,10}$")
"""A question of aider's that an earlier answer of the user's settled."""


class Heard(NamedTuple):
    pieces: tuple[Piece, ...]
    repeated: str = ""
    """Words of a command that aider writes once more as a message of their own."""


def heard(message: str) -> Heard:
    text = message.strip()
    if text in ("", NOTHING):
        return Heard(())
    if text.startswith("!"):
        return Heard((Note(kind="shell", text=text),))
    if text.startswith("/"):
        return _command(text)
    if text.startswith(REFLECTED) or _QUESTION.match(text):
        return Heard((Note(kind="injected", text=text),))
    words, announcement, lines = text.partition(ANNOUNCEMENT)
    pieces = said_by_user(words.strip()) if words.strip() else ()
    if announcement:
        pieces = (*pieces, Note(kind="injected", text=announcement + lines))
    return Heard(pieces)


def _command(text: str) -> Heard:
    name, _, argument = text[1:].partition(" ")
    argument = argument.strip()
    if argument and _is_one(name, CARRY_WORDS):
        return Heard((Text(text=argument),), repeated=argument)
    if argument and _is_one(name, RUN_SHELL):
        return Heard((Note(kind="shell", text=text),))
    return Heard((Note(kind="command", text=text),), repeated=argument)


def _is_one(name: str, commands: tuple[tuple[str, str], ...]) -> bool:
    return any(full.startswith(name) and name.startswith(short) for full, short in commands)


# An answer of the assistant's as prose and edit blocks, in their order.


class Block(NamedTuple):
    """A search-and-replace block."""

    path: str
    search: str
    replace: str


LONGEST_NAME = 300
"""A longer line is no file name."""
LINES_ABOVE = 4
"""How far above a block its file name may stand: fences may come between."""


def parts(lines: list[str]) -> list[str | Block]:
    """Prose and blocks; an edit that is not complete was never applied and stays prose."""
    found: list[str | Block] = []
    prose: list[str] = []
    path, position, open_fence = "", 0, ""
    while position < len(lines):
        end = _block_end(lines, position)
        if end is None:
            prose.append(lines[position])
            position += 1
            continue
        name, fence = _file_name(prose)
        path, open_fence = name or path, fence or open_fence
        middle = next(n for n in range(position, end) if EDIT_MIDDLE.match(lines[n]))
        _add(found, prose)
        found.append(
            Block(
                path, _with_ends(lines[position + 1 : middle]), _with_ends(lines[middle + 1 : end])
            )
        )
        prose, position = [], end + 1
        if open_fence and position < len(lines) and fence_closed(lines[position], open_fence):
            position, open_fence = position + 1, ""
    _add(found, prose)
    return found


def _block_end(lines: list[str], position: int) -> int | None:
    """Where the block that begins here ends; None when none begins, or it is not complete."""
    if not EDIT_BEGIN.match(lines[position]):
        return None
    middle = 0
    for number in range(position + 1, len(lines)):
        if EDIT_MIDDLE.match(lines[number]):
            middle = middle or number
        elif EDIT_BEGIN.match(lines[number]):
            return None
        elif EDIT_END.match(lines[number]):
            return number if middle else None
    return None


def _file_name(prose: list[str]) -> tuple[str, str]:
    """The file name above a block, and what closes the fence opened there; both leave the prose."""
    name, fence = "", ""
    for _ in range(LINES_ABOVE):
        if not prose:
            break
        if opened := fence_opened(prose[-1]):
            if name and fence:
                break  # the fence of something else, further up
            fence = fence or opened
        elif name or not (name := _as_name(prose[-1])):
            break
        prose.pop()
    return name, fence


def _as_name(line: str) -> str:
    line = line.strip().rstrip(":").lstrip("#").strip().strip("*").strip("`").strip()
    if not line or line == "..." or len(line) > LONGEST_NAME or len(line.split()) > 1:
        return ""
    return line


def _with_ends(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _add(found: list[str | Block], prose: list[str]) -> None:
    text = "\n".join(prose).strip("\n")
    if text.strip():
        found.append(text)


_START = re.compile(START.pattern, re.MULTILINE)
_MARKED_USER = re.compile(r"^#### .*  $", re.MULTILINE)
_MARKED_CONSOLE = re.compile(r"^> .*  $", re.MULTILINE)
_USER = re.compile(r"^#### \S", re.MULTILINE)
_CONSOLE = re.compile(r"^> \S", re.MULTILINE)
_OWN_CONSOLE = re.compile(r"^> (?:Applied edit to |Tokens: )", re.MULTILINE)
"""Console lines that stand in nearly every history, and in no other Markdown."""


class Aider:
    name = "aider"

    def sniff(self, head: Head) -> int:
        if head.is_json:
            return 0
        text = head.text.replace("\r\n", "\n")
        if _START.search(text) and (_USER.search(text) or _CONSOLE.search(text)):
            return 3
        if not _USER.search(text):
            return 0
        if PAGE in text or (_MARKED_USER.search(text) and _MARKED_CONSOLE.search(text)):
            return 2
        # Headings and quotations alone are any Markdown.
        marked = _MARKED_USER.search(text) and _CONSOLE.search(text)
        return 1 if marked or _OWN_CONSOLE.search(text) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        scanner, session = Scanner(), Session(log)
        for line, text in text_lines(lines, log):
            session.take(line, scanner.kind(text), text)
            yield from session.main.ready()
        yield from session.finish()


FORMAT = Aider()


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
            self.place = spanning(self.place, line)
        self.lines.append(text)

    def extend(self, further: _Said) -> None:
        self.place = spanning(self.place, further.place) if self.lines else further.place
        self.lines += further.lines


class Session(SessionReader):
    """Gathers lines into messages, and an answer with the console behind it into a turn."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._said = _Said("skip")
        self._answer: _Said | None = None
        self._console = _Said("console")
        """What the console says behind the answer."""
        self._output: NoteKind = "injected"
        """What console lines are that come before an answer."""
        self._repeated = ""
        self._edits = 0
        self._begun = False

    def take(self, line: Line, kind: Kind, text: str) -> None:
        blank = not text.strip()
        if kind == "start":
            self._begin(line, text)
        elif kind == "page":
            self._begin_page()
        elif kind == "skip" or (blank and kind == "text" and self._said.kind != "text"):
            self._end()  # a blank line ends the user's message
        else:
            if self._said.kind != kind:
                self._end()
                self._said = _Said(kind)
            self._said.add(line, _unmarked(text, kind))

    def finish(self) -> Iterator[Turn]:
        self._end()
        self._flush()
        yield from self.main.finish()

    def _begin(self, line: Line, text: str) -> None:
        self._end()
        self._flush()
        if found := START.match(text):
            self.facts(start=found[1])
        self._output, self._begun = "environment", True

    def _begin_page(self) -> None:
        if not self._begun:
            self._said, self._answer = _Said("skip"), None  # the page's own introduction
            self._output, self._begun = "environment", True
        self._end()

    def _end(self) -> None:
        """Nobody adds to the lines gathered: they are a message."""
        said, self._said = self._said, _Said("skip")
        if said.kind == "user":
            self._user(said)
        elif said.kind == "console":
            self._begun = True
            self._heard_console(said)
        elif said.kind == "text":
            self._flush()
            self._answer, self._console = said, _Said("console")

    def _user(self, said: _Said) -> None:
        self._flush()
        self._begun = True
        found = heard("\n".join(said.lines))
        words = "\n\n".join(piece.text for piece in found.pieces if isinstance(piece, Text))
        self._output = _output_of(found.pieces)
        repeats = bool(words) and words == self._repeated
        self._repeated = found.repeated
        if found.pieces and not repeats:
            self.main.user(said.place, found.pieces)

    def _heard_console(self, said: _Said) -> None:
        if self._answer is not None:
            self._console.extend(said)
            return
        if self._output in ("environment", "command_output"):
            for name, value in facts_in(said.lines):
                self.facts(**{name: value})
        self.user(said.place, notes_of(said.lines, self._output))

    def _flush(self) -> None:
        """The answer is over, and so is the console behind it."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        lines = self._console.lines
        report = Report(lines)
        pieces = [_piece(part) for part in parts(answer.lines)]
        calls = report.completed([piece for piece in pieces if isinstance(piece, ToolCall)])
        calls = [self._numbered(call) for call in calls]
        self.main.assistant(
            answer.place,
            list(_in_places(pieces, calls)),
            model=self.log.latest("model"),
            usage=usage_in(lines),
        )
        if results := report.results(calls):
            self.main.results(self._console.place, results)
        elif notes := notes_of(lines, "injected"):
            self.main.user(self._console.place, notes)
        self._output, self._repeated = "injected", ""

    def _numbered(self, call: ToolCall) -> ToolCall:
        self._edits += 1
        return ToolCall(id=f"edit-{self._edits}", tool=call.tool, parameters=call.parameters)


def _unmarked(text: str, kind: Kind) -> str:
    """A line without aider's mark and line end."""
    if kind == "user":
        return text.removeprefix(USER).removeprefix(" ").rstrip()
    if kind == "console":
        return (text[2:] if text.startswith(CONSOLE + " ") else text.removeprefix(CONSOLE)).rstrip()
    return text


def _piece(part: str | Block) -> Piece:
    if isinstance(part, str):
        return Text(text=part)
    parameters = {"path": part.path, "search": part.search, "replace": part.replace}
    return ToolCall(id="", tool="edit_block", parameters=parameters)


def _in_places(pieces: list[Piece], calls: list[ToolCall]) -> Iterator[Piece]:
    """The pieces with the completed calls in place of the written ones, further ones behind."""
    left = iter(calls)
    for piece in pieces:
        yield next(left) if isinstance(piece, ToolCall) else piece
    yield from left


def _output_of(pieces: tuple[Piece, ...]) -> NoteKind:
    """What the console says next, by what the user had typed."""
    kinds = {piece.kind for piece in pieces if isinstance(piece, Note)}
    if "shell" in kinds:
        return "shell_output"
    return "command_output" if "command" in kinds else "injected"
