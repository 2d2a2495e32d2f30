"""One table of a TOML file, put behind all that is there and taken out again.

The text is edited at whole lines, and every result is read by the parser of the standard library:
all else must be in it as it was, or nothing is written."""

from __future__ import annotations

import re
import tomllib
from json import dumps
from typing import Any, NamedTuple

from kedge.integrations.hosts.launch import runs
from kedge.integrations.hosts.pieces import ServerTable
from kedge.integrations.installing.documents import Malformed
from kedge.integrations.installing.wishes import fits

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_PLACE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class Line(NamedTuple):
    """A line, or several where a value goes over several."""

    start: int
    end: int
    head: tuple[str, ...]
    """The names of the table that begins here; empty for all other lines."""


def with_table(text: str, wanted: ServerTable) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The text with the table, what was done, and what was left. Raises `Malformed`."""
    data = _read(text)
    found = _table(data, wanted.table)
    name = ".".join(wanted.table)
    if found is None:
        return _checked(_put(text, wanted), wanted, data), ("MCP server added",), ()
    if not runs(found, wanted.runs):
        return text, (), (f"MCP server left: there is another {name}",)
    if fits(found, wanted.value):
        return text, (), ()
    made = _updated(text, wanted)
    if made is None:
        return text, (), (f"MCP server left: {name} has a form that kedge does not change",)
    return _checked(made, wanted, data), ("MCP server updated",), ()


def without_table(text: str, wanted: ServerTable, earlier: str | None) -> str | None:
    """The text without our table; nothing where nothing else is in it. Raises `Malformed`."""
    data = _read(text)
    if not runs(_table(data, wanted.table), wanted.runs):
        return text
    gone = _spans(text, wanted.table)
    if not gone:
        name = ".".join(wanted.table)
        raise Malformed(1, f"{name} is not written as a table of its own; take it out yourself")
    parts, place = [], 0
    for start, end in gone:
        parts.append(text[place:start])
        place = end
    rest = "".join((*parts, text[place:]))
    if earlier is not None and rest.strip() == earlier.strip():
        return earlier
    if earlier is None and not rest.strip():
        return None
    if _read(rest) != _without(data, wanted.table):
        raise Malformed(1, "the table cannot be taken out alone; take it out yourself")
    return rest


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        why = _PLACE.sub("", str(error)).strip()
        raise Malformed(line, f"{_quiet(why)}; correct it") from error


def _quiet(why: str) -> str:
    """The parser's words without what stands in the file: that may be a secret."""
    return re.sub(r"'.*'|\".*\"", "…", why)


def _table(data: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _put(text: str, wanted: ServerTable) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(wanted.table)}]", *_keys(wanted)]
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{newline.join(lines)}{newline}"


def _keys(wanted: ServerTable) -> list[str]:
    """What JSON writes of texts and lists of texts is TOML as well."""
    return [f"{key} = {dumps(value)}" for key, value in wanted.value.items()]


def _updated(text: str, wanted: ServerTable) -> str | None:
    """The lines of our keys written again; nothing where they do not stand below the table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(text)
    begin = next((n for n, line in enumerate(lines) if line.head == wanted.table), None)
    if begin is None:
        return None
    parts, place = [text[: lines[begin].end]], lines[begin].end
    parts += [f"{line}{newline}" for line in _keys(wanted)]
    for line in lines[begin + 1 :]:
        if line.head:
            break
        key = text[line.start : line.end].partition("=")[0].strip().strip("\"'")
        parts += [text[place : line.start]]
        if key not in wanted.value:
            parts += [text[line.start : line.end]]
        place = line.end
    return "".join((*parts, text[place:]))


def _spans(text: str, names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where a table and all tables in it stand, each with one empty line before it. Comments and
    empty lines behind its last key belong to what comes next."""
    lines = _lines(text)
    spans: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if line.head[: len(names)] != names:
            continue
        start, end = line.start, line.end
        for other in lines[number + 1 :]:
            if other.head:
                break
            if "=" in text[other.start : other.end].partition("#")[0]:
                end = other.end
        before = lines[number - 1] if number else None
        if before and not text[before.start : before.end].strip():
            start = before.start
        spans.append((start, end))
    return spans


def _lines(text: str) -> list[Line]:
    found, start, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in ("[", "{"):
            depth += 1
        elif sign in ("]", "}"):
            depth -= 1
        elif sign == "\n" and depth <= 0:
            found.append(Line(start, token.end(), _head(text[start : token.end()])))
            start = token.end()
    if start < len(text):
        found.append(Line(start, len(text), _head(text[start:])))
    return found


def _head(line: str) -> tuple[str, ...]:
    """The names of a table header, read by the parser itself; empty for any other line."""
    if not line.lstrip().startswith("["):
        return ()
    try:
        data: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(data, (dict, list)) and data:
        if isinstance(data, list):
            data = data[0]
            continue
        ((name, data),) = data.items()
        names.append(name)
    return tuple(names)


def _checked(made: str, wanted: ServerTable, data: dict[str, Any]) -> str:
    """The new text, if it is the old one with our table and nothing else."""
    new = _read(made)
    mine = _table(new, wanted.table)
    if not fits(mine, wanted.value) or _without(new, wanted.table) != _without(data, wanted.table):
        raise Malformed(1, "kedge cannot add its table without changing more; add it yourself")
    return made


def _without(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The values without a table, and without the tables that only held it."""
    first, *rest = names
    inner = data.get(first)
    if not isinstance(inner, dict):
        return data
    kept = _without(inner, tuple(rest)) if rest else {}
    others = {key: value for key, value in data.items() if key != first}
    return {**others, first: kept} if kept else others
