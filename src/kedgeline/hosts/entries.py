"""Entries of kedgeline in settings files of hosts, put in and taken out again.

JSON is written anew with its own indent, and a file with comments is left to its owner; TOML is
edited by `tomlkit`. Every new text is read again before it is written: it must say all that the old
one said."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
INDENT = "  "
"""Where a file shows none of its own: what the hosts themselves write."""

Entry = dict[str, Any]


class Malformed(ValueError):
    """What is wrong with a file."""


class Edited(NamedTuple):
    """A text with our entries or without them, and what was done, for a person."""

    text: str
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What stayed although it is not as wanted, and why."""


def put_in(text: str, wanted: SettingsFile) -> Edited:
    """The text with all entries that are wanted, each once and as this version writes it. Raises
    `Malformed`."""
    value = _checked(text, wanted)
    done = _hooks_put_in(value, wanted.hooks) if wanted.hooks else []
    left = []
    for member in wanted.members:
        *above, key = member.path
        parent = value
        for name in above:
            parent = parent.setdefault(name, {})
        if key not in parent:
            parent[key] = dict(member.value)
            done.append(f"{member.what} added")
        elif runs(parent[key], member.runs):
            fitted = _fitted(parent[key], member.value, member.runs)
            done += [f"{member.what} updated"] * (fitted != parent[key])
            parent[key] = fitted
        else:
            left.append(f"{member.what} left: there is another one")
    return _edited(text, value, wanted, done, left)


def take_out(text: str, wanted: SettingsFile) -> Edited:
    """The text without our entries, and without what holds nothing then."""
    value = _checked(text, wanted)
    done = _taken_out(value, wanted)
    return _edited(text, value, wanted, TAKEN_OUT if done else ())


def has_ours(text: str, wanted: SettingsFile) -> bool:
    """Whether a file has entries of kedgeline; what cannot be read has none."""
    try:
        return _taken_out(_checked(text, wanted), wanted)
    except Malformed:
        return False


def says_the_same(one: str, other: str, wanted: SettingsFile) -> bool:
    """Whether two texts say the same without kedgeline, in values and their order."""
    try:
        first, second = (json.dumps(_others(text, wanted)) for text in (one, other))
    except Malformed:
        return False
    return first == second


def load_json(text: str) -> Any:
    """What a text of JSON says; None where it says nothing. Raises `Malformed`."""
    try:
        return json.loads(text) if text.strip() else None
    except json.JSONDecodeError as error:
        # The parser's words quote nothing of the file: that may be a secret.
        why = f"it is not plain JSON ({error.msg}); correct it, comments and last commas included"
        raise Malformed(f"line {error.lineno}: {why}") from error
    except RecursionError as error:
        raise Malformed("its brackets are nested too deeply") from error


def value_at(value: Any, path: tuple[str, ...], missing: Any = None) -> Any:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return missing
        value = value[key]
    return value


def _edited(
    text: str,
    value: Entry,
    wanted: SettingsFile,
    done: Sequence[str],
    left: Sequence[str] = (),
) -> Edited:
    """The new text, if anything was done. Raises where it has not all values that are not ours."""
    if not done:
        return Edited(text, (), tuple(left))
    found = re.match(r"\s*\{[ \t]*\n([ \t]+)", text)
    indent, written = found[1] if found else INDENT, ""
    with suppress(ValueError, RecursionError):
        written = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
        if re.search("[\ud800-\udfff]", written):  # half a pair, which is no UTF-8
            written = json.dumps(value, indent=indent)
    written += "\n" * (not text.strip() or text.endswith("\n"))
    if _others(text, wanted) != _others(written, wanted):
        raise Malformed("kedgeline cannot change its entries without loss; edit the file yourself")
    return Edited(written, tuple(done), tuple(left))


