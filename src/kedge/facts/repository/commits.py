"""The commits that are known, and which of them another one took the place of."""

from __future__ import annotations

from kedge.facts.repository.outputs import Seen
from kedge.model import Committed

MOST = 100
"""Commits remembered, the newest."""
NOTHING = Seen("")


class Commits:
    """An amend takes the place of the newest commit; a rebase writes those of a branch anew, and
    what shows them later tells which they are by their messages."""

    def __init__(self) -> None:
        self._newest = NOTHING
        """The newest commit, where it is known."""
        self._exchange = self._known_in = -1
        """The exchange at hand, and the one in which the newest commit was last seen."""
        self._made: dict[str, str] = {}
        """Commits of the session by their messages."""
        self._old: dict[str, str] = {}
        """Those made before the last rebase, which may have other hashes now."""
        self._tip = NOTHING
        """The newest one before a rebase, until the one in its place is seen."""

    @property
    def rewritten(self) -> bool:
        """Whether there are commits that may have other hashes now."""
        return bool(self._old)

    def begin(self, exchange: int) -> None:
        self._exchange = exchange

    def moved(self, seen: Seen) -> None:
        """The newest commit is not known any more."""
        self._tip = NOTHING
        if seen.what == "rewritten":
            if seen.amends and self._known_in == self._exchange:
                self._tip = self._newest  # what the user does in between is not in the record
            self._old = {**self._old, **self._made}
            self._made = {}
            while len(self._old) > MOST:
                del self._old[next(iter(self._old))]
        self._newest = NOTHING

    def undone(self, head: Committed) -> None:
        self._made = {about: name for about, name in self._made.items() if name != head.replaces}
        self._newest = Seen("head", head.name, head.about)

    def take(self, seen: Seen) -> tuple[str, str]:
        """The message of a commit, as far as it is known, and the hash of the one it replaces."""
        about, replaces = seen.about, ""
        before = self._newest
        if not about and seen.name and before.name.startswith(seen.name):
            about = before.about
        if seen.amends:
            replaces = before.name if before.name != seen.name else ""
        elif seen.what == "head" and seen.name:
            about, replaces = self._in_place_of(seen._replace(about=about))
        if seen.what == "commit" or replaces:
            self._make(seen._replace(about=about))
        self._newest, self._tip = seen._replace(about=about), NOTHING
        self._known_in = self._exchange
        return about, replaces

    def renewed(self, seen: Seen) -> str:
        """The hash that a commit of the session had before a rebase, where it is shown again under
        another one; empty where it is none of them."""
        name = self._old.get(seen.about, "")
        if not name or _same(name, seen.name):
            return ""
        self._make(seen)
        return name

    def _make(self, commit: Seen) -> None:
        if not commit.name or not commit.about:
            return
        self._old.pop(commit.about, None)
        self._made.pop(commit.about, None)
        self._made[commit.about] = commit.name
        if len(self._made) > MOST:
            del self._made[next(iter(self._made))]

    def _in_place_of(self, seen: Seen) -> tuple[str, str]:
        """A commit seen after a rebase, with its message and what stood there before."""
        if name := self.renewed(seen):
            return seen.about, name
        if not self._tip.name or _same(self._tip.name, seen.name):
            return seen.about, ""
        return seen.about or self._tip.about, self._tip.name


def _same(name: str, other: str) -> bool:
    """Whether two hashes, one of which may be cut shorter, are one."""
    return name.startswith(other) or other.startswith(name)
