"""A reply taken apart: what is taken or dropped as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from kedge.wording.shape import (
    LINE,
    MOST_CHANGES,
    MOST_QUESTIONS,
    MOST_REASONS,
    MOST_STEPS,
    PARAGRAPH,
    Packet,
    Prose,
)

About = Literal["intent", "change", "rationale", "state", "next step", "question"]
LOOKED_AT = 4
"""Times its bound that a text is looked at: what lies behind it is one piece, too long."""

_MARK = re.compile(
    r"\s?[\[(]\s?(?:turns?\s?|t)\d{1,6}(?:\s?(?:[-–,]|and)\s?(?:turns?\s?|t)?\d{1,6}){0,20}\s?[\])]",
    re.IGNORECASE,
)
"""A citation of turns."""
_ITEM = re.compile(r"^(?:[-*+•]|\d{1,2}[.)])\s+(?=\S)")
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+•>|#`~<]|\d{1,2}[.)]\s))|(?<=[`|~>])\n")
_END = re.compile(r"[.!?…](?<!\.\.)[\"'”’)\]*_`]{0,3}\s+|[。！？][”’」』）]?")
_NO_END = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|ca|Mr|Mrs|Ms|Dr|St)\.\s*$|^\W{0,4}\d{1,3}\.\s*$",
    re.IGNORECASE,
)
"""A point that ends no sentence: of an abbreviation, or behind the number of a list."""


class Unit(NamedTuple):
    about: About
    text: str
    """As it was written, blanks made one, without marks of turns and of a list."""
    most: int
    """Characters it may have."""
    number: int = 0
    """Of the file or decision, as the model gives it; 0 where there is none."""
    listed: bool = True
    """Whether the packet lists that number, and the reply may have so many entries."""
    beyond: bool = False
    """Whether it lies behind what was asked for."""


def units_of(prose: Prose, packet: Packet) -> Iterator[Unit]:
    """All of a reply, in its order: sentences of its two texts, entries of its lists."""
    yield from _sentences("intent", prose.intent)
    for place, change in enumerate(prose.changes):
        listed = 1 <= change.file <= len(packet.files)
        yield _entry("change", change.what, place, MOST_CHANGES, change.file, listed)
    for place, reason in enumerate(prose.reasons):
        listed = 1 <= reason.decision <= len(packet.decisions)
        yield _entry("rationale", reason.why, place, MOST_REASONS, reason.decision, listed)
    yield from _sentences("state", prose.state)
    yield from _entries("next step", prose.next_steps, MOST_STEPS)
    yield from _entries("question", prose.questions, MOST_QUESTIONS)


def _entries(about: About, texts: Sequence[str], most: int) -> Iterator[Unit]:
    return (_entry(about, text, place, most) for place, text in enumerate(texts))


def _entry(
    about: About, text: str, place: int, most: int, number: int = 0, listed: bool = True
) -> Unit:
    return Unit(about, _bare(text), LINE, number, listed, beyond=place >= most)


def _sentences(about: About, text: str) -> Iterator[Unit]:
    """Each sentence, and each line of what is no prose."""
    reached = LOOKED_AT * PARAGRAPH
    length = 0
    for paragraph in _BREAK.split(text[:reached]):
        for sentence in _cut(paragraph):
            bare = _bare(sentence)
            if bare:
                length += len(bare) + 1
                yield Unit(about, bare, PARAGRAPH, beyond=length > PARAGRAPH + 1)
    if text[reached:].strip():
        yield Unit(about, text[reached : 2 * reached], PARAGRAPH, beyond=True)


def _cut(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(paragraph):
        sentence = paragraph[start : end.end()]
        if not _NO_END.search(sentence):
            yield sentence
            start = end.end()
    yield paragraph[start:]


def _bare(text: str) -> str:
    """Without the mark of a list and marks of turns: only we say where a line comes from."""
    if len(text) > LOOKED_AT * PARAGRAPH:
        return text
    return _ITEM.sub("", _MARK.sub("", " ".join(text.split()))).strip()
