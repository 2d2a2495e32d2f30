"""The todo list of a conversation, from the calls that keep it. Bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kedge.outcomes import Outcome
from kedge.outcomes.todos import Todo, todos_of

REMEMBERED = 200
"""Items remembered; the oldest goes. Lists longer than a screen are not kept by agents."""
KEPT = 120
"""Characters of an item that are kept: a description shows fewer."""


class Item(NamedTuple):
    text: str
    state: str
    """`open`, `done` or `dropped`."""


class Todos:
    """Whole lists replace what is known; single items are created and updated by their id."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._was_open = False
        """Whether an item was open since the last completion."""
        self._last = ""
        """The item that was done last."""

    def take(self, outcome: Outcome) -> None:
        """A call; only one that succeeded changed the list."""
        call = todos_of(outcome)
        if call is None or call.kind == "listing":
            return
        if call.kind in ("new", "update"):
            self._one(call.items[0], new=call.kind == "new")
            return
        before = self._items
        if call.kind == "list":
            self._items = {}
        for number, item in enumerate(call.items):
            self._put(item.id or str(number), item, before)

    def completed(self) -> tuple[int, str]:
        """How many items are done, and the last of them, when the last open one has just become
        done; else nothing. What was completed is then forgotten: what follows is a new list."""
        states = [item.state for item in self._items.values()]
        done = states.count("done")
        if not self._was_open or not self._last or "open" in states:
            self._last = ""
            return 0, ""
        last, self._last, self._was_open = self._last, "", False
        self._items = {}
        return done, last

    def _one(self, item: Todo, *, new: bool) -> None:
        key = item.id or item.text[:KEPT]
        if key and (new or key in self._items or item.status is not None):
            self._put(key, item, self._items)

    def _put(self, key: str, item: Todo, before: Mapping[str, Item]) -> None:
        known = before.get(key, Item("", ""))
        text = item.text[:KEPT] or known.text
        state = _state(item, known.state)
        if state == "done" and known.state != "done":
            self._last = text or "a task"
        self._was_open = self._was_open or state == "open"
        self._items[key] = Item(text, state)
        if len(self._items) > REMEMBERED:
            del self._items[next(iter(self._items))]


def _state(item: Todo, known: str) -> str:
    if item.status is None:
        return known or "open"
    if item.status == "completed":
        return "done"
    return "dropped" if item.status == "dropped" else "open"
