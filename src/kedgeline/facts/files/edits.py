"""The text before and behind an edit, out of the parameters of every agent's tools."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from kedgeline.facts.files.symbols import RANKS, TEXT_WITHIN, Symbol, is_data, is_prose, symbols_in
from kedgeline.model import ToolCall
from kedgeline.model.catalogue import patch_in
from kedgeline.text.prose import cut, one_line

MOST_PIECES = 100
"""Pieces looked at in one call; agents send a handful."""

PAIRS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("old_str", "new_str"),
    ("search", "replace"),
    ("find", "replace"),
)
LISTS = ("edits", "replacements", "changes")
WHOLE = ("content", "file_text", "contents", "text", "code", "body")
"""Parameters that hold all of a file that is written."""
ONLY_NEW = ("replacement_text", "new_str", "insert_text", "text", "new_source", "code_edit", "code")
"""Parameters that hold what an edit puts in where it does not say what it takes out."""
_BLOCK = re.compile(
    r"^<{5,9} ?(?:SEARCH|ORIGINAL)[^\n]*\n(.*?)^={5,9}[ ]*\n(.*?)^>{5,9} ?(?:REPLACE|UPDATED)",
    re.MULTILINE | re.DOTALL,
)
_PATCH_FILE = re.compile(
    r"^\*\*\* (?P<kind>Add File|Update File|Delete File): (?P<path>.+?)\s*$", re.MULTILINE
)
_MOVED = "*** Move to: "


class Piece(NamedTuple):
    old: str
    new: str
    whole: bool = False
    """The new text is all of the file; what was there before is not known."""
    blind: bool = False
    """What was taken out is not known."""


def pieces_of(call: ToolCall, path: str) -> list[Piece]:
    """What one call changes in the file it names so."""
    patch = patch_in(call.parameters)
    found = _in_patch(patch, path) if patch else _in_parameters(call.parameters, call.verb)
    return [piece for piece, _ in zip(found, range(MOST_PIECES), strict=False)]


def _in_parameters(given: Mapping[str, Any], verb: str) -> Iterator[Piece]:
    if verb == "write":
        yield from (Piece("", text, whole=True) for text in _first(given, WHOLE))
        return
    pairs = pairs_in(given)
    if not pairs and isinstance(diff := given.get("diff"), str):
        pairs = [Piece(*found) for found in _BLOCK.findall(diff)]
    if not pairs:
        pairs = [Piece("", text, blind=True) for text in _first(given, ONLY_NEW)]
    yield from pairs


def pairs_in(given: Mapping[str, Any]) -> list[Piece]:
    """The old and new texts that parameters hold, one or several."""
    pairs = list(_pairs(given))
    for name in LISTS:
        if isinstance(items := given.get(name), (list, tuple)):
            pairs += [pair for item in items if isinstance(item, dict) for pair in _pairs(item)]
    return pairs


def _pairs(given: Mapping[str, Any]) -> Iterator[Piece]:
    for before, behind in PAIRS:
        old, new = given.get(before), given.get(behind)
        if isinstance(old, str) and isinstance(new, str):
            yield Piece(old, new)
            return


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if isinstance(text := given.get(name), str):
            yield text
            return


def _in_patch(patch: str, path: str) -> Iterator[Piece]:
    """The hunks of one file in an `apply_patch` text."""
    headers = list(_PATCH_FILE.finditer(patch))
    for place, header in enumerate(headers):
        end = headers[place + 1].start() if place + 1 < len(headers) else len(patch)
        lines = patch[header.end() : end].split("\n")
        moved = next((line for line in lines[:3] if line.startswith(_MOVED)), "")
        named = moved.removeprefix(_MOVED).strip() or header["path"]
        if path != named and not path.endswith(f"/{named}"):
            continue
        new = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
        if header["kind"] == "Add File":
            yield Piece("", new, whole=True)
        elif header["kind"] == "Update File":
            yield Piece("\n".join(line[1:] for line in lines if line[:1] in ("-", " ")), new)


# A change that defines nothing new: told by the lines that differ.

SMALL = 60
"""Characters up to which a replaced bit is shown as it is."""
QUOTED_MOST = 90
NAMES_MOST = 4
COMPARED = 2
"""Edits whose differing lines are kept: each way of telling one asks for them again."""
LINES_COMPARED = 8
"""Lines of code among which the most telling one is looked for."""

_STRING = re.compile(r"""(["'])(?![\w.$-]{1,60}\1)[^"'\n]{0,400}\1""")
"""A string that is no name by itself: what is in it is no identifier."""
_NAME = r"[A-Za-z_$](?<![\w\\#][A-Za-z_$])[\w$]*(?:\.[A-Za-z_$][\w$]*)*"
_NAMES = re.compile(_NAME)
_IDENTIFIER = re.compile(rf"{_NAME}(?P<called>\()?")
_COMMENT = re.compile(r"^\s*(?://|#(?!include|define)|/?\*|--|<!--|\"\"\"|;)")
_TELLING = re.compile(r"[a-z][A-Z]|_|\.|\d|^[A-Z]{3}")
_KEYWORDS = re.compile(
    r"if|else|elif|for|while|switch|case|return|func|function|def|class|const|let|var|import|from"
    r"|export|default|async|await|new|try|catch|except|finally|raise|throw|with|not|and|None|True"
    r"|False|true|false|null|nil|self|this|string|int|bool|error|err|float|range|len|make|append"
    r"|print|printf|println|str|list|dict|map|type|struct|interface|fmt|lambda|yield|pass|break"
    r"|continue|static|public|private|protected|void|final"
)
"""Words of languages, and what every program has."""
_OWN = re.compile(r"^(?:this|self|cls)\.")
_EDGES = " ,;"
"""What hangs on to a bit that was put between others."""
_ALNUM = re.compile(r"[^\W_]")
_WORD = re.compile(r"[\w./-]")


class Lines(NamedTuple):
    """Lines that stand on one side only, in their order."""

    old: tuple[str, ...]
    new: tuple[str, ...]


def differing(old: str, new: str) -> Lines:
    return _differing(old[:TEXT_WITHIN], new[:TEXT_WITHIN])


@lru_cache(maxsize=COMPARED)
def _differing(old: str, new: str) -> Lines:
    before, behind = old.splitlines(), new.splitlines()
    left, right = [*map(str.strip, before)], [*map(str.strip, behind)]
    return Lines(_only(before, left, right), _only(behind, right, left))


def _only(lines: Sequence[str], keys: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Lines, known by their keys, beyond those that the others have as well."""
    left = Counter(others)
    found = []
    for line, key in zip(lines, keys, strict=True):
        if left.get(key, 0) > 0:
            left[key] -= 1
        elif key:
            found.append(line)
    return tuple(found)


def in_body(path: str, old: str, new: str) -> str:
    """What changed inside of what is defined: a small bit as it is, else the names that came."""
    told = small_change(old, new) or _told_by_names(path, old, new)
    where = _where(path, new, differing(old, new).new) if told else ""
    return f"in {where}: {told}" if where else told


def small_change(old: str, new: str) -> str:
    """The one bit that was replaced, where it is one and short."""
    lines = differing(old, new)
    if len(lines.old) > 1 or len(lines.new) > 1:
        return ""
    before, behind = one_line("".join(lines.old)), one_line("".join(lines.new))
    if before and behind:
        before, behind = _apart(before, behind)
    if len(before) > SMALL or len(behind) > SMALL or not _ALNUM.search(before + behind):
        return ""
    if before and behind:
        return f"`{before}` → `{behind}`"
    return f"adds `{behind.strip(_EDGES)}`" if behind else f"removes `{before.strip(_EDGES)}`"


def _apart(before: str, behind: str) -> tuple[str, str]:
    """Two lines without what both begin and end with, words kept whole."""
    start = _shared(before, behind)
    while start and _WORD.match(before[start - 1]):
        start -= 1
    before, behind = before[start:], behind[start:]
    end = _shared(before[::-1], behind[::-1])
    while end and _WORD.match(before[len(before) - end]):
        end -= 1
    cut_off = -end or None
    return before[:cut_off].strip(), behind[:cut_off].strip()


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _told_by_names(path: str, old: str, new: str) -> str:
    lines = differing(old, new)
    came = [line for line in lines.new if not _COMMENT.match(line)]
    went = [line for line in lines.old if not _COMMENT.match(line)]
    prose = is_prose(path)
    if prose or not (came or went):
        text = "\n".join(lines.new)
        return quoted(text, prose=True) if text else _gone(lines.old, prose=True)
    now, before = _identifiers(came, known=old), _identifiers(went, known=new)
    if now and before:
        return f"with {_listed(now)} instead of {_listed(before)}"
    if now or before:
        return f"with {_listed(now)}" if now else f"without {_listed(before)}"
    return quoted("\n".join(came)) if came else _gone(went)


def _identifiers(lines: Iterable[str], known: str) -> list[str]:
    """Telling names of some lines that the other text does not have: a project's own before those
    of libraries, which mostly have a point, and what is called before the rest."""
    before = set(_NAMES.findall(known[:TEXT_WITHIN]))
    ranks: dict[str, int] = {}
    for line in lines:
        for found in _IDENTIFIER.finditer(_STRING.sub(" ", line)):
            name, called = found[0].rstrip("("), found["called"] is not None
            if name in before or _KEYWORDS.fullmatch(name) or not 3 <= len(name) <= SMALL:
                continue
            if called or _TELLING.search(name):
                rank = 2 * ("." in _OWN.sub("", name)) + (not called)
                ranks[name] = min(rank, ranks.get(name, rank))
    return sorted(ranks, key=ranks.__getitem__)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_MOST
    shown = ", ".join(f"`{name}`" for name in names[:NAMES_MOST])
    return f"{shown} and {more} more" if more > 0 else shown


def _where(path: str, new: str, lines: Sequence[str]) -> str:
    """The definition around the first line that came."""
    place = new.find(lines[0]) if lines else -1
    kinds = ("symbol", "test", "heading")
    around = [
        symbol
        for symbol in symbols_in(new, path)
        if symbol.start <= place and symbol.kind in kinds and symbol.line != one_line(lines[0])
    ]
    if not around:
        return ""
    name = cut(one_line(around[-1].name), SMALL)
    return f"“{name}”" if " " in name else f"`{name}`"


def _gone(lines: Sequence[str], *, prose: bool = False) -> str:
    text = quoted("\n".join(lines), prose=prose)
    return f"removes {text}" if text else ""


def quoted(text: str, *, prose: bool = False) -> str:
    """A line of a text that says something, in quotation marks: of prose the first, of code the
    longest of the first few."""
    lines = text[:TEXT_WITHIN].splitlines()
    telling = [line for line in lines if any(character.isalnum() for character in line)]
    if not telling:
        return ""
    line = telling[0] if prose else max(telling[:LINES_COMPARED], key=len)
    return f"“{cut(one_line(line), QUOTED_MOST)}”"


# What an edit changed, in a few words, from the edit itself.

WHAT_MOST = 240
"""Characters of a description: a cell of a table."""
CHANGES_NAMES_MOST = 6
"""Names in one list; the rest is counted."""
STEM_LEAST = 8
"""Characters that names must share for the second to be told by its end: `TestPier_A`, `_B`."""
NAME_MOST = 60
VALUE_MOST = 40
LINES_WITHIN = 1_000_000
"""Characters of a text whose lines are counted."""
DOC_MOST = 110
"""Characters of the comment above a definition that are told: its first sentence, mostly."""
DOCUMENTED = 2
"""Definitions of one edit whose comments are told."""
_CHANGES_COMMENT = re.compile(r"[ \t]*(?://+!?|#+|\*(?!/)|/\*+|--)[ \t]?(.*)")
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
    parts = _changes_listed(differences, new)
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


def _changes_listed(differences: _Differences, new: str) -> str:
    parts = [f"renames {_name(gone)} to {_name(came)}" for gone, came in differences.renamed]
    types = {symbol.name for symbol in differences.added}
    told = [
        symbol
        for symbol in differences.added
        if symbol.kind != "import" and not (symbol.kind == "field" and symbol.owner in types)
    ]
    if told:
        tests = len(told) > 1 and all(symbol.kind == "test" for symbol in told)
        documented = "" if tests else _documented(told, new)
        parts.append(f"adds {f'{len(told)} tests: ' if tests else ''}{_names(told)}{documented}")
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


def _documented(symbols: Sequence[Symbol], text: str) -> str:
    """What the comments above definitions say: nobody says better what they are for."""
    found = ((symbol, _comment_above(text, symbol.start)) for symbol in symbols)
    told = [f"{_name(symbol)}: “{said}”" for symbol, said in found if said][:DOCUMENTED]
    return f" ({'; '.join(told)})" if told else ""


def _comment_above(text: str, place: int) -> str:
    """The first sentence of the comment that ends right above a place."""
    lines: list[str] = []
    for line in reversed(text[:place].splitlines()):
        found = _CHANGES_COMMENT.fullmatch(line)
        if found is None:
            break
        lines.append(found[1].strip())
    sentence = one_line(" ".join(reversed(lines))).partition(". ")[0].rstrip(".")
    return cut(sentence, DOC_MOST) if len(sentence.split()) > 2 else ""


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
    shown: list[str] = []
    stem = ""
    for symbol in ordered[:CHANGES_NAMES_MOST]:
        begins = bool(stem) and symbol.name.startswith(stem) and symbol.name != stem
        shown.append(f"`_{cut(symbol.name[len(stem) :], NAME_MOST)}`" if begins else _name(symbol))
        if not begins:
            stem = _stem(symbol)
    more = len(ordered) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _stem(symbol: Symbol) -> str:
    """What names of the same family begin with, up to their last underscore."""
    stem = symbol.name[: symbol.name.rfind("_") + 1]
    return stem if symbol.kind != "heading" and len(stem) >= STEM_LEAST else ""


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
