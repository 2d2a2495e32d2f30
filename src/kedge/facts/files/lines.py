"""A change that defines nothing new: told by the lines that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from kedge.facts.files.symbols import TEXT_WITHIN, is_prose, symbols_in
from kedge.sentences import cut, one_line

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
    names = _identifiers(came, known=old)
    if names:
        return f"with {_listed(names)}"
    names = _identifiers(went, known=new)
    if names:
        return f"without {_listed(names)}"
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
