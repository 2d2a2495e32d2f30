"""SWE-agent: trajectories (`.traj`), in text mode and with function calls."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from shlex import shlex
from typing import Any

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import (
    Lines,
    Record,
    document,
    mapping,
    mappings,
    numbered_items,
    string,
)
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Note, Thinking, ToolCall, ToolResult, Turn

# Actions in SWE-agent's command language.

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
IN_WINDOW = {
    **dict.fromkeys(("edit", "insert", "goto", "scroll_up", "scroll_down", "set_cursors"), "path"),
    "search_file": "file",
}
"""Commands that act on the open file, and the parameter that says so."""
LINE_NUMBERS = {"line_number", "start_line", "end_line", "line", "insert_line", "view_range"}
LONGEST_NUMBER = 9
"""Digits of a line number; a longer one is no line, and turning it into a number can be slow."""
SHELL = "bash"
OPERATORS = "();<>|&\n"
_LINE_EDIT = re.compile(r"edit[ \t]+(\d+):(\d+)(?:[ \t]*<<[^\n]*)?[ \t]*\n?(.*)", re.DOTALL)
_CURSOR_EDIT = re.compile(r"edit[ \t]*\n(.*)", re.DOTALL)
_END_OF_EDIT = re.compile(r"(?:^|\n)end_of_edit\s*$")


def parsed(action: str) -> tuple[str, Record]:
    """The tool an action calls, and its parameters."""
    action = action.strip()
    name, _, rest = action.partition(" ")
    name = name.partition("\n")[0]
    parameters: Record | None = None
    if name == "submit":
        parameters = {"answer": rest.strip()} if rest.strip() else {}
    elif found := _LINE_EDIT.fullmatch(action):
        lines = {"start_line": _number(found[1]), "end_line": _number(found[2])}
        parameters = {**lines, "replacement_text": _END_OF_EDIT.sub("", found[3])}
    elif found := _CURSOR_EDIT.fullmatch(action):
        parameters = {"replacement_text": _END_OF_EDIT.sub("", found[1])}
    elif name in COMMANDS:
        parameters = _named(COMMANDS[name], action)
    return (SHELL, {"command": action}) if parameters is None else (name, parameters)


def _named(names: tuple[str, ...], action: str) -> Record | None:
    """Words by the names of the command's arguments; None when only a shell can take it apart."""
    lexer = shlex(action, posix=True, punctuation_chars=OPERATORS)
    lexer.whitespace, lexer.commenters = " \t\r\f\v", ""
    try:
        words = list(lexer)
    except ValueError:
        words = action.split()  # a quotation that does not end
    if any(word and not word.strip(OPERATORS) for word in words):
        return None
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


def _value(key: str, words: list[str]) -> Any:
    """An argument's value: `--replace-all` has none, `--view_range 1 20` has two."""
    if not words:
        return True
    if key not in LINE_NUMBERS:
        return " ".join(words)
    numbers = [_number(word) for word in words]
    return numbers if len(numbers) > 1 else numbers[0]


def _number(word: str) -> int | str:
    return int(word) if word.isdecimal() and len(word) <= LONGEST_NUMBER else word


# Observations.

