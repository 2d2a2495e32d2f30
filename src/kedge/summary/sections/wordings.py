"""What a model wrote of the turns: beside the facts, behind all of them, and told apart by how it
begins."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.foreign import foreign
from kedge.model import Worded
from kedge.model.summary import SectionName, Summary
from kedge.sentences import cut
from kedge.summary.items import WORDS, Item
from kedge.summary.salience import salience

IN_SHORT = "In short"
SUGGESTED = "Suggested: "
"""A step that stands in no list of the session's."""
PERHAPS = "Perhaps open: "
"""A question that nobody asked in so many words."""
LABELS = (f"{IN_SHORT}: ", f"{IN_SHORT}, ", SUGGESTED, PERHAPS)
"""How every line begins that a model wrote, and no other."""
DECISION_SHOWN = 60
"""Characters of a decision that say which one is meant: it stands above in full."""
PRESENT: tuple[tuple[str, SectionName, str, str], ...] = (
    ("state", "Current State", f"{IN_SHORT}: ", "state in short"),
    ("question", "Blockers / Open Questions", PERHAPS, "suggestion"),
    ("next step", "Next Steps", SUGGESTED, "suggestion"),
)
"""What is told of the present: gone when more is folded."""


def is_worded(text: str) -> bool:
    """Whether a line is a model's."""
    return text.startswith(LABELS)


def wordings(summary: Summary) -> Iterator[Item]:
    """The newest words about each matter, as long as nothing newer is known of it."""
    intent = _newest(summary, "intent")
    if intent is not None and intent.turn >= _last_wish(summary):
        yield _item("Session Intent", f"{IN_SHORT}: ", intent, "intent in short")
    for about, section, label, kind in PRESENT:
        for one in summary.wordings.get(about, ()):
            if one.turn >= summary.through:
                yield _item(section, label, one, kind)
    yield from _changes(summary)
    yield from _reasons(summary)


def _changes(summary: Summary) -> Iterator[Item]:
    now = summary.files_now()
    for path in dict.fromkeys(one.key for one in summary.wordings.get("change", ())):
        told = _newest(summary, "change", path)
        changes = now.get(path)
        if told is not None and changes and told.turn >= changes[-1].turn:
            label = f"{IN_SHORT}, {foreign(path)}: "
            yield _item("Files Modified", label, told, "change in short")


def _reasons(summary: Summary) -> Iterator[Item]:
    for made in summary.decisions_now():
        told = _newest(summary, "rationale", made[-1].key)
        if told is not None and told.turn >= made[-1].turn:
            label = f"{IN_SHORT}, on “{foreign(cut(made[-1].decision, DECISION_SHOWN))}”: "
            yield _item("Decisions Made", label, told, "change in short")


def _newest(summary: Summary, about: str, key: str = "") -> Worded | None:
    every = [one for one in summary.wordings.get(about, ()) if one.key == key]
    return every[-1] if every else None


def _last_wish(summary: Summary) -> int:
    """The last turn in which the user asked for something, or gave a rule."""
    asked = (one.turn for one in summary.requests if one.scope != "step")
    return max((*asked, *(one.turn for one in summary.instructions)), default=-1)


def _item(section: SectionName, label: str, one: Worded, kind: str) -> Item:
    turns = tuple(range(one.first, one.turn + 1))
    return Item(section, f"{label}{foreign(one.text)}", turns, WORDS, salience(kind))
