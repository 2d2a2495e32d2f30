"""What stands in a text that an agent goes on from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import NamedTuple

from kedge.bench.replay.files import Action, fold
from kedge.bench.replay.names import Finder, Names, base_name, implied
from kedge.bench.replay.outline import HEADING, outline
from kedge.bench.replay.rendering import EXACT

INDEX = re.compile(r"\bindex\b", re.IGNORECASE)
"""In a heading: what is below it is a list of names."""
_ACTION = re.compile(
    r"(?<!\bnot )\b(?:(created|new file)|(modified|updated|edited|changed)|(deleted)|(renamed))\b",
    re.IGNORECASE,
)
"""A text that says what was not modified does not say that it was."""
_ROW = re.compile(r"\s*\|[^|]+\|\s*(?:created|modified|deleted|renamed)\s*\|", re.IGNORECASE)
"""A row of a table: a file, and what became of it."""
_ACTIONS: tuple[Action, ...] = ("created", "modified", "deleted", "renamed")
ENDS = re.compile(
    r"[ \t]*$|[`'\"\])}]|[ \t]+[(\[—–→#]|[,.:](?=\s|$)|[ \t]*(?:&&|[|;])", re.MULTILINE
)
"""What may follow a command that is whole: the end of its line, what closes or explains it, or the
next command of a longer line."""
ENDS_LOOSELY = re.compile(rf"{ENDS.pattern}|[ \t]*[12&]?>", re.MULTILINE)
"""The same, or where its output goes."""
OPENERS = "`'\"([{<:$>*-→&|;"
"""What may stand before a command; nothing at all may too."""
_SPACE = re.compile(r"\s+")


class Line(NamedTuple):
    text: str
    names: Names
    above: tuple[int, ...]
    """The lines it is under: headings, and list items it is indented below; nearest last."""


class Standing:
    """A text taken apart: its names, line by line, and what each line is under."""

    def __init__(self, text: str, finder: Finder) -> None:
        self.text = text
        self._finder = finder
        self._flat = f" {_SPACE.sub(' ', text)} "
        written = text.split("\n")
        above = outline(written)
        self.lines = [
            Line(line, finder.names_in(line), above[number]) for number, line in enumerate(written)
        ]
        found: Names = {}
        for line in self.lines:
            found.update(line.names)
        self.names = implied(found)
        self._near = self._all_near()

    @cached_property
    def tokens(self) -> int:
        return EXACT.count(self.text)

    def has(self, name: str) -> bool:
        """A name to the letter; a path in full, or as seen from the root."""
        return name in self.names

    def has_file(self, path: str) -> bool:
        """The same for a file, also where its path has what is no part of most names."""
        return path in self.names or (self._is_odd(path) and _stands(path, self.text))

    def has_base_name(self, name: str) -> bool:
        return name in self.names or base_name(name) in self.names

    def has_command(self, command: str, ends: re.Pattern[str] = ENDS) -> bool:
        """Whether the command stands there whole: with another flag it is another one."""
        start = self.text.find(command)
        while start >= 0:
            end = start + len(command)
            if self._begins(start) and ends.match(self.text, end):
                return True
            start = self.text.find(command, start + 1)
        return False

    def has_words(self, words: str) -> bool:
        """Whether these words stand there verbatim, however the lines are broken."""
        flat = _SPACE.sub(" ", words.strip())
        start = self._flat.find(flat)
        while start >= 0:
            around = self._flat[start - 1] + self._flat[start + len(flat)]
            if not re.search(r"\w", around):
                return True
            start = self._flat.find(flat, start + 1)
        return False

    def near(self, name: str, path: str) -> bool:
        """Whether both stand on one line, or the name under a heading or item with the path."""
        return path in self._near.get(name, ())

    def actions(self, paths: Collection[str]) -> dict[str, Action]:
        """What the text says became of these files, where it names them with an action. Where a
        table has a row for a file, that is what the text says of it."""
        rows = [line for line in self.lines if _ROW.match(line.text)]
        said = self._said(rows, paths)
        rest = [path for path in paths if path not in said]
        return {**self._said(self.lines, rest), **said}

    def _said(self, lines: Iterable[Line], paths: Collection[str]) -> dict[str, Action]:
        odd = [path for path in paths if self._is_odd(path)]
        said: dict[str, Action] = {}
        for line in lines:
            named = [name for name in line.names if name in paths]
            named += [path for path in odd if _stands(path, line.text)]
            for path in named:
                if action := self._action(line, path):
                    fold(said, path, action)
        return said

    def index(self) -> str:
        """What stands under headings of an index."""
        inside = {
            number
            for number, line in enumerate(self.lines)
            if HEADING.match(line.text) and INDEX.search(line.text)
        }
        return "\n".join(
            line.text
            for number, line in enumerate(self.lines)
            if number in inside or inside & set(line.above)
        )

    def _is_odd(self, path: str) -> bool:
        """Whether a path is not found as a name: blanks, brackets, nothing but letters."""
        return path not in self._finder.names_in(path)

    def _all_near(self) -> dict[str, set[str]]:
        files = [
            {name for name, kind in line.names.items() if kind in ("path", "file")}
            for line in self.lines
        ]
        near: defaultdict[str, set[str]] = defaultdict(set)
        for number, line in enumerate(self.lines):
            if line.names:
                here = set().union(files[number], *(files[above] for above in line.above))
                for name in line.names:
                    near[name] |= here
        return near

    def _action(self, line: Line, name: str) -> Action | None:
        """The action that stands nearest to a name on its line, or else in what is above."""
        place = line.text.find(base_name(name))
        end = place + len(base_name(name))
        found = [
            (max(place - match.end(), match.start() - end), match)
            for match in _ACTION.finditer(line.text)
        ]
        if found:
            return _said(min(found, key=lambda one: one[0])[1])
        for number in reversed(line.above):
            if match := _ACTION.search(self.lines[number].text):
                return _said(match)
        return None

    def _begins(self, start: int) -> bool:
        """The beginning of a line, or what opens or announces a command, stands before it."""
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        return line.rstrip()[-1:] in OPENERS


def _stands(path: str, text: str) -> bool:
    return path in text and bool(re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/-])", text))


def _said(match: re.Match[str]) -> Action:
    return _ACTIONS[(match.lastindex or 1) - 1]
