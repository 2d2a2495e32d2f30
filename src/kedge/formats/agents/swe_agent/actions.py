"""Actions in SWE-agent's command language as a tool's name and parameters."""

from __future__ import annotations

import re
from typing import Any

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
_TOKEN = re.compile(
    r"""(?P<space>[^\S\n]+)|(?P<operator>[();<>|&\n])|(?P<plain>[^\s'"\\();<>|&]+)"""
    r"""|'(?P<single>[^']*)'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"|\\(?P<escaped>.)""",
    re.DOTALL,
)
_ESCAPED = re.compile(r"""\\(["\\])""")


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
    words: list[list[str]] = []
    position, inside = 0, False
    while position < len(action):
        found = _TOKEN.match(action, position)
        if found is None:
            return action.split()  # a quotation that does not end
        position, kind = found.end(), found.lastgroup
        if kind == "operator":
            return None
        if kind != "space":
            text = found[str(kind)]
            if not inside:
                words.append([])
            words[-1].append(_ESCAPED.sub(r"\1", text) if kind == "double" else text)
        inside = kind != "space"
    return ["".join(pieces) for pieces in words]


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
