"""Entries of kedgeline in settings files of hosts, put in and taken out again.

JSON, with comments and trailing commas where people write them, is edited at exact places: what is
not edited stays to the byte. TOML is edited by `tomlkit`. Every new text is read again before it is
written: it must say all that the old one said."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from kedgeline.hosts.shared import (
    ARGUMENTS,
    COMMAND,
    HOOK,
    HOOKS,
    HOST,
    MATCHER,
    NAME,
    ServerTable,
    SettingsFile,
)

TAKEN_OUT = ("entries of kedgeline removed",)
KINDS = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}


class Edited(NamedTuple):
    """A text with our entries or without them, and what was done, for a person."""

    text: str
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What stayed although it is not as wanted, and why."""


def put_in(text: str, wanted: SettingsFile) -> Edited:
    """The text with all entries that are wanted, each once and as this version writes it. Raises
    `Malformed`."""
    _check_shape(text, wanted)
    made, done = _with_hooks(text, wanted)
    left = []
    for member in wanted.members:
        found = value_at(load_json(made), member.path, text)
        if found is text:
            made = put(made, member.path, dict(member.value))
            done.append(f"{member.what} added")
        elif runs(found, member.runs):
            fitted = _fitted(made, member.path, with_surroundings(member.value, found, member.runs))
            done += [f"{member.what} updated"] * (fitted != made)
            made = fitted
        else:
            line = line_of(made, member.path)
            left.append(f"{member.what} left: there is another one in line {line}")
    _check_kept(text, made, wanted, "kedgeline cannot add its entries without loss")
    return Edited(made, tuple(done), tuple(left))


def take_out(text: str, wanted: SettingsFile) -> Edited:
    """The text without our entries, and without what holds nothing then."""
    _check_shape(text, wanted)
    rest = _without_hooks(text, list(our_hooks(load_json(text)))) if wanted.hooks else text
    for member in wanted.members:
        if runs(value_at(load_json(rest), member.path), member.runs):
            rest = _pruned(removed(rest, member.path), member.path[:-1])
    if rest == text:
        return Edited(text)
    _check_kept(text, rest, wanted, "what kedgeline put here cannot be taken out alone")
    return Edited(rest, TAKEN_OUT)


def has_ours(text: str, wanted: SettingsFile) -> bool:
    """Whether a file has entries of kedgeline; what cannot be read has none."""
    try:
        value = load_json(text)
    except Malformed:
        return False
    return any(runs(value_at(value, one.path), one.runs) for one in wanted.members) or (
        bool(wanted.hooks) and next(our_hooks(value), None) is not None
    )


def says_the_same(one: str, other: str, wanted: SettingsFile) -> bool:
    """Whether two texts say the same without kedgeline, in values, their order and comments."""
    try:
        first, second = (json.dumps(_others(load_json(text), wanted)) for text in (one, other))
    except Malformed:
        return False
    return first == second and comments_in(one) == comments_in(other)


