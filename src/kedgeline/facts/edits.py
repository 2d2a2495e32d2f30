"""What an edit changed: the text before and behind it, out of the parameters of every agent's
tools, and a few words about the difference, from the names that either side defines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from posixpath import basename, splitext
from typing import Any, Literal, NamedTuple

from kedgeline.model import ToolCall
from kedgeline.model.catalogue import patch_in
from kedgeline.text.prose import cut, one_line

# The pieces of an edit.

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


class Replacement(NamedTuple):
    old: str
    new: str
    whole: bool = False
    """The new text is all of the file; what was there before is not known."""
    blind: bool = False
    """What was taken out is not known."""


def replacements_of(call: ToolCall, path: str) -> list[Replacement]:
    """What one call changes in the file it names so."""
    patch = patch_in(call.parameters)
    found = _in_patch(patch, path) if patch else _in_parameters(call.parameters, call.verb)
    return [piece for piece, _ in zip(found, range(MOST_PIECES), strict=False)]


def _in_parameters(given: Mapping[str, Any], verb: str) -> Iterator[Replacement]:
    if verb == "write":
        yield from (Replacement("", text, whole=True) for text in _first(given, WHOLE))
        return
    pairs = pairs_in(given)
    if not pairs and isinstance(diff := given.get("diff"), str):
        pairs = [Replacement(*found) for found in _BLOCK.findall(diff)]
    if not pairs:
        pairs = [Replacement("", text, blind=True) for text in _first(given, ONLY_NEW)]
    yield from pairs


def pairs_in(given: Mapping[str, Any]) -> list[Replacement]:
    """The old and new texts that parameters hold, one or several."""
    pairs = list(_pairs(given))
    for name in LISTS:
        if isinstance(items := given.get(name), (list, tuple)):
            pairs += [pair for item in items if isinstance(item, dict) for pair in _pairs(item)]
    return pairs


def _pairs(given: Mapping[str, Any]) -> Iterator[Replacement]:
    for before, behind in PAIRS:
        old, new = given.get(before), given.get(behind)
        if isinstance(old, str) and isinstance(new, str):
            yield Replacement(old, new)
            return


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [given[name] for name in names if isinstance(given.get(name), str)][:1]


def _in_patch(patch: str, path: str) -> Iterator[Replacement]:
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
            yield Replacement("", new, whole=True)
        elif header["kind"] == "Update File":
            yield Replacement("\n".join(line[1:] for line in lines if line[:1] in ("-", " ")), new)


# Names that a piece of a file defines, by light rules per language.

Kind = Literal["symbol", "test", "heading", "field", "key", "import"]
RANKS: dict[Kind, int] = {"symbol": 0, "heading": 0, "test": 1, "field": 2, "key": 2, "import": 3}
"""What tells most about a file comes first."""
TEXT_WITHIN = 65_536
"""Characters of a text that are looked at."""
TEXTS = 2
"""Texts whose names are kept: both sides of an edit are asked for again to tell where it stands."""
MOST_SYMBOLS = 400
"""Names taken from one text; more than any line of a table can hold."""


class Symbol(NamedTuple):
    name: str
    kind: Kind
    line: str
    """The line that defines it, blanks folded: its signature."""
    start: int = 0
    """Where that line stands in the text."""
    owner: str = ""
    """The type whose field or method it is, where the text shows it."""


class _Rule(NamedTuple):
    kind: Kind
    pattern: str
    """Group 1 is the name. Compiled when a file of its language comes."""
    flags: int = 0


_GENERAL = (
    _Rule(
        "symbol",
        r"^[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|open"
        r"|sealed|data|async|declare|partial|pub(?:\([a-z]+\))?|unsafe|override|suspend)[ ]+)*"
        r"(?:class|interface|struct|enum|trait|protocol|record|object|module|namespace|union|actor"
        r"|extension|mixin|message|service|rpc|fun|func|fn|def|defp|defmodule|function\*?|sub|proc)"
        r"[ ]+(?:self\.)?([A-Za-z_$][\w$.]*[?!]?)",
    ),
)
_C_LIKE = (
    *_GENERAL,
    _Rule(
        "symbol",
        r"^[ \t]*(?!(?:return|else|new|throw|case|await|delete|goto|using|package|import)\b)"
        r"(?:[A-Za-z_][\w<>\[\],.:&*?]*[ ]+){1,5}[*&]{0,2}"
        r"(?!(?:if|for|while|switch|catch|return|sizeof)\b)([A-Za-z_~]\w*)[ ]?\([^;={}\n]{0,200}\)"
        r"[^;={}\n]{0,60}\{?[ ]*$",
    ),
    _Rule("symbol", r"^[ \t]*#define[ ]+([A-Za-z_]\w*)"),
    _Rule("import", r"^[ \t]*(?:#include[ ]+[<\"]|import[ ]+(?:static[ ]+)?|using[ ]+)([\w./*]+)"),
)
_SCRIPT = (
    _Rule(
        "test",
        r"""^[ \t]*(?:it|test|describe)(?:\.\w+)?\(\s*["'`]([^"'`\n]{3,100})["'`]""",
    ),
    *_GENERAL,
    _Rule(
        "symbol",
        r"^(?:export[ ]+)?(?:declare[ ]+)?(?:type)[ ]+([A-Za-z_$][\w$]*)[ ]*[=<]",
    ),
    _Rule(
        "symbol",
        r"^(?:export[ ]+)?(?:default[ ]+)?(?:const|let|var)[ ]+([A-Za-z_$][\w$]*)[ ]*[:=]",
    ),
    _Rule(
        "symbol",
        r"^[ \t]+(?:const|let)[ ]+([A-Za-z_$][\w$]*)[ ]*=[ ]*(?:async[ ]*)?(?:\([^()\n]{0,160}\)"
        r"(?::[ ]*[^=\n]{1,60})?|\w+)[ ]*=>",
    ),
    _Rule(
        "symbol",
        r"^[ \t]+(?:(?:public|private|protected|static|async|readonly|override|get|set)[ ]+)*"
        r"(?!(?:if|for|while|switch|catch|return|function|constructor|with|await|super)\b)"
        r"([A-Za-z_$#][\w$]*)[ ]?(?:<[^>\n]{1,60}>)?\([^;{}\n]{0,200}\)[ ]*"
        r"(?::[ ]*[^{};\n]{1,80})?\{[ ]*$",
    ),
    _Rule(
        "field",
        r"^[ \t]+(?:(?:public|private|protected|readonly|static)[ ]+)*"
        r"([A-Za-z_$][\w$]*)\??:[ ]*[^,\n]{1,120};[ ]*$",
    ),
    _Rule(
        "import",
        r"""^(?:import|export)[ ][^"'\n]{0,300}["']([^"'\n]{1,120})["']""",
    ),
)
_GO = (
    _Rule("symbol", r"^func[ ]+(?:\([^)\n]{0,80}\)[ ]*)?([A-Za-z_]\w*)"),
    _Rule("symbol", r"^type[ ]+([A-Za-z_]\w*)"),
    _Rule("symbol", r"^(?:const|var)[ ]+([A-Za-z_]\w*)"),
    _Rule("symbol", r"^\t([A-Z]\w*)(?:[ ]+[\w.]+)?[ ]+=[ ]"),
    _Rule("field", r"^\t([A-Z]\w*)[ ]+[\[\]*\w.{}<>()-]+(?:[ ]+`[^`\n]{1,160}`)?(?:[ ]*//.*)?$"),
    _Rule("import", r"""^(?:\t|import[ ]+)(?:\w+[ ]+)?"([\w./-]{2,120})"[ ]*$"""),
)
_PYTHON = (
    _Rule(
        "symbol",
        r"^[ \t]*(?:async[ ]+)?(?:def|class)[ ]+([A-Za-z_]\w*)",
    ),
    _Rule("symbol", r"^([A-Z_][A-Z0-9_]{2,})[ ]*(?::[^=\n]{1,80})?=[^=]"),
    _Rule("field", r"^[ ]{4}([a-z_]\w*):[ ]+[A-Za-z_\"'][\w\[\], |.\"']{0,80}(?:=[^=\n]{1,120})?$"),
    _Rule("import", r"^[ \t]*(?:from|import)[ ]+([\w.]+)"),
)
_RUST = (
    *_GENERAL,
    _Rule(
        "symbol",
        r"^[ \t]*(?:pub(?:\([a-z]+\))?[ ]+)?"
        r"(?:const|static|type|mod|macro_rules!)[ ]+([A-Za-z_]\w*)",
    ),
    _Rule(
        "symbol",
        r"^[ \t]*impl(?:<[^>\n]{1,60}>)?[ ]+([\w:<>, ]{1,80}?)[ ]*\{",
    ),
    _Rule(
        "field",
        r"^[ ]{4,8}(?:pub(?:\([a-z]+\))?[ ]+)?([a-z_]\w*):[ ]+[A-Z&\[(][^=;{}\n]{0,80},[ ]*$",
    ),
    _Rule("import", r"^[ \t]*(?:pub[ ]+)?use[ ]+([\w:]+)"),
)
_SHELL = (
    _Rule("symbol", r"^(?:function[ ]+)?([A-Za-z_][\w-]*)[ ]?\(\)"),
    _Rule("field", r"^(?:export[ ]+)?([A-Z_][A-Z0-9_]{2,})="),
)
_SQL = (
    _Rule(
        "symbol",
        r"\b(?:create|alter|drop)[ ]+(?:or[ ]+replace[ ]+)?(?:temp(?:orary)?[ ]+|unique[ ]+)?"
        r"(?:table|view|index|function|trigger|type|schema|policy)[ ]+"
        r"(?:if[ ]+(?:not[ ]+)?exists[ ]+)?([\w.\"`\[\]]+)",
        re.IGNORECASE,
    ),
    _Rule(
        "field",
        r"\badd[ ]+(?:column[ ]+)?(?:if[ ]+not[ ]+exists[ ]+)?([\w\"`]+)[ ]+\w",
        re.IGNORECASE,
    ),
)
_STYLE = (
    _Rule("symbol", r"^[ \t]*([.#&:@*\[a-zA-Z][^{};\n]{0,80}?)[ ]*\{"),
    _Rule("field", r"^[ \t]*(--[\w-]+)[ ]*:"),
)
_MARKDOWN = (_Rule("heading", r"^#{1,6}[ ]+([^\n]{1,120}?)[ ]*#*$"),)
_JSON = (_Rule("key", r"""^[ \t]*"([^"\n]{1,80})"[ ]*:"""),)
_YAML = (_Rule("key", r"""^[ ]*(?:-[ ]+)?["']?([A-Za-z_][\w./ -]{0,60}?)["']?:(?:[ ]|$)"""),)
_TOML = (
    _Rule("key", r"^\[{1,2}([^\]\n]{1,80})\]{1,2}"),
    _Rule("key", r"^[ \t]*([A-Za-z_][\w.-]{0,60})[ ]*="),
)
_MAKE = (_Rule("symbol", r"^([A-Za-z_][\w./-]{0,60})[ ]*:(?!=)"),)

_BY_ENDING: dict[str, tuple[_Rule, ...]] = {
    ending: rules
    for endings, rules in (
        ("go", _GO),
        ("py pyi ipynb", _PYTHON),
        ("js jsx ts tsx mjs cjs mts cts vue svelte astro", _SCRIPT),
        ("rs", _RUST),
        ("java kt kts cs swift scala c h cc cpp hpp cxx m mm dart php groovy", _C_LIKE),
        ("rb ex exs lua pl pm r jl proto graphql gql zig nim", _GENERAL),
        ("sh bash zsh fish env", _SHELL),
        ("sql", _SQL),
        ("css scss less sass", _STYLE),
        ("md mdx markdown", _MARKDOWN),
        ("json jsonc json5", _JSON),
        ("yaml yml", _YAML),
        ("toml ini cfg conf properties", _TOML),
        ("mk", _MAKE),
    )
    for ending in endings.split()
}
_BY_NAME = {"Makefile": _MAKE, "makefile": _MAKE, "justfile": _MAKE, ".env": _SHELL}
_TYPE = re.compile(r"\b(?:class|struct|interface|enum|trait|protocol|record|object|impl|message)\b")
_TYPE_ENDS = re.compile(r"^[})]", re.MULTILINE)
_TEST_NAME = re.compile(r"(?:Test|test_|Benchmark)[A-Z_a-z0-9]")


def is_prose(path: str) -> bool:
    return splitext(path)[1].lower() in (".md", ".mdx", ".markdown", ".txt", ".rst")


def is_data(path: str) -> bool:
    """A file of keys and values."""
    return _rules(path) in (_JSON, _YAML, _TOML)


def symbols_in(text: str, path: str) -> list[Symbol]:
    """What a text defines, in its order, each name once."""
    return list(_symbols(text[:TEXT_WITHIN], _rules(path)))


@lru_cache(maxsize=TEXTS)
def _symbols(text: str, rules: tuple[_Rule, ...]) -> list[Symbol]:
    found: dict[str, Symbol] = {}
    for rule in rules:
        for match in _compiled(rule).finditer(text):
            name = match[1].strip(" *" if rule.kind == "heading" else ' "`[]*')
            if not name or name in found or len(found) >= MOST_SYMBOLS:
                continue
            kind: Kind = "test" if rule.kind == "symbol" and _TEST_NAME.match(name) else rule.kind
            start = text.rfind("\n", 0, match.start(1)) + 1
            end = text.find("\n", match.end(1))
            line = text[start : end if end >= 0 else len(text)]
            found[name] = Symbol(name, kind, " ".join(line.split()), start)
    return _owned(sorted(found.values(), key=lambda symbol: symbol.start), text)


def _owned(symbols: list[Symbol], text: str) -> list[Symbol]:
    """With the type around each, which ends with the first line that is not indented."""
    owner: Symbol | None = None
    owned: list[Symbol] = []
    for symbol in symbols:
        inside = text[symbol.start : symbol.start + 1] in (" ", "\t")
        if owner is not None and (not inside or _TYPE_ENDS.search(text, owner.start, symbol.start)):
            owner = None
        named = owner is not None and symbol.kind in ("field", "symbol") and "." not in symbol.name
        owned.append(symbol._replace(owner=owner.name) if named and owner else symbol)
        if not inside and symbol.kind == "symbol" and _TYPE.search(symbol.line):
            owner = symbol
    return owned


@cache
def _compiled(rule: _Rule) -> re.Pattern[str]:
    return re.compile(rule.pattern, re.MULTILINE | rule.flags)


@lru_cache(maxsize=256)
def _rules(path: str) -> tuple[_Rule, ...]:
    name = basename(path)
    ending = splitext(name)[1].lstrip(".").lower()
    return _BY_NAME.get(name) or _BY_ENDING.get(ending, ())


# A change that defines nothing new: told by the lines that differ.

SMALL = 60
"""Characters up to which a replaced bit is shown as it is."""
QUOTED_MOST = 90
NAMES_MOST = 4
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
_WORD = re.compile(r"[\w./-]")


class Lines(NamedTuple):
    """Lines that stand on one side only, in their order."""

    old: tuple[str, ...]
    new: tuple[str, ...]


def differing(old: str, new: str) -> Lines:
    return _differing(old[:TEXT_WITHIN], new[:TEXT_WITHIN])


@lru_cache(maxsize=2)
def _differing(old: str, new: str) -> Lines:
    before, behind = old.splitlines(), new.splitlines()
    return Lines(_beyond(before, behind), _beyond(behind, before))


def _beyond(lines: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Lines, indentation aside, beyond those that the others have as well."""
    left = Counter(map(str.strip, others))
    found = []
    for line in lines:
        key = line.strip()
        if left.get(key, 0) > 0:
            left[key] -= 1
        elif key:
            found.append(line)
    return tuple(found)


def _in_body(path: str, old: str, new: str) -> str:
    """What changed inside of what is defined: a small bit as it is, else the names that came."""
    told = _small_change(old, new) or _told_by_names(path, old, new)
    where = _where(path, new, differing(old, new).new) if told else ""
    return f"in {where}: {told}" if where else told


def _small_change(old: str, new: str) -> str:
    """The one bit that was replaced, where it is one and short."""
    lines = differing(old, new)
    if len(lines.old) > 1 or len(lines.new) > 1:
        return ""
    before, behind = one_line("".join(lines.old)), one_line("".join(lines.new))
    if before and behind:
        before, behind = _apart(before, behind)
    if max(len(before), len(behind)) > SMALL or not any(map(str.isalnum, before + behind)):
        return ""
    if before and behind:
        return f"`{before}` → `{behind}`"
    return f"adds `{behind.strip(' ,;')}`" if behind else f"removes `{before.strip(' ,;')}`"


def _apart(before: str, behind: str) -> tuple[str, str]:
    """Two lines without what both begin and end with, words kept whole."""
    start = _shared(before, behind)
    while start and _WORD.match(before[start - 1]):
        start -= 1
    before, behind = before[start:], behind[start:]
    end = _shared(before[::-1], behind[::-1])
    while end and _WORD.match(before[len(before) - end]):
        end -= 1
    return before[: len(before) - end].strip(), behind[: len(behind) - end].strip()


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _told_by_names(path: str, old: str, new: str) -> str:
    lines = differing(old, new)
    came = [line for line in lines.new if not _COMMENT.match(line)]
    went = [line for line in lines.old if not _COMMENT.match(line)]
    prose = is_prose(path)
    if prose or not (came or went):
        came, went = [*lines.new], [*lines.old]
    else:
        now, before = _identifiers(came, known=old), _identifiers(went, known=new)
        if now and before:
            return f"with {_few(now)} instead of {_few(before)}"
        if now or before:
            return f"with {_few(now)}" if now else f"without {_few(before)}"
    if came:
        return quoted_line("\n".join(came), prose=prose)
    gone = quoted_line("\n".join(went), prose=prose)
    return f"removes {gone}" if gone else ""


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


def _few(names: Sequence[str]) -> str:
    more = len(names) - NAMES_MOST
    shown = ", ".join(f"`{name}`" for name in names[:NAMES_MOST])
    return f"{shown} and {more} more" if more > 0 else shown


def _where(path: str, new: str, lines: Sequence[str]) -> str:
    """The definition around the first line that came."""
    place = new.find(lines[0]) if lines else -1
    around = [
        symbol
        for symbol in symbols_in(new, path)
        if symbol.start <= place
        and RANKS[symbol.kind] < RANKS["field"]
        and symbol.line != one_line(lines[0])
    ]
    if not around:
        return ""
    name = cut(one_line(around[-1].name), SMALL)
    return f"“{name}”" if " " in name else f"`{name}`"


def _enclosing(path: str, around: str) -> str:
    """The innermost definition of lines that enclose an edit."""
    inside = [s for s in symbols_in(around, path) if RANKS[s.kind] < RANKS["field"]]
    return _name(inside[-1]) if inside else ""


def quoted_line(text: str, *, prose: bool = False) -> str:
    """A line of a text that says something, in quotation marks: of prose the first, of code the
    longest of the first few."""
    telling = [line for line in text[:TEXT_WITHIN].splitlines() if any(map(str.isalnum, line))]
    if not telling:
        return ""
    line = telling[0] if prose else max(telling[:LINES_COMPARED], key=len)
    return f"“{cut(one_line(line), QUOTED_MOST)}”"


# What an edit changed, in a few words, from the edit itself.

WHAT_MOST = 240
"""Characters of a description: a cell of a table."""
LISTED_MOST = 6
"""Names in one list; the rest is counted."""
NAME_MOST = 60
LINES_WITHIN = 1_000_000
"""Characters of a text whose lines are counted."""
DOC_MOST = 110
"""Characters of the comment above a definition that are told: its first sentence, mostly."""
DOCUMENTED = 2
"""Definitions of one edit whose comments are told."""
_ABOVE = re.compile(r"[ \t]*(?://+!?|#+|\*(?!/)|/\*+|--)[ \t]?(.*)")
_SIGNATURE = re.compile(r"\b(?:func|function|def|fn|fun)\b|=>|\)[^=;]{0,60}\{$")
"""A definition that takes arguments."""


class _Change(NamedTuple):
    what: str = ""
    added: int = 0
    """Lines."""
    removed: int = 0


EDITS = 16
"""Edits whose change is kept: it is told of the file and of the call."""


def change_of(
    path: str, pieces: Sequence[Replacement], *, created: bool = False, around: str = ""
) -> _Change:
    """What the pieces of one edit did to a file; `around` are the lines that enclose it."""
    if not pieces:
        return _Change()
    change = _change_of(basename(path), tuple(pieces), created)
    within = _enclosing(path, around) if change.what and not pieces[-1].whole else ""
    if not within or change.what.startswith("in "):
        return change
    return change._replace(what=cut(f"in {within}: {change.what}", WHAT_MOST))


@lru_cache(maxsize=EDITS)
def _change_of(path: str, pieces: tuple[Replacement, ...], created: bool) -> _Change:
    if created or pieces[-1].whole:
        text = "\n".join(piece.new for piece in pieces)
        told = _names(_main(symbols_in(text, path))) or quoted_line(text, prose=is_prose(path))
        told = told or "empty"
        lines = len(text[:LINES_WITHIN].splitlines()) if created else 0
        return _Change(cut(told if created else f"rewritten: {told}", WHAT_MOST), lines)
    added = removed = 0
    for piece in pieces:
        old, new = piece.old[:LINES_WITHIN].splitlines(), piece.new[:LINES_WITHIN].splitlines()
        both = (Counter(old) & Counter(new)).total()
        added += len(new) - both
        removed += 0 if piece.blind else len(old) - both
    return _Change(cut(_told(path, pieces), WHAT_MOST), added, removed)


_CONFLICT = re.compile(r"^(?:<{7} |={7}$|>{7} ).*\n?", re.MULTILINE)
"""The lines that git puts around two versions."""


def _told(path: str, pieces: Sequence[Replacement]) -> str:
    old = "\n".join(piece.old for piece in pieces)
    new = "\n".join(piece.new for piece in pieces)
    if (whole := _CONFLICT.sub("", old)) != old and not _CONFLICT.search(new):
        rest = _told(path, [Replacement(whole, new)])
        return f"resolves a conflict; {rest}".rstrip("; ")
    if all(piece.blind for piece in pieces):
        names = _names(_main(symbols_in(new, path)))
        return f"puts in {names}" if names else quoted_line(new, prose=is_prose(path))
    if old.split() == new.split():
        return "blank space only" if old != new else ""
    before, behind = symbols_in(old, path), symbols_in(new, path)
    parts, only_imports = _differences(before, behind, new)
    if is_data(path):
        small, came = _small_change(old, new), map(one_line, differing(old, new).new)
        keys = {symbol.line: _name(symbol) for symbol in behind}
        key = next((keys[line] for line in came if line in keys), "")
        named = key and key.strip("`“”") not in small
        return f"{key}: {small}" if small and named else small or parts or _in_body(path, old, new)
    if parts and not only_imports:
        return parts
    imports = {symbol.line for symbol in (*before, *behind) if symbol.kind == "import"}
    body = _in_body(path, _without(old, imports), _without(new, imports))
    return "; ".join(filter(None, (body, parts))) or _small_change(old, new)


def _without(text: str, lines: Collection[str]) -> str:
    if not lines:
        return text
    return "\n".join(line for line in text.splitlines() if " ".join(line.split()) not in lines)


def _differences(before: Sequence[Symbol], behind: Sequence[Symbol], text: str) -> tuple[str, bool]:
    """What is defined anew, no more, or in another way; and whether these are imports only."""
    old = {symbol.name: symbol for symbol in before}
    new = {symbol.name: symbol for symbol in behind}
    added = [symbol for name, symbol in new.items() if name not in old]
    removed = [symbol for name, symbol in old.items() if name not in new]
    changed = [
        symbol
        for name, symbol in new.items()
        if name in old and old[name].line.rstrip(",") != symbol.line.rstrip(",")
    ]
    only_imports = all(symbol.kind == "import" for symbol in (*added, *removed, *changed))
    parts = []
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
        parts.append(f"renames {_name(gone)} to {_name(came)}")
    types = {symbol.name for symbol in added}
    told = [s for s in _own(added) if not (s.kind == "field" and s.owner in types)]
    if told:
        tests = len(told) > 1 and all(symbol.kind == "test" for symbol in told)
        number = f"{len(told)} tests: " if tests else ""
        parts.append(f"adds {number}{_names(told)}{'' if tests else _documented(told, text)}")
    if gone_names := _names(_own(removed)):
        parts.append(f"removes {gone_names}")
    if own := _own(changed):
        signatures = all(_SIGNATURE.search(symbol.line) for symbol in own)
        parts.append(f"changes {_names(own)}{' (signature)' if signatures else ''}")
    if imports := [symbol for symbol in added if symbol.kind == "import"]:
        parts.append(f"imports {_names(imports)}")
    elif dropped := [symbol for symbol in removed if symbol.kind == "import"]:
        parts.append(f"no longer imports {_names(dropped)}")
    return "; ".join(parts), only_imports and len(renamed) != 1


def _own(symbols: Iterable[Symbol]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol.kind != "import"]


def _main(symbols: Iterable[Symbol]) -> list[Symbol]:
    """What a file is about: fields and keys only where there is nothing else."""
    told = _own(symbols)
    most = min((RANKS[symbol.kind] for symbol in told), default=0)
    return [symbol for symbol in told if RANKS[symbol.kind] <= max(most, 1)]


def _documented(symbols: Sequence[Symbol], text: str) -> str:
    """What the comments above definitions say: nobody says better what they are for."""
    found = ((symbol, _comment_above(text, symbol)) for symbol in symbols)
    told = [f"{_name(symbol)}: “{said}”" for symbol, said in found if said][:DOCUMENTED]
    return f" ({'; '.join(told)})" if told else ""


def _comment_above(text: str, symbol: Symbol) -> str:
    """The first sentence of the comment that ends right above a definition, without its name."""
    lines: list[str] = []
    for line in reversed(text[: symbol.start].splitlines()):
        found = _ABOVE.fullmatch(line)
        if found is None:
            break
        lines.append(found[1].strip())
    sentence = one_line(" ".join(reversed(lines))).partition(". ")[0].rstrip(".")
    tells = len(sentence.split()) > 2
    return cut(sentence.removeprefix(symbol.name).strip(), DOC_MOST) if tells else ""


def _names(symbols: Sequence[Symbol]) -> str:
    ordered = sorted(symbols, key=lambda symbol: RANKS[symbol.kind])
    more = len(ordered) - LISTED_MOST
    shown = ", ".join(map(_name, ordered[:LISTED_MOST]))
    return f"{shown} and {more} more" if more > 0 else shown


def _name(symbol: Symbol) -> str:
    name = cut(one_line(symbol.name), NAME_MOST)
    if symbol.kind == "heading" or " " in name:
        return f"“{name}”"
    return f"`{symbol.owner}.{name}`" if symbol.owner else f"`{name}`"
