"""What is wanted of a settings file, held against what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kedge.integrations.hosts.launch import runs
from kedge.integrations.hosts.needs import HOOK
from kedge.integrations.hosts.pieces import Member, SettingsFile
from kedge.integrations.installing.documents import Child, Document, Malformed, Node

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
    hooks = hooks_of(document)
    for event in hooks.children if hooks else ():
        if event.value.kind != "array" or hooks is None or hooks.child(event.key) is not event:
            continue
        for group in event.value.children:
            handlers = group.value.child(HOOKS) if group.value.kind == "object" else None
            if not handlers or handlers.value.kind != "array":
                continue
            children = handlers.value.children
            ours = tuple(one for one in children if runs(document.value(one.value), HOOK))
            if ours:
                yield Group(event, group, handlers.value, ours)


def parent_of(document: Document, member: Member) -> Node | None:
    """The object that an entry stands in; nothing where it is not there."""
    node = root_of(document)
    for key in member.path[:-1]:
        child = node.child(key) if node else None
        node = shaped(document, child.value, "object", f"`{key}`") if child else None
    return node


def is_ours(document: Document, node: Node, member: Member) -> bool:
    return runs(document.value(node), member.runs)


def any_of_ours(document: Document, wanted: SettingsFile) -> bool:
    """Whether a file has entries of kedge already."""
    if wanted.hooks and any(True for _ in our_groups(document)):
        return True
    for member in wanted.members:
        parent = parent_of(document, member)
        child = parent.child(member.path[-1]) if parent else None
        if child and is_ours(document, child.value, member):
            return True
    return False


def fits(found: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether an entry says all that is wanted; what somebody added to it does not matter."""
    return isinstance(found, dict) and all(
        found.get(key, wanted) == value for key, value in wanted.items()
    )
