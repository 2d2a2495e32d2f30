"""SWE-agent: trajectories (`.traj`), in text mode and with function calls."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from shlex import shlex
from typing import Any, Literal

import msgspec

from kedgeline.formats.content import calls_in, said_by_user, text_and_media, text_of
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    document,
    mapping,
    mappings,
    numbered_items,
    string,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Piece, SessionReader
from kedgeline.model import Note, Text, Thinking, ToolCall, ToolResult, Turn

# Actions in SWE-agent's command language as a tool's name and parameters.

Parameters = dict[str, Any]

COMMANDS: dict[str, tuple[str, ...]] = {
    "open": ("path", "line_number"),
    "goto": ("line_number",),
    "scroll_up": (),
    "scroll_down": (),
    "set_cursors": ("start_line", "end_line"),
    "create": ("filename",),
    "edit": ("search", "replace", "replace_all"),
    "insert": ("text", "line"),
    "search_dir": ("search_term", "dir"),
    "search_file": ("search_term", "file"),
    "find_file": ("file_name", "dir"),
    "filemap": ("file_path",),
    "view_image": ("image_file",),
    "str_replace_editor": ("command", "path"),
    "submit": ("answer",),
    "exit_forfeit": (),
}
"""SWE-agent's own commands with the names it gives their arguments, in order. Every other action is
a shell command."""

LINE_NUMBERS = {"line_number", "start_line", "end_line", "line", "insert_line", "view_range"}
SHELL = "bash"

_LINE_EDIT = re.compile(r"edit[ \t]+(\d+):(\d+)(?:[ \t]*<<[^\n]*)?[ \t]*\n?(.*)", re.DOTALL)
_CURSOR_EDIT = re.compile(r"edit[ \t]*\n(.*)", re.DOTALL)
_END_OF_EDIT = re.compile(r"(?:^|\n)end_of_edit\s*$")
OPERATORS = "();<>|&\n"


def parsed(action: str) -> tuple[str, Parameters]:
    """The tool an action calls, and its parameters."""
    action = action.strip()
    name, _, rest = action.partition(" ")
    name = name.partition("\n")[0]
    if name == "submit":
        return name, {"answer": rest.strip()} if rest.strip() else {}
    if name not in COMMANDS:
        return SHELL, {"command": action}
    parameters = (_edited(action) if name == "edit" else None) or _named(name, action)
    return (SHELL, {"command": action}) if parameters is None else (name, parameters)


def _edited(action: str) -> Parameters | None:
    """An edit by line numbers, or between the cursors; None when it is by search and replace."""
    if found := _LINE_EDIT.fullmatch(action):
        first, last, text = found.groups()
        lines = {"start_line": _number(first), "end_line": _number(last)}
        return {**lines, "replacement_text": _END_OF_EDIT.sub("", text)}
    if found := _CURSOR_EDIT.fullmatch(action):
        return {"replacement_text": _END_OF_EDIT.sub("", found[1])}
    return None


def _named(name: str, action: str) -> Parameters | None:
    """Words by the names of the command's arguments; None when only a shell can take it apart."""
    words = _words(action)
    if words is None:
        return None
    names = COMMANDS[name]
    positional: list[str] = []
    options: dict[str, list[str]] = {}
    values = positional
    for word in words[1:]:
        if word.startswith("--") and len(word) > 2:
            option, given, value = word[2:].partition("=")
            values = options.setdefault(option.replace("-", "_"), [])
            values.extend([value] if given else ())
        else:
            values.append(word)
    if names and len(positional) > len(names):
        positional[len(names) - 1 :] = [" ".join(positional[len(names) - 1 :])]
    named = {key: [value] for key, value in zip(names, positional, strict=False)}
    return {key: _value(key, given) for key, given in {**named, **options}.items()}


def _words(action: str) -> list[str] | None:
    """The words of one plain command; None when operators or further lines make it more."""
    lexer = shlex(action, posix=True, punctuation_chars=OPERATORS)
    lexer.whitespace, lexer.commenters = " \t\r\f\v", ""
    try:
        words = list(lexer)
    except ValueError:
        return action.split()  # a quotation that does not end
    return None if any(word and not word.strip(OPERATORS) for word in words) else words


