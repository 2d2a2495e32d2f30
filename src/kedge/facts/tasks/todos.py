"""Todos: from the tools that keep them, from approved plans, and from check lists in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.facts.extractor import Setting
from kedge.facts.session.tool_names import key_of
from kedge.facts.tasks.checklists import CheckLists
from kedge.facts.tasks.ledger import REMEMBERED, Item, Ledger, keyed
from kedge.facts.tasks.plan_steps import PlanSteps
from kedge.model import TodoSet, Turn
from kedge.outcomes import Outcome
from kedge.outcomes.todos import Todo, TodoCall, todos_of


class TodoExtractor:
    """Replays the lists of an agent; a fact is given only where something changed."""

    def __init__(self, setting: Setting) -> None:
        self._list = Ledger()
        """Of the tools that write whole lists: their ids are counted anew with every list, so an
        item is known by its words."""
        self._ids: dict[str, str] = {}
        """Keys of its items by id, for lists of which only some items are given."""
        self._tasks = Ledger()
        """Of the tools that number each item."""
        self._plan = PlanSteps()
        self._checks = CheckLists(setting.root)

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[TodoSet]:
        yield from self._plan.given(turn)
        for outcome in outcomes:
            if call := todos_of(outcome):
                yield from self._kept(turn.index, call)
            yield from self._plan.take(turn, outcome)
            yield from self._checks.take(turn.index, outcome)
        yield from self._plan.told(turn)

    def _kept(self, turn: int, call: TodoCall) -> Iterator[TodoSet]:
        if call.kind == "list":
            yield from self._whole(turn, call.items)
        elif call.kind == "merge":
            yield from self._merged(turn, call.items)
        elif call.kind == "listing":
            yield from self._tasks.replace(turn, map(self._numbered, call.items))
        else:
            for item in call.items:
                yield from self._tasks.put(turn, self._numbered(item))

    def _whole(self, turn: int, todos: Sequence[Todo]) -> Iterator[TodoSet]:
        kept = [todo for todo in todos if todo.text][:REMEMBERED]
        keys = [key for key, _ in keyed(todo.text for todo in kept)]
        self._ids = {todo.id: key for todo, key in zip(kept, keys, strict=True) if todo.id}
        items = (
            Item(key, todo.text, todo.status or "pending", place)
            for place, (key, todo) in enumerate(zip(keys, kept, strict=True))
        )
        yield from self._list.replace(turn, items)

    def _merged(self, turn: int, todos: Sequence[Todo]) -> Iterator[TodoSet]:
        for todo in todos[:REMEMBERED]:
            key = self._ids.get(todo.id) or key_of(todo.text)
            known = self._list.get(key)
            if not key or (known is None and not todo.text):
                continue
            if todo.id and len(self._ids) < REMEMBERED:
                self._ids[todo.id] = key
            place = known.place if known else len(self._list)
            status = todo.status or (known.status if known else "pending")
            text = todo.text or (known.text if known else "")
            yield from self._list.put(turn, Item(key, text, status, place))

    def _numbered(self, todo: Todo) -> Item:
        """A numbered item with what is known of it."""
        key = f"#{todo.id[:40]}" if todo.id else key_of(todo.text)
        known = self._tasks.get(key)
        text = todo.text or (known.text if known else "")
        status = todo.status or (known.status if known else "pending")
        number = todo.id.isascii() and todo.id.isdigit() and len(todo.id) < 10
        place = int(todo.id) if number else known.place if known else len(self._tasks)
        return Item(key, text, status, place)
