"""Entries of kedge put into the text of a settings file, and brought up to date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kedge.integrations.hosts.needs import HOOK
from kedge.integrations.hosts.pieces import Member, SettingsFile
from kedge.integrations.hosts.started import ARGUMENTS, extended, mentions
from kedge.integrations.installing.documents import MARK, Child, Document, Malformed, Node
from kedge.integrations.installing.editing import Edit, Entry, Layout, edited
from kedge.integrations.installing.removing import guide_in, guide_of, taken_out, without_groups
from kedge.integrations.installing.wishes import (
    HOOKS,
    Group,
    any_of_ours,
    fits,
    hooks_of,
    is_ours,
    our_groups,
    parent_of,
    read,
    root_of,
    shaped,
    still_unknown,
)

MATCHER = "matcher"


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
    return merged_into(read(text, wanted), wanted, reduce=reduce, earlier=earlier)


def merged_into(
    document: Document, wanted: SettingsFile, *, reduce: bool | None, earlier: str | None
) -> Merged:
    """The same, for what was read before."""
    root_of(document)
    fresh = not any_of_ours(document, wanted)
    guide = guide_of(document, wanted) if fresh or earlier is None else guide_in(earlier, wanted)
    hooks = _hooks_wanted(document, wanted, reduce)
    old = _no_more_wanted(document, hooks) if wanted.hooks else []
    fewer = read(without_groups(document, old, wanted, guide), wanted) if old else document
    work = _Work(fewer, hooks, wanted.members)
    made = work.text()
    if made != document.text and not _is_clean(made, document, wanted, guide):
        line = document.line(document.root.start) if document.root else 1
        why = "kedge cannot add its entries so that they can be taken out again"
        raise Malformed(line, why)
    told = [f"{_counted(len(old), 'old hook')} taken out"] if old else []
    left = (*work.left, *still_unknown(document, made, wanted))
    return Merged(made, (*told, *work.told()), left)


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


def _same_matcher(document: Document, group: Group, wanted: Mapping[str, Any]) -> bool:
    """Whether a group is called for the same; in a group of others that is for them to say."""
    found = group.group.value.child(MATCHER)
    value = document.value(found.value) if found else ""
    return not group.only_ours or value == wanted.get(MATCHER, "")


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
        """Our handler, and in a group of ours when it is called."""
        first, *more = group.ours
        found = self._document.value(first.value)
        handler = extended(wanted[HOOKS][0], found, HOOK)
        same = _same_matcher(self._document, group, wanted)
        if fits(found, handler) and same and not more:
            return
        self._count["updated"] += 1
        self._fit(first.value, handler, ARGUMENTS)
        if more:
            self._edits += self._layout.take(group.handlers, more)
        if not same:
            when = {key: value for key, value in wanted.items() if key == MATCHER}
            self._fit(group.group.value, when, MATCHER)

    def _fit(self, node: Node, wanted: Mapping[str, Any], only_wanted: str) -> None:
        """The values that are not as wanted, each in its place: what stands around them stays. One
        key goes where it is not wanted."""
        missing = []
        for key, value in wanted.items():
            child = node.child(key)
            if child is None:
                missing.append(Entry(key, value))
            elif self._document.value(child.value) != value:
                self._edits.append(self._layout.replace(child.value, value))
        gone = node.child(only_wanted) if only_wanted not in wanted else None
        if gone and missing:
            self._edits.append(self._layout.instead(gone, missing.pop(0)))
        elif gone:
            self._edits += self._layout.take(node, [gone])
        for entry in missing:
            self._add(node, entry)

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
            if not mentions(self._document.value(child.value), member.runs):  # else it is told
                line = self._document.line(child.start)
                self.left.append(f"{member.what} left: there is another one in line {line}")
        else:
            self._update_member(member, child)

    def _update_member(self, member: Member, child: Child) -> None:
        found = self._document.value(child.value)
        wanted = extended(member.value, found, member.runs)
        if not fits(found, wanted):
            self._fit(child.value, wanted, ARGUMENTS)
            self._named.append(f"{member.what} updated")

    def _add(self, container: Node | None, entry: Entry) -> None:
        """Into a container, or without one into the root."""
        target = container or self._document.root
        if target is None:
            self._new_root.append(entry)
        else:
            self._added.setdefault(target.start, (target, []))[1].append(entry)


def _before_new_root(text: str) -> str:
    """What stays of a text that holds no value: its comments."""
    mark = MARK if text.startswith(MARK) else ""
    if not (words := text.removeprefix(mark)).strip():
        return mark
    return f"{mark}{words}" if words.endswith("\n") else f"{mark}{words}\n"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _is_clean(made: str, document: Document, wanted: SettingsFile, guide: Document | None) -> bool:
    """Whether taking our entries out of a text gives the same as taking them out of the one that
    it was made of."""
    try:
        again = taken_out(read(made, wanted), wanted, guide)
        return again == taken_out(document, wanted, guide)
    except Malformed:
        return False