def _value(key: str, words: list[str]) -> Any:
    """An argument's value: `--replace-all` has none, `--view_range 1 20` has two."""
    if not words:
        return True
    if key not in LINE_NUMBERS:
        return " ".join(words)
    numbers = [_number(word) for word in words]
    return numbers if len(numbers) > 1 else numbers[0]


LONGEST_NUMBER = 9
"""Digits of a line number; a longer one is no line, and turning it into a number can be slow."""


def _number(word: str) -> int | str:
    return int(word) if word.isdecimal() and len(word) <= LONGEST_NUMBER else word


# The file SWE-agent's editor shows: commands that name no path mean this one.

IN_WINDOW = {
    "edit": "path",
    "insert": "path",
    "goto": "path",
    "scroll_up": "path",
    "scroll_down": "path",
    "set_cursors": "path",
    "search_file": "file",
}
"""Commands that act on the open file, and the parameter that says so."""
OPENS = {"open", "create"}
NOTHING_OPEN = "n/a"

_STATE = re.compile(
    r"\(Open file: ([^\n]*)\)\s*\n\(Current directory: ([^\n]*)\)\s*"
    r"(?:\n\([^\n]*\)\s*)*\n?bash-\$\s*$"
)
STATE_LENGTH = 4_096
"""The state stands at the very end of an observation; two paths and a prompt are shorter."""


class Window:
    def __init__(self, steps: list[Record]) -> None:
        self.path = ""
        self.folder = ""
        self._states: dict[str, deque[Any]] = {}
        for step in steps:
            self._states.setdefault(string(step.get("action")).strip(), deque()).append(
                step.get("state")
            )

    def before(self, action: str) -> None:
        """An action comes. Its step in the trajectory knows which file is open, and a command that
        edits leaves the same one open."""
        if states := self._states.get(action.strip()):
            self._look(_state(states.popleft()))

    def completed(self, call: ToolCall) -> ToolCall:
        """The call with the path it leaves out."""
        key = IN_WINDOW.get(call.tool)
        if key is None or key in call.parameters or not self.path:
            return call
        return msgspec.structs.replace(call, parameters={key: self.path, **call.parameters})

    def after(self, call: ToolCall) -> None:
        """A call was made; an observation that tells more may follow."""
        if call.tool in OPENS and (paths := call.paths()):
            self.path = paths[0]

    def see(self, observation: str) -> tuple[str, str]:
        """An observation without the state the environment prints below it, and that state."""
        found = _STATE.search(observation, max(0, len(observation) - STATE_LENGTH))
        if found is None:
            return observation, ""
        self._look({"open_file": found[1], "working_dir": found[2]})
        return observation[: found.start()].rstrip(), found[0].strip()

    def _look(self, state: Record) -> None:
        if isinstance(path := state.get("open_file"), str):
            self.path = "" if path.strip() == NOTHING_OPEN else path.strip()
        if folder := string(state.get("working_dir")).strip():
            self.folder = folder


def _state(value: Any) -> Record:
    """A step's state: an object, or in older versions the JSON text of one."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


# Observations as results.

NOT_DONE = (
    "Your proposed edit has introduced new syntax error(s)",
    "Your edit was not applied",
    "Your search and replace strings are the same",
    "Search text must not be empty",
    "No edit was made",
    "No file open",
    "No replacement was performed",
    "No edit history found",
    "Wrong flag!",
    "Usage: ",
    "usage: ",
    "Error: ",
    "Warning: File '",
    "File already exists at: ",
    "The path ",
    "The parent directory ",
    "Parameter `",
    "Invalid `",
    "Unrecognized command ",
    "Ran into ",
)
"""How SWE-agent's own commands begin when they did nothing."""

NOT_RUN = (
    "EXECUTION TIMED OUT",
    "COMMAND FAILED TO EXECUTE",
    "BROKEN PIPE ERROR",
    "UNKNOWN ERROR. RESTARTING PROCESS",
    "Your bash command contained syntax errors and was NOT executed",
    "Your command was not executed",
)
"""How the environment begins when an action did not run, or not to its end."""

