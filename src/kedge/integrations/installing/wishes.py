"""What is wanted of a settings file, held against what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kedge.integrations.hosts.needs import HOOK
from kedge.integrations.hosts.pieces import Member, SettingsFile
from kedge.integrations.hosts.started import ARGUMENTS, mentions, runs
from kedge.integrations.installing.documents import Child, Document, Malformed, Node, parsed

HOOKS = "hooks"
"""The key that all hosts with hooks in JSON have them under, and the handlers of a group."""
KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "word": "true, false or null",
}


class Group(NamedTuple):
    """A group of handlers that has ours among them."""

    event: Child
    group: Child
    handlers: Node
    ours: tuple[Child, ...]

    @property
    def only_ours(self) -> bool:
        return len(self.ours) == len(self.handlers.children)


def read(text: str, wanted: SettingsFile) -> Document:
    """The tree of a settings file, looked into as far as kedge has to do with it. Raises
    `Malformed`."""
    members = (member.path[0] for member in wanted.members)
    return parsed(text, {HOOKS, wanted.switch, wanted.plugins, *members})


def shaped(document: Document, node: Node, kind: str, name: str) -> Node:
    """The node, if it is of this kind. Raises `Malformed` with what to do about it."""
    if node.kind != kind:
        why = f"{name} is {KINDS[node.kind]} and must be {KINDS[kind]}; correct it"
        raise Malformed(document.line(node.start), why)
    return node


def root_of(document: Document) -> Node | None:
    return document.root and shaped(document, document.root, "object", "the whole file")


def hooks_of(document: Document) -> Node | None:
    """The object of all hooks; nothing where there is none."""
    root = root_of(document)
    found = root and root.child(HOOKS)
    return shaped(document, found.value, "object", f"`{HOOKS}`") if found else None


def our_groups(document: Document) -> Iterator[Group]:
    """Every group with a handler that runs kedge; what has another shape is somebody else's."""
    for event, group, handlers in _groups(document):
        ours = tuple(one for one in handlers.children if runs(document.value(one.value), HOOK))
        if ours:
            yield Group(event, group, handlers, ours)


def _groups(document: Document) -> Iterator[tuple[Child, Child, Node]]:
    """Every group of hooks: its event, itself, its handlers."""
    hooks = hooks_of(document)
    for event in hooks.children if hooks else ():
        if event.value.kind != "array" or hooks is None or hooks.child(event.key) is not event:
            continue
        for group in event.value.children:
            handlers = group.value.child(HOOKS) if group.value.kind == "object" else None
            if handlers and handlers.value.kind == "array":
                yield event, group, handlers.value


def parent_of(document: Document, member: Member) -> Node | None:
    """The object that an entry stands in; nothing where it is not there."""
    node = root_of(document)
    for key in member.path[:-1]:
        child = node.child(key) if node else None
        node = shaped(document, child.value, "object", f"`{key}`") if child else None
    return node


def is_ours(document: Document, node: Node, member: Member) -> bool:
    return runs(document.value(node), member.runs)


def our_member(document: Document, member: Member) -> tuple[Node, Child] | None:
    """An entry of ours with the object that it stands in; nothing where there is none."""
    parent = parent_of(document, member)
    child = parent.child(member.path[-1]) if parent else None
    if parent is None or child is None or not is_ours(document, child.value, member):
        return None
    return parent, child


def any_of_ours(document: Document, wanted: SettingsFile) -> bool:
    """Whether a file has entries of kedge already."""
    if wanted.hooks and any(True for _ in our_groups(document)):
        return True
    return any(our_member(document, member) for member in wanted.members)


def still_unknown(document: Document, made: str, wanted: SettingsFile) -> tuple[str, ...]:
    """What seems to run kedge and is not known as ours, so that a person has to look at it: in the
    lines of the text that was made of a document."""
    told = _unknown(document, wanted)
    return _unknown(read(made, wanted), wanted) if told and made != document.text else told


def _unknown(document: Document, wanted: SettingsFile) -> tuple[str, ...]:
    handlers = [one for *_, node in _groups(document) for one in node.children if wanted.hooks]
    found = [(one, HOOK, "hook") for one in handlers]
    for member in wanted.members:
        parent = parent_of(document, member)
        child = parent.child(member.path[-1]) if parent else None
        found += [(child, member.runs, member.what)] if child else []
    lines = {}
    for child, command, what in found:
        value = document.value(child.value)
        if mentions(value, command) and not runs(value, command):
            lines[document.line(child.start)] = what
    return tuple(
        f"{what} in line {line} left: it runs kedge in a way of its own; look at it yourself"
        for line, what in lines.items()
    )


def fits(found: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether an entry says all that is wanted; what somebody added to it does not matter. It
    matters where it has arguments and shall be a line."""
    return (
        isinstance(found, dict)
        and all(found.get(key, wanted) == value for key, value in wanted.items())
        and (ARGUMENTS in wanted or ARGUMENTS not in found)
    )