NOT_DONE = (
    *("Your proposed edit has introduced new syntax error(s)", "Your edit was not applied"),
    *("Your search and replace strings are the same", "Search text must not be empty"),
    *("No edit was made", "No file open", "No replacement was performed", "No edit history found"),
    *("Wrong flag!", "Usage: ", "usage: ", "Error: ", "Warning: File '", "Ran into "),
    *("File already exists at: ", "The path ", "The parent directory ", "Parameter `"),
    *("Invalid `", "Unrecognized command "),
)
"""How SWE-agent's own commands begin when they did nothing."""
NOT_RUN = (
    *("EXECUTION TIMED OUT", "COMMAND FAILED TO EXECUTE", "BROKEN PIPE ERROR"),
    *("UNKNOWN ERROR. RESTARTING PROCESS", "Your command was not executed"),
    "Your bash command contained syntax errors and was NOT executed",
)
"""How the environment begins when an action did not run, or not to its end."""
TRACEBACK = 'Traceback (most recent call last):\n  File "'
"""How the output of a Python program begins that ended with an exception."""
_STOPPED = re.compile(
    r"The command '.{0,20000}' was cancelled because it took more than"
    r"|Operation '.{0,20000}' is not supported by this environment",
    re.DOTALL,
)
_NOT_FOUND = re.compile(r"(?:File|Directory) [^\n]{1,500} not found\s*(?:\r?\n|$)")
_LABEL = re.compile(r"\s*(?:OBSERVATION|Observation):\s*")
_STATE = re.compile(
    r"\(Open file: ([^\n]*)\)\s*\n\(Current directory: ([^\n]*)\)\s*"
    r"(?:\n\([^\n]*\)\s*)*\n?bash-\$\s*$"
)
STATE_LENGTH = 4_096
"""The state stands at the very end of an observation; two paths and a prompt are shorter."""


def _result(call: ToolCall, content: Any, observed: str) -> ToolResult:
    """The result of a call; `observed` is the content's text without the environment's state."""
    text = _LABEL.sub("", observed, count=1).lstrip()
    failed = text.startswith(NOT_RUN) or _STOPPED.match(text) is not None
    change: pieces.Change = ""
    if call.tool not in COMMANDS:  # a program's words prove nothing, those of its interpreter do
        python = str(call.parameters.get("command", "")).startswith("python")
        failed = failed or (python and text.startswith(TRACEBACK))
    else:
        failed = failed or text.startswith(NOT_DONE) or _NOT_FOUND.match(text) is not None
        # Its `create` refuses a file that exists, so that a success always made one.
        change = "create" if call.verb == "write" else "update" if call.verb == "edit" else ""
    return pieces.result(call.id, content, failed=failed, error=observed.strip(), change=change)


# Trajectories.