TRACEBACK = 'Traceback (most recent call last):\n  File "'
"""How the output of a Python program begins that ended with an exception."""

_CANCELLED = re.compile(r"The command '.{0,20000}' was cancelled because it took more than", re.S)
_UNSUPPORTED = re.compile(r"Operation '.{0,20000}' is not supported by this environment", re.S)
_NOT_FOUND = re.compile(r"(?:File|Directory) [^\n]{1,500} not found\s*(?:\r?\n|$)")
_LABEL = re.compile(r"\s*(?:OBSERVATION|Observation):\s*")


def result_of(call: ToolCall, content: Any, observed: str) -> ToolResult:
    """The result of a call; `observed` is the content's text without the environment's state."""
    text, media = text_and_media(content)
    success = not _failed(call, _LABEL.sub("", observed, count=1).lstrip())
    return ToolResult(
        call_id=call.id,
        success=success,
        output=text,
        error=None if success else observed.strip(),
        change=_change(call) if success else "",
        media=media,
    )


def _failed(call: ToolCall, text: str) -> bool:
    if text.startswith(NOT_RUN) or _CANCELLED.match(text) or _UNSUPPORTED.match(text):
        return True
    if call.tool not in COMMANDS:  # a program's words prove nothing, those of its interpreter do
        ran = str(call.parameters.get("command", ""))
        return ran.startswith("python") and text.startswith(TRACEBACK)
    return text.startswith(NOT_DONE) or _NOT_FOUND.match(text) is not None


def _change(call: ToolCall) -> Literal["", "create", "update"]:
    """Its `create` refuses a file that exists, so that a success always made one."""
    if call.tool not in COMMANDS:
        return ""
    if call.verb == "write":
        return "create"
    return "update" if call.verb == "edit" else ""


# SWE-agent's trajectories into turns.

MARKS = {"agent", "message_type", "action", "is_demo", "tool_call_ids"}
"""A history item of SWE-agent has one of these beside its role and content."""
HARNESS_EXIT = re.compile(r"exit_(?!forfeit\b)\w+\s*$")
"""The action SWE-agent itself writes when it gives up, out of money or context; forfeiting is the
model's own."""