def our_hooks(value: Any) -> Iterator[tuple[str, int, int]]:
    """Event, group and place of every handler that runs kedgeline; what has another shape is
    somebody else's."""
    hooks = value.get(HOOKS) if isinstance(value, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            found = group.get(HOOKS) if isinstance(group, dict) else None
            for place, handler in enumerate(found if isinstance(found, list) else ()):
                if runs(handler, HOOK):
                    yield event, number, place


def _with_hooks(text: str, wanted: SettingsFile) -> tuple[str, list[str]]:
    """One handler of ours for each event that is wanted, and what was done for that."""
    there, hooks = list(our_hooks(load_json(text))) if wanted.hooks else [], wanted.hooks
    first = {event: (event, *more) for event, *more in reversed(there) if event in hooks}
    old = [one for one in there if one not in first.values()]
    text = _without_hooks(text, old)
    ours = {event: (number, place) for event, number, place in our_hooks(load_json(text))}
    counts = Counter({"removed": len(old)})
    for event, group in hooks.items():
        if event in ours:
            updated = _updated(text, (HOOKS, event, ours[event][0]), ours[event][1], group)
            counts["updated"] += updated != text
            text = updated
        else:
            groups = value_at(load_json(text), (HOOKS, event)) or []
            text = put(text, (HOOKS, event, len(groups)), group)
            counts["added"] += 1
    verbs = ("removed", "added", "updated")
    told = [f"{counts[v]} hook{'s' * (counts[v] != 1)} {v}" for v in verbs if counts[v]]
    return text, told


def _updated(text: str, path: Path, place: int, wanted: Mapping[str, Any]) -> str:
    """Our handler as it is wanted, and where the group is ours alone, when it is called."""
    group = value_at(load_json(text), path)
    handler = with_surroundings(wanted[HOOKS][0], group[HOOKS][place], HOOK)
    text = _fitted(text, (*path, HOOKS, place), handler)
    if len(group[HOOKS]) > 1 or group.get(MATCHER) == wanted.get(MATCHER):
        return text
    at = (*path, MATCHER)
    return put(text, at, wanted[MATCHER]) if MATCHER in wanted else removed(text, at)


def _fitted(text: str, path: Path, wanted: Mapping[str, Any]) -> str:
    """The values of an entry that are not as wanted, each in its place; arguments that are not
    wanted go."""
    found = value_at(load_json(text), path)
    for key, value in wanted.items():
        if key not in found or found[key] != value:
            text = put(text, (*path, key), value)
    if ARGUMENTS in found and ARGUMENTS not in wanted:
        text = removed(text, (*path, ARGUMENTS))
    return text


def _without_hooks(text: str, gone: list[tuple[str, int, int]]) -> str:
    """Handlers taken out with their groups, and with what holds nothing then."""
    for event, number, place in reversed(gone):
        path: Path = (HOOKS, event, number, HOOKS)
        alone = len(value_at(load_json(text), path)) == 1
        text = removed(text, path[:3] if alone else (*path, place))
        text = _pruned(text, (HOOKS, event)) if alone else text
    return text


def _pruned(text: str, path: Path) -> str:
    """Without objects and lists that are empty but for comments, from this one upwards."""
    while path and value_at(load_json(text), path) in ({}, []):
        rest = removed(text, path)
        if comments_in(rest) != comments_in(text):
            break
        text, path = rest, path[:-1]
    return text


def _check_shape(text: str, wanted: SettingsFile) -> None:
    """Raises with what to do where something else stands in the place of what we write into."""
    value = load_json(text)
    paths: list[tuple[Path, type]] = [(member.path[:-1], dict) for member in wanted.members]
    if wanted.hooks:
        paths += [((), dict), ((HOOKS,), dict), *(((HOOKS, one), list) for one in wanted.hooks)]
    for path, kind in paths:
        found = value_at(value, path, kind()) if value is not None else kind()
        if not isinstance(found, kind):
            name = f"`{'.'.join(map(str, path))}`" if path else "the whole file"
            is_kind = KINDS.get(type(found), "true, false or null")
            why = f"{name} is {is_kind} and must be {KINDS[kind]}; correct it"
            raise Malformed(line_of(text, path), why)


def _check_kept(before: str, after: str, wanted: SettingsFile, why: str) -> None:
    """Raises where the new text has not all values that are not ours."""
    try:
        is_kept = _others(load_json(before), wanted) == _others(load_json(after), wanted)
    except Malformed:
        is_kept = False
    if not is_kept:
        raise Malformed(1, f"{why}; edit the file yourself")


def _others(value: Any, wanted: SettingsFile) -> Any:
    """What a document says without kedgeline; what is empty then is left out."""
    rest = json.loads(json.dumps(value or {}))
    for event, number, place in reversed(list(our_hooks(rest) if wanted.hooks else ())):
        del rest[HOOKS][event][number][HOOKS][place]
        if not rest[HOOKS][event][number][HOOKS]:
            del rest[HOOKS][event][number]
    hooks = rest.get(HOOKS)
    if wanted.hooks and isinstance(hooks, dict):
        rest[HOOKS] = {event: groups for event, groups in hooks.items() if groups != []}
    for member in wanted.members:
        parent = value_at(rest, member.path[:-1])
        if isinstance(parent, dict) and runs(parent.get(member.path[-1]), member.runs):
            del parent[member.path[-1]]
    touched = {HOOKS, *(member.path[0] for member in wanted.members)}
    return {key: one for key, one in rest.items() if key not in touched or one != {}}


# TOML: one table of a server.


def load_toml(text: str) -> dict[str, Any]:
    """What a file of TOML says. Raises `Malformed`."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        place = re.search(r"\(at line (\d+)", str(error))
        # The parser's words quote what stands in the file: that may be a secret.
        line = int(place[1]) if place else text.count("\n") + 1
        raise Malformed(line, "it is not valid TOML; correct it") from error


def put_in_table(text: str, wanted: ServerTable) -> Edited:
    """The text with the table of a server. Raises `Malformed`."""
    import tomlkit  # only hosts with TOML need it

    data, name = load_toml(text), ".".join(wanted.table)
    found = value_at(data, wanted.table)
    if found is not None and not runs(found, wanted.runs):
        return Edited(text, left=(f"MCP server left: there is another {name}",))
    value = with_surroundings(wanted.value, found, wanted.runs)
    if found is not None and found == {**found, **value}:
        return Edited(text)
    parent, key = wanted.table
    try:
        document: Any = tomlkit.parse(text)
        if parent not in document:
            if text.strip():
                document.add(tomlkit.nl())
            document.add(parent, tomlkit.table(is_super_table=True))
        document[parent].setdefault(key, tomlkit.table()).update(value)
        made = tomlkit.dumps(document)
    except (TypeError, AttributeError, ValueError):
        made = ""
    is_table = isinstance(data.get(parent, {}), dict)
    if not is_table or not _is_kept_but(made, text, wanted, {**(found or {}), **value}):
        keys = ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items())
        return Edited(text, left=(f"MCP server left: add `[{name}]` with {keys} yourself",))
    return Edited(made, ("MCP server added" if found is None else "MCP server updated",))


def take_out_table(text: str, wanted: ServerTable) -> Edited:
    """The text without the lines of the table: comments behind its last key are of what comes next.
    Raises `Malformed`."""
    name = ".".join(wanted.table)
    if not runs(value_at(load_toml(text), wanted.table), wanted.runs):
        return Edited(text)
    lines = text.splitlines(keepends=True)
    heads = [re.sub(r"[\s\"']", "", line) for line in lines]
    first = max((n for n, head in enumerate(heads) if head == f"[{name}]"), default=len(lines))
    end = last = first
    while end < len(lines) and (
        not heads[end].startswith("[") or heads[end].startswith((f"[{name}]", f"[{name}."))
    ):
        end += 1
        last = end if heads[end - 1] and not heads[end - 1].startswith("#") else last
    behind = lines[last:] if any(heads[last:]) else []
    rest = "".join(lines[:first] + behind)
    if not _is_kept_but(rest, text, wanted, None):
        return Edited(text, left=(f"MCP server left: take {name} out yourself",))
    return Edited(rest, TAKEN_OUT)


def _is_kept_but(
    made: str, text: str, wanted: ServerTable, value: Mapping[str, Any] | None
) -> bool:
    """Whether a new text says all that the old one says, and of our table this value alone."""
    expected, (parent, key) = load_toml(text), wanted.table
    expected.setdefault(parent, {}).pop(key, None)
    if value is not None:
        expected[parent][key] = dict(value)
    expected = {name: one for name, one in expected.items() if name != parent or one}
    try:
        return load_toml(made) == expected
    except Malformed:
        return False


# How an entry that starts kedgeline is known again, with what somebody put around it.

_WORD = r"""(?:[^\s'"\\;|&<>()#]|'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n])+"""
"""A word of a line for a shell; nothing that begins another command is in it."""
_STARTED = re.compile(
    rf"""[ \t]*(?P<before>(?:(?:[^\s'"]*/)?env[ \t]+(?:(?:-i|--|-u[ \t]+{_WORD})[ \t]+)*)?
    (?:(?:'[A-Za-z_]\w*=[^']*'|[A-Za-z_]\w*=(?:{_WORD})?)[ \t]+)*)
    (?P<program>{_WORD})[ \t]+(?P<module>(?:-P[ \t]+)?-m[ \t]+{NAME}[ \t]+)?
    (?P<command>[a-z]+)(?P<behind>(?:[ \t]+{_WORD})*)[ \t]*""",
    re.DOTALL | re.VERBOSE,
)


def runs(entry: Any, subcommand: str) -> bool:
    """Whether an entry of a settings file starts this command of kedgeline and nothing else: as a
    line for a shell or as a program with arguments, for whichever host."""
    return _started(entry, subcommand) is not None


def with_surroundings(wanted: Mapping[str, Any], found: Any, subcommand: str) -> dict[str, Any]:
    """The entry that is wanted, with what somebody put around the command in the one that is there:
    variables before it and arguments behind it. What is a line for a shell stays one."""
    started = _started(found, subcommand)
    behind = [
        word
        for word in re.findall(_WORD, started["behind"] if started else "", re.DOTALL)
        if not shlex.split(word)[0].startswith(HOST)
    ]
    if started is None or not (started["before"] or behind):
        return dict(wanted)
    line = " ".join(filter(None, (started["before"].strip(), _line(wanted), *behind)))
    if ARGUMENTS in wanted and found.get(ARGUMENTS):
        first, *rest = shlex.split(line)
        return {**wanted, COMMAND: first, ARGUMENTS: rest}
    return {**{key: one for key, one in wanted.items() if key != ARGUMENTS}, COMMAND: line}


def _started(entry: Any, subcommand: str) -> re.Match[str] | None:
    """How an entry starts this command; nothing where it starts another, or more than one."""
    found = _STARTED.fullmatch(_line(entry))
    if found is None or found["command"] != subcommand:
        return None
    program = PurePath("".join(shlex.split(found["program"])))
    return found if found["module"] or program.name == NAME else None


def _line(entry: Any) -> str:
    """An entry as a line for a shell; empty where it is no plain command."""
    if not isinstance(entry, Mapping):
        return ""
    command, arguments = entry.get(COMMAND), entry.get(ARGUMENTS) or []
    if isinstance(command, str) and not arguments:
        return command
    words: list[Any] = [command, *arguments] if isinstance(arguments, list) else [None]
    return shlex.join(words) if all(isinstance(word, str) for word in words) else ""


# JSON with comments: texts have plain line ends and no byte order mark.

INDENT = "  "
"""Where a file shows none of its own: what the hosts themselves write."""

Path = tuple[str | int, ...]
"""Keys and positions in lists that lead to a value."""

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)
_DECODER = json.JSONDecoder()
"""Reads what has no comments much faster than the reader here: one host keeps megabytes of history
beside its settings."""


class Malformed(ValueError):
    """What is wrong, and in which line."""

    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, why
        super().__init__(f"line {line}: {why}")


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


def load_json(text: str) -> Any:
    """What a text of JSON with comments says; None where it says nothing. Raises `Malformed`."""
    start = _gap_end(text, 0)
    if start == len(text):
        return None
    try:
        value, end = _value(text, start)
    except RecursionError as error:
        raise Malformed(1, "its brackets are nested too deeply") from error
    if _gap_end(text, end) < len(text):
        raise _expected(text, _gap_end(text, end), "the end of the file")
    return value


def is_plain(text: str) -> bool:
    """Whether it is JSON in the strict sense: no comment, no trailing comma."""
    try:
        _DECODER.decode(text or "{}")
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


def line_of(text: str, path: Path) -> int:
    return _line_at(text, walk(text, path)[-1].start)


def comments_in(text: str) -> Counter[str]:
    return Counter(found[1] for found in _COMMENT.finditer(text) if found[1])


def walk(text: str, path: Path) -> list[Child]:
    """The entries that lead to a value, the whole document first. Of a key that stands twice the
    last counts, as with hosts."""
    start = _gap_end(text, 0)
    value, end = _value(text, start)
    found = [Child("", start, start, end, -1, value)]
    for step in path:
        children = _children(text, found[-1].at)[0]
        same = [one for n, one in enumerate(children) if step in (n, one.key)]
        found.append(same[-1])
    return found


def put(text: str, path: Path, value: Any) -> str:
    """The text with a value in its place, and all that leads to it."""
    document = load_json(text)
    if document is None:
        return put(
            f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{{}}\n", path, value
        )
    if value_at(document, path, text) is not text:
        node = walk(text, path)[-1]
        is_spread = "\n" in text[node.at : node.end] or not node.value
        made = _rendered(text, value, _line_indent(text, node.start), is_spread=is_spread)
        return f"{text[: node.at]}{made}{text[node.end :]}"
    *above, key = path
    if above and value_at(document, tuple(above), text) is text:
        return put(text, tuple(above), [value] if isinstance(key, int) else {key: value})
    parent = walk(text, tuple(above))[-1]
    children = _children(text, parent.at)[0]
    name = f"{_json(key)}: " if isinstance(key, str) else ""
    if not children:
        return _put_first(text, parent, name, value)
    last, first = children[-1], children[0]
    is_spread = "\n" in text[parent.at : first.start]
    inner = _line_indent(text, first.start) if is_spread else ""
    behind = last.comma + 1 if last.comma >= 0 else last.end
    anchor = behind + len(text[behind : parent.end - 1].rstrip())
    gap = f"\n{inner}" if is_spread or "//" in text[behind:anchor] else " "
    comma = "," if last.comma >= 0 else ""  # who ends a list with a comma goes on doing so
    entry = f"{gap}{name}{_rendered(text, value, inner, is_spread=is_spread)}{comma}"
    made = f"{text[:anchor]}{entry}{text[anchor:]}"
    return made if comma else f"{made[: last.end]},{made[last.end :]}"


def _put_first(text: str, parent: Child, name: str, value: Any) -> str:
    """Into an object or a list that is empty but for comments."""
    inside, outer = text[parent.at + 1 : parent.end - 1].rstrip(), _line_indent(text, parent.at)
    root = walk(text, ())[0]
    if inside or root.value == {} or "\n" in text[root.at : root.end]:
        inner = outer + _indent(text)
        entry = f"{name}{_rendered(text, value, inner, is_spread=True)}"
        inside = f"{inside}\n{inner}{entry}\n{outer}"
    else:
        inside = f"{name}{_json(value)}"
    return f"{text[: parent.at + 1]}{inside}{text[parent.end - 1 :]}"


def removed(text: str, path: Path) -> str:
    """The text without an entry and the blanks before it; comments around it stay."""
    *_, parent, child = walk(text, path)
    children = _children(text, parent.at)[0]
    number = [one.start for one in children].index(child.start)
    child, before = children[number], children[number - 1] if number else None
    begin = before.comma + 1 if before else parent.at + 1
    around = text[begin : child.start] + text[child.end : parent.end - 1]
    if len(children) == 1 and not around.strip(" \t\n,"):
        return f"{text[: parent.at + 1]}{text[parent.end - 1 :]}"
    anchor = begin + len(text[begin : child.start].rstrip())
    if "//" in text[begin:anchor]:
        anchor = child.start  # the comment must not swallow what comes next
    made = f"{text[:anchor]}{text[child.end :]}"
    if child.comma >= 0:
        comma = child.comma - (child.end - anchor)
        return f"{made[:comma]}{made[comma + 1 :]}"
    return f"{made[: before.comma]}{made[before.comma + 1 :]}" if before else made


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        if text[at : at + 1] not in ("{", "["):
            wanted = "the end of this text" if text.startswith('"', at) else "a value"
            raise _expected(text, at, wanted) from None
    children, end = _children(text, at)
    if text[at] == "[":
        return [child.value for child in children], end
    return {child.key: child.value for child in children}, end


def _children(text: str, at: int) -> tuple[list[Child], int]:
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
        value, end = _value(text, place)
        comma = _gap_end(text, end)
        has_comma = text.startswith(",", comma)
        found.append(Child(key, start, place, end, comma if has_comma else -1, value))
        place = _gap_end(text, comma + 1) if has_comma else comma
        if not has_comma and not text.startswith(closing, place):
            raise _expected(text, place, f"',' or '{closing}'")
    return found, place + 1


def _rendered(text: str, value: Any, indent: str, *, is_spread: bool) -> str:
    return (
        f"\n{indent}".join(_json(value, _indent(text)).split("\n")) if is_spread else _json(value)
    )


def _json(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _indent(text: str) -> str:
    """What the entries of the document are indented by."""
    root = walk(text, ())[0]
    first = next(iter(_children(text, root.at)[0]), None)
    if first is None or "\n" not in text[root.at : first.start]:
        return INDENT
    return _line_indent(text, first.start).removeprefix(_line_indent(text, root.at)) or INDENT


def _line_indent(text: str, place: int) -> str:
    """The blanks that the line begins with in which something stands."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _gap_end(text: str, place: int) -> int:
    """Behind blanks and comments."""
    return _GAP.match(text, place).end()  # type: ignore[union-attr]


def _expected(text: str, place: int, wanted: str) -> Malformed:
    # One character and no more: what stands in settings may be a secret.
    found = repr(text[place]) if place < len(text) else "the end of the file"
    return Malformed(_line_at(text, place), f"expected {wanted} and found {found}")