MARKS = {"agent", "message_type", "action", "is_demo", "tool_call_ids"}
"""A history item of SWE-agent has one of these beside its role and content."""
HARNESS_EXIT = re.compile(r"exit_(?!forfeit\b)\w+\s*$")
"""The action SWE-agent itself writes when it gives up, out of money or context; forfeiting is the
model's own."""
_FENCED = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```", re.DOTALL)


class _Run(SessionReader):
    """Takes the items of a history, or the steps of a trajectory."""

    def __init__(self, log: Log, steps: list[Record], *, alone: bool) -> None:
        super().__init__(log)
        self._alone = alone
        """Whether there is no history beside the steps."""
        self._path = self._folder = ""
        """The file that SWE-agent's editor shows: commands that name no path mean this one."""
        self._states: dict[str, deque[Any]] = {}
        for step in steps:
            action = string(step.get("action")).strip()
            self._states.setdefault(action, deque()).append(step.get("state"))
        self._answered = False

    def take(self, line: Line, item: Record) -> None:
        role = item.get("role")
        if self._alone:
            self._assistant(line, item, pieces.plain_words(item.get("response")))
            if item.get("observation") is not None:
                self._results(line, item["observation"], self.main.open_calls())
        elif item.get("is_demo"):
            shown = pieces.plain_words(item.get("content")) or item.get("action")
            self.note(line, "demonstration", shown)
        elif role == "system":
            self.system(line, item.get("content"))
        elif role == "assistant":
            self._assistant(line, item, pieces.plain_words(item.get("content")))
        elif role in ("user", "tool"):
            self._heard(line, item)
        else:
            self.unknown("role", role)

    def _assistant(self, line: Line, item: Record, said: str) -> None:
        action, calls = item.get("action"), pieces.calls_in(item)
        if HARNESS_EXIT.match(string(action)) and not calls:
            self._answered = False
            self.note(line, "failure", said or action)
            return
        blocks = list(_FENCED.finditer(said))
        if not calls and not isinstance(action, str):
            blocks = blocks[-1:]
            action = blocks[0][1] if blocks else ""
        action = string(action).strip()
        if states := self._states.get(action):
            # The step in the trajectory knows which file is open, and an edit leaves it open.
            state = states.popleft()  # an object, or in older versions the JSON text of one
            self._look(pieces.object_in(state) if isinstance(state, str) else mapping(state))
        if not calls and action:
            tool, parameters = parsed(action)
            calls = [ToolCall(id="", tool=tool, parameters=parameters)]
        calls = [self._completed(call) for call in calls]
        words = string(item.get("thought")).strip()
        if not words:
            own = (block for block in blocks if action and block[1].strip() == action)
            fenced = next(own, None)
            words = pieces.without(said, fenced) if fenced else said.strip()
        thoughts: list[Piece] = [
            Thinking(text=string(b.get("thinking")), signature=string(b.get("signature")))
            for b in mappings(item.get("thinking_blocks"))
        ]
        self.facts(root=self._folder)
        self.answer(line, [*thoughts, *pieces.texts(words), *calls])
        self._answered = True

    def _completed(self, call: ToolCall) -> ToolCall:
        """The call with an id, and the path it leaves out."""
        key = IN_WINDOW.get(call.tool)
        if key and self._path and key not in call.parameters:
            parameters = {key: self._path, **call.parameters}
            call = ToolCall(id=call.id, tool=call.tool, parameters=parameters)
        if call.tool in ("open", "create") and (paths := call.paths()):
            self._path = paths[0]  # an observation that tells more may follow
        return self.numbered(call, "action")  # type: ignore[return-value]

    def _heard(self, line: Line, item: Record) -> None:
        """Under the user's role stand the task, and in text mode every observation behind it."""
        content, waiting = item.get("content"), self.main.open_calls() if self._answered else []
        if item.get("role") == "tool" or waiting:
            self._results(line, content, self._answering(item, waiting))
            return
        text, media = pieces.text_and_media(content)
        words, state = self._see(text)
        heard: list[Piece] = [*pieces.heard(words, person=not self._answered), *media]
        if heard and state:
            heard.append(Note(kind="environment", text=state))
        self.user(line, heard)

    def _answering(self, item: Record, waiting: list[ToolCall]) -> list[ToolCall]:
        """The calls an observation answers: by their ids, or those that wait."""
        ids = item.get("tool_call_ids")
        named = filter(string, ids if isinstance(ids, list) else [item.get("tool_call_id")])
        found = [self.main.call(name) or ToolCall(id=name, tool="") for name in named]
        return found or waiting or [ToolCall(id="", tool="")]

    def _results(self, line: Line, content: Any, calls: list[ToolCall]) -> None:
        observed, _ = self._see(pieces.plain_words(content))
        self.main.results(line, [_result(call, content, observed) for call in calls])
        self.facts(root=self._folder)

    def _see(self, observation: str) -> tuple[str, str]:
        """An observation without the state the environment prints below it, and that state."""
        found = _STATE.search(observation, max(0, len(observation) - STATE_LENGTH))
        if found is None:
            return observation, ""
        self._look({"open_file": found[1], "working_dir": found[2]})
        return observation[: found.start()].rstrip(), found[0].strip()

    def _look(self, state: Record) -> None:
        if isinstance(path := state.get("open_file"), str):
            self._path = "" if path.strip() == "n/a" else path.strip()
        self._folder = string(state.get("working_dir")).strip() or self._folder


class SweAgent:
    name = "swe-agent"

    def sniff(self, head: FileHead) -> int:
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
        steps, history = value.get("trajectory"), value.get("history")
        alone = not any("role" in item for item in mappings(history))
        run = _Run(log, mappings(steps), alone=alone)
        yield from run.turns(numbered_items(steps if alone else history, log))


FORMAT = SweAgent()
