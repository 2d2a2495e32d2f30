"""A summary gone wrong: one entry of a rendered text deleted or made wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from kedge.bench.probes import wording
from kedge.matching import plain
from kedge.model import Entry, SectionName
from kedge.summary import as_entry, entries_of, parse, render
from kedge.summary.items import SECTIONS, Item

MODIFIED: SectionName = "Files Modified"
READ: SectionName = "Files Read (Not Modified)"
ACTIONS = ("created", "modified", "deleted", "renamed")
DELETED = "deleted, not counted"
COUNTED = "deleted, counted as left out"
REASONS = (" (", ". Not taken: ", ". Superseded: ")
"""How what stands behind a decision begins."""

Change = Callable[[str, Random], str | None]
Mutate = Callable[[Sequence[Item], int, Random], list[Item] | None]
"""All items with one of them changed; none where there is nothing to change in this way."""


class Mutation(NamedTuple):
    name: str
    mutate: Mutate
    sections: tuple[SectionName, ...] = SECTIONS
    counted: bool = False
    """The section says that it leaves out one more: it adds up."""


class Mutated(NamedTuple):
    """A text with one thing wrong."""

    mutation: str
    entry: Entry
    """As it stood there."""
    text: str


def mutated(text: str, chance: Random) -> Mutated | None:
    """One section of those that say something, one entry of it, one sort of mutation: all by
    chance. What cannot be made wrong is deleted. None where the text says nothing."""
    items, left_out = parse(text)
    there = sorted({item.section for item in items}, key=SECTIONS.index)
    if not there:
        return None
    section = chance.choice(there)
    place = chance.choice([n for n, item in enumerate(items) if item.section == section])
    wrong = [one for one in MUTATIONS if section in one.sections]
    ways = chance.choice(([CUT], [LEFT_OUT], [*chance.sample(wrong, len(wrong)), CUT]))
    before = _told(entries_of(text))
    for way in ways:
        made = way.mutate(items, place, chance)
        if made is None:
            continue
        one_more = {**left_out, section: left_out.get(section, 0) + 1}
        became = render(made, one_more if way.counted else left_out)
        if _told(entries_of(became)) != before:
            return Mutated(way.name, as_entry(items[place]), became)
    return None


def _told(entries: Sequence[Entry]) -> set[tuple[str, ...]]:
    """What a reader learns: blanks are nothing, nor is what is said twice, nor the turn."""
    return {
        (one.section, plain(one.text), one.action, plain(one.detail), one.topic) for one in entries
    }


def _deleted(items: Sequence[Item], place: int, chance: Random) -> list[Item]:
    return [*items[:place], *items[place + 1 :]]


def _in_text(change: Change) -> Mutate:
    """Somewhere in the words of an entry."""

    def mutate(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
        words = change(items[place].text, chance)
        return _with(items, place, None if words is None else items[place]._replace(text=words))

    return mutate


def _in_detail(change: Change) -> Mutate:
    """In the last cell of a row, or what stands behind a name."""

    def mutate(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
        words = change(items[place].detail, chance)
        return _with(items, place, None if words is None else items[place]._replace(detail=words))

    return mutate


def _in_path(change: Change) -> Mutate:
    def mutate(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
        path, colon, why = items[place].text.partition(": ")
        wrong = change(path, chance)
        text = f"{wrong}{colon}{why}"
        return _with(items, place, None if wrong is None else items[place]._replace(text=text))

    return mutate


def _other_action(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
    others = [one for one in ACTIONS if one != items[place].action]
    return _with(items, place, items[place]._replace(action=chance.choice(others)))


def _exchanged(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
    """What changed in one file is told of another."""
    one = items[place]
    others = [
        n for n, item in enumerate(items) if item.section == MODIFIED and item.detail != one.detail
    ]
    if not others:
        return None
    other = chance.choice(others)
    made = list(items)
    made[place] = one._replace(detail=items[other].detail)
    made[other] = items[other]._replace(detail=one.detail)
    return made


def _moved(items: Sequence[Item], place: int, chance: Random) -> list[Item] | None:
    """A name stands on the line of another file."""
    topics = {item.topic for item in items if item.section == "Index" and item.topic}
    others = sorted(topics - {items[place].topic})
    if not others:
        return None
    return _with(items, place, items[place]._replace(topic=chance.choice(others)))


def _turned(text: str, chance: Random) -> str | None:
    """An open error is told as resolved, a resolved one as open."""
    for word, opposite in (("OPEN: ", "Resolved: "), ("Resolved: ", "OPEN: ")):
        if text.startswith(word):
            return opposite + text.removeprefix(word)
    return None


def _not_begun(text: str, chance: Random) -> str | None:
    begun = " (in progress)"
    return text.removesuffix(begun) if text.endswith(begun) else None


def _no_reason(text: str, chance: Random) -> str | None:
    """A decision without why, or without what was not taken."""
    places = [place for mark in REASONS if (place := text.find(mark)) > 0]
    return text[: min(places)] if places else None


def _with(items: Sequence[Item], place: int, made: Item | None) -> list[Item] | None:
    """With another item in this place; none where there is none, or it is no other."""
    if made is None or made == items[place]:
        return None
    return [*items[:place], made, *items[place + 1 :]]


PROSE: tuple[SectionName, ...] = (
    "Session Intent",
    "Standing Instructions",
    "Decisions Made",
    "Current State",
    "Blockers / Open Questions",
    "Error Context",
    "Next Steps",
)
RUN: tuple[SectionName, ...] = ("Commands", "Current State")
NUMBERED: tuple[SectionName, ...] = (*PROSE, "Commands", "Index")

CUT = Mutation(DELETED, _deleted)
"""Text that was torn: its own counts show it."""
LEFT_OUT = Mutation(COUNTED, _deleted, counted=True)
"""As a renderer drops an entry: only a probe can miss it."""
MUTATIONS = (
    Mutation("one letter of a path", _in_path(wording.other_letter), (MODIFIED, READ)),
    Mutation("another folder", _in_path(wording.other_folder), (MODIFIED, READ)),
    Mutation("another suffix", _in_path(wording.other_suffix), (MODIFIED, READ)),
    Mutation("another action", _other_action, (MODIFIED,)),
    Mutation("last cells exchanged", _exchanged, (MODIFIED,)),
    Mutation("another number", _in_text(wording.other_number), NUMBERED),
    Mutation("another number in the detail", _in_detail(wording.other_number), (MODIFIED, "Index")),
    Mutation("another count", _in_text(wording.other_count), ("Current State",)),
    Mutation("another flag", _in_text(wording.other_flag), RUN),
    Mutation("a flag dropped", _in_text(wording.no_flag), RUN),
    Mutation("another word", _in_text(wording.other_word), (*PROSE, "Commands")),
    Mutation("not dropped", _in_text(wording.no_not), PROSE),
    Mutation(
        "cut short",
        _in_text(wording.cut_short),
        ("Session Intent", "Standing Instructions"),
    ),
    Mutation("reason dropped", _in_text(_no_reason), ("Decisions Made",)),
    Mutation("open and resolved exchanged", _in_text(_turned), ("Error Context",)),
    Mutation("in progress dropped", _in_text(_not_begun), ("Next Steps",)),
    Mutation("a name misspelt", _in_text(wording.one_letter), ("Index",)),
    Mutation("under another file", _moved, ("Index",)),
)
"""How an entry is made wrong, each where it can stand."""
