"""A settings file of JSON as a tree that knows where everything stands.

Comments and commas before a closing bracket are understood, because people and some hosts write
them; everything else is JSON to the letter. What nobody asks for is not looked into: a host keeps
megabytes of history beside its settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from json import JSONDecoder, loads
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
_PLAIN = re.compile(r"(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|true|false|null")

_KINDS: dict[str, Literal["object", "array"]] = {"{": "object", "[": "array"}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_READER = JSONDecoder(parse_constant=_no_constant)
"""Reads what is plain JSON many times faster than the parser here, but not where its parts stand.
"""


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
    closed: bool = False
    """Whether nobody looked into it: then it is plain JSON and shows no children."""

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
        """The value as Python has it. Raises `Malformed` for a number that it cannot hold."""
        if node.kind == "object" and not node.closed:
            return {child.key: self.value(child.value) for child in node.children}
        if node.kind == "array" and not node.closed:
            return [self.value(child.value) for child in node.children]
        try:
            return loads(self.written(node))
        except ValueError as error:
            why = "this number has too many digits; correct it"
            raise Malformed(self.line(node.start), why) from error

    def written(self, node: Node) -> str:
        """The value as it stands in the text."""
        return self.text[node.start : node.end]

    def trivia(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the comments between two places stand."""
        while True:
            start = _BLANKS.match(self.text, start, end).end()  # type: ignore[union-attr]
            found = _COMMENT.match(self.text, start, end)
            if not found:
                return
            yield found.span()
            start = found.end()


def parsed(text: str, looked_into: Collection[str] | None = None) -> Document:
    """The tree of a text. Raises `Malformed`.

    `looked_into` names the entries of the root whose parts are wanted; None for all."""
    return _Parser(text, looked_into).document()


class _Parser:
    def __init__(self, text: str, looked_into: Collection[str] | None) -> None:
        self._text, self._place = text, len(MARK) if text.startswith(MARK) else 0
        self._plain, self._looked_into = True, looked_into

    def document(self) -> Document:
        self._skip()
        if self._place == len(self._text):
            return Document(self._text, None, self._plain)
        root = self._value(0, closed=False)
        self._skip()
        if self._place < len(self._text):
            raise self._wrong("the end of the file")
        return Document(self._text, root, self._plain)

    def _value(self, depth: int, *, closed: bool) -> Node:
        start = self._place
        first = self._text[start : start + 1]
        if first in ("{", "["):
            if closed and self._jumped():
                return Node(_KINDS[first], start, self._place, closed=True)
            if depth == DEEPEST:
                raise Malformed(_line(self._text, start), f"more than {DEEPEST} brackets deep")
            return self._container(first, depth, closed=closed)
        if first == '"':
            self._take(_STRING, "the end of this text")
            return Node("string", start, self._place)
        found = self._take(_PLAIN, "a value")
        return Node("number" if found[1] else "word", start, self._place)

    def _jumped(self) -> bool:
        """Whether this value is plain JSON; then we stand behind it."""
        try:
            _, self._place = _READER.raw_decode(self._text, self._place)
        except (ValueError, RecursionError):  # it has comments, or is wrong: the parser here says
            return False
        return True

    def _container(self, bracket: str, depth: int, *, closed: bool) -> Node:
        start, closing = self._place, "}" if bracket == "{" else "]"
        self._place += 1
        children: list[Child] = []
        while True:
            self._skip()
            if self._text.startswith(closing, self._place):
                self._plain = self._plain and not children  # only a comma leads here
                break
            child = self._child(depth, keyed=bracket == "{", closed=closed)
            self._skip()
            comma = self._place if self._text.startswith(",", self._place) else -1
            children.append(child._replace(comma=comma))
            if comma < 0:
                if not self._text.startswith(closing, self._place):
                    raise self._wrong(f"',' or '{closing}'")
                break
            self._place += 1
        self._place += 1
        return Node(_KINDS[bracket], start, self._place, tuple(children))

    def _child(self, depth: int, *, keyed: bool, closed: bool) -> Child:
        start, key = self._place, ""
        if keyed:
            key = loads(self._take(_STRING, "a key in double quotes")[0])
            self._skip()
            if not self._text.startswith(":", self._place):
                raise self._wrong("':'")
            self._place += 1
            self._skip()
        if not depth and self._looked_into is not None:
            closed = key not in self._looked_into
        return Child(key, start, self._value(depth + 1, closed=closed), -1)

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
