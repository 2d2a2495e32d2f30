"""Entries of kedgeline in settings files of hosts, put in and taken out again.

JSON is edited at exact places, so that comments, order and layout stay; TOML by `tomlkit`. Every
new text is read again before it is written: it must say all that the old one said, comments
included. What the file held before is given back to the byte where nobody else changed it."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kedgeline.hosts.jsonc import (
    MARK,
    Malformed,
    Path,
    comments_in,
    line_of,
    load,
    load_quietly,
    put,
    removed,
    value_at,
    walk,
)
from kedgeline.hosts.shared import (
    ARGUMENTS,
    HOOK,
    HOOKS,
    ServerTable,
    SettingsFile,
    extended,
    fits,
    mentions,
    runs,
)

MATCHER = "matcher"
TAKEN_OUT = ("entries of kedgeline taken out",)
KINDS = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
_TOML_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'|(#[^\r\n]*)",
    re.DOTALL,
)
_TOML_PLACE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class Edited(NamedTuple):
    """A text with our entries or without them, and what was done, for a person."""

    text: str | None
    """None where nothing else is in it."""
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What stayed although it is not as wanted, and why."""


def put_in(
    text: str, wanted: SettingsFile, *, reduce: bool | None, earlier: str | None = None
) -> Edited:
    """The text with all entries that are wanted. None for `reduce` leaves opt-in hooks as they are;
    `earlier` is the text before kedgeline came. Raises `Malformed`."""
    _check_shape(text, wanted)
    before = load_quietly(_without_ours(text if earlier is None else earlier, wanted) or "")
    made, done = _with_hooks(text, wanted, reduce, before)
    left = []
    for member in wanted.members:
        found = value_at(load(made), member.path, missing := object())
        if found is missing:
            made = put(made, member.path, dict(member.value))
            done.append(f"{member.what} added")
        elif runs(found, member.runs):
            fitted = _fitted(made, member.path, extended(member.value, found, member.runs))
            done += [f"{member.what} updated"] * (fitted != made)
            made = fitted
        elif not mentions(found, member.runs):  # else it is told with what is not known
            line = line_of(made, member.path)
            left.append(f"{member.what} left: there is another one in line {line}")
    _check_kept(text, made, wanted, "kedgeline cannot add its entries without loss")
    return Edited(made, tuple(done), (*left, *_unknown(made, wanted)))


def take_out(text: str, wanted: SettingsFile, earlier: str | None) -> Edited:
    """The text without our entries, by the same rules."""
    _check_shape(text, wanted)
    earlier = None if earlier is None else _without_ours(earlier, wanted)
    before, rest = load_quietly(earlier or ""), text
    for member in wanted.members:
        if runs(value_at(load(rest), member.path), member.runs):
            rest = _pruned(removed(rest, member.path), member.path[:-1], before)
    if wanted.hooks:
        rest = _without_hooks(rest, list(our_hooks(load(rest))), before)
    if rest == text:
        return Edited(text, left=_unknown(text, wanted))
    _check_kept(text, rest, wanted, "what kedgeline put here cannot be taken out alone")
    left, is_empty = _unknown(rest, wanted), load(rest) == {}
    same = json.dumps(before or {}) == json.dumps(load(rest) or {})
    if earlier is not None and same and comments_in(earlier) == comments_in(rest):
        return Edited(earlier, TAKEN_OUT, left)
    gone = earlier is None and is_empty and not comments_in(rest)
    return Edited(None if gone else rest, TAKEN_OUT, left)


def has_ours(text: str, wanted: SettingsFile) -> bool:
    """Whether a file has entries of kedgeline; what cannot be read has none."""
    value = load_quietly(text)
    hooks = our_hooks(value) if wanted.hooks else iter(())
    members = (runs(value_at(value, one.path), one.runs) for one in wanted.members)
    return any(True for _ in hooks) or any(members)


def our_hooks(value: Any) -> Iterator[tuple[str, int, int]]:
    """Event, group and place of every handler that runs kedgeline."""
    for event, number, place, handler in _handlers(value):
        if runs(handler, HOOK):
            yield event, number, place


