"""What a text consists of: headings, fields, items of lists and prose. Code, comments and rules are
left out, as no brief shows them. One pass over the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from kedge.bank.briefs.cues import named
from kedge.bank.fences import Fences
from kedge.sentences import LOOKED_AT, sentences

Kind = Literal["heading", "prose", "item", "field"]

BOLD_DEPTH = 7
"""Depth of a line in bold that stands for a heading: below those that have marks."""
HEAD_LINES = 100
"""Lines looked at for the end of front matter; without one the text has none."""
FIELD_MOST = 64
"""Characters in which the name of a field ends."""
SPOKEN = frozenset({"summary_128", "summary", "text", "content", "message", "title"})
"""Fields of a JSON entry that are prose; the others are told with their names."""
JSON_MOST = 65_536
"""Characters of a line that is read as JSON: an entry of a log has hundreds."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+)")
_BOLD = re.compile(r"\*\*([^*]{1,200})\*\*:?[ \t]*")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*)")
_FIELD = re.compile(
    r"(?:[-*+][ \t]+)?(?:\*\*([^*:]{1,60}):?\*\*:?|__([^_:]{1,60}):?__:?|([A-Za-z][\w &/-]{1,40}):)"
    r"(?:[ \t]+(.*)|$)"
)
_UNDERLINE = re.compile(r" {0,3}(?:={2,}|-{2,})[ \t]*")
_RULE = re.compile(r"[-*_=|:+ \t]{3,}")
_DONE = frozenset({"done", "completed", "complete", "✅", "[x]", "closed"})


class Part(NamedTuple):
    kind: Kind
    text: str
    """As it stands there, without the mark in front of it."""
    depth: int = 0
    """Of the heading, or of the heading it stands under."""
    label: str = ""
    """What a field is called, as it stands there."""
    state: Literal["", "open", "done"] = ""
    """Of a box to tick."""


def outline(text: str) -> list[Part]:
    """The parts of a text in its order."""
    reader = _Reader()
    lines = text.split("\n")
    start = _front_matter(lines, reader)
    for line in lines[start:]:
        reader.take(line[:LOOKED_AT].rstrip("\r"))
    if not reader.parts and text.startswith((" ", "\t", "\n")):  # indented as a whole
        reader = _Reader()
        for line in lines:
            reader.take(line[:LOOKED_AT].strip())
    return reader.parts


def _front_matter(lines: list[str], reader: _Reader) -> int:
    """Take the fields of front matter; the number of its lines."""
    if lines[0].strip() != "---":
        return 0
    for number, line in enumerate(lines[1:HEAD_LINES], 1):
        if line.strip() == "---":
            for head in lines[1:number]:
                name, colon, value = head[:LOOKED_AT].partition(":")
                if colon and value.strip() and name.strip().lower() in ("title", "description"):
                    reader.add(Part("field", value.strip().strip("\"'"), 1, name.strip()))
            return number + 1
    return 0


