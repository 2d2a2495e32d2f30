"""Which files a session has seen: what tells creating from changing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kedge.facts.files.edits import Piece
from kedge.outcomes import Touch

MOST_KNOWN = 400
"""Files remembered, those used last: a file seen longer ago is seldom written whole again."""

Action = Literal["created", "modified", "deleted", "renamed"]


class KnownFiles:
    def __init__(self) -> None:
        self._there: dict[str, bool] = {}
        """Files that are there, and whether a compiler made them."""
        self._created: dict[str, int] = {}
        """Files that the session created, and in which turn."""

    def see(self, path: str) -> None:
        if path:
            self._put(path, built=self._there.get(path, False))

    def action(self, touch: Touch, path: str, pieces: Sequence[Piece], *, certain: bool) -> Action:
        """What was done to a file; `certain` where the tool says so itself. Else a file that was
        seen is changed, and one that was not is created, if nothing in it was replaced."""
        if touch.action == "deleted" or touch.action == "renamed":
            return touch.action
        if touch.action == "created" and certain:
            return "created"
        if path in self._there or certain:
            return "modified"
        fills = bool(pieces) and not (pieces[0].old or pieces[0].blind)
        return "created" if fills or touch.action == "created" else "modified"

    def change(
        self, path: str, action: Action, before: str = "", *, built: bool = False, turn: int = -1
    ) -> bool:
        """Take a change in; whether a compiler had made the file."""
        if action == "created":
            self._created.pop(path, None)
            self._created[path] = turn
            if len(self._created) > MOST_KNOWN:
                del self._created[next(iter(self._created))]
        earlier = self._there.pop(path, False)
        if action == "renamed":
            earlier = self._there.pop(before, earlier)
        built = built or earlier
        if action != "deleted":
            self._put(path, built=built)
        return built

    def undo(self, path: str, turn: int) -> bool:
        """Take in that the changes of a turn are no more; whether the file was created there."""
        created = self._created.get(path) == turn
        if created:
            del self._created[path]
            self._there.pop(path, None)
        return created

    def _put(self, path: str, *, built: bool) -> None:
        self._there.pop(path, None)
        self._there[path] = built
        if len(self._there) > MOST_KNOWN:
            del self._there[next(iter(self._there))]
