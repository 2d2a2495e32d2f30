"""What of a memory bank, of the errors at hand, of a packet and of source files to load."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path, PurePosixPath

from kedge.bank.files import peek
from kedge.economy.levels import begun, summarised
from kedge.economy.loading import Item, Loaded, load
from kedge.economy.packets import Packet, packet_text
from kedge.economy.shelves import NO_FILE, NO_TEXT, Asked, bank_items, silent
from kedge.errors import FileRefused
from kedge.guarded_files import folder_below
from kedge.model import ErrorSeen, Summary
from kedge.redaction import REDACTOR, Redactor
from kedge.tokens import EXACT

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
