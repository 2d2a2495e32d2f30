"""What is open: todos in their order, and questions that wait. Nothing is invented."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import TodoSet
from kedge.model.summary import Summary
from kedge.summary.items import FIRST, OPEN, Item
from kedge.summary.salience import salience


def next_steps(summary: Summary) -> Iterator[Item]:
    """What was begun before what was not, each in the order of its list."""
    latest = tasks(summary)
    waiting = [todo for todo in latest if todo.status in ("in_progress", "pending")]
    waiting.sort(key=lambda todo: (todo.status != "in_progress", todo.place))
    for place, todo in enumerate(waiting):
        begun = todo.status == "in_progress"
        text = f"{todo.text} (in progress)" if begun else todo.text
        worth = salience("next step", place=place)
        yield Item("Next Steps", text, (todo.turn,), tier=OPEN if begun else FIRST, worth=worth)


def tasks(summary: Summary) -> list[TodoSet]:
    """The tasks as they stand. Where the agent keeps a list of its own, the steps of the plan it
    was made from are not counted again."""
    latest = [events[-1] for events in summary.todos.values()]
    kept = [todo for todo in latest if todo.source == "todos"]
    return [todo for todo in kept or latest if todo.status != "dropped"]


def questions(summary: Summary) -> Iterator[Item]:
    for asked in summary.questions.values():
        latest = asked[-1]
        if not latest.answer:
            who = "The user asked" if latest.by == "user" else "The agent asked"
            text = f"{who}: {latest.question}"
            yield Item(
                "Blockers / Open Questions", text, (latest.turn,), OPEN, salience("open question")
            )
