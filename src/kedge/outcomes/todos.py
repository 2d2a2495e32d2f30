"""What a call says about a list of todos: which items, and how they now stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from kedge.outcomes.values import Outcome

Status = Literal["pending", "in_progress", "completed", "dropped"]

LISTS = ("todos", "plan", "todoList", "tasks", "items")
"""Parameters that hold a whole list."""
TEXTS = ("content", "step", "subject", "title", "description", "text", "name", "task")
"""Where an item says what is to be done."""
RENAMED = tuple(name for name in TEXTS if name != "description")
"""Where an update of one item gives it other words; its description only adds to them."""
IDS = ("taskId", "task_id", "id")
COMPLETED = frozenset({"completed", "complete", "done", "finished"})
DROPPED = frozenset({"cancelled", "canceled", "deleted", "dropped", "skipped"})
IN_PROGRESS = frozenset({"in_progress", "in-progress", "inprogress", "active", "doing", "started"})
NUMBER_IN = 400
"""Characters of a result in which the id of a new item stands."""
LISTING = 40_000
"""Characters of a printed list that are read: a hundred items and more."""
EMPTY_LISTING = "No tasks found"

_SERVER = re.compile(r"__|[./]")
"""In a tool's name, behind that of its server."""
_NUMBER = re.compile(r"#(\w{1,40})")
_LISTED = re.compile(r"^#(\w{1,40}) \[(\w{1,20})\] ([^\n]{1,1000})$", re.MULTILINE)
_BLOCKED = re.compile(r" \[blocked by [^\]]{1,200}\]$")


class Todo(NamedTuple):
    id: str
    """As the tool numbers it; empty where it does not."""
    text: str
    """Verbatim; empty where the call does not repeat it."""
    status: Status | None
    """None where the call says nothing of it."""


class TodoCall(NamedTuple):
    kind: Literal["list", "merge", "new", "update", "listing"]
    """`list` takes the place of what was there, `merge` changes some of its items, `new` and
    `update` concern one numbered item, `listing` is all numbered items as the tool prints them."""
    items: tuple[Todo, ...]


def todos_of(outcome: Outcome) -> TodoCall | None:
    """What a call did to a list; nothing where it kept none, or did not succeed."""
    if outcome.call.verb != "todo" or not outcome.success:
        return None
    given = outcome.call.parameters
    whole = next((given[key] for key in LISTS if isinstance(given.get(key), list)), None)
    if whole is not None:
        items = tuple(_item(one) for one in whole if isinstance(one, Mapping))
        return TodoCall("merge" if given.get("merge") else "list", items)
    output = "" if outcome.result is None else outcome.result.output
    item = _item(given)
    if item.id:
        return TodoCall("update", (item._replace(text=_first(given, RENAMED)),))
    if "subject" in given:
        number = _NUMBER.search(output[:NUMBER_IN])
        return TodoCall("new", (item._replace(id=number[1] if number else ""),))
    served = _SERVER.search(outcome.call.tool)  # a server prints what it likes
    return None if served else _listing(output[:LISTING])


def _item(given: Mapping[str, Any]) -> Todo:
    status = given.get("status")
    return Todo(
        _first(given, IDS),
        _first(given, TEXTS),
        _status(status) if status not in (None, "") else None,
    )


def _status(word: object) -> Status:
    """What is open in any other way is pending."""
    lowered = str(word).casefold()
    if lowered in COMPLETED:
        return "completed"
    if lowered in DROPPED:
        return "dropped"
    return "in_progress" if lowered in IN_PROGRESS else "pending"


def _listing(output: str) -> TodoCall | None:
    items = tuple(
        Todo(number, _BLOCKED.sub("", text.strip()), _status(status))
        for number, status, text in _LISTED.findall(output)
    )
    known = items or output.strip().startswith(EMPTY_LISTING)
    return TodoCall("listing", items) if known else None


def _first(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    found: Iterator[Any] = (given[key] for key in keys if key in given)
    return next(
        (str(value) for value in found if isinstance(value, (str, int)) and value != ""), ""
    )
