"""Entries of kedge taken out of the text of a settings file, and nothing else."""

from __future__ import annotations

from collections.abc import Collection

from kedge.integrations.hosts.pieces import SettingsFile
from kedge.integrations.installing.documents import MARK, Child, Document, Malformed, Node, parsed
from kedge.integrations.installing.editing import Edit, Layout, edited
from kedge.integrations.installing.wishes import (
    HOOKS,
    Group,
    hooks_of,
    is_ours,
    our_groups,
    parent_of,
    root_of,
)


def without(text: str, wanted: SettingsFile, earlier: str | None) -> str | None:
    """The text without our entries; nothing where nothing else is in it.

    `earlier` is the text before kedge came: an object that is there and empty stays, with its
    blanks, and one that is not there goes with the last entry in it. Raises `Malformed`."""
    guide = None if earlier is None else _guide(earlier, wanted)
    return _Removal(parsed(text), wanted, guide).text()


def without_groups(
    document: Document, gone: Collection[Group], wanted: SettingsFile, earlier: str | None
) -> str:
    """The text without some of our groups of hooks, by the same rules."""
    guide = None if earlier is None else _guide(earlier, wanted)
    places = {group.group.start for group in gone}
    kept = wanted._replace(members=())
    return _Removal(document, kept, guide, only=places).text() or ""


def _guide(earlier: str, wanted: SettingsFile) -> Document | None:
    """The earlier text without entries of ours that it had already."""
    try:
        kept = _Removal(parsed(earlier), wanted, None).text()
        return None if kept is None else parsed(kept)
    except Malformed:  # somebody changed the copy; it is a help and no condition
        return None


class _Removal:
    def __init__(
        self,
        document: Document,
        wanted: SettingsFile,
        guide: Document | None,
        only: Collection[int] | None = None,
    ) -> None:
        """`only` says where the groups of hooks stand that go; None for all of ours."""
        self._document, self._layout = document, Layout(document)
        self._wanted, self._guide, self._only = wanted, guide, only
        self._edits: list[Edit] = []
        self._root_gone: list[Child] = []

    def text(self) -> str | None:
        root = root_of(self._document)
        if root is None:
            return self._document.text
        if self._wanted.hooks:
            self._take_hooks(root)
        for member in self._wanted.members:
            parent = parent_of(self._document, member)
            child = parent.child(member.path[-1]) if parent else None
            if parent and child and is_ours(self._document, child.value, member):
                self._take(parent, [child], member.path[:-1])
        if not self._root_gone:
            return edited(self._document.text, self._edits)
        return self._without_root_entries(root)

    def _take_hooks(self, root: Node) -> None:
        hooks = hooks_of(self._document)
        arrays: dict[str, list[Child]] = {}
        for group in our_groups(self._document):
            if self._only is not None and group.group.start not in self._only:
                continue
            if group.only_ours:
                arrays.setdefault(group.event.key, []).append(group.group)
            else:
                self._edits += self._layout.take(group.handlers, group.ours)
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

    def _take(self, container: Node, gone: list[Child], path: tuple[str, ...]) -> None:
        """Children out of an object, and it out of the root where nothing is left."""
        root = self._document.root
        if container is root or not path:
            self._root_gone += gone
        elif self._emptied(container, gone, path) and root:
            self._root_gone += [child for child in root.children if child.value is container]

    def _emptied(self, container: Node, gone: Collection[Child], path: tuple[str, ...]) -> bool:
        """Whether a container goes with what is taken out of it; else that is done here."""
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

    def _before(self, path: tuple[str, ...]) -> str | None:
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
