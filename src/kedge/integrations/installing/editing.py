"""Edits of a JSON text at exact places: all that is not edited stays to the byte.

What is put in can be taken out again by the text alone, so that it is what it was; except for the
blanks of an object or array that was empty, which whoever takes out must know."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from json import dumps
from typing import Any, NamedTuple

from kedge.integrations.installing.documents import Child, Document, Node

INDENT = "  "
"""Where a file shows none of its own: what the hosts themselves write."""

_BLANKS = re.compile(r"[ \t]*")
_LINE_END = re.compile(r"\r\n?|\n")
_HALF = re.compile("[\ud800-\udfff]")
"""Half a character: JSON can name it, no file can hold it."""


class Edit(NamedTuple):
    """A span of the text, and what stands there instead."""

    start: int
    end: int
    text: str


class _Span(NamedTuple):
    """What is taken out of a text."""

    start: int
    end: int
    behind_line: bool = False
    """Whether it begins where a comment ends that goes on to the end of its line."""


class Entry(NamedTuple):
    """What is put into an object, or without a key into an array."""

    key: str
    value: Any


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made; no two of them overlap, those at one place in their order."""
    parts: list[str] = []
    place = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += (text[place : edit.start], edit.text)
        place = edit.end
    return "".join((*parts, text[place:]))


