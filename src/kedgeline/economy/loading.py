"""What of many texts goes into a budget of tokens: by priority, at the level that fits, never over.

A class has its share, and what the classes above it leave of theirs: nobody loses a share to a
higher one. What is left of all is offered again from the top."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, Protocol

import msgspec

from kedgeline.bank.archive import archived
from kedgeline.bank.briefs import brief_128, brief_512, brief_2048, cut_to
from kedgeline.bank.documents import understood
from kedgeline.bank.files import peek
from kedgeline.bank.values import (
    ACTIVE,
    ARCHIVE,
    CHAIN,
    DECISIONS,
    INDEX,
    KNOWN,
    PATTERNS,
    PRODUCT,
    PROGRESS,
    Entry,
    stem,
)
from kedgeline.economy.packing import Packet, block, packet_text
from kedgeline.errors import FileRefused
from kedgeline.files import folder_below
from kedgeline.model import ErrorSeen, Summary, ToolCall, ToolResult, Turn, Value
from kedgeline.model import Text as PartsText
from kedgeline.redaction import REDACTOR, Redactor
from kedgeline.tokens import EXACT, Counter, counter_for, media_tokens, text_tokens

# How large the pieces of a turn are, in tokens of its model.


class CallSize(NamedTuple):
    id: str
    tool: str
    written: int
    """To write the call: its name and parameters."""
    brought: int
    """Into the context, by its result."""


class Sizes(NamedTuple):
    words: int
    """What came before the answer: the user's words, notes, system messages, media."""
    written: int
    """By the assistant: words, thinking and calls."""
    calls: tuple[CallSize, ...]
    """Results without a call are among the last one's, if there is any."""
    brought: int
    """By all results."""

    @property
    def total(self) -> int:
        return self.words + self.written + self.brought


def sizes_of(turn: Turn) -> Sizes:
    counter = counter_for(turn.model)
    results: dict[str, int] = {}
    for result in turn.tool_results:
        results[result.call_id] = results.get(result.call_id, 0) + _brought(result, counter)
    brought = sum(results.values())
    calls = tuple(
        CallSize(call.id, call.tool, _written(call, counter), results.pop(call.id, 0))
        for call in turn.tool_calls
    )
    said = text_tokens(turn.assistant_response, counter) + text_tokens(turn.thinking, counter)
    return Sizes(
        words=_words(turn, counter),
        written=said + sum(call.written for call in calls),
        calls=calls,
        brought=brought,
    )


def _words(turn: Turn, counter: Counter) -> int:
    system = (message for message in turn.messages if message.role == "system")
    texts = [part.text for m in system for part in m.parts if isinstance(part, PartsText)]
    texts += [turn.user_message, *(note.text for note in turn.notes)]
    media = sum(media_tokens(one) for one in turn.media)
    return media + sum(text_tokens(text, counter) for text in texts)


def _written(call: ToolCall, counter: Counter) -> int:
    parameters = msgspec.json.encode(call.parameters).decode()
    return counter.count(call.tool) + text_tokens(parameters, counter)


def _brought(result: ToolResult, counter: Counter) -> int:
    return text_tokens(result.output, counter) + sum(media_tokens(one) for one in result.media)


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
        text = "".join(one.block.text for one in chosen if one.block)
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
        self.item = item
        self._made: list[_Block] = []
        self._more = self._at_levels(count)

    @cached_property
    def why_not(self) -> str:
        return self.item.why_not or ("" if self.item.text("full").strip() else EMPTY)

    @property
    def whole(self) -> _Block:
        return next(self.blocks())

    def blocks(self) -> Iterator[_Block]:
        """From the full text down."""
        yield from self._made
        for made in self._more:
            self._made.append(made)
            yield made

    def _at_levels(self, count: Count) -> Iterator[_Block]:
        for level in LEVELS:
            if (said := self.item.text(level)).strip():
                text = block(self.item.name, said, level, code=self.item.code)
                yield _Block(level, text, max(1, count(text)))


class _Choice(NamedTuple):
    item: _Sized
    block: _Block | None
    """None where it is left out."""


class _Filled(NamedTuple):
    choices: list[_Choice]
    used: int


