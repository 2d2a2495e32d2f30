"""aider's chat histories into turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kedgeline.formats.agents.aider.console import (
    CONSOLE,
    EDIT_BEGIN,
    EDIT_END,
    EDIT_MIDDLE,
    PAGE,
    START,
    USER,
    Kind,
    Report,
    Scanner,
    facts_in,
    fence_closed,
    fence_opened,
    notes_of,
    usage_in,
)
from kedgeline.formats.content import said_by_user
from kedgeline.formats.intake import Head, Lines, spanning, text_lines
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler, Piece
from kedgeline.model import Note, NoteKind, Text, ToolCall, Turn

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
            Block(path, _joined(lines[position + 1 : middle]), _joined(lines[middle + 1 : end]))
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


def _joined(lines: list[str]) -> str:
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
        scanner, session = Scanner(), SessionReader(log)
        for line, text in text_lines(lines, log):
            session.take(line, scanner.kind(text), text)
            yield from session.assembler.ready()
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


class SessionReader:
    """Gathers lines into messages, and an answer with the console behind it into a turn."""

    def __init__(self, log: Log) -> None:
        self.assembler = Assembler(log)
        self._log = log
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
        yield from self.assembler.finish()

    def _begin(self, line: Line, text: str) -> None:
        self._end()
        self._flush()
        if found := START.match(text):
            self._log.fact("start", found[1], turn=self.assembler.next_turn)
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
            self.assembler.user(said.place, found.pieces)

    def _heard_console(self, said: _Said) -> None:
        if self._answer is not None:
            self._console.extend(said)
            return
        if self._output in ("environment", "command_output"):
            for name, value in facts_in(said.lines):
                self._log.fact(name, value, turn=self.assembler.next_turn)
        if notes := notes_of(said.lines, self._output):
            self.assembler.user(said.place, notes)

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
        self.assembler.assistant(
            answer.place,
            list(_in_places(pieces, calls)),
            model=self._log.latest("model"),
            usage=usage_in(lines),
        )
        if results := report.results(calls):
            self.assembler.results(self._console.place, results)
        elif notes := notes_of(lines, "injected"):
            self.assembler.user(self._console.place, notes)
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
