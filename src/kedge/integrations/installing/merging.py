"""Entries of kedge put into the text of a settings file, and brought up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kedge.integrations.hosts.pieces import Member, SettingsFile
from kedge.integrations.installing.documents import MARK, Document, Malformed, Node, parsed
from kedge.integrations.installing.editing import Edit, Entry, Layout, edited
from kedge.integrations.installing.removing import without, without_groups
from kedge.integrations.installing.wishes import (
    HOOKS,
    Group,
    fits,
    hooks_of,
    is_ours,
    our_groups,
    parent_of,
    root_of,
    shaped,
)


class Merged(NamedTuple):
    """A text with entries in it, and what was done, for a person."""

    text: str
    done: tuple[str, ...]
    left: tuple[str, ...]
    """What stayed although it is not as wanted, and why."""


def merged(
    text: str, wanted: SettingsFile, *, reduce: bool | None, earlier: str | None = None
) -> Merged:
    """The text with all entries that are wanted. None for `reduce` leaves opt-in hooks as they are.

    `earlier` is the text before kedge came, where it is known. Raises `Malformed` where the text is
    not understood, and where taking the entries out again would not give the text as it was: then
    it is better left alone."""
    document = parsed(text)
    root_of(document)
    hooks = _hooks_wanted(document, wanted, reduce)
    old = _no_more_wanted(document, hooks) if wanted.hooks else []
    fewer = parsed(without_groups(document, old, wanted, earlier)) if old else document
    work = _Work(fewer, hooks, wanted.members)
    made = work.text()
    guide = text if earlier is None else earlier
    if without(made, wanted, guide) != without(text, wanted, guide):
        raise _not_clean(document)
    told = [f"{_counted(len(old), 'old hook')} taken out"] if old else []
    return Merged(made, (*told, *work.told()), tuple(work.left))


def _hooks_wanted(
    document: Document, wanted: SettingsFile, reduce: bool | None
) -> Mapping[str, Mapping[str, Any]]:
    there = {group.event.key for group in our_groups(document)} if wanted.hooks else set()
    return {
        event: group
        for event, group in wanted.hooks.items()
        if event not in wanted.opt_in or reduce or (reduce is None and event in there)
    }


def _no_more_wanted(document: Document, hooks: Mapping[str, Mapping[str, Any]]) -> list[Group]:
    """Our hooks for events that are wanted no more, and second ones for the same event."""
    seen: set[str] = set()
    old = []
    for group in our_groups(document):
        if group.event.key in hooks and group.event.key not in seen:
            seen.add(group.event.key)
        else:
            old.append(group)
    return old


class _Work:
    """The edits of one file, collected and made at once."""

    def __init__(
        self,
        document: Document,
        hooks: Mapping[str, Mapping[str, Any]],
        members: tuple[Member, ...],
    ) -> None:
        self._document, self._layout = document, Layout(document)
        self._edits: list[Edit] = []
        self._added: dict[int, tuple[Node, list[Entry]]] = {}
        self._new_root: list[Entry] = []
        self._count = {"added": 0, "updated": 0}
        self._named: list[str] = []
        self.left: list[str] = []
        if hooks:
            self._put_hooks(hooks)
        for member in members:
            self._put_member(member)

    def text(self) -> str:
        for container, entries in self._added.values():
            self._edits += self._layout.put(container, entries)
        text = self._document.text
        if self._document.root is None and self._new_root:
            text = f"{_before_new_root(text)}{self._layout.whole(self._new_root)}"
        return edited(text, self._edits)

    def told(self) -> list[str]:
        hooks = [f"{_counted(n, 'hook')} {done}" for done, n in self._count.items() if n]
        return [*hooks, *self._named]

    def _put_hooks(self, hooks: Mapping[str, Mapping[str, Any]]) -> None:
        container = hooks_of(self._document)
        if container is None:
            self._add(None, Entry(HOOKS, {event: [group] for event, group in hooks.items()}))
            self._count["added"] += len(hooks)
            return
        ours = {group.event.key: group for group in our_groups(self._document)}
        for event, wanted in hooks.items():
            child = container.child(event)
            if event in ours:
                self._update_hook(ours[event], wanted)
                continue
            self._count["added"] += 1
            if child is None:
                self._add(container, Entry(event, [wanted]))
            else:
                array = shaped(self._document, child.value, "array", f"`{HOOKS}.{event}`")
                self._add(array, Entry("", wanted))

    def _update_hook(self, group: Group, wanted: Mapping[str, Any]) -> None:
        """In a group of ours the group, in somebody's group only our handler."""
        (handler,) = wanted[HOOKS]
        found = self._document.value(group.ours[0].value)
        about = self._document.value(group.group.value)
        same_matcher = about.get("matcher", "") == wanted.get("matcher", "")
        if fits(found, handler) and (same_matcher or not group.only_ours):
            return
        self._count["updated"] += 1
        if group.only_ours:
            value = {**about, **wanted, HOOKS: [{**found, **handler}]}
            if "matcher" not in wanted:
                value.pop("matcher", None)
            self._edits.append(self._layout.replace(group.group.value, value))
        else:
            self._edits.append(self._layout.replace(group.ours[0].value, {**found, **handler}))

    def _put_member(self, member: Member) -> None:
        parent = parent_of(self._document, member)
        *above, key = member.path
        if parent is None:
            value: Any = member.value
            if above:
                value = {key: value}
            self._add(None, Entry(member.path[0], value))
            self._named.append(f"{member.what} added")
            return
        child = parent.child(key)
        if child is None:
            self._add(parent, Entry(key, member.value))
            self._named.append(f"{member.what} added")
        elif not is_ours(self._document, child.value, member):
            self.left.append(
                f"{member.what} left: there is another one in line {self._line(child)}"
            )
        elif not fits(found := self._document.value(child.value), member.value):
            value = {**found, **member.value}
            if "args" not in member.value:
                value.pop("args", None)
            self._edits.append(self._layout.replace(child.value, value))
            self._named.append(f"{member.what} updated")

    def _add(self, container: Node | None, entry: Entry) -> None:
        """Into a container, or without one into the root."""
        target = container or self._document.root
        if target is None:
            self._new_root.append(entry)
        else:
            self._added.setdefault(target.start, (target, []))[1].append(entry)

    def _line(self, child: Any) -> int:
        return self._document.line(child.start)


def _before_new_root(text: str) -> str:
    """What stays of a text that holds no value: its comments."""
    mark = MARK if text.startswith(MARK) else ""
    if not (words := text.removeprefix(mark)).strip():
        return mark
    return f"{mark}{words}" if words.endswith("\n") else f"{mark}{words}\n"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _not_clean(document: Document) -> Malformed:
    line = document.line(document.root.start) if document.root else 1
    return Malformed(line, "kedge cannot add its entries so that they can be taken out again")
