"""What of many texts goes into a budget of tokens: by priority, at the level that fits, never over.

A class may use its share, and beyond it what lower classes leave of theirs. So what a class does
not use flows down, what the lower ones cannot use comes up, and it is offered from the top."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from kedge.economy.quoting import block
from kedge.model import Value

Level = Literal["full", "2048", "512", "128"]
LEVELS: tuple[Level, ...] = ("full", "2048", "512", "128")
"""From the text itself to its shortest form (seed 003)."""
SHARES = (30, 25, 25, 20)
"""Percent of the budget for P0 to P3 (seed 003)."""
EMPTY, NO_ROOM, ON_DEMAND = "empty", "does not fit", "on demand"
"""Why something is left out."""

Count = Callable[[str], int]


@dataclass(frozen=True)
class Item:
    """Something that may be loaded."""

    name: str
    """Where it comes from, as its heading says."""
    priority: int
    """0 to 3."""
    text: Callable[[Level], str]
    """At a level; asked only where it is needed. An empty one is no level."""
    code: bool = False
    """Whether it stands in a fence."""
    why_not: str = ""
    """Why it is not loaded, whatever the room: on demand, no such file …"""


class Part(Value, frozen=True):
    """Something that was loaded."""

    name: str
    priority: int
    level: Level
    tokens: int
    """With its heading."""
    whole: int
    """Tokens it has in full."""


class LeftOut(Value, frozen=True):
    name: str
    priority: int
    why: str
    tokens: int = 0
    """Of its shortest form, where that was what did not fit."""
    whole: int = 0
    """Tokens it has in full, where it was counted: what is not wanted is not."""


class Share(Value, frozen=True):
    """What a class of priority came to."""

    priority: int
    share: int
    used: int

    @property
    def flowed(self) -> int:
        """Tokens that came from other classes; below zero, what it left to them or to nobody."""
        return self.used - self.share


class Loaded(Value, frozen=True):
    budget: int
    tokens: int
    """Of the text as it is."""
    text: str
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]
    shares: tuple[Share, ...]


def load(budget: int, items: Sequence[Item], count: Count) -> Loaded:
    """As much as fits, in the order of priorities and, within one, as given. Every item is either
    among the parts or among what is left out."""
    sized = [_Sized(item, count) for item in items]
    room = max(0, budget)
    while True:
        chosen = _chosen(room, sized)
        text = "".join(one.item.blocks[one.rung].text for one in chosen if one.rung is not None)
        tokens = count(text) if text else 0
        if tokens <= max(0, budget):
            return _loaded(budget, room, chosen, text, tokens)
        # Only a counter that finds more in the whole than in its parts comes here.
        room = max(0, room - (tokens - max(0, budget)))


class _Block(NamedTuple):
    level: Level
    text: str
    tokens: int


class _Sized:
    """An item with its blocks, made and counted when they are asked for."""

    def __init__(self, item: Item, count: Count) -> None:
        self.item, self._count = item, count

    @cached_property
    def why_not(self) -> str:
        return self.item.why_not or ("" if self.item.text("full").strip() else EMPTY)

    @property
    def whole(self) -> int:
        return self.blocks[0].tokens

    @cached_property
    def blocks(self) -> _Blocks:
        return _Blocks(self.item, self._count)


class _Blocks:
    """From the full text down, made one by one and kept."""

    def __init__(self, item: Item, count: Count) -> None:
        self._made: list[_Block] = []
        self._more = self._at_levels(item, count)

    def __getitem__(self, rung: int) -> _Block:
        while len(self._made) <= rung:
            self._made.append(next(self._more))
        return self._made[rung]

    def __iter__(self) -> Iterator[_Block]:
        yield from self._made
        for found in self._more:
            self._made.append(found)
            yield found

    def _at_levels(self, item: Item, count: Count) -> Iterator[_Block]:
        for level in LEVELS:
            if (said := item.text(level)).strip():
                text = block(item.name, said, level, code=item.code)
                yield _Block(level, text, max(1, count(text)))


class _Choice(NamedTuple):
    item: _Sized
    rung: int | None
    """Which of its blocks; none where it is left out."""


class _Filled(NamedTuple):
    choices: list[_Choice]
    used: int
    next: int | None
    """The smallest room that holds something else; none where all is there in full."""


def _filled(rows: Sequence[_Sized], room: int) -> _Filled:
    """Each at the highest level that fits what is left. More room never uses fewer tokens: the
    first item that changes takes more than there was before."""
    left, gap = room, None
    choices = []
    for row in rows:
        rung = None
        for number, one in enumerate(row.blocks):
            if one.tokens <= left:
                rung = number
                break
            lacks = one.tokens - left
            gap = lacks if gap is None else min(gap, lacks)
        choices.append(_Choice(row, rung))
        if rung is not None:
            left -= row.blocks[rung].tokens
    return _Filled(choices, room - left, None if gap is None else room + gap)


def _shares(budget: int) -> list[int]:
    return [budget * percent // 100 for percent in SHARES]


def _chosen(budget: int, sized: Sequence[_Sized]) -> list[_Choice]:
    """All items by class, those that are not loaded at all included."""
    classes = [
        [row for row in sized if row.item.priority == number and not row.why_not]
        for number in range(len(SHARES))
    ]
    silent = [_Choice(row, None) for row in sized if row.why_not]
    if sum(row.whole for rows in classes for row in rows) <= budget:
        return [*(_Choice(row, 0) for rows in classes for row in rows), *silent]
    filled = _by_class(budget, classes)
    return [*(choice for one in filled for choice in one.choices), *silent]


def _by_class(budget: int, classes: Sequence[Sequence[_Sized]]) -> Iterator[_Filled]:
    """Each class may take what is left but for the claims of lower ones: what these load from their
    own shares."""
    shares = _shares(budget)
    claims = [
        _filled(rows, share).used for rows, share in zip(classes[1:], shares[1:], strict=True)
    ]
    first = _filled(classes[0], budget - sum(claims))
    if first.next is not None:
        first = _filled(classes[0], _kept_room(budget, classes[1:]))
    yield first
    left = budget - first.used
    for number, rows in enumerate(classes[1:], 1):
        room = max(left - sum(claims[number:]), min(shares[number], left))
        filled = _filled(rows, room)
        left -= filled.used
        yield filled


def _kept_room(budget: int, lower: Sequence[Sequence[_Sized]]) -> int:
    """The most room that this or any smaller budget gives the highest class: where something large
    of a lower one fits its share for the first time, it does not take away what the highest class
    had before. That room is largest just before a claim grows."""
    claims = [_claims(rows, share) for rows, share in zip(lower, _shares(budget)[1:], strict=True)]
    tried = {budget}
    for percent, steps in zip(SHARES[1:], claims, strict=True):
        tried.update((room * 100 - 1) // percent for room, _ in steps if room)

    def room_of(smaller: int) -> int:
        shares = _shares(smaller)[1:]
        return smaller - sum(
            steps[bisect_right(steps, share, key=lambda step: step[0]) - 1][1]
            for steps, share in zip(claims, shares, strict=True)
        )

    return max(room_of(smaller) for smaller in tried if smaller <= budget)


def _claims(rows: Sequence[_Sized], share: int) -> list[tuple[int, int]]:
    """At which rooms up to a share a class begins to use so many tokens."""
    steps, room = [], 0
    while room <= share:
        filled = _filled(rows, room)
        steps.append((room, filled.used))
        if filled.next is None:
            break
        room = filled.next
    return steps


def _left_out(row: _Sized) -> LeftOut:
    item = row.item
    if row.why_not:
        return LeftOut(name=item.name, priority=item.priority, why=row.why_not)
    return LeftOut(
        name=item.name,
        priority=item.priority,
        why=NO_ROOM,
        tokens=min(one.tokens for one in row.blocks),
        whole=row.whole,
    )


def _loaded(budget: int, room: int, chosen: Sequence[_Choice], text: str, tokens: int) -> Loaded:
    parts, left_out = [], []
    for row, rung in chosen:
        item = row.item
        if rung is not None:
            made = row.blocks[rung]
            parts.append(
                Part(
                    name=item.name,
                    priority=item.priority,
                    level=made.level,
                    tokens=made.tokens,
                    whole=row.whole,
                )
            )
            continue
        left_out.append(_left_out(row))
    shares = tuple(
        Share(
            priority=number,
            share=share,
            used=sum(part.tokens for part in parts if part.priority == number),
        )
        for number, share in enumerate(_shares(room))
    )
    return Loaded(
        budget=budget,
        tokens=tokens,
        text=text,
        parts=tuple(parts),
        left_out=tuple(sorted(left_out, key=lambda one: one.priority)),
        shares=shares,
    )