class _Reader:
    """Takes line after line."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._depth = 0
        self._fences = Fences()
        self._comment = False
        self._open = False
        """Whether the last part goes on with the next line."""

    def add(self, part: Part, *, goes_on: bool = False) -> None:
        self.parts.append(part)
        self._open = goes_on

    def take(self, line: str) -> None:
        if self._hidden(line):
            self._open = False
            return
        bare = line.strip().lstrip(">").strip()
        if not bare or not self._structure(line, bare):
            self._open = self._open and bool(bare)

    def _hidden(self, line: str) -> bool:
        """Code between fences, and comments, which nobody sees."""
        if self._comment:
            self._comment = "-->" not in line
            return True
        if self._fences.take(line).kind == "fenced":
            return True
        if line.lstrip().startswith("<!--"):
            self._comment = "-->" not in line
            return True
        return False

    def _structure(self, line: str, bare: str) -> bool:
        """Take a line that is not empty, as the first of these that it is."""
        if bare[0].isalpha() and ":" not in bare[:FIELD_MOST]:  # as most lines are
            return self._prose(line, bare)
        return any(
            step(line, bare)
            for step in (self._heading, self._table, self._json, self._field, self._item)
        ) or self._prose(line, bare)

    def _heading(self, line: str, bare: str) -> bool:
        last = self.parts[-1] if self.parts else None
        if self._open and last and last.kind == "prose" and _UNDERLINE.fullmatch(line):
            depth = 1 if "=" in line else 2
            self.parts[-1] = Part("heading", last.text, depth)
        elif marked := _HEADING.fullmatch(line):
            depth = len(marked[1])
            self.add(Part("heading", marked[2].rstrip("# \t") or marked[2], depth))
        elif bold := _BOLD.fullmatch(bare):
            self.add(Part("heading", bold[1].rstrip(": "), BOLD_DEPTH))
            return True
        elif _RULE.fullmatch(bare):
            self._open = False
            return True
        else:
            return False
        self._depth, self._open = depth, False
        return True

    def _table(self, line: str, bare: str) -> bool:
        if not (bare.startswith("|") and bare.count("|") > 1):
            return False
        cells = [cell.strip() for cell in bare.strip("|").split("|")]
        ticked = any(cell.lower() in _DONE for cell in cells)
        text = "; ".join(cell for cell in cells if cell)
        self.add(Part("item", text, self._depth, state="done" if ticked else ""))
        return True

    def _json(self, line: str, bare: str) -> bool:
        """An entry of JSON Lines: its strings are fields."""
        if not (bare.startswith("{") and bare.endswith("}") and len(bare) <= JSON_MOST):
            return False
        try:
            found = msgspec.json.decode(bare)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
        when, who = (str(found.get(name, ""))[:60] for name in ("ts", "source_agent"))
        if when:
            self.add(Part("heading", f"[{when}] {who}".strip(), BOLD_DEPTH))
        for name, value in found.items():
            if isinstance(value, str | bool) and name not in ("ts", "source_agent"):
                self._json_field(name, str(value))
        return True

    def _json_field(self, name: str, value: str) -> None:
        if name.endswith("hash") or not value.strip():  # a hash tells a reader nothing
            return
        if name in SPOKEN:
            self.add(Part("prose", value[:LOOKED_AT], self._depth))
        else:
            self.add(Part("field", value[:LOOKED_AT], self._depth, name[:60].replace("_", " ")))

    def _field(self, line: str, bare: str) -> bool:
        found = _FIELD.fullmatch(bare)
        if not found or bare.startswith(("http:", "https:")):
            return False
        label = (found[1] or found[2] or found[3]).strip()
        if not label or (found[3] and named(label) is None):  # a sentence with a colon
            return False
        said = (found[4] or "").strip()
        first = next(sentences(said), "") if found[3] else said
        self.add(Part("field", first or said, self._depth, label), goes_on=True)
        if rest := said[len(first) :].strip() if said.startswith(first) else "":
            self.add(Part("prose", rest, self._depth), goes_on=True)
        return True

    def _item(self, line: str, bare: str) -> bool:
        item = _ITEM.fullmatch(bare)
        if not item:
            return False
        state: Literal["", "open", "done"] = ""
        if item[1]:
            state = "open" if item[1] == " " else "done"
        self.add(Part("item", item[2].strip(), self._depth, state=state), goes_on=True)
        return True

    def _prose(self, line: str, bare: str) -> bool:
        if self._open and self.parts:
            last = self.parts[-1]
            if len(last.text) < LOOKED_AT:
                self.parts[-1] = last._replace(text=f"{last.text} {bare}".strip())
        elif not line.startswith(("    ", "\t")):  # code by its indent
            self.add(Part("prose", bare, self._depth), goes_on=True)
        return True


def under(parts: list[Part]) -> Iterator[tuple[Part | None, list[Part]]]:
    """Each heading with what stands between it and the next; None before the first."""
    heading: Part | None = None
    body: list[Part] = []
    for part in parts:
        if part.kind == "heading":
            if heading or body:
                yield heading, body
            heading, body = part, []
        else:
            body.append(part)
    if heading or body:
        yield heading, body