class Layout:
    """How a document is laid out, so that what is put in looks like the rest of it."""

    def __init__(self, document: Document) -> None:
        self._document, self._text = document, document.text
        self._newline = "\r\n" if "\r\n" in self._text else "\n"
        self._indent = self._own_indent()

    def put(self, container: Node, entries: Sequence[Entry]) -> list[Edit]:
        """Entries behind the last one of an object or an array."""
        if not entries:
            return []
        if not container.children:
            return self._put_into_empty(container, entries)
        last = container.children[-1]
        anchor, broken = self._last_word(last, container)
        indent = self._indent_in(container)
        gap = f"{self._newline}{indent}" if broken or self._spread(container) else " "
        edits = []
        if last.comma < 0:
            edits.append(Edit(last.value.end, last.value.end, ","))
        spread = self._spread(container)
        texts = [self._rendered(entry, indent, spread=spread) for entry in entries]
        joined = ",".join(f"{gap}{text}" for text in texts)
        end = "," if last.comma >= 0 else ""  # who ends a list with a comma goes on doing so
        edits.append(Edit(anchor, anchor, f"{joined}{end}"))
        return edits

    def replace(self, node: Node, value: Any) -> Edit:
        """Another value in the place of this one, laid out as it was: on one line, or on many."""
        written = self._text[node.start : node.end]
        spread = "\n" in written if node.children else self._spread_at_all()
        indent = self._line_indent(node.start)
        return Edit(node.start, node.end, self._value(value, indent, spread=spread))

    def instead(self, child: Child, entry: Entry) -> Edit:
        """Another entry in the place of this one."""
        indent = self._line_indent(child.start)
        spread = "\n" in self._text[child.start : child.value.end]
        return Edit(child.start, child.value.end, self._rendered(entry, indent, spread=spread))

    def take(self, container: Node, gone: Collection[Child]) -> list[Edit]:
        """Without some of its entries; comments around them stay."""
        spans: list[_Span] = []
        kept = [child for child in container.children if child not in gone]
        for child in gone:
            spans.append(self._with_blanks(child, container))
            if child.comma >= 0:
                spans.append(_Span(child.comma, child.comma + 1))
        ended = container.children[-1]
        if kept and ended in gone and ended.comma < 0:
            spans.append(_Span(kept[-1].comma, kept[-1].comma + 1))
        spans.sort()
        return [Edit(self._begin(span, spans), span.end, "") for span in spans]

    def inside(self, container: Node) -> str:
        """All between the brackets."""
        return self._text[container.start + 1 : container.end - 1]

    def whole(self, entries: Sequence[Entry]) -> str:
        """A document that has nothing but these."""
        value = {entry.key: entry.value for entry in entries}
        return f"{self._value(value, '', spread=True)}{self._newline}"

    def _put_into_empty(self, container: Node, entries: Sequence[Entry]) -> list[Edit]:
        comments = list(self._document.trivia(container.start + 1, container.end - 1))
        anchor = comments[-1][1] if comments else container.start + 1
        root = self._document.root
        outer = self._line_indent(container.start)
        if root is container or self._spread_at_all() or comments:
            inner = f"{outer}{self._indent}"
            texts = [self._rendered(entry, inner, spread=True) for entry in entries]
            gap = f"{self._newline}{inner}"
            joined = ",".join(f"{gap}{text}" for text in texts)
            return [Edit(anchor, container.end - 1, f"{joined}{self._newline}{outer}")]
        texts = [self._rendered(entry, "", spread=False) for entry in entries]
        return [Edit(anchor, container.end - 1, ", ".join(texts))]

    def _last_word(self, last: Child, container: Node) -> tuple[int, bool]:
        """Where the last thing in a container ends that is no blank, and whether it is a comment
        that goes on to the end of its line."""
        begin = last.comma + 1 if last.comma >= 0 else last.value.end
        comments = list(self._document.trivia(begin, container.end - 1))
        if not comments:
            return begin, False
        start, end = comments[-1]
        return end, self._text.startswith("//", start)

    def _with_blanks(self, child: Child, container: Node) -> _Span:
        """An entry with the blanks before it, up to another entry or a comment."""
        begin = container.start + 1
        for other in container.children:
            if other.start >= child.start:
                break
            begin = other.comma + 1
        comments = list(self._document.trivia(begin, child.start))
        if not comments:
            return _Span(begin, child.value.end)
        start, end = comments[-1]
        return _Span(end, child.value.end, behind_line=self._text.startswith("//", start))

    def _begin(self, span: _Span, spans: Sequence[_Span]) -> int:
        """Where a span begins that is taken out. Behind a comment that goes on to the end of its
        line that end stays, unless one comes next anyway: or the comment would swallow what does.
        """
        if not span.behind_line:
            return span.start
        place = span.end
        for other in spans:
            if other.start >= place and self._blank_end(place) >= other.start:
                place = other.end
        if _LINE_END.match(self._text, self._blank_end(place)):
            return span.start
        ended = _LINE_END.match(self._text, span.start)
        return ended.end() if ended else span.start

    def _blank_end(self, place: int) -> int:
        return _BLANKS.match(self._text, place).end()  # type: ignore[union-attr]

    def _rendered(self, entry: Entry, indent: str, *, spread: bool) -> str:
        value = self._value(entry.value, indent, spread=spread)
        return f"{_json(entry.key)}: {value}" if entry.key else value

    def _value(self, value: Any, indent: str, *, spread: bool) -> str:
        if not spread:
            return _json(value)
        lines = _json(value, indent=self._indent).split("\n")
        return f"{self._newline}{indent}".join(lines)

    def _spread(self, container: Node) -> bool:
        """Whether the entries of a container stand on lines of their own."""
        return "\n" in self._text[container.start : container.children[0].start]

    def _spread_at_all(self) -> bool:
        root = self._document.root
        return root is None or not root.children or self._spread(root)

    def _indent_in(self, container: Node) -> str:
        if self._spread(container):
            return self._line_indent(container.children[0].start)
        return f"{self._line_indent(container.start)}{self._indent}"

    def _own_indent(self) -> str:
        root = self._document.root
        if root and root.children and self._spread(root):
            own = self._line_indent(root.children[0].start)
            outer = self._line_indent(root.start)
            if own.startswith(outer) and own != outer:
                return own.removeprefix(outer)
        return INDENT

    def _line_indent(self, place: int) -> str:
        """The blanks that the line begins with in which something stands."""
        begin = self._text.rfind("\n", 0, place) + 1
        line = self._text[begin:place]
        return line[: len(line) - len(line.lstrip(" \t"))]


def _json(value: Any, indent: str | None = None) -> str:
    text = dumps(value, ensure_ascii=False, indent=indent)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