def _without_ours(text: str, wanted: SettingsFile) -> str | None:
    """An earlier text without entries that it had already; it may be anything."""
    try:
        return take_out(text, wanted, None).text if has_ours(text, wanted) else text
    except Malformed:
        return text


def _handlers(value: Any) -> Iterator[tuple[str, int, int, Any]]:
    """Every handler; what has another shape is somebody else's."""
    hooks = value.get(HOOKS) if isinstance(value, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            found = group.get(HOOKS) if isinstance(group, dict) else None
            for place, handler in enumerate(found if isinstance(found, list) else ()):
                yield event, number, place, handler


def _with_hooks(
    text: str, wanted: SettingsFile, reduce: bool | None, earlier: Any
) -> tuple[str, list[str]]:
    """One handler of ours for each event that is wanted, and what was done for that."""
    there = list(our_hooks(load(text))) if wanted.hooks else []
    events = {event for event, _, _ in there}
    hooks = {
        event: group
        for event, group in wanted.hooks.items()
        if event not in wanted.opt_in or reduce or (reduce is None and event in events)
    }
    first = {event: (event, *more) for event, *more in reversed(there) if event in hooks}
    old = [one for one in there if one not in first.values()]
    text = _without_hooks(text, old, earlier)
    ours = {event: (number, place) for event, number, place in our_hooks(load(text))}
    counts = Counter({"old taken out": len(old)})
    for event, group in hooks.items():
        if event in ours:
            updated = _updated(text, (HOOKS, event, ours[event][0]), ours[event][1], group)
            counts["updated"] += updated != text
            text = updated
        else:
            groups = value_at(load(text), (HOOKS, event)) or []
            text = put(text, (HOOKS, event, len(groups)), group)
            counts["added"] += 1
    words = {"old taken out": ("old ", "taken out"), "added": ("", "added")}
    told = []
    for what in ("old taken out", "added", "updated"):
        if number := counts[what]:
            kind, verb = words.get(what, ("", what))
            told.append(f"{number} {kind}hook{'s' * (number != 1)} {verb}")
    return text, told


def _updated(text: str, path: Path, place: int, wanted: Mapping[str, Any]) -> str:
    """Our handler as it is wanted, and where the group is ours alone, when it is called."""
    group = value_at(load(text), path)
    handler = extended(wanted[HOOKS][0], group[HOOKS][place], HOOK)
    text = _fitted(text, (*path, HOOKS, place), handler)
    if len(group[HOOKS]) > 1:
        return text
    if MATCHER in wanted and group.get(MATCHER) != wanted[MATCHER]:
        return put(text, (*path, MATCHER), wanted[MATCHER])
    return text if MATCHER in wanted or not group.get(MATCHER) else removed(text, (*path, MATCHER))


def _fitted(text: str, path: Path, wanted: Mapping[str, Any]) -> str:
    """The values of an entry that are not as wanted, each in its place; arguments that are not
    wanted go."""
    found = value_at(load(text), path)
    for key, value in wanted.items():
        if found.get(key, wanted) != value:
            text = put(text, (*path, key), value)
    if ARGUMENTS in found and ARGUMENTS not in wanted:
        text = removed(text, (*path, ARGUMENTS))
    return text


def _without_hooks(text: str, gone: list[tuple[str, int, int]], earlier: Any) -> str:
    """Handlers taken out with their groups, and with what holds nothing then and did not before."""
    for event, number, place in reversed(gone):
        path: Path = (HOOKS, event, number, HOOKS)
        alone = len(value_at(load(text), path)) == 1
        text = removed(text, path[:3] if alone else (*path, place))
        text = _pruned(text, (HOOKS, event), earlier) if alone else text
    return text


def _pruned(text: str, path: Path, earlier: Any) -> str:
    """Without objects and lists that are empty, from this one upwards, unless they were there."""
    while path and value_at(load(text), path) in ({}, []) and value_at(earlier, path, text) is text:
        if comments_in(removed(text, path)) != comments_in(text):
            break
        text, path = removed(text, path), path[:-1]
    return text


def _check_shape(text: str, wanted: SettingsFile) -> None:
    """Raises with what to do where something else stands in the place of what we write into."""
    value = load(text)
    paths: list[tuple[Path, type]] = [(member.path[:-1], dict) for member in wanted.members]
    if wanted.hooks:
        paths += [((), dict), ((HOOKS,), dict), *(((HOOKS, one), list) for one in wanted.hooks)]
    for path, kind in paths:
        found = value_at(value, path, value if value is None else kind())
        if not isinstance(found, kind) and value is not None:
            name = f"`{'.'.join(map(str, path))}`" if path else "the whole file"
            is_kind = KINDS.get(type(found), "true, false or null")
            why = f"{name} is {is_kind} and must be {KINDS[kind]}; correct it"
            raise Malformed(line_of(text, path), why)


def _check_kept(before: str, after: str, wanted: SettingsFile, why: str) -> None:
    """Whether the new text has all values and comments that are not ours."""
    try:
        is_kept = _others(load(before), wanted) == _others(load(after), wanted)
    except Malformed:
        is_kept = False
    lost = comments_in(before) - comments_in(after)
    if not is_kept or lost - comments_in("\n".join(_our_texts(before, wanted))):
        raise Malformed(1, f"{why}; do it yourself")


def _our_texts(text: str, wanted: SettingsFile) -> Iterator[str]:
    """Entries of ours as they are written: comments in them may go with them."""
    value = load(text)
    paths: list[Path] = [
        one.path for one in wanted.members if value_at(value, one.path) is not None
    ]
    for event, number, place in our_hooks(value) if wanted.hooks else ():
        group: Path = (HOOKS, event, number)
        alone = len(value_at(value, (*group, HOOKS))) == 1
        paths.append(group if alone else (*group, HOOKS, place))
    for path in paths:
        node = walk(text, path)[-1]
        yield text[node.start : node.end]


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


def _unknown(text: str, wanted: SettingsFile) -> tuple[str, ...]:
    """What seems to run kedgeline and is not known as ours, so that a person has to look at it."""
    value = load(text)
    found: list[tuple[Path, Any, str, str]] = [
        ((HOOKS, event, number, HOOKS, place), one, HOOK, "hook")
        for event, number, place, one in _handlers(value if wanted.hooks else None)
    ]
    found += [(one.path, value_at(value, one.path), one.runs, one.what) for one in wanted.members]
    return tuple(
        f"{what} in line {line_of(text, path)} left: it runs kedgeline in a way of its own; "
        "look at it yourself"
        for path, one, command, what in found
        if mentions(one, command) and not runs(one, command)
    )


# TOML: one table of a server.


def load_toml(text: str) -> dict[str, Any]:
    """What a file of TOML says. Raises `Malformed`."""
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        # The parser's words without what stands in the file: that may be a secret.
        why = re.sub(r"'.*'|\".*\"", "…", _TOML_PLACE.sub("", str(error)).strip())
        raise Malformed(line, f"{why}; correct it") from error
    except (ValueError, RecursionError) as error:
        why = "a number has too many digits, or brackets go too deep; correct it"
        raise Malformed(1, why) from error


def put_in_table(text: str, wanted: ServerTable) -> Edited:
    """The text with the table of a server. Raises `Malformed`."""
    data, name = load_toml(text), ".".join(wanted.table)
    found, left = value_at(data, wanted.table), _hooks_left(data)
    if found is not None and not runs(found, wanted.runs):
        return Edited(text, left=(f"MCP server left: there is another {name}", *left))
    if not isinstance(data.get(wanted.table[0], {}), dict):
        return Edited(text, left=(f"MCP server left: `{wanted.table[0]}` is no table", *left))
    value = extended(wanted.value, found, wanted.runs)
    if found is not None and fits(found, value):
        return Edited(text, left=left)
    made = _with_table(text, wanted.table, value)
    if not _is_kept_but(made, text, wanted, value):
        keys = ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items())
        why = f"MCP server left: add `[{name}]` with {keys} yourself"
        return Edited(text, left=(why, *left))
    done = "MCP server added" if found is None else "MCP server updated"
    return Edited(made, (done,), left)


