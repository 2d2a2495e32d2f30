"""The files a conversation works on."""

from __future__ import annotations

from kedge.model import MOST_FILES
from kedge.outcomes import Touch

PATH_MOST = 400
"""Characters beyond which a name is no path anyone typed, but text taken for one."""


class ActiveFiles:
    """Files changed, and files only read; of each the latest."""

    def __init__(self, root: str = "") -> None:
        self._root = root
        self._changed: dict[str, None] = {}
        self._read: dict[str, None] = {}
        """Without those that were changed."""

    def add(self, touch: Touch) -> None:
        if touch.action in ("deleted", "renamed"):
            self._forget(touch.renamed_from or touch.path)
        if touch.action == "deleted":
            return
        path = relative(touch.path, self._root)
        if not path or len(path) > PATH_MOST or not path.isprintable():
            return
        only_read = touch.action == "read" and path not in self._changed
        self._forget(touch.path)
        known = self._read if only_read else self._changed
        known[path] = None
        if len(known) > MOST_FILES:
            del known[next(iter(known))]

    def paths(self) -> tuple[str, ...]:
        """Those changed before those only read, which give way where there are too many; in each
        part those worked on last at the end."""
        room = MOST_FILES - len(self._changed)
        return (*self._changed, *list(self._read)[max(0, len(self._read) - room) :])

    def _forget(self, name: str) -> None:
        path = relative(name, self._root)
        self._changed.pop(path, None)
        self._read.pop(path, None)


def relative(path: str, root: str) -> str:
    """A path as seen from the session's root where it lies below it, and else as it is."""
    base = root.rstrip("/\\")
    inside = bool(base) and path[len(base) : len(base) + 1] in ("/", "\\")
    if inside and path.replace("\\", "/").startswith(base.replace("\\", "/")):
        return path[len(base) + 1 :]
    return path.removeprefix("./")
