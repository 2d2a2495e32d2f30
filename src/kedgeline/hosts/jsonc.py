"""JSON with comments, read and edited at exact places: all that is not edited stays to the byte.

Comments and commas before a closing bracket are understood, because people and some hosts write
them; everything else is JSON to the letter."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, NamedTuple

MARK = "\ufeff"
"""The mark of byte order that some editors put in front."""
INDENT = "  "
"""Where a file shows none of its own: what the hosts themselves write."""
DEEPEST = 200
"""Brackets within brackets: no settings file has ten, and each costs the reader a frame."""
LONGEST_NUMBER = 400
"""Digits: Python refuses to read more than some thousands."""

Path = tuple[str | int, ...]
"""Keys and places in lists that lead to a value."""

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|(//[^\r\n]*|/\*.*?\*/)', re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
"""Half a character: JSON can name it, no file can hold it."""


class Malformed(ValueError):
    """What is wrong, and in which line."""

    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, why
        super().__init__(f"line {line}: {why}")


def load(text: str) -> Any:
    """What a text of JSON with comments says; None where it says nothing. Raises `Malformed`."""
    start = _gap_end(text, len(MARK) if text.startswith(MARK) else 0)
    if start == len(text):
        return None
    value, end = _value(text, start)
    if _gap_end(text, end) < len(text):
        raise _expected(text, _gap_end(text, end), "the end of the file")
    return value


def load_quietly(text: str) -> Any:
    """The same for a copy that anybody may have changed: it is a help and no condition."""
    try:
        return load(text)
    except Malformed:
        return None


def is_plain(text: str) -> bool:
    """Whether it is JSON in the strict sense: no comment, no comma too many."""
    try:
        _DECODER.decode(text.removeprefix(MARK) or "{}")
    except (ValueError, RecursionError):
        return False
    return True


def value_at(value: Any, path: Path, missing: Any = None) -> Any:
    for step in path:
        if isinstance(step, int):
            is_there = isinstance(value, list) and step < len(value)
        else:
            is_there = isinstance(value, dict) and step in value
        if not is_there:
            return missing
        value = value[step]
    return value


class Child(NamedTuple):
    """One entry of an object or a list."""

    key: str
    """Empty in a list."""
    start: int
    """Where its key, or its value, begins."""
    at: int
    """Where its value begins."""
    end: int
    comma: int
    """Where the comma behind it stands; -1 where there is none."""
    value: Any


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant,
    parse_int=lambda digits: int(digits) if len(digits) < LONGEST_NUMBER else digits,
)
"""Reads what has no comments many times faster than the reader here: one host keeps megabytes of
history beside its settings."""


def _value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        if text[at : at + 1] not in ("{", "["):
            wanted = "the end of this text" if text.startswith('"', at) else "a value"
            raise _expected(text, at, wanted) from None
    if depth == DEEPEST:
        raise Malformed(_line(text, at), f"more than {DEEPEST} brackets deep")
    children, end = children_of(text, at, depth + 1)
    if text[at] == "[":
        return [child.value for child in children], end
    return {child.key: child.value for child in children}, end


def children_of(text: str, at: int, depth: int = 0) -> tuple[list[Child], int]:
    """The entries of an object or a list, and where it ends."""
    closing, found = "}" if text[at] == "{" else "]", list[Child]()
    place = _gap_end(text, at + 1)
    while not text.startswith(closing, place):
        start, key = place, ""
        if closing == "}":
            if text[place : place + 1] != '"':
                raise _expected(text, place, "a key in double quotes")
            key, place = _value(text, place)
            place = _gap_end(text, place)
            if text[place : place + 1] != ":":
                raise _expected(text, place, "':'")
            place = _gap_end(text, place + 1)
        value, end = _value(text, place, depth)
        comma = _gap_end(text, end)
        has_comma = text.startswith(",", comma)
        found.append(Child(key, start, place, end, comma if has_comma else -1, value))
        place = _gap_end(text, comma + 1) if has_comma else comma
        if not has_comma and not text.startswith(closing, place):
            raise _expected(text, place, f"',' or '{closing}'")
    return found, place + 1


def walk(text: str, path: Path) -> list[Child]:
    """The entries that lead to a value, the whole document first. Of a key that stands twice the
    last counts, as with hosts."""
    start = _gap_end(text, len(MARK) if text.startswith(MARK) else 0)
    value, end = _value(text, start)
    found = [Child("", start, start, end, -1, value)]
    for step in path:
        children, _ = children_of(text, found[-1].at)
        if isinstance(step, int):
            found.append(children[step])
        else:
            found.append(next(child for child in reversed(children) if child.key == step))
    return found


def put(text: str, path: Path, value: Any) -> str:
    """A value in its place, with all that leads to it."""
    document = load(text)
    missing = object()
    if document is None:
        is_blank = not text.removeprefix(MARK).strip()
        before = text[: text.startswith(MARK)] if is_blank else f"{text.removesuffix(chr(10))}\n"
        return put(f"{before}{{}}\n", path, value)
    if value_at(document, path, missing) is not missing:
        node = walk(text, path)[-1]
        is_spread = "\n" in text[node.at : node.end] or not node.value
        made = _rendered(text, value, _line_indent(text, node.start), spread=is_spread)
        return f"{text[: node.at]}{made}{text[node.end :]}"
    if path[:-1] and value_at(document, path[:-1], missing) is missing:
        return put(text, path[:-1], [value] if isinstance(path[-1], int) else {path[-1]: value})
    key = path[-1]
    parent = walk(text, path[:-1])[-1]
    children, _ = children_of(text, parent.at)
    name = f"{_json(key)}: " if isinstance(key, str) else ""
    if not children:
        return _put_first(text, parent, name, value)
    last, first, newline = children[-1], children[0], _newline(text)
    is_spread = "\n" in text[parent.at : first.start]
    inner = _line_indent(text, first.start) if is_spread else ""
    behind = last.comma + 1 if last.comma >= 0 else last.end
    anchor = behind + len(text[behind : parent.end - 1].rstrip())
    gap = f"{newline}{inner}" if is_spread or "//" in text[behind:anchor] else " "
    comma = "," if last.comma >= 0 else ""  # who ends a list with a comma goes on doing so
    entry = f"{gap}{name}{_rendered(text, value, inner, spread=is_spread)}{comma}"
    made = f"{text[:anchor]}{entry}{text[anchor:]}"
    return made if comma else f"{made[: last.end]},{made[last.end :]}"


def _put_first(text: str, parent: Child, name: str, value: Any) -> str:
    """Into an object or a list that is empty but for comments."""
    inside, outer = text[parent.at + 1 : parent.end - 1].rstrip(), _line_indent(text, parent.at)
    children, _ = children_of(text, walk(text, ())[0].at)
    if inside or not children or "\n" in text[: children[0].start]:
        inner, newline = outer + _indent(text), _newline(text)
        entry = f"{name}{_rendered(text, value, inner, spread=True)}"
        inside = f"{inside}{newline}{inner}{entry}{newline}{outer}"
    else:
        inside = f"{name}{_rendered(text, value, '', spread=False)}"
    return f"{text[: parent.at + 1]}{inside}{text[parent.end - 1 :]}"


def removed(text: str, path: Path) -> str:
    """Without an entry and the blanks before it; comments around it stay."""
    *_, parent, child = walk(text, path)
    children, _ = children_of(text, parent.at)
    number = [one.start for one in children].index(child.start)
    child, before = children[number], children[number - 1] if number else None
    begin = before.comma + 1 if before else parent.at + 1
    around = text[begin : child.start] + text[child.end : parent.end - 1]
    if len(children) == 1 and not around.strip(" \t\r\n,"):
        return f"{text[: parent.at + 1]}{text[parent.end - 1 :]}"
    anchor = begin + len(text[begin : child.start].rstrip())
    if "//" in text[begin:anchor]:
        anchor = child.start  # the comment must not swallow what comes next
    made = f"{text[:anchor]}{text[child.end :]}"
    if child.comma >= 0:
        comma = child.comma - (child.end - anchor)
        return f"{made[:comma]}{made[comma + 1 :]}"
    return f"{made[: before.comma]}{made[before.comma + 1 :]}" if before else made


def _rendered(text: str, value: Any, indent: str, *, spread: bool) -> str:
    if not spread:
        return _json(value)
    return f"{_newline(text)}{indent}".join(_json(value, _indent(text)).split("\n"))


def _json(value: Any, indent: str | None = None) -> str:
    made = json.dumps(value, ensure_ascii=False, indent=indent)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", made)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str) -> str:
    """What the entries of the document are indented by."""
    root = walk(text, ())[0]
    children, _ = children_of(text, root.at)
    if not children or "\n" not in text[root.at : children[0].start]:
        return INDENT
    own, outer = _line_indent(text, children[0].start), _line_indent(text, root.at)
    return own.removeprefix(outer) if own.startswith(outer) and own != outer else INDENT


def _line_indent(text: str, place: int) -> str:
    """The blanks that the line begins with in which something stands."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def line_of(text: str, path: Path) -> int:
    return _line(text, walk(text, path)[-1].start)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _gap_end(text: str, place: int) -> int:
    """Behind blanks and comments."""
    return _GAP.match(text, place).end()  # type: ignore[union-attr]


def comments_in(text: str, pattern: re.Pattern[str] = _COMMENT) -> Counter[str]:
    return Counter(found[1] for found in pattern.finditer(text) if found[1])


def _expected(text: str, place: int, wanted: str) -> Malformed:
    # One character and no more: what stands in settings may be a secret.
    found = repr(text[place]) if place < len(text) else "the end of the file"
    return Malformed(_line(text, place), f"expected {wanted} and found {found}")
