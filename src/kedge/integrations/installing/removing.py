"""Entries of kedge taken out of the text of a settings file, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kedge.integrations.hosts.pieces import SettingsFile
from kedge.integrations.installing.documents import MARK, Child, Document, Malformed, Node
from kedge.integrations.installing.editing import Edit, Layout, edited
from kedge.integrations.installing.wishes import (
    HOOKS,
    Group,
    hooks_of,
    our_groups,
    our_member,
    read,
    root_of,
)

Keys = tuple[str, ...]
"""The keys that lead to a value; an empty one for each list."""


def without(text: str, wanted: SettingsFile, earlier: str | None) -> str | None:
    """The text without our entries; nothing where nothing else is in it.

    `earlier` is the text before kedge came: an object that is there and empty stays, with its
    blanks, and one that is not there goes with the last entry in it. Raises `Malformed`."""
    return taken_out(read(text, wanted), wanted, guide_in(earlier, wanted))


def taken_out(document: Document, wanted: SettingsFile, guide: Document | None) -> str | None:
    """The same, for what was read before."""
    return _Removal(document, wanted, guide).text()


def without_groups(
    document: Document, gone: Collection[Group], wanted: SettingsFile, guide: Document | None
) -> str:
    """The text without some of our groups of hooks, by the same rules."""
    places = {group.group.start for group in gone}
    return _Removal(document, wanted, guide, only=places).text() or ""


def guide_in(earlier: str | None, wanted: SettingsFile) -> Document | None:
    """The earlier text without entries of ours that it had already."""
    if earlier is None:
        return None
    try:
        return guide_of(read(earlier, wanted), wanted)
    except Malformed:  # somebody changed the copy; it is a help and no condition
        return None


def guide_of(document: Document, wanted: SettingsFile) -> Document | None:
    kept = _Removal(document, wanted, None).text()
    if kept == document.text:
        return document
    return None if kept is None else read(kept, wanted)


class _Removal:
    def __init__(
        self,
        document: Document,
        wanted: SettingsFile,
        guide: Document | None,
        only: Collection[int] | None = None,
    ) -> None:
        """`only` says where the groups of hooks stand that alone go; None for all of ours."""
        self._document, self._layout = document, Layout(document)
        self._wanted, self._guide, self._only = wanted, guide, only
        self._edits: list[Edit] = []
        self._root_gone: list[Child] = []
        self._ours: set[int] = set()
        self._hollow: set[Keys] = {()}

    def text(self) -> str | None:
        root = root_of(self._document)
        if root is None:
            return self._document.text
        if self._wanted.hooks:
            self._take_hooks()
        for member in self._wanted.members if self._only is None else ():
            if found := our_member(self._document, member):
                parent, child = found
                self._ours.add(child.start)
                self._take(parent, [child], member.path[:-1])
        if not self._ours:
            return self._document.text
        if not self._root_gone:
            return self._checked(root, edited(self._document.text, self._edits))
        return self._checked(root, self._without_root_entries(root))

    def _checked(self, root: Node, rest: str | None) -> str | None:
        """The new text, if it has all that was there and is not ours."""
        was = list(self._values(self._document, root, self._ours))
        try:
            new = None if rest is None else read(rest, self._wanted)
            now = list(self._values(new, new.root, ())) if new and new.root else []
        except Malformed:
            now = None
        if was != now:
            line = self._document.line(min(self._ours))
            why = "what kedge put here cannot be taken out alone; take it out yourself"
            raise Malformed(line, why)
        return rest

    def _values(
        self, document: Document, node: Node, gone: Collection[int], path: Keys = ()
    ) -> Iterator[tuple[Keys, str]]:
        """All values with what leads to them, as they are written. Objects and lists that are empty
        without ours may go or stay."""
        kept = [child for child in node.children if child.start not in gone]
        if not kept and path not in self._hollow:
            yield path, node.kind
        for child in kept:
            way = (*path, child.key)
            if child.value.kind in ("object", "array") and not child.value.closed:
                yield from self._values(document, child.value, gone, way)
            else:
                yield way, document.written(child.value)

    def _take_hooks(self) -> None:
        hooks = hooks_of(self._document)
        arrays: dict[str, list[Child]] = {}
        for group in our_groups(self._document):
            if self._only is not None and group.group.start not in self._only:
                continue
            if group.only_ours:
                arrays.setdefault(group.event.key, []).append(group.group)
                self._ours.add(group.group.start)
            else:
                self._edits += self._layout.take(group.handlers, group.ours)
                self._ours |= {one.start for one in group.ours}
        if hooks is None:
            return
        gone = [
            event
            for event in hooks.children
            if event.key in arrays
            and hooks.child(event.key) is event
            and self._emptied(event.value, arrays[event.key], (HOOKS, event.key))
        ]
        if gone:
            self._take(hooks, gone, (HOOKS,))

    def _take(self, container: Node, gone: list[Child], path: Keys) -> None:
        """Children out of an object, and it out of the root where nothing is left."""
        root = self._document.root
        if container is root or not path:
            self._root_gone += gone
        elif self._emptied(container, gone, path) and root:
            self._root_gone += [child for child in root.children if child.value is container]

    def _emptied(self, container: Node, gone: Collection[Child], path: Keys) -> bool:
        """Whether a container goes with what is taken out of it; else that is done here."""
        self._hollow.add(path)
        edits = self._layout.take(container, gone)
        if len(gone) < len(container.children):
            self._edits += edits
            return False
        inside = self._inside(container, edits)
        before = self._before(path)
        if before is None and not inside.strip():
            return True
        self._edits.append(Edit(container.start + 1, container.end - 1, _like(inside, before)))
        return False

    def _inside(self, container: Node, edits: list[Edit]) -> str:
        """What is between the brackets when the edits are made."""
        offset = container.start + 1
        moved = [Edit(one.start - offset, one.end - offset, one.text) for one in edits]
        return edited(self._layout.inside(container), moved)

    def _before(self, path: Keys) -> str | None:
        """What was between the brackets of a container before kedge came: empty where it had
        entries then, nothing where there was none."""
        node = self._guide.root if self._guide else None
        for key in path:
            child = node.child(key) if node and node.kind == "object" else None
            node = child.value if child else None
        if node is None or self._guide is None or node.kind not in ("object", "array"):
            return None
        return "" if node.children else self._guide.text[node.start + 1 : node.end - 1]

    def _without_root_entries(self, root: Node) -> str | None:
        text = self._document.text
        edits = self._layout.take(root, self._root_gone)
        if len(self._root_gone) < len(root.children):
            return edited(text, [*self._edits, *edits])
        inside, before = self._inside(root, edits), self._before(())
        around = f"{text[: root.start]}{text[root.end :]}"
        if before is None and not inside.strip():
            if self._guide is not None:  # there was no object: only blanks, or comments
                return self._guide.text if _same(around, self._guide.text) else around
            if not around.removeprefix(MARK).strip():
                return None
        return edited(text, [Edit(root.start + 1, root.end - 1, _like(inside, before))])


def _like(inside: str, before: str | None) -> str:
    """What is left between brackets, with the blanks it had before."""
    if before is not None and before.strip() == inside.strip():
        return before
    return inside if inside.strip() else ""


def _same(one: str, other: str) -> bool:
    return one.strip() == other.strip()
