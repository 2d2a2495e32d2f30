"""What of many texts goes into a budget of tokens: by priority, at the level that fits, never over.

A class has its share, and what the classes above it leave of theirs: nobody loses a share to a
higher one. What is left of all is offered again from the top."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import tee
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from kedgeline.bank.bank import Files, peek
from kedgeline.bank.briefs import brief_128, brief_512, brief_2048, cut_to
from kedgeline.bank.entries import (
    ACTIVE,
    ARCHIVE,
    CHAIN,
    DECISIONS,
    INDEX,
    KNOWN,
    PATTERNS,
    PRODUCT,
    PROGRESS,
    stem,
)
from kedgeline.economy.packing import Packet, block, packet_text
from kedgeline.errors import FileRefused
from kedgeline.files import folder_below
from kedgeline.model import ErrorSeen, Summary, Value
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.tokens import EXACT

Level = Literal["full", "2048", "512", "128"]
LEVELS: tuple[Level, ...] = ("full", "2048", "512", "128")
"""From the text itself to its shortest form (seed 003)."""
ROOM: dict[Level, int] = {"2048": 2_048, "512": 512, "128": 128}
"""Tokens of the levels (seed 003)."""
SHARES = (30, 25, 25, 20)
"""Percent of the budget for P0 to P3 (seed 003)."""
ORDER = {PATTERNS: 0, ACTIVE: 1, DECISIONS + INDEX: 2, DECISIONS: 2, PROGRESS: 2, PRODUCT: 2}
"""Priority by file, in the order they are loaded (seed 003). The seed does not name the product
context: it changes least of all, so it comes behind what is under way."""
SOURCES, HISTORY = 1, 3
"""Priority of source files, and at the least of whatever else is named; of archives, and of files
that the seed does not know: they come where there is room."""
EMPTY, NO_ROOM, ON_DEMAND = "empty", "does not fit", "on demand"
NO_FILE, NO_TEXT = "no such file", "it is not UTF-8 text"
NO_LINK = "it is a symbolic link, and links are not followed"
MADE = "made by kedgeline from other files"
NOT_PLAIN = "it is not a plain file"
OUTSIDE = "it lies outside of the folder that work is done in"
"""Why something is left out."""
MORE = 12
"""Tokens set aside for the line that says how much is not shown."""
MACHINES = (".yml", ".yaml")
"""Endings of the catalog, which is searched and not read."""
PROSE = (".md", ".markdown", ".txt", ".rst")
"""Endings of files that are prose and not code."""
ERRORS = "active errors"

Count = Callable[[str], int]
Text = Callable[[Level], str]


@dataclass(frozen=True)
class Loadable:
    """Something that may be loaded."""

    name: str
    """Where it comes from, as its heading says."""
    priority: int
    """0 to 3."""
    text: Text
    """At a level; asked only where it is needed. An empty one is no level."""
    code: bool = False
    """Whether it stands in a fence."""
    why_not: str = ""
    """Why it is not loaded, whatever the room: on demand, no such file …"""


class LoadedPart(Value, frozen=True):
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
    parts: tuple[LoadedPart, ...]
    left_out: tuple[LeftOut, ...]
    shares: tuple[Share, ...]


class _Block(NamedTuple):
    level: Level
    text: str
    tokens: int


class _Sized:
    """An item with its blocks, made and counted when they are asked for."""

    def __init__(self, item: Loadable, count: Count) -> None:
        self.item = item
        self.why_not = item.why_not or ("" if item.text("full").strip() else EMPTY)
        self._blocks = iter(self._made(count))

    def _made(self, count: Count) -> Iterator[_Block]:
        for level in LEVELS:
            if (said := self.item.text(level)).strip():
                text = block(self.item.name, said, level, code=self.item.code)
                yield _Block(level, text, max(1, count(text)))

    def blocks(self) -> Iterator[_Block]:
        """From the full text down."""
        self._blocks, again = tee(self._blocks)
        return again

    @property
    def whole(self) -> int:
        return next(self.blocks()).tokens


_Choice = tuple[_Sized, _Block | None]
"""An item and what of it is loaded; None where it is left out."""


def load_items(budget: int, items: Sequence[Loadable], count: Count) -> Loaded:
    """As much as fits, in the order of priorities and, within one, as given. Every item is either
    among the parts or among what is left out."""
    sized = [_Sized(item, count) for item in items]
    room = most = max(0, budget)
    while True:
        chosen = _chosen(room, sized)
        text = "".join(made.text for _, made in chosen if made)
        tokens = count(text) if text else 0
        if tokens <= most:
            break
        # Only a counter that finds more in the whole than in its parts comes here.
        room = max(0, room - (tokens - most))
    parts, left_out = [], []
    for row, made in chosen:
        name, priority = row.item.name, row.item.priority
        if made:
            size = {"tokens": made.tokens, "whole": row.whole}
            parts.append(LoadedPart(name=name, priority=priority, level=made.level, **size))
        elif row.why_not:
            left_out.append(LeftOut(name=name, priority=priority, why=row.why_not))
        else:
            size = {"tokens": min(one.tokens for one in row.blocks()), "whole": row.whole}
            left_out.append(LeftOut(name=name, priority=priority, why=NO_ROOM, **size))
    shares = (
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
        shares=tuple(shares),
    )


def _shares(budget: int) -> list[int]:
    return [budget * percent // 100 for percent in SHARES]


def _chosen(budget: int, sized: Sequence[_Sized]) -> list[_Choice]:
    """All items by class, those that are not loaded at all last."""
    classes = [
        [row for row in sized if row.item.priority == number and not row.why_not]
        for number in range(len(SHARES))
    ]
    silent: list[_Choice] = [(row, None) for row in sized if row.why_not]
    if sum(row.whole for rows in classes for row in rows) <= budget:
        return [*((row, next(row.blocks())) for rows in classes for row in rows), *silent]
    return [*(choice for one, _ in _by_class(budget, classes) for choice in one), *silent]


def _by_class(budget: int, classes: Sequence[Sequence[_Sized]]) -> list[tuple[list[_Choice], int]]:
    """Each class has its share and what the ones before it leave; what all of them leave is then
    offered to each again, the highest first."""
    left = 0
    filled = []
    for rows, share in zip(classes, _shares(budget), strict=True):
        filled.append(_filled(rows, share + left))
        left += share - filled[-1][1]
    left = budget - sum(used for _, used in filled)
    for number, rows in enumerate(classes):
        used = filled[number][1]
        filled[number] = _filled(rows, used + left)
        left -= filled[number][1] - used
    return filled


def _filled(rows: Sequence[_Sized], room: int) -> tuple[list[_Choice], int]:
    """Each at the highest level that fits what is left, and what all use. More room never uses
    fewer tokens: the first item that changes takes more than there was before."""
    left = room
    choices: list[_Choice] = []
    for row in rows:
        fits = next((one for one in row.blocks() if one.tokens <= left), None)
        choices.append((row, fits))
        left -= fits.tokens if fits else 0
    return choices, room - left


# Texts with their levels, made when they are asked for.


def summarised(text: str) -> Text:
    """A text of the bank: below it, its briefs."""
    briefs = {"2048": brief_2048, "512": brief_512, "128": brief_128}

    @cache
    def level_of(level: Level) -> str:
        return text if level == "full" else briefs[level](text)

    return level_of


def begun(text: str) -> Text:
    """A text whose beginning says most: code, or a list in the order of weight."""
    lines = text.splitlines()

    @cache
    def level_of(level: Level) -> str:
        return text if level == "full" else _first_lines(lines, ROOM[level])

    return level_of


def _first_lines(lines: list[str], room: int) -> str:
    """As many lines as there is room for, and how many there are in all."""

    def shown(number: int) -> str:
        rest = len(lines) - number
        return "\n".join((*lines[:number], f"… {rest:,} more lines") if rest else lines)

    if not lines or EXACT.count(shown(len(lines))) <= room:
        return shown(len(lines))
    fits = bisect_right(range(len(lines)), room, key=lambda number: EXACT.count(shown(number)))
    if fits > 1:
        return shown(fits - 1)
    more = f"\n… {len(lines) - 1:,} more lines" if len(lines) > 1 else ""
    return cut_to(lines[0], room - MORE) + more


# Which file of a bank has which priority, and what of the history is asked for.


def not_loaded(name: str, why: str, priority: int | None = None) -> Loadable:
    """One that is not loaded, whatever the room."""
    known = ORDER.get(stem(name), HISTORY) if priority is None else priority
    return Loadable(name=name, priority=known, text=lambda level: "", why_not=why)


def bank_items(shelf: Files, redactor: Redactor, *, history: bool) -> Iterator[Loadable]:
    """An item for every file, in the order of priorities."""
    names, places = shelf.names(), list(ORDER)

    def place(name: str) -> tuple[int, str]:
        plain = stem(name)
        return places.index(plain) if plain in ORDER else len(places), name

    for name in sorted(names, key=place):
        try:
            data = shelf.read(name)
            text = redactor.clean((data or b"").decode("utf-8-sig"))
        except FileRefused as error:
            yield not_loaded(name, error.why)
        except UnicodeDecodeError:
            yield not_loaded(name, NO_TEXT)
        else:
            yield _item(name, text, names, history=history)
    links = shelf.links()
    yield from (not_loaded(name, NO_LINK) for name in links)
    there = {stem(name) for name in (*names, *links)}
    yield from (not_loaded(f"{known}.md", NO_FILE) for known in KNOWN if known not in there)


def _item(name: str, text: str, names: Sequence[str], *, history: bool) -> Loadable:
    plain = stem(name)
    if plain.endswith(CHAIN) or name.endswith(MACHINES):
        return not_loaded(name, MADE)
    # archives, and a log that has an index
    if plain.endswith(ARCHIVE) or any(stem(other) == plain + INDEX for other in names):
        if not history:
            return not_loaded(name, ON_DEMAND, HISTORY)
        return Loadable(name=name, priority=HISTORY, text=summarised(text))
    return Loadable(name=name, priority=ORDER.get(plain, HISTORY), text=summarised(text))


# What of a memory bank, of the errors at hand, of a packet and of source files to load.


def load_context(
    budget: int,
    *,
    bank: str | PathLike[str],
    errors: Sequence[str] = (),
    packet: Packet | None = None,
    files: Sequence[str] = (),
    root: str | PathLike[str] = ".",
    history: bool = False,
    count: Callable[[str], int] = EXACT.count,
    redactor: Redactor = REDACTOR,
) -> Loaded:
    """As much as fits so many tokens: P0 errors, packet, systemPatterns; P1 activeContext, source
    files; P2 decisions, progress, productContext; P3 archives, on demand, and any other file.

    A packet may allow less than the budget, and its priority files come along. `files` and those
    lie below the root. `history` brings archives too."""
    items: list[Loadable] = []
    if errors:
        lines = (" ".join(error.split()) for error in errors)
        text = redactor.clean("\n".join(f"- {line}" for line in lines))
        items.append(Loadable(name=ERRORS, priority=0, text=begun(text)))
    if packet:
        name, text = f"delegation packet {packet.packet_id}", redactor.clean(packet_text(packet))
        items.append(Loadable(name=name, priority=0, text=begun(text)))
        budget = min(budget, packet.context_budget.total_tokens or budget)
        files = (*files, *packet.context_budget.priority_files)
    below = Path(root)
    named: dict[Path, str] = {}
    """Files by where they lie, each once, as it was named first."""
    for file in files:
        named.setdefault(below.resolve() / file, file)
    items += _of_bank(Path(bank), named, redactor, history=history)
    items += (file_item(below, name, redactor) for name in named.values())
    return load_items(budget, items, count)


def _of_bank(
    bank: Path, named: dict[Path, str], redactor: Redactor, *, history: bool
) -> Iterator[Loadable]:
    """A file that is named besides comes once: from the bank, and out of `named`, where the bank
    would load it."""
    with peek(bank) as shelf, os.scandir(bank) as found:
        odd = {each.name for each in found if each.name[0] != "." and _is_odd(each)}
        yield from (not_loaded(name, NOT_PLAIN) for name in sorted(odd))
        for item in bank_items(shelf, redactor, history=history):
            path = bank.resolve() / item.name
            if path in named and not item.why_not:
                del named[path]
                yield replace(item, priority=min(item.priority, SOURCES))
            elif path not in named and item.name not in odd:
                yield item


def _is_odd(entry: os.DirEntry[str]) -> bool:
    """A pipe, a socket, a device."""
    plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    return not plain and not entry.is_symlink()


def open_errors(summary: Summary) -> list[str]:
    """Errors of a session that nothing resolved, the newest first, each with its turn."""
    latest = [events[-1] for events in summary.errors.values() if events]
    seen = [event for event in latest if isinstance(event, ErrorSeen)]
    found = []
    for error in sorted(seen, key=lambda one: -one.turn):
        about = f" in {error.about}" if error.about else ""
        where = f" at {', '.join(error.places)}" if error.places else about
        found.append(f"{error.line}{where} (t{error.turn})")
    return found


def file_item(root: Path, name: str, redactor: Redactor) -> Loadable:
    """A source file below the root. Links are not followed: a packet is somebody else's word, and
    must not lead elsewhere."""
    try:
        data = _file_below(root, name)
        text = redactor.clean(data.decode("utf-8-sig")) if data is not None else ""
    except FileRefused as error:
        return not_loaded(name, error.why, SOURCES)
    except UnicodeDecodeError:
        return not_loaded(name, NO_TEXT, SOURCES)
    if data is None:
        return not_loaded(name, NO_FILE, SOURCES)
    is_prose = name.endswith(PROSE)
    said = summarised(text) if is_prose else begun(text)
    return Loadable(name=name, priority=SOURCES, text=said, code=not is_prose)


def _file_below(root: Path, name: str) -> bytes | None:
    path = PurePosixPath(name)
    if path.is_absolute():
        inside = PurePosixPath(root.resolve().as_posix())
        if not path.is_relative_to(inside):
            raise FileRefused(name, OUTSIDE)
        path = path.relative_to(inside)
    *folders, last = path.parts or ("",)
    if not last or ".." in path.parts or "\0" in name:
        raise FileRefused(name, OUTSIDE)
    with folder_below(root, folders) as folder:
        held = folder.read(last) if folder else None
    return held.data if held else None
