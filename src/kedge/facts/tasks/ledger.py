"""Items of a list as they last stood, and the facts their changes make. Bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from kedge.facts.session.tool_names import key_of
from kedge.model import Speaker, TodoSet
from kedge.outcomes.todos import Status
from kedge.sentences import cut, one_line

REMEMBERED = 200
"""Items remembered of a list; the oldest goes. Lists longer than a screen are not kept."""
SHOWN = 200
"""Characters of an item's text."""

Source = Literal["todos", "plan", "checklist"]


class Item(NamedTuple):
    key: str
    text: str
    status: Status
    place: int = 0
    source: Source = "todos"


class Ledger:
    """A list of items; what changes in it is given as facts."""

    def __init__(self, by: Speaker = "tool") -> None:
        self._by: Speaker = by
        self._items: dict[str, Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: str) -> Item | None:
        return self._items.get(key)

    def open(self) -> tuple[Item, ...]:
        items = self._items.values()
        return tuple(one for one in items if one.status in ("pending", "in_progress"))

    def put(self, turn: int, item: Item, *, by: Speaker | None = None) -> Iterator[TodoSet]:
        """Take an item as it now stands. One without words says nothing yet, but is known."""
        text = cut(one_line(item.text), SHOWN)
        item = item._replace(text=text)
        before = self._items.get(item.key)
        self._items[item.key] = item
        if len(self._items) > REMEMBERED:
            del self._items[next(iter(self._items))]
        same = before is not None and (before.text, before.status) == (item.text, item.status)
        if text and not same:
            yield TodoSet(
                turn=turn,
                by=by or self._by,
                key=item.key,
                text=text,
                status=item.status,
                place=item.place,
                source=item.source,
            )

    def replace(self, turn: int, items: Iterable[Item]) -> Iterator[TodoSet]:
        """Take a whole list: what is no longer in it is dropped, unless it was done."""
        listed = {item.key: item for item in items}
        for known in self.open():
            if known.key not in listed:
                yield from self.put(turn, known._replace(status="dropped"))
        self._items = {key: one for key, one in self._items.items() if key in listed}
        for item in listed.values():
            yield from self.put(turn, item)


def keyed(texts: Iterable[str], within: str = "") -> Iterator[tuple[str, str]]:
    """Texts with their keys; a text that stands twice is told apart by its number."""
    seen: dict[str, int] = {}
    for text in texts:
        key = key_of(text)
        seen[key] = seen.get(key, 0) + 1
        number = f" ({seen[key]})" if seen[key] > 1 else ""
        yield f"{within}{key}{number}", text
