"""What a text shows to be declared, and in which line, where the text says so."""

from __future__ import annotations

import re

from kedge.facts.names.shapes import is_declared_name

MOST_DECLARED = 400
"""Names taken from one text."""
LINE_WITHIN = 300
"""Characters of a line in which a name is declared."""

_MODIFIERS = (
    "export",
    "default",
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "open",
    "data",
    "async",
    "pub",
    "unsafe",
    "override",
    "declare",
    "sealed",
)
_KEYWORDS = (
    "func",
    "def",
    "fn",
    "fun",
    "function",
    "class",
    "type",
    "interface",
    "struct",
    "enum",
    "trait",
    "protocol",
    "record",
    "object",
    "module",
    "namespace",
)
_CONSTANTS = ("const", "var", "let", "val")
_BEGINNINGS = frozenset(
    f"{word}{sign}"[:3] for word in (*_MODIFIERS, *_KEYWORDS, *_CONSTANTS) for sign in " (*"
)
"""Of lines that may declare something; one look tells most others apart."""
_GUTTER = "0123456789 \t→|:+"
"""What tools print before a line: its number, and a sign of a difference."""
_NUMBER = re.compile(r"\s{0,8}(\d{1,7})(?:→|\t|\s?[|:]|  )")
_DECLARED = re.compile(
    rf"""(?:(?:{"|".join(_MODIFIERS)})(?:\([a-z]{{1,12}}\))?[ ]+){{0,4}}
    (?:(?:{"|".join(_KEYWORDS)})(?:[ ]\([^)\n]{{0,80}}\))?\*?[ ]+
      |(?:{"|".join(_CONSTANTS)})[ ]+(?=[A-Z]))
    ([A-Za-z_]\w{{2,79}})(?=[\s(<=:{{\[;]|$)""",
    re.VERBOSE | re.ASCII,
)


def declared_in(text: str) -> dict[str, str]:
    """Functions, types and constants that a text declares, with the line where its number is
    printed before it."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        body = line.lstrip(_GUTTER)
        if body[:3] not in _BEGINNINGS:
            continue
        match = _DECLARED.match(body[:LINE_WITHIN])
        if match and match[1] not in found and is_declared_name(match[1]):
            number = _NUMBER.match(line)
            found[match[1]] = number[1] if number else ""
            if len(found) >= MOST_DECLARED:
                break
    return found
