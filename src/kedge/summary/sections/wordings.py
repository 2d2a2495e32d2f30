"""What a model wrote of the turns: beside the facts, and never to be taken for one."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.foreign import foreign
from kedge.model import Worded
from kedge.model.summary import SectionName, Summary
from kedge.summary.items import FIRST, THEN, Item, cited
from kedge.summary.salience import salience

IN_SHORT = "In short: "
SUGGESTED = "Suggested: "
"""A step that stands in no list of the session's."""
PERHAPS = "Perhaps open: "
"""A question that nobody asked in so many words."""


def wordings(summary: Summary) -> Iterator[Item]:
    """Of the present only what was written about it: when more was folded since, it is the past."""
    if (intent := _intent(summary)) is not None:
        yield _item("Session Intent", IN_SHORT, intent, FIRST, "intent in short")
    places: tuple[tuple[str, SectionName, str, int, str], ...] = (
        ("state", "Current State", IN_SHORT, FIRST, "state in short"),
        ("question", "Blockers / Open Questions", PERHAPS, THEN, "suggestion"),
        ("next step", "Next Steps", SUGGESTED, THEN, "suggestion"),
    )
    for about, section, label, tier, kind in places:
        for one in summary.wordings.get(about, ()):
            if one.turn >= summary.through:
                yield _item(section, label, one, tier, kind)


def told_of(summary: Summary, about: str, key: str) -> str:
    """What a model wrote of one file or decision, the newest of it; a file's changes have their own
    turns, so this has, too."""
    every = [one for one in summary.wordings.get(about, ()) if one.key == key]
    if not every:
        return ""
    marks = f" {cited(_turns(every[-1]))}" if about == "change" else ""
    return f"in short: {foreign(every[-1].text)}{marks}"


def _intent(summary: Summary) -> Worded | None:
    """The newest, unless the user has opened another scope since."""
    every = summary.wordings.get("intent", ())
    opened = max((one.turn for one in summary.requests if one.scope == "new"), default=-1)
    return every[-1] if every and every[-1].turn >= opened else None


def _item(section: SectionName, label: str, one: Worded, tier: int, kind: str) -> Item:
    return Item(section, f"{label}{foreign(one.text)}", _turns(one), tier, salience(kind))


def _turns(one: Worded) -> tuple[int, ...]:
    return tuple(range(one.first, one.turn + 1))