def _filled(rows: Sequence[_Sized], room: int) -> _Filled:
    """Each at the highest level that fits what is left. More room never uses fewer tokens: the
    first item that changes takes more than there was before."""
    left = room
    choices = []
    for row in rows:
        fits = next((one for one in row.blocks() if one.tokens <= left), None)
        choices.append(_Choice(row, fits))
        left -= fits.tokens if fits else 0
    return _Filled(choices, room - left)


def _shares(budget: int) -> list[int]:
    return [budget * percent // 100 for percent in SHARES]


def _chosen(budget: int, sized: Sequence[_Sized]) -> list[_Choice]:
    """All items by class, those that are not loaded at all included."""
    classes = [
        [row for row in sized if row.item.priority == number and not row.why_not]
        for number in range(len(SHARES))
    ]
    silent = [_Choice(row, None) for row in sized if row.why_not]
    if sum(row.whole.tokens for rows in classes for row in rows) <= budget:
        return [*(_Choice(row, row.whole) for rows in classes for row in rows), *silent]
    filled = _by_class(budget, classes)
    return [*(choice for one in filled for choice in one.choices), *silent]


def _by_class(budget: int, classes: Sequence[Sequence[_Sized]]) -> list[_Filled]:
    """Each class has its share and what the ones before it leave; what all of them leave is then
    offered to each again, the highest first."""
    left = 0
    filled = []
    for rows, share in zip(classes, _shares(budget), strict=True):
        filled.append(_filled(rows, share + left))
        left += share - filled[-1].used
    left = budget - sum(one.used for one in filled)
    for number, rows in enumerate(classes):
        used = filled[number].used
        filled[number] = _filled(rows, used + left)
        left -= filled[number].used - used
    return filled


def _left_out(row: _Sized) -> LeftOut:
    item = row.item
    if row.why_not:
        return LeftOut(name=item.name, priority=item.priority, why=row.why_not)
    return LeftOut(
        name=item.name,
        priority=item.priority,
        why=NO_ROOM,
        tokens=min(one.tokens for one in row.blocks()),
        whole=row.whole.tokens,
    )


def _loaded(budget: int, room: int, chosen: Sequence[_Choice], text: str, tokens: int) -> Loaded:
    parts = [
        Part(
            name=row.item.name,
            priority=row.item.priority,
            level=made.level,
            tokens=made.tokens,
            whole=row.whole.tokens,
        )
        for row, made in chosen
        if made
    ]
    left_out = [_left_out(row) for row, made in chosen if not made]
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


# Texts with their levels, made when they are asked for.

Text = Callable[[Level], str]

ROOM: dict[Level, int] = {"2048": 2_048, "512": 512, "128": 128}
"""Tokens of the levels (seed 003)."""
MORE = 12
"""Tokens set aside for the line that says how much is not shown."""


def summarised(text: str, title: str = "") -> Text:
    """A text of the bank: below it, its briefs."""
    briefs = {"2048": brief_2048, "512": brief_512, "128": brief_128}

    @cache
    def level_of(level: Level) -> str:
        return text if level == "full" else briefs[level](text, title=title)

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

    if EXACT.count(shown(len(lines))) <= room:
        return shown(len(lines))
    fits = bisect_right(range(len(lines)), room, key=lambda number: EXACT.count(shown(number)))
    number = max(0, fits - 1)  # the search has counted it, whatever lies between
    if number or not lines:
        return shown(number) if lines else ""
    begun_line = cut_to(lines[0], room - MORE)
    more = f"\n… {len(lines) - 1:,} more lines" if len(lines) > 1 else ""
    return begun_line + more


# Which file of a bank has which priority, and what of the history is asked for.

ORDER = {
    PATTERNS: 0,
    ACTIVE: 1,
    DECISIONS + INDEX: 2,
    DECISIONS: 2,
    PROGRESS: 2,
    PRODUCT: 2,
}
"""Priority by file, in the order they are loaded (seed 003). The seed does not name the product
context: it changes least of all, so it comes behind what is under way."""
HISTORY = 3
"""Priority of archives, and of files that the seed does not know: they come where there is room."""
NO_FILE, NO_TEXT = "no such file", "it is no UTF-8 text"
NO_LINK = "it is a symbolic link, and links are not followed"
MADE = "made by kedgeline from other files"
MATCHES = 50
"""Entries of one file that words bring at the most: each is read, shortened and counted, and more
would fit no share."""
MACHINES = (".yml", ".yaml")
"""Endings of the catalog, which is searched and not read."""


class Shelf(Protocol):
    """The files of a bank."""

    def names(self) -> list[str]: ...

    def links(self) -> list[str]: ...

    def read(self, name: str) -> bytes | None: ...


class Asked(NamedTuple):
    """What of the history is wanted."""

    words: tuple[str, ...] = ()
    """Only what has these."""
    all: bool = False


def silent(name: str, why: str, priority: int | None = None) -> Item:
    """One that is not loaded, whatever the room."""
    known = _priority(stem(name)) if priority is None else priority
    return Item(name=name, priority=known, text=lambda level: "", why_not=why)


def bank_items(shelf: Shelf, asked: Asked, redactor: Redactor) -> Iterator[Item]:
    """An item for every file, in the order of priorities; for the history also its entries that
    match."""
    names = shelf.names()
    for name in sorted(names, key=lambda name: (_place(stem(name)), name)):
        try:
            data = shelf.read(name)
            text = redactor.clean((data or b"").decode("utf-8-sig"))
        except FileRefused as error:
            yield silent(name, error.why)
        except UnicodeDecodeError:
            yield silent(name, NO_TEXT)
        else:
            yield from _items(name, text, names, asked, redactor)
    links = shelf.links()
    yield from (silent(name, NO_LINK) for name in links)
    there = {stem(name) for name in (*names, *links)}
    for missing in KNOWN:
        if missing not in there:
            yield silent(f"{missing}.md", NO_FILE)


def _items(
    name: str, text: str, names: Sequence[str], asked: Asked, redactor: Redactor
) -> Iterator[Item]:
    if stem(name).endswith(CHAIN) or name.endswith(MACHINES):
        yield silent(name, MADE)
    elif not _looked_up(name, names) or (asked.all and not asked.words):
        priority = HISTORY if _looked_up(name, names) else _priority(stem(name))
        yield Item(name=name, priority=priority, text=summarised(text))
    elif not asked.words:
        yield silent(name, ON_DEMAND, HISTORY)
    else:
        entries = list(_entries(name, text))
        matching = _matching(entries, asked.words)
        why = f"{ON_DEMAND}: {len(matching):,} of its {len(entries):,} entries match"
        more = f", the newest {MATCHES} may come" if len(matching) > MATCHES else ""
        yield silent(name, why + more, HISTORY)
        for entry in matching[:MATCHES]:
            said = redactor.clean(entry.text)
            label = f"{name}: {_called(entry)}"
            yield Item(name=label, priority=HISTORY, text=summarised(said, entry.title))


def _looked_up(name: str, names: Sequence[str]) -> bool:
    """Archives, and a log that has an index."""
    plain = stem(name)
    return plain.endswith(ARCHIVE) or any(stem(other) == plain + INDEX for other in names)


def _entries(name: str, text: str) -> Iterator[Entry]:
    """Of a log, or of the blocks of an archive, each as the file it came from has them. What cannot
    be read as such is one entry."""
    data = text.encode()
    archive = stem(name).endswith(ARCHIVE)
    for document in archived(name, data) if archive else [understood(name, data)]:
        yield from list(document.entries()) or [Entry(text=document.text, line=1)]


def _called(entry: Entry) -> str:
    date = entry.at.date().isoformat() if entry.at else f"line {entry.line}"
    return " ".join(filter(None, (entry.id, entry.title))) or f"{date} {entry.agent}".strip()


def _matching(entries: Sequence[Entry], words: Sequence[str]) -> list[Entry]:
    """Those with all words, where none has all those with most; the newest first."""
    wanted = {word.casefold() for word in words}
    hits = [sum(word in entry.text.casefold() for word in wanted) for entry in entries]
    most = max(hits, default=0)
    found = [entry for entry, hit in zip(entries, hits, strict=True) if hit and hit == most]
    return sorted(found, key=lambda entry: -entry.at.timestamp() if entry.at else 0.0)


def _priority(plain: str) -> int:
    return ORDER.get(plain, HISTORY)


def _place(plain: str) -> int:
    """Where it comes among all files."""
    return list(ORDER).index(plain) if plain in ORDER else len(ORDER)


# What of a memory bank, of the errors at hand, of a packet and of source files to load.

ERRORS = "active errors"
PROSE = (".md", ".markdown", ".txt", ".rst")
"""Endings of files that are prose and not code."""
SOURCES = 1
"""Priority of source files, and at the least of whatever else is named."""
NOT_PLAIN = "it is no plain file"
OUTSIDE = "it lies outside of the folder that work is done in"


def load_context(
    budget: int,
    *,
    bank: str | PathLike[str],
    errors: Sequence[str] = (),
    packet: Packet | None = None,
    files: Sequence[str] = (),
    root: str | PathLike[str] = ".",
    wanted: str = "",
    history: bool = False,
    count: Callable[[str], int] = EXACT.count,
    redactor: Redactor = REDACTOR,
) -> Loaded:
    """As much as fits so many tokens: P0 errors, packet, systemPatterns; P1 activeContext, source
    files; P2 decisions, progress, productContext; P3 archives, on demand, and any other file.

    A packet may allow less than the budget, and its priority files come along. `files` and those
    lie below the root. `wanted` words bring the entries of archives that match, `history` brings
    archives as a whole."""
    asked = Asked(words=tuple(wanted.split()), all=history)
    allowed = packet.context_budget.total_tokens if packet else None
    items = [*error_items(errors, redactor), *packet_items(packet, redactor)]
    named = _named(Path(root), (*files, *(packet.context_budget.priority_files if packet else ())))
    items += _of_bank(Path(bank), named, asked, redactor)
    items += (file_item(Path(root), name, redactor) for name in named.values())
    return load(min(budget, allowed) if allowed else budget, items, count)


def _of_bank(
    bank: Path, named: dict[Path, str], asked: Asked, redactor: Redactor
) -> Iterator[Item]:
    """A file that is named besides comes once: from the bank, and out of `named`, where the bank
    would load it."""
    with peek(bank) as shelf, os.scandir(bank) as found:
        odd = {each.name for each in found if not each.name.startswith(".") and _is_odd(each)}
        yield from (silent(name, NOT_PLAIN) for name in sorted(odd))
        for item in bank_items(shelf, asked, redactor):
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


def _named(root: Path, names: Iterable[str]) -> dict[Path, str]:
    """Files by where they lie, each once, as it was named first."""
    found: dict[Path, str] = {}
    for name in names:
        found.setdefault(root.resolve() / name, name)
    return found


def open_errors(summary: Summary) -> list[str]:
    """Errors of a session that nothing resolved, the newest first, each with its turn."""
    latest = [events[-1] for events in summary.errors.values() if events]
    seen = sorted(
        (event for event in latest if isinstance(event, ErrorSeen)), key=lambda one: -one.turn
    )
    return [_error_line(event) for event in seen]


def error_items(errors: Sequence[str], redactor: Redactor) -> Iterator[Item]:
    if errors:
        lines = (" ".join(error.split()) for error in errors)
        text = redactor.clean("\n".join(f"- {line}" for line in lines))
        yield Item(name=ERRORS, priority=0, text=begun(text))


def packet_items(packet: Packet | None, redactor: Redactor) -> Iterator[Item]:
    if packet:
        text = redactor.clean(packet_text(packet))
        yield Item(name=f"delegation packet {packet.packet_id}", priority=0, text=begun(text))


def file_item(root: Path, name: str, redactor: Redactor) -> Item:
    """A source file below the root. Links are not followed: a packet is somebody else's word, and
    must not lead elsewhere."""
    try:
        data = _file_below(root, name)
    except FileRefused as error:
        return silent(name, error.why, SOURCES)
    if data is None:
        return silent(name, NO_FILE, SOURCES)
    try:
        text = redactor.clean(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return silent(name, NO_TEXT, SOURCES)
    if name.endswith(PROSE):
        return Item(name=name, priority=SOURCES, text=summarised(text))
    return Item(name=name, priority=SOURCES, text=begun(text), code=True)


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


def _error_line(error: ErrorSeen) -> str:
    where = f" at {', '.join(error.places)}" if error.places else ""
    about = f" in {error.about}" if error.about and not error.places else ""
    return f"{error.line}{where}{about} (t{error.turn})"