_FENCED = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```", re.DOTALL)


class SweAgent:
    name = "swe-agent"

    def sniff(self, head: Head) -> int:
        value = mapping(head.document)
        steps, items = mappings(value.get("trajectory")), mappings(value.get("history"))
        if any({"action", "observation"} <= step.keys() for step in steps):
            return 3
        if any("role" in item and MARKS & item.keys() for item in items):
            return 3
        return 1 if any({"role", "content"} <= item.keys() for item in items) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        value = document(lines, log)
        if not isinstance(value, dict):
            log.broken("shape", Line(0), "not an object")
            return
        session = Run(log, mappings(value.get("trajectory")))
        records = value.get("trajectory")
        take: Callable[[Line, Record], None] = session.take_step
        if any("role" in item for item in mappings(value.get("history"))):
            records, take = value.get("history"), session.take_item
        for line, record in numbered_items(records, log):
            take(line, record)
            yield from session.main.ready()
        yield from session.main.finish()


FORMAT = SweAgent()


class Run(SessionReader):
    """Takes the items of a history, or the steps of a trajectory, in their order."""

    def __init__(self, log: Log, steps: list[Record]) -> None:
        super().__init__(log)
        self._window = Window(steps)
        self._pending: list[ToolCall] = []
        """Calls that wait for their observation."""
        self._calls = 0
        self._answered = False

    def take_item(self, line: Line, item: Record) -> None:
        role = item.get("role")
        if item.get("is_demo"):
            shown = text_of(item.get("content")) or string(item.get("action"))
            self.note(line, "demonstration", shown)
        elif role == "system":
            self.main.system(line, (Text(text=text_of(item.get("content"))),))
        elif role == "assistant":
            self._assistant(line, item, item.get("content"))
        elif role in ("user", "tool"):
            self._heard(line, item)
        else:
            self.unknown(f"role/{role}")

    def take_step(self, line: Line, step: Record) -> None:
        self._assistant(line, step, step.get("response"))
        if self._pending and step.get("observation") is not None:
            self._results(line, step["observation"], self._pending)

    def _assistant(self, line: Line, item: Record, content: Any) -> None:
        said = text_of(content)
        if HARNESS_EXIT.match(string(item.get("action"))) and not item.get("tool_calls"):
            self._pending = []
            self.note(line, "failure", said or string(item.get("action")))
            return
        calls, words = self._called(item, said)
        thoughts: list[Piece] = [
            Thinking(text=string(b.get("thinking")), signature=string(b.get("signature")))
            for b in mappings(item.get("thinking_blocks"))
        ]
        spoken = [Text(text=words)] if words else []
        self.facts(root=self._window.folder)
        self.main.assistant(line, [*thoughts, *spoken, *calls])
        self._pending, self._answered = calls, True

    def _called(self, item: Record, said: str) -> tuple[list[ToolCall], str]:
        """The calls of an assistant item, and its words without them."""
        calls = calls_in(item)
        fenced = None
        action = item.get("action")
        if not calls and not isinstance(action, str):
            fenced = next(reversed(list(_FENCED.finditer(said))), None)
            action = fenced[1] if fenced else ""
        self._window.before(string(action))
        if not calls and string(action).strip():
            tool, parameters = parsed(string(action))
            calls = [ToolCall(id="", tool=tool, parameters=parameters)]
        calls = [self._window.completed(self._with_id(call)) for call in calls]
        for call in calls:
            self._window.after(call)
        words = string(item.get("thought")).strip() or _without(said, string(action), fenced)
        return calls, words

    def _with_id(self, call: ToolCall) -> ToolCall:
        """Actions in text have no id; they are numbered."""
        self._calls += 1
        if call.id:
            return call
        number = f"action-{self._calls}"
        return ToolCall(id=number, tool=call.tool, parameters=call.parameters)

    def _heard(self, line: Line, item: Record) -> None:
        """Under the user's role stand the task, and in text mode every observation behind it."""
        content = item.get("content")
        if item.get("role") == "tool" or self._pending:
            self._results(line, content, self._answering(item))
            return
        text, media = text_and_media(content)
        words, state = self._window.see(text)
        if not words.strip() and not media:
            return
        pieces: list[Piece] = [*media]
        if self._answered:
            pieces.insert(0, Note(kind="injected", text=words))
        elif words.strip():
            pieces[:0] = said_by_user(words)
        if state:
            pieces.append(Note(kind="environment", text=state))
        self.user(line, pieces)

    def _answering(self, item: Record) -> list[ToolCall]:
        """The calls an observation answers: by their ids, or those that wait."""
        ids = item.get("tool_call_ids")
        named = ids if isinstance(ids, list) else [item.get("tool_call_id")]
        names = [name for name in named if isinstance(name, str) and name]
        waiting = {call.id: call for call in self._pending}
        if not names:
            return self._pending or [ToolCall(id="", tool="")]
        return [waiting.get(name) or ToolCall(id=name, tool="") for name in names]

    def _results(self, line: Line, content: Any, calls: list[ToolCall]) -> None:
        observed, _ = self._window.see(text_of(content))
        results = [result_of(call, content, observed) for call in calls]
        self.main.results(line, results)
        answered = {call.id for call in calls}
        self._pending = [call for call in self._pending if call.id not in answered]
        self.facts(root=self._window.folder)


def _without(said: str, action: str, fenced: re.Match[str] | None) -> str:
    """The words around the fenced block that holds the action."""
    if fenced is None and action.strip():
        blocks = (b for b in _FENCED.finditer(said) if b[1].strip() == action.strip())
        fenced = next(blocks, None)
    if fenced is None:
        return said.strip()
    around = (said[: fenced.start()].strip(), said[fenced.end() :].strip())
    return "\n\n".join(part for part in around if part)
