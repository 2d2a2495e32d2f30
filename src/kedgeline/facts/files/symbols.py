"""Names that a piece of a file defines, by light rules per language."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from posixpath import basename, splitext
from typing import Literal, NamedTuple

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


class Rule(NamedTuple):
    kind: Kind
    pattern: str
    """Group 1 is the name. Compiled when a file of its language comes."""
    flags: int = 0
    needs: tuple[str, ...] = ()
    """One of these stands in all that it matches: most pieces of an edit have none of them, and are
    not searched."""


_GENERAL = (
    Rule(
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
    Rule(
        "symbol",
        r"^[ \t]*(?!(?:return|else|new|throw|case|await|delete|goto|using|package|import)\b)"
        r"(?:[A-Za-z_][\w<>\[\],.:&*?]*[ ]+){1,5}[*&]{0,2}"
        r"(?!(?:if|for|while|switch|catch|return|sizeof)\b)([A-Za-z_~]\w*)[ ]?\([^;={}\n]{0,200}\)"
        r"[^;={}\n]{0,60}\{?[ ]*$",
    ),
    Rule("symbol", r"^[ \t]*#define[ ]+([A-Za-z_]\w*)"),
    Rule("import", r"^[ \t]*(?:#include[ ]+[<\"]|import[ ]+(?:static[ ]+)?|using[ ]+)([\w./*]+)"),
)
_SCRIPT = (
    Rule(
        "test",
        r"""^[ \t]*(?:it|test|describe)(?:\.\w+)?\(\s*["'`]([^"'`\n]{3,100})["'`]""",
        needs=("it(", "it.", "test(", "test.", "describe(", "describe."),
    ),
    *_GENERAL,
    Rule(
        "symbol",
        r"^(?:export[ ]+)?(?:declare[ ]+)?(?:type)[ ]+([A-Za-z_$][\w$]*)[ ]*[=<]",
        needs=("type ",),
    ),
    Rule(
        "symbol",
        r"^(?:export[ ]+)?(?:default[ ]+)?(?:const|let|var)[ ]+([A-Za-z_$][\w$]*)[ ]*[:=]",
        needs=("const ", "let ", "var "),
    ),
    Rule(
        "symbol",
        r"^[ \t]+(?:const|let)[ ]+([A-Za-z_$][\w$]*)[ ]*=[ ]*(?:async[ ]*)?(?:\([^()\n]{0,160}\)"
        r"(?::[ ]*[^=\n]{1,60})?|\w+)[ ]*=>",
        needs=("=>",),
    ),
    Rule(
        "symbol",
        r"^[ \t]+(?:(?:public|private|protected|static|async|readonly|override|get|set)[ ]+)*"
        r"(?!(?:if|for|while|switch|catch|return|function|constructor|with|await|super)\b)"
        r"([A-Za-z_$#][\w$]*)[ ]?(?:<[^>\n]{1,60}>)?\([^;{}\n]{0,200}\)[ ]*"
        r"(?::[ ]*[^{};\n]{1,80})?\{[ ]*$",
        needs=("{",),
    ),
    Rule(
        "field",
        r"^[ \t]+(?:(?:public|private|protected|readonly|static)[ ]+)*"
        r"([A-Za-z_$][\w$]*)\??:[ ]*[^,\n]{1,120};[ ]*$",
        needs=(";",),
    ),
    Rule(
        "import",
        r"""^(?:import|export)[ ][^"'\n]{0,300}["']([^"'\n]{1,120})["']""",
        needs=("import ", "export "),
    ),
)
_GO = (
    Rule("symbol", r"^func[ ]+(?:\([^)\n]{0,80}\)[ ]*)?([A-Za-z_]\w*)", needs=("func ",)),
    Rule("symbol", r"^type[ ]+([A-Za-z_]\w*)", needs=("type ",)),
    Rule("symbol", r"^(?:const|var)[ ]+([A-Za-z_]\w*)", needs=("const ", "var ")),
    Rule("symbol", r"^\t([A-Z]\w*)(?:[ ]+[\w.]+)?[ ]+=[ ]", needs=(" = ",)),
    Rule("field", r"^\t([A-Z]\w*)[ ]+[\[\]*\w.{}<>()-]+(?:[ ]+`[^`\n]{1,160}`)?(?:[ ]*//.*)?$"),
    Rule("import", r"""^(?:\t|import[ ]+)(?:\w+[ ]+)?"([\w./-]{2,120})"[ ]*$""", needs=('"',)),
)
_PYTHON = (
    Rule(
        "symbol",
        r"^[ \t]*(?:async[ ]+)?(?:def|class)[ ]+([A-Za-z_]\w*)",
        needs=("def ", "class "),
    ),
    Rule("symbol", r"^([A-Z_][A-Z0-9_]{2,})[ ]*(?::[^=\n]{1,80})?=[^=]"),
    Rule("field", r"^[ ]{4}([a-z_]\w*):[ ]+[A-Za-z_\"'][\w\[\], |.\"']{0,80}(?:=[^=\n]{1,120})?$"),
    Rule("import", r"^[ \t]*(?:from|import)[ ]+([\w.]+)", needs=("from ", "import ")),
)
_RUST = (
    *_GENERAL,
    Rule(
        "symbol",
        r"^[ \t]*(?:pub(?:\([a-z]+\))?[ ]+)?"
        r"(?:const|static|type|mod|macro_rules!)[ ]+([A-Za-z_]\w*)",
    ),
    Rule(
        "symbol",
        r"^[ \t]*impl(?:<[^>\n]{1,60}>)?[ ]+([\w:<>, ]{1,80}?)[ ]*\{",
        needs=("impl",),
    ),
    Rule(
        "field",
        r"^[ ]{4,8}(?:pub(?:\([a-z]+\))?[ ]+)?([a-z_]\w*):[ ]+[A-Z&\[(][^=;{}\n]{0,80},[ ]*$",
    ),
    Rule("import", r"^[ \t]*(?:pub[ ]+)?use[ ]+([\w:]+)", needs=("use ",)),
)
_SHELL = (
    Rule("symbol", r"^(?:function[ ]+)?([A-Za-z_][\w-]*)[ ]?\(\)"),
    Rule("field", r"^(?:export[ ]+)?([A-Z_][A-Z0-9_]{2,})="),
)
_SQL = (
    Rule(
        "symbol",
        r"\b(?:create|alter|drop)[ ]+(?:or[ ]+replace[ ]+)?(?:temp(?:orary)?[ ]+|unique[ ]+)?"
        r"(?:table|view|index|function|trigger|type|schema|policy)[ ]+"
        r"(?:if[ ]+(?:not[ ]+)?exists[ ]+)?([\w.\"`\[\]]+)",
        re.IGNORECASE,
    ),
    Rule(
        "field",
        r"\badd[ ]+(?:column[ ]+)?(?:if[ ]+not[ ]+exists[ ]+)?([\w\"`]+)[ ]+\w",
        re.IGNORECASE,
    ),
)
_STYLE = (
    Rule("symbol", r"^[ \t]*([.#&:@*\[a-zA-Z][^{};\n]{0,80}?)[ ]*\{"),
    Rule("field", r"^[ \t]*(--[\w-]+)[ ]*:"),
)
_MARKDOWN = (Rule("heading", r"^#{1,6}[ ]+([^\n]{1,120}?)[ ]*#*$"),)
_JSON = (Rule("key", r"""^[ \t]*"([^"\n]{1,80})"[ ]*:"""),)
_YAML = (Rule("key", r"""^[ ]*(?:-[ ]+)?["']?([A-Za-z_][\w./ -]{0,60}?)["']?:(?:[ ]|$)"""),)
_TOML = (
    Rule("key", r"^\[{1,2}([^\]\n]{1,80})\]{1,2}"),
    Rule("key", r"^[ \t]*([A-Za-z_][\w.-]{0,60})[ ]*="),
)
_MAKE = (Rule("symbol", r"^([A-Za-z_][\w./-]{0,60})[ ]*:(?!=)"),)

_BY_ENDING: dict[str, tuple[Rule, ...]] = {
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
def _symbols(text: str, rules: tuple[Rule, ...]) -> list[Symbol]:
    found: dict[str, Symbol] = {}
    for rule in rules:
        if rule.needs and not any(word in text for word in rule.needs):
            continue
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
def _compiled(rule: Rule) -> re.Pattern[str]:
    return re.compile(rule.pattern, re.MULTILINE | rule.flags)


@lru_cache(maxsize=256)
def _rules(path: str) -> tuple[Rule, ...]:
    name = basename(path)
    ending = splitext(name)[1].lstrip(".").lower()
    return _BY_NAME.get(name) or _BY_ENDING.get(ending, ())
