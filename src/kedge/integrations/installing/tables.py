"""One table of a TOML file, put behind all that is there and taken out again.

The text is edited at whole lines, and every result is read by the parser of the standard library:
all else must be in it as it was, or nothing is written."""

from __future__ import annotations

import re
import tomllib
from json import dumps
from typing import Any, NamedTuple

from kedge.integrations.hosts.needs import HOOK
from kedge.integrations.hosts.pieces import ServerTable
from kedge.integrations.hosts.started import extended, mentions, runs
from kedge.integrations.installing.documents import MARK, Malformed
from kedge.integrations.installing.wishes import HOOKS, fits

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


class Table(NamedTuple):
    """A text with our table or without it, and what was done, for a person."""

    text: str | None
    """Nothing where nothing else is in it."""
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What stayed although it is not as wanted, and why."""


def with_table(text: str, wanted: ServerTable) -> Table:
    """The text with the table. Raises `Malformed`."""
    mark, body = _split(text)
    data = read_table(body)
    found = _table(data, wanted.table)
    if found is None:
        made = _put(body, wanted)
        if _is_checked(made, wanted, data):
            result = Table(made, ("MCP server added",))
        else:
            result = Table(body, left=(_to_add(data, wanted),))
    elif not runs(found, wanted.runs):
        result = Table(body, left=(f"MCP server left: there is another {_name(wanted)}",))
    else:
        result = _brought_up_to_date(body, wanted, data, found)
    return _told(mark, result, data)


def without_table(text: str, wanted: ServerTable, earlier: str | None) -> Table:
    """The text without our table. Raises `Malformed`."""
    mark, body = _split(text)
    data = read_table(body)
    if not runs(_table(data, wanted.table), wanted.runs):
        return _told(mark, Table(body), data)
    parts, place = [], 0
    for start, end in _spans(body, wanted.table):
        parts.append(body[place:start])
        place = end
    rest = "".join((*parts, body[place:]))
    before = None if earlier is None else _split(earlier)[1]
    done = ("entries of kedge taken out",)
    if not _is_checked(rest, None, data, wanted.table):
        why = f"MCP server left: {_name(wanted)} is not a table of its own; take it out yourself"
        result = Table(body, left=(why,))
    elif before is not None and rest.strip() == before.strip():
        result = Table(before, done)
    else:
        result = Table(None if before is None and not rest.strip() else rest, done)
    return _told(mark, result, data)


def read_table(text: str) -> dict[str, Any]:
    """What a file says. Raises `Malformed`."""
    try:
        return tomllib.loads(_split(text)[1])
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        why = _PLACE.sub("", str(error)).strip()
        raise Malformed(line, f"{_quiet(why)}; correct it") from error
    except (ValueError, RecursionError) as error:
        why = "a number has too many digits, or brackets go too deep; correct it"
        raise Malformed(1, why) from error


def _split(text: str) -> tuple[str, str]:
    """The mark of byte order that a host reads over, and the rest."""
    return (MARK, text.removeprefix(MARK)) if text.startswith(MARK) else ("", text)


def _told(mark: str, table: Table, data: dict[str, Any]) -> Table:
    text = None if table.text is None else f"{mark}{table.text}"
    return table._replace(text=text, left=(*table.left, *_hooks_told(data)))


def _brought_up_to_date(
    text: str, wanted: ServerTable, data: dict[str, Any], found: dict[str, Any]
) -> Table:
    wanted = wanted._replace(value=extended(wanted.value, found, wanted.runs))
    if fits(found, wanted.value):
        return Table(text)
    made = _updated(text, wanted, found)
    if made is None or not _is_checked(made, wanted, data):
        why = f"MCP server left: {_name(wanted)} has a form that kedge does not change"
        return Table(text, left=(why,))
    return Table(made, ("MCP server updated",))


def _name(wanted: ServerTable) -> str:
    return ".".join(wanted.table)


def _hooks_told(data: dict[str, Any]) -> tuple[str, ...]:
    """Hooks of kedge that somebody wrote into this file, in words."""
    hooks = data.get(HOOKS)
    found = hooks.items() if isinstance(hooks, dict) else ()
    return tuple(
        f"`{HOOKS}.{event}` left: it runs kedge, whose hooks are elsewhere; take it out yourself"
        for event, groups in found
        if _any_hook(groups)
    )


def _any_hook(groups: Any) -> bool:
    """Whether a handler somewhere in this runs kedge."""
    if isinstance(groups, list):
        return any(_any_hook(one) for one in groups)
    if not isinstance(groups, dict):
        return False
    return runs(groups, HOOK) or mentions(groups, HOOK) or _any_hook(groups.get(HOOKS))


def _to_add(data: dict[str, Any], wanted: ServerTable) -> str:
    """What to do where a table cannot be put behind the others."""
    *above, name = wanted.table
    where, keys = ".".join(above), ", ".join(_keys(wanted))
    if not isinstance(_table(data, tuple(above)), dict):
        return f"MCP server left: `{where}` is no table; correct it"
    entry = f"{name} = {{ {keys} }}"
    return f"MCP server left: `{where}` is an inline table; add `{entry}` to it yourself"


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


def _updated(text: str, wanted: ServerTable, found: dict[str, Any]) -> str | None:
    """The lines of keys that are not as wanted written again; nothing where they do not stand below
    the table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(text)
    begin = next((n for n, line in enumerate(lines) if line.head == wanted.table), None)
    if begin is None:
        return None
    stale = {key: one for key, one in wanted.value.items() if found.get(key, wanted) != one}
    parts, place = [text[: lines[begin].end]], lines[begin].end
    parts += [f"{line}{newline}" for line in _keys(wanted._replace(value=stale))]
    for line in lines[begin + 1 :]:
        if line.head:
            break
        key = text[line.start : line.end].partition("=")[0].strip().strip("\"'")
        parts += [text[place : line.start]]
        if key not in stale:
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


def _is_checked(
    made: str, wanted: ServerTable | None, data: dict[str, Any], table: tuple[str, ...] = ()
) -> bool:
    """Whether the new text is the old one with our table as wanted, or without it, and no more."""
    names = wanted.table if wanted else table
    try:
        new = read_table(made)
    except Malformed:
        return False
    mine = _table(new, names)
    as_wanted = fits(mine, wanted.value) if wanted else mine is None
    return as_wanted and _without(new, names) == _without(data, names)


def _without(data: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The values without a table, and without the tables that only held it."""
    first, *rest = names
    inner = data.get(first)
    if not isinstance(inner, dict):
        return data
    kept = _without(inner, tuple(rest)) if rest else {}
    others = {key: value for key, value in data.items() if key != first}
    return {**others, first: kept} if kept else others
