"""The todo list of a conversation, from the calls that keep it. Bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kedge.outcomes import Outcome

REMEMBERED = 200
"""Items remembered; the oldest goes. Lists longer than a screen are not kept by agents."""
KEPT = 120
"""Characters of an item that are kept: a description shows fewer."""

LISTS = ("todos", "plan", "todoList", "tasks", "items")
"""Parameters that hold a whole list."""
TEXTS = ("content", "step", "subject", "title", "description", "text", "name", "task")
"""Where an item says what is to be done."""
IDS = ("taskId", "task_id", "id")
DONE = frozenset({"completed", "complete", "done", "finished"})
DROPPED = frozenset({"cancelled", "canceled", "deleted", "dropped", "skipped"})

_NUMBER = re.compile(r"#(\w{1,40})")


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
        if outcome.call.verb != "todo" or not outcome.success:
            return
        given = outcome.call.parameters
        whole = next((given[key] for key in LISTS if isinstance(given.get(key), list)), None)
        if whole is None:
            self._one(given, _created(outcome))
            return
        items = [one for one in whole if isinstance(one, Mapping)]
        before = self._items
        if not given.get("merge"):
            self._items = {}
        for number, one in enumerate(items):
            self._put(_first(one, IDS) or str(number), one, before)

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

    def _one(self, given: Mapping[str, Any], created: str) -> None:
        key = _first(given, IDS) or created
        if key and (key in self._items or created or "status" in given):
            self._put(key, given, self._items)

    def _put(self, key: str, given: Mapping[str, Any], before: Mapping[str, Item]) -> None:
        known = before.get(key, Item("", ""))
        text = known.text if "status" in given and known.text else ""
        text = _first(given, TEXTS)[:KEPT] or text
        state = _state(given, known.state)
        if state == "done" and known.state != "done":
            self._last = text or "a task"
        self._was_open = self._was_open or state == "open"
        self._items[key] = Item(text or known.text, state)
        if len(self._items) > REMEMBERED:
            del self._items[next(iter(self._items))]


def _state(given: Mapping[str, Any], known: str) -> str:
    status = str(given.get("status", "")).casefold()
    if not status:
        return known or "open"
    if status in DONE:
        return "done"
    return "dropped" if status in DROPPED else "open"


def _created(outcome: Outcome) -> str:
    """The id of a new item: its tool says it in the result, as `#12`; else its own words."""
    given = outcome.call.parameters
    if "subject" not in given or _first(given, IDS):
        return ""
    output = "" if outcome.result is None else outcome.result.output
    found = _NUMBER.search(output[: 2 * KEPT])
    return found[1] if found else _first(given, TEXTS)[:KEPT]


def _first(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    found: Iterator[Any] = (given[key] for key in keys if key in given)
    return next(
        (str(value) for value in found if isinstance(value, (str, int)) and value != ""), ""
    )