def take_out_table(text: str, wanted: ServerTable, earlier: str | None) -> Edited:
    """The text without the table of a server. Raises `Malformed`."""
    data, name = load_toml(text), ".".join(wanted.table)
    left = _hooks_left(data)
    if not runs(value_at(data, wanted.table), wanted.runs):
        return Edited(text, left=left)
    rest, ours = _without_table(text, wanted)
    lost = comments_in(text, _TOML_COMMENT) - comments_in(rest, _TOML_COMMENT)
    if not _is_kept_but(rest, text, wanted) or lost - comments_in(ours, _TOML_COMMENT):
        return Edited(text, left=(f"MCP server left: take {name} out yourself", *left))
    if earlier is not None and rest.strip() == earlier.strip():
        return Edited(earlier, TAKEN_OUT, left)
    is_gone = earlier is None and not rest.removeprefix(MARK).strip()
    return Edited(None if is_gone else rest, TAKEN_OUT, left)


def _with_table(text: str, names: tuple[str, ...], value: Mapping[str, Any]) -> str:
    import tomlkit  # only hosts with TOML need it
    from tomlkit.items import InlineTable

    mark, body, newline = _toml_parts(text)
    document = tomlkit.parse(body)
    first, name = names
    if first not in document:
        if body.strip():
            document.add(tomlkit.nl())
        document.add(first, tomlkit.table(is_super_table=True))
    servers: Any = document[first]
    if name not in servers:
        is_inline = isinstance(servers, InlineTable)
        servers[name] = tomlkit.inline_table() if is_inline else tomlkit.table()
    for key, one in value.items():
        if servers[name].get(key) != one:
            servers[name][key] = one
    return mark + tomlkit.dumps(document).replace("\n", newline)


