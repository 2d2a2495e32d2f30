"""The sections of the anchored summary, and all that each could tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kedgeline.model.summary import Entry, SectionName, Summary
from kedgeline.summary.files import files, reads
from kedgeline.summary.listing import Standing, closings, decisions, instructions, intent, wordings
from kedgeline.summary.state import ALWAYS, FIRST, OPEN, THEN, WORDS, Item, salience
from kedgeline.summary.story import remembered, sights_of
from kedgeline.summary.work import commands, errors, next_steps, questions, risks, state

Part = Callable[[Summary], Iterable[Item]]


class Section(NamedTuple):
    share: float
    """Of the room, against the others. What a section does not need goes to them."""
    kind: str
    """The word behind `kedgeline facts --kind` that shows what it leaves out."""
    parts: tuple[Part, ...] = ()
    said: Callable[[Summary, Standing], Iterable[Item]] | None = None
    """In the place of parts, where it is the user who speaks: the words stand byte for byte, and in
    another way where the request stands verbatim beside them."""


SECTIONS: dict[SectionName, Section] = {
    "Session Intent": Section(0.33, "requests", said=intent),
    "Standing Instructions": Section(0.10, "instructions", said=instructions),
    "Files Modified": Section(0.18, "files", (files,)),
    "Files Read (Not Modified)": Section(0.01, "files", (reads,)),
    "Decisions Made": Section(0.06, "decisions", (decisions,)),
    "Current State": Section(0.22, "commands", (closings, state)),
    "Blockers / Open Questions": Section(0.04, "questions", (questions, risks)),
    "Next Steps": Section(0.07, "todos", (next_steps,)),
    "Error Context": Section(0.03, "errors", (errors,)),
    "Commands": Section(0.085, "commands", (commands,)),
    "Index": Section(0.001, "statements"),
    "Story": Section(1.0, "statements"),
}
"""In the order in which they are printed. All are always there. The request is mostly short and
needs little of its third; the Index and the Story are made from what the others tell."""


@remembered
def items_of(summary: Summary, standing: Standing = "here") -> Sequence[Item]:
    """All there is to render, section by section; what an earlier text told comes first."""
    carried = list(_carried(summary))
    earlier = {(item.section, item.text): item for item in carried}
    found = [
        _joined(item, earlier.get((item.section, item.text)))
        for item in (*_told(summary, standing), *wordings(summary))
    ]
    carried = [item for item in carried if not _replaced(item, found, summary)]
    found += _index(summary, [*carried, *found])
    known = {(item.section, item.text) for item in found}
    return [*(item for item in carried if (item.section, item.text) not in known), *found]


def _told(summary: Summary, standing: Standing) -> Iterator[Item]:
    for section in SECTIONS.values():
        if section.said is not None:
            yield from section.said(summary, standing)
        for part in section.parts:
            yield from part(summary)


# Names that were said or used and have no other home.

SHARE = 20
"""Of the characters of all other sections the index has at most one in so many: readers take a heap
of names for noise, and guess from it."""
LONGEST = 60
"""Characters of a name; what is longer is code."""
AROUND = 10
"""Characters around a name: its line, and the mark of its turn."""

_NO_NAME = re.compile(r"[A-Za-z]+(?:[-/][a-z]+)+|[A-Z\d]+|[A-Za-z](?:\.[A-Za-z])+|.*\s.*|\W*")
"""Words with a hyphen or a stroke, abbreviations, code of several words."""


def _index(summary: Summary, others: Iterable[Item]) -> Iterator[Item]:
    """Those used most and last that stand in no other item, each with its newest turn."""
    longest = (item.raised(item.rungs - 1) for item in others if item.tier != WORDS)
    there = "\n".join(f"{item.text}\n{item.detail}" for item in longest)
    left = len(there) // SHARE
    told: list[str] = []
    overtaken = tuple(summary.overtaken().items())
    for name, sight in sights_of(summary).items():
        if any(name in old.text and sight.last <= new.turn for old, new in overtaken):
            continue
        if len(name) > LONGEST or _NO_NAME.fullmatch(name) or name in there:
            continue
        if any(name in one for one in told):
            continue
        left -= len(name) + AROUND
        if left < 0:
            return
        told.append(name)
        yield Item("Index", name, (sight.last,), worth=sight.often)


# What an earlier text told, beside what is known now.

TIERS: dict[SectionName, int] = {
    "Standing Instructions": ALWAYS,
    "Files Modified": OPEN,
    "Decisions Made": OPEN,
    "Session Intent": FIRST,
    "Current State": FIRST,
    "Next Steps": FIRST,
}
"""Tiers of what an earlier text told: rules stay whatever the budget."""
LATEST: tuple[SectionName, ...] = ("Current State", "Blockers / Open Questions", "Next Steps")
"""Sections that say how things are: what others wrote there ends with what is known newly."""
IN_PROGRESS = " (in progress)"
SAME = 0.8
"""Share of the words of a decision that others wrote which make ours the same."""

_WORD = re.compile(r"[\w-]{2,}")
_OF_STATE = re.compile(
    r"(?:test|build|lint|deploy|migration|Tasks|Branch|HEAD|Edited since the last \w+)(?=[: ])"
    r"|No test|The agent made no commit"
)
"""What there is one of in a state."""
_OF_THE_MOMENT = re.compile(
    r"(?:Last call|The agent (?:(?:last )?closed with|was at|said earlier)): "
)
"""What is past as soon as anything else is known of the state."""
_ABSENT = {"No test": "test", "The agent made no commit": "HEAD"}


def _replaced(earlier: Item, found: Sequence[Item], summary: Summary) -> bool:
    """Whether newer facts settle an item of an earlier text. An item without turn marks was written
    by others: if it is a state, a question or a step, it ends when there are new ones."""
    now = [item for item in found if item.section == earlier.section]
    if earlier.section == "Decisions Made" and not earlier.turns:
        words = _words(earlier.text)
        return any(len(words & _words(item.text)) >= SAME * len(words) for item in now)
    if earlier.section not in LATEST:
        return False
    if not earlier.turns:
        waits = summary.questions or summary.errors
        told = waits if earlier.section == "Blockers / Open Questions" else summary.todos
        return bool(now or (told and earlier.section != "Current State"))
    if earlier.section == "Next Steps":
        text = earlier.text.removesuffix(IN_PROGRESS)
        return any(events[-1].text == text for events in summary.todos.values())
    if _OF_THE_MOMENT.match(earlier.text):
        return bool(now)
    state = _state(earlier.text)
    return bool(state) and any(_state(item.text) == state for item in now)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _state(text: str) -> str:
    """What part of the state a line is; nothing for what there may be several of."""
    found = _OF_STATE.match(text)
    return _ABSENT.get(found[0], found[0]) if found else ""


def _tier(entry: Entry) -> int:
    waits = entry.text.startswith("OPEN") or IN_PROGRESS in entry.text
    return OPEN if waits else TIERS.get(entry.section, THEN)


def _joined(item: Item, earlier: Item | None) -> Item:
    """A file with what an earlier text told of it: one that was created is created still."""
    if earlier is None or item.section != "Files Modified":
        return item
    created = earlier.action == "created" and item.action in ("modified", "created")
    told = [one for one in (item.detail, *item.more) if one]
    if earlier.detail:  # what is new before all that is known
        told = [*told[:1], *(f"{earlier.detail}; {one}" for one in told)] or [earlier.detail]
    return item._replace(
        action="created" if created else item.action,
        detail=told[0] if told else "",
        more=tuple(told[1:]),
        turns=tuple(dict.fromkeys((*earlier.turns, *item.turns))),
    )


def _carried(summary: Summary) -> Iterator[Item]:
    """Entries of an earlier text: each is worth what a fact of medium age is worth."""
    for entry in summary.carried:
        yield Item(
            entry.section,
            entry.text,
            entry.turns,
            tier=_tier(entry),
            worth=salience("earlier text"),
            action=entry.action,
            detail=entry.detail,
        )
