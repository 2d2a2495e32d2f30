"""Prose made short: on one line, up to its first sentence, cut at a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

LOOKED_AT = 4_000
"""Characters looked at for a first sentence: a page, whatever is pasted behind it."""

_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()}
_UNSEEN = (
    *(0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
    *(*range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC)),
    *range(0xE0000, 0xE0080),
)
"""Characters that nobody sees, or that turn others around: a reader would read another text.
Joiners stay, as emoji and scripts need them."""
_LEFT_OUT = {**_CONTROLS, **dict.fromkeys(_UNSEEN)}
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*|\n(?=[^\S\n]*(?:[-*+>|#`]|\d{1,3}[.)] ))")
_END = re.compile(r"[.!?…。！？](?:(?<=[.!?…])(?<!\.\.)[\"'”’)\]*_`]{0,3} |(?<=[。！？]))")
"""The end of a sentence with its closing mark first: all other characters are passed over."""
_NO_END = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|Mr|Mrs|Ms|Dr|St)\.$|^\W{0,4}\d{1,3}\.$",
    re.IGNORECASE,
)
"""A point that ends no sentence: of an abbreviation, or behind the number of a list."""
_HEADING = re.compile(r"^ {0,3}(?:#{1,6} .*|\*\*[^*\n]{1,200}\*\*:? *)$", re.MULTILINE)
_NO_PROSE = ("```", "|", "---")
"""How code, a table or a rule begins: as with a heading, what stands behind it says more."""


def one_line(text: str) -> str:
    """Text on one line: blanks folded, control characters, colours of a terminal and what nobody
    sees left out."""
    line = " ".join(text.split())
    if line.isprintable():  # most are, and taking characters out takes ten times as long
        return line
    return " ".join(_COLOUR.sub("", text).translate(_LEFT_OUT).split())


def visible(text: str) -> str:
    """Text with its lines as they are, each ended by a newline; what `one_line` leaves out is left
    out."""
    text = "\n".join(text.splitlines())
    if text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return _COLOUR.sub("", text).translate(_LEFT_OUT)


def cut(text: str, most: int) -> str:
    """Text of so many characters at the most, cut at a word where one ends in the second half."""
    if len(text) <= most:
        return text
    word = text.rfind(" ", most // 2, most)
    return text[: most - 1 if word < 0 else word].rstrip(" ,;:") + "…"


def sentences(text: str) -> Iterator[str]:
    """The sentences a text begins with, each on one line. A point inside a word, as in a file's
    name, ends none; a paragraph and an item of a list do."""
    text = text.lstrip()[:LOOKED_AT]
    if "#" in text or "**" in text:
        text = _HEADING.sub("\n", text)
    for paragraph in _PARAGRAPH.split(text):
        line, start = one_line(paragraph), 0
        if line.startswith(_NO_PROSE):
            continue
        for end in _END.finditer(line):
            sentence = line[start : end.end()].strip()
            if not _NO_END.search(sentence):
                yield sentence
                start = end.end()
        if rest := line[start:].strip():
            yield rest


def first_sentence(text: str) -> str:
    """Without its closing point; of a text without prose, its beginning."""
    found = next(sentences(text), "") or one_line(text.lstrip()[:LOOKED_AT]).lstrip("#`|-* ")
    return found.rstrip(" .:")
