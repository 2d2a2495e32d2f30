"""A settings file of JSON as a tree that knows where everything stands.

Comments and commas before a closing bracket are understood, because people and some hosts write
them; everything else is JSON to the letter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads
from typing import Any, Literal, NamedTuple

DEEPEST = 200
"""Brackets within brackets: no settings file has ten, and each costs the parser a frame."""
MARK = "\ufeff"
"""The mark of byte order that some editors put in front."""

_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(
    r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'  # linear
)
_PLAIN = re.compile(r"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|true|false|null")


class Malformed(ValueError):
    """What is wrong, and in which line."""

    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, why
        super().__init__(f"line {line}: {why}")


class Child(NamedTuple):
    """One entry of an object or an array, with the comma behind it."""

    key: str
    """Empty in an array."""
    start: int
    """Where its key, or its value, begins."""
    value: Node
    comma: int
    """Where the comma behind it stands; -1 where there is none."""


class Node(NamedTuple):
    """One value, by where it stands in the text."""

    kind: Literal["object", "array", "string", "number", "word"]
    start: int
    end: int
    children: tuple[Child, ...] = ()

    def child(self, key: str) -> Child | None:
        """The entry of an object by its key: the last one where there are several, as hosts do."""
        return next((child for child in reversed(self.children) if child.key == key), None)


class Document(NamedTuple):
    """A text and the value in it; None where the text has nothing but blanks and comments."""

    text: str
    root: Node | None
    plain: bool
    """Whether it is JSON in the strict sense: no comment, no comma too many."""

    def line(self, place: int) -> int:
        return _line(self.text, place)

    def value(self, node: Node) -> Any:
        """The value as Python has it."""
        if node.kind == "object":
            return {child.key: self.value(child.value) for child in node.children}
        if node.kind == "array":
            return [self.value(child.value) for child in node.children]
        return loads(self.text[node.start : node.end])

    def trivia(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the comments between two places stand."""
        while True:
            start = _BLANKS.match(self.text, start, end).end()  # type: ignore[union-attr]
            found = _COMMENT.match(self.text, start, end)
            if not found:
                return
            yield found.span()
            start = found.end()


def parsed(text: str) -> Document:
    """The tree of a text. Raises `Malformed`."""
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._place = text, len(MARK) if text.startswith(MARK) else 0
        self._plain = True

    def document(self) -> Document:
        self._skip()
        if self._place == len(self._text):
            return Document(self._text, None, self._plain)
        root = self._value(0)
        self._skip()
        if self._place < len(self._text):
            raise self._wrong("the end of the file")
        return Document(self._text, root, self._plain)

    def _value(self, depth: int) -> Node:
        start = self._place
        first = self._text[start : start + 1]
        if first in ("{", "["):
            if depth == DEEPEST:
                raise Malformed(_line(self._text, start), f"more than {DEEPEST} brackets deep")
            return self._container(first, depth)
        if first == '"':
            self._take(_STRING, "the end of this text")
            return Node("string", start, self._place)
        found = self._take(_PLAIN, "a value")
        return Node("number" if found[1] else "word", start, self._place)

    def _container(self, bracket: str, depth: int) -> Node:
        start, closing = self._place, "}" if bracket == "{" else "]"
        self._place += 1
        children: list[Child] = []
        while True:
            self._skip()
            if self._text.startswith(closing, self._place):
                self._plain = self._plain and not children  # only a comma leads here
                break
            child = self._child(depth, keyed=bracket == "{")
            self._skip()
            comma = self._place if self._text.startswith(",", self._place) else -1
            children.append(child._replace(comma=comma))
            if comma < 0:
                if not self._text.startswith(closing, self._place):
                    raise self._wrong(f"',' or '{closing}'")
                break
            self._place += 1
        self._place += 1
        kind: Literal["object", "array"] = "object" if bracket == "{" else "array"
        return Node(kind, start, self._place, tuple(children))

    def _child(self, depth: int, *, keyed: bool) -> Child:
        start, key = self._place, ""
        if keyed:
            key = loads(self._take(_STRING, "a key in double quotes")[0])
            self._skip()
            if not self._text.startswith(":", self._place):
                raise self._wrong("':'")
            self._place += 1
            self._skip()
        return Child(key, start, self._value(depth + 1), -1)

    def _take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        found = pattern.match(self._text, self._place)
        if not found:
            raise self._wrong(wanted)
        self._place = found.end()
        return found

    def _skip(self) -> None:
        while True:
            self._place = _BLANKS.match(self._text, self._place).end()  # type: ignore[union-attr]
            found = _COMMENT.match(self._text, self._place)
            if not found:
                return
            self._plain = False
            self._place = found.end()

    def _wrong(self, wanted: str) -> Malformed:
        # One character and no more: what stands in settings may be a secret.
        found = (
            repr(next_one)
            if (next_one := self._text[self._place : self._place + 1])
            else "the end of the file"
        )
        return Malformed(_line(self._text, self._place), f"expected {wanted} and found {found}")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