def _checked(text: str, wanted: SettingsFile) -> Entry:
    """The document. Raises with what to do where something else stands in the place of what we
    write into."""
    value = load_json(text)
    value = {} if value is None else value
    paths: list[tuple[tuple[str, ...], type]] = [((), dict)]
    paths += [(member.path[:-1], dict) for member in wanted.members]
    if wanted.hooks:
        paths += [((HOOKS,), dict), *(((HOOKS, one), list) for one in wanted.hooks)]
    for path, kind in paths:
        found = value_at(value, path, kind())
        if not isinstance(found, kind):
            name = f"`{'.'.join(path)}`" if path else "the whole file"
            is_kind = KINDS.get(type(found), "true, false or null")
            raise Malformed(f"{name} is {is_kind} and must be {KINDS[kind]}; correct it")
    checked: Entry = value
    return checked


def _our_hooks(value: Entry) -> Iterator[tuple[str, list[Any], Entry, Entry]]:
    """Event, groups of the event, group and handler of every handler that runs kedgeline; what has
    another shape is somebody else's."""
    hooks = value.get(HOOKS)
    for event, groups in [*hooks.items()] if isinstance(hooks, dict) else ():
        for group in [*groups] if isinstance(groups, list) else ():
            handlers = group.get(HOOKS) if isinstance(group, dict) else None
            for handler in [*handlers] if isinstance(handlers, list) else ():
                if runs(handler, HOOK):
                    yield event, groups, group, handler


def _hooks_put_in(value: Entry, hooks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One handler of ours for each event that is wanted, and what was done for that."""
    counts, kept = Counter[str](), set[str]()
    for event, groups, group, handler in [*_our_hooks(value)]:
        if event not in hooks or event in kept:
            _remove(value, event, groups, group, handler)
            counts["removed"] += 1
            continue
        kept.add(event)
        before = json.dumps(group)
        fitted = _fitted(handler, hooks[event][HOOKS][0], HOOK)
        handler.clear()
        handler.update(fitted)
        matcher = hooks[event].get(MATCHER)
        if len(group[HOOKS]) == 1 and group.get(MATCHER) != matcher:  # the group is ours alone
            group.pop(MATCHER, None)
            group |= {MATCHER: matcher} if matcher else {}
        counts["updated"] += json.dumps(group) != before
    for event, new in hooks.items():
        if event not in kept:
            value.setdefault(HOOKS, {}).setdefault(event, []).append(new)
            counts["added"] += 1
    verbs = ("removed", "added", "updated")
    return [f"{counts[v]} hook{'s' * (counts[v] != 1)} {v}" for v in verbs if counts[v]]


def _remove(value: Entry, event: str, groups: list[Any], group: Entry, handler: Entry) -> None:
    """A handler, with its group, and with what holds nothing then."""
    group[HOOKS] = [one for one in group[HOOKS] if one is not handler]
    if not group[HOOKS]:
        groups[:] = [one for one in groups if one is not group]
    if not groups:
        _pruned(value, (HOOKS, event))


def _taken_out(value: Entry, wanted: SettingsFile) -> bool:
    """Take our entries out of a document; whether there were any."""
    there = [*_our_hooks(value)] if wanted.hooks else []
    for one in there:
        _remove(value, *one)
    ours = [one for one in wanted.members if runs(value_at(value, one.path), one.runs)]
    for member in ours:
        _pruned(value, member.path)
    return bool(there or ours)


def _pruned(value: Entry, path: tuple[str, ...]) -> None:
    """Without an entry, and without the objects that are empty then."""
    *above, key = path
    del value_at(value, tuple(above))[key]
    if above and not value_at(value, tuple(above)):
        _pruned(value, tuple(above))


def _fitted(found: Entry, wanted: Mapping[str, Any], command: str) -> Entry:
    """An entry with the values that are wanted; arguments that are not wanted go."""
    fitted = with_surroundings(wanted, found, command)
    return {key: one for key, one in found.items() if key != ARGUMENTS or key in fitted} | fitted


def _others(text: str, wanted: SettingsFile) -> Any:
    """What a document says without kedgeline; what is empty where we write is left out."""
    rest = _checked(text, wanted)
    _taken_out(rest, wanted)
    if wanted.hooks and HOOKS in rest:
        rest[HOOKS] = {event: groups for event, groups in rest[HOOKS].items() if groups != []}
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
        raise Malformed(f"line {line}: it is not valid TOML; correct it") from error


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