def _without_table(text: str, wanted: ServerTable) -> tuple[str, str]:
    """The rest, and what was taken out. A table goes by its lines where that loses nothing else:
    comments behind its last key are of what comes next, and tomlkit would take them for ours."""
    mark, body, newline = _toml_parts(text)
    name = re.escape(".".join(wanted.table))
    for header in re.finditer(rf"^\[{name}\][^\n]*\n", body, re.MULTILINE):
        next_one = re.compile(r"^\[", re.MULTILINE).finditer(body, header.end())
        for end in (*(found.start() for found in next_one), len(body)):
            table = body[header.start() : end]
            behind = re.search(r"(?:^[ \t]*(?:#[^\n]*)?\n)*\Z", table, re.MULTILINE)
            following = behind[0].lstrip("\n") if behind and "#" in behind[0] else ""
            own = table.removesuffix(following)
            rest = mark + (body[: header.start()] + following + body[end:]).replace("\n", newline)
            if _is_kept_but(rest, text, wanted):
                return rest, own
    import tomlkit

    document = tomlkit.parse(body)
    first, last = wanted.table
    servers: Any = document[first]
    own = servers[last].as_string()
    del servers[last]
    if not servers:
        del document[first]
    return mark + tomlkit.dumps(document).replace("\n", newline), own


def _toml_parts(text: str) -> tuple[str, str, str]:
    """The mark of byte order, the rest with plain line ends, and the line end that it has."""
    mark = MARK if text.startswith(MARK) else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text.removeprefix(mark).replace("\r\n", "\n")
    return mark, body if not body or body.endswith("\n") else f"{body}\n", newline


def _is_kept_but(
    made: str, text: str, wanted: ServerTable, value: Mapping[str, Any] | None = None
) -> bool:
    """Whether a new text says all that the old one says, and of our table this value alone."""
    try:
        new, old = load_toml(made), load_toml(text)
    except Malformed:
        return False
    first, last = wanted.table
    is_wanted = []
    for data in (new, old):
        servers = data.get(first)
        found = servers.pop(last, None) if isinstance(servers, dict) else None
        is_wanted.append(found is None if value is None else fits(found, value))
        if servers == {}:
            del data[first]
    return new == old and is_wanted[0]


def _hooks_left(data: dict[str, Any]) -> tuple[str, ...]:
    """Hooks of kedgeline that somebody wrote into this file, in words."""
    handlers = [(event, one) for event, _, _, one in _handlers(data)]
    events = {event for event, one in handlers if runs(one, HOOK) or mentions(one, HOOK)}
    return tuple(
        f"`{HOOKS}.{event}` left: it runs kedgeline, whose hooks are elsewhere; take it out "
        f"yourself"
        for event in sorted(events)
    )
