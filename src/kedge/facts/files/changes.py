"""What an edit changed, in a few words, from the edit itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from kedge.facts.files.edits import Piece
from kedge.facts.files.lines import in_body, quoted, small_change
from kedge.facts.files.symbols import RANKS, Symbol, is_data, is_prose, symbols_in
from kedge.sentences import cut, one_line

WHAT_MOST = 160
"""Characters of a description: a cell of a table."""
NAMES_MOST = 5
"""Names in one list; the rest is counted."""
NAME_MOST = 60
VALUE_MOST = 40
LINES_WITHIN = 1_000_000
"""Characters of a text whose lines are counted."""
_SIGNATURE = re.compile(r"\b(?:func|function|def|fn|fun)\b|=>|\)[^=;]{0,60}\{$")
"""A definition that takes arguments."""
_IS_SET = re.compile(r"^[^:]{0,80}=")


class Change(NamedTuple):
    what: str = ""
    added: int = 0
    """Lines."""
    removed: int = 0


class _Differences(NamedTuple):
    added: list[Symbol]
    removed: list[Symbol]
    changed: list[Symbol]
    renamed: list[tuple[Symbol, Symbol]]


def change_of(path: str, pieces: Sequence[Piece], *, created: bool = False) -> Change:
    """What the pieces of one edit did to a file."""
    if not pieces:
        return Change()
    if created or pieces[-1].whole:
        text = "\n".join(piece.new for piece in pieces)
        told = _contents(path, text) or "empty"
        lines = _count(text) if created else 0
        return Change(cut(told if created else f"rewritten: {told}", WHAT_MOST), lines)
    added = removed = 0
    for piece in pieces:
        more, less = _counted(piece)
        added, removed = added + more, removed + (0 if piece.blind else less)
    return Change(cut(_told(path, pieces), WHAT_MOST), added, removed)


def _told(path: str, pieces: Sequence[Piece]) -> str:
    old = "\n".join(piece.old for piece in pieces)
    new = "\n".join(piece.new for piece in pieces)
    if all(piece.blind for piece in pieces):
        names = _names(_main(symbols_in(new, path)))
        return f"puts in {names}" if names else quoted(new, prose=is_prose(path))
    if old.split() == new.split():
        return "blank space only" if old != new else ""
    before, behind = symbols_in(old, path), symbols_in(new, path)
    differences = _differences(before, behind)
    parts = _listed(differences)
    if is_data(path):
        return (
            _value_changed(before, differences)
            or small_change(old, new)
            or parts
            or in_body(path, old, new)
        )
    if parts and not _only_imports(differences):
        return parts
    imports = {symbol.line for symbol in (*before, *behind) if symbol.kind == "import"}
    body = in_body(path, _without(old, imports), _without(new, imports))
    return "; ".join(filter(None, (body, parts))) or small_change(old, new)


def _without(text: str, lines: Collection[str]) -> str:
    if not lines:
        return text
    return "\n".join(line for line in text.splitlines() if " ".join(line.split()) not in lines)


def _value_changed(before: Sequence[Symbol], differences: _Differences) -> str:
    """Of a file of keys: the one key that has another value, with both."""
    if len(differences.changed) != 1 or differences.added or differences.removed:
        return ""
    (now,) = differences.changed
    (was,) = (symbol for symbol in before if symbol.name == now.name)
    values = [_value(symbol) for symbol in (was, now)]
    if not all(values):
        return ""
    return f"{_name(now)}: {values[0]} → {values[1]}"


def _value(symbol: Symbol) -> str:
    _, _, value = symbol.line[symbol.line.find(symbol.name) + len(symbol.name) :].partition(
        "=" if _IS_SET.search(symbol.line) else ":"
    )
    return cut(value.strip(" ,"), VALUE_MOST)


def _differences(before: Sequence[Symbol], behind: Sequence[Symbol]) -> _Differences:
    old = {symbol.name: symbol for symbol in before}
    new = {symbol.name: symbol for symbol in behind}
    added = [symbol for name, symbol in new.items() if name not in old]
    removed = [symbol for name, symbol in old.items() if name not in new]
    changed = [
        symbol for name, symbol in new.items() if name in old and _line(old[name]) != _line(symbol)
    ]
    renamed = [
        (gone, came)
        for gone in removed
        for came in added
        if gone.kind == came.kind and gone.line.replace(gone.name, came.name, 1) == came.line
    ]
    if len(renamed) == 1:
        ((gone, came),) = renamed
        added.remove(came)
        removed.remove(gone)
    return _Differences(added, removed, changed, renamed if len(renamed) == 1 else [])


def _line(symbol: Symbol) -> str:
    """Its line without the comma that only tells whether another one follows."""
    return symbol.line.rstrip(",")


def _listed(differences: _Differences) -> str:
    parts = [f"renames {_name(gone)} to {_name(came)}" for gone, came in differences.renamed]
    types = {symbol.name for symbol in differences.added}
    told = [
        symbol
        for symbol in differences.added
        if symbol.kind != "import" and not (symbol.kind == "field" and symbol.owner in types)
    ]
    if told:
        parts.append(f"adds {_names(told)}")
    gone = [symbol for symbol in differences.removed if symbol.kind != "import"]
    if gone:
        parts.append(f"removes {_names(gone)}")
    if changed := [symbol for symbol in differences.changed if symbol.kind != "import"]:
        own = all(_SIGNATURE.search(symbol.line) for symbol in changed)
        parts.append(f"changes {_names(changed)}{' (signature)' if own else ''}")
    if imports := [symbol for symbol in differences.added if symbol.kind == "import"]:
        parts.append(f"imports {_names(imports)}")
    elif dropped := [symbol for symbol in differences.removed if symbol.kind == "import"]:
        parts.append(f"no longer imports {_names(dropped)}")
    return "; ".join(parts)


def _only_imports(differences: _Differences) -> bool:
    told = (*differences.added, *differences.removed, *differences.changed)
    return not differences.renamed and all(symbol.kind == "import" for symbol in told)


def _contents(path: str, text: str) -> str:
    """The main names of a whole file."""
    symbols = symbols_in(text, path)
    return _names(_main(symbols)) or quoted(text, prose=is_prose(path))


def _main(symbols: Iterable[Symbol]) -> list[Symbol]:
    """What a file is about: not what it imports, and fields and keys only where there is nothing
    else."""
    told = [symbol for symbol in symbols if symbol.kind != "import"]
    most = min((RANKS[symbol.kind] for symbol in told), default=0)
    return [symbol for symbol in told if RANKS[symbol.kind] <= max(most, 1)]


def _names(symbols: Sequence[Symbol]) -> str:
    ordered = sorted(symbols, key=lambda symbol: RANKS[symbol.kind])
    shown = [_name(symbol) for symbol in ordered[:NAMES_MOST]]
    more = len(ordered) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _name(symbol: Symbol) -> str:
    name = cut(one_line(symbol.name), NAME_MOST)
    if symbol.kind == "heading" or " " in name:
        return f"“{name}”"
    return f"`{symbol.owner}.{name}`" if symbol.owner else f"`{name}`"


def _count(text: str) -> int:
    return len(text[:LINES_WITHIN].splitlines())


def _counted(piece: Piece) -> tuple[int, int]:
    """Lines that came and lines that went."""
    old, new = piece.old[:LINES_WITHIN].splitlines(), piece.new[:LINES_WITHIN].splitlines()
    left, stayed = Counter(old), 0
    for line in new:
        if left.get(line, 0) > 0:
            left[line] -= 1
            stayed += 1
    return len(new) - stayed, len(old) - stayed
