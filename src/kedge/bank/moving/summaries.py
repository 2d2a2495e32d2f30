"""The summary_128 of entries and of what stands for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from kedge.bank.briefs import brief_128
from kedge.bank.briefs.plain import files_in
from kedge.bank.values import Entry, Piece, Reference
from kedge.foreign import foreign
from kedge.sentences import cut, first_sentence
from kedge.tokens import EXACT

MOST_TOKENS = 128
"""Of a summary_128, as its name says."""
REMEMBERED = 16_384
"""Summaries kept by their text: the index of a growing log is made again with every decision."""
LOOKED_AT = 40_000
"""Characters of a batch that its summary is made of; its end says as little as its middle."""
NAME_SHOWN, NAMES_SHOWN = 50, 180
"""Characters of the name of one entry of a batch, and of all names: half of a summary."""

_WORD = re.compile(r"\w+")
_TIME = re.compile(r"[0-9]+(?:t[0-9]+)?z?")


def summary_of(pieces: Sequence[Piece]) -> str:
    """One for all of them, on one line: what each was about, as far as there is room, and their
    files."""
    if len(pieces) == 1 and isinstance(pieces[0], Entry):
        return entry_summary(pieces[0])
    entries = [piece for piece in pieces if isinstance(piece, Entry)]
    sources = tuple(dict.fromkeys(source for entry in entries for source in entry.sources))
    if not sources:
        text = "\n\n".join(
            piece.summary if isinstance(piece, Reference) else piece.text for piece in pieces
        )
        sources = tuple(dict.fromkeys(files_in([text[:LOOKED_AT]])))
    return _summary("", _named(pieces), sources)


def entry_summary(entry: Entry) -> str:
    """Its own where it keeps to the size, or one that is made from its text."""
    if (own := foreign(entry.summary)) and EXACT.count(own) <= MOST_TOKENS:
        return own
    return _summary(entry.summary or _beside_title(entry), entry.title, entry.sources)


def _beside_title(entry: Entry) -> str:
    """The text without a first line that only says again what the entry is called, and when and by
    whom: an item of a list, a row. A heading is no sentence anyway."""
    first, _, rest = entry.text.lstrip().partition("\n")
    if not entry.title or first.startswith("#"):
        return entry.text
    known = " ".join((entry.title, entry.id, entry.agent, entry.status, "x"))
    said = set(_WORD.findall(first.casefold())) - set(_WORD.findall(known.casefold()))
    return rest if all(map(_TIME.fullmatch, said)) else entry.text


def _named(pieces: Sequence[Piece]) -> str:
    """The names of as many as there is room for, and how many more there are."""
    names: list[str] = []
    room = NAMES_SHOWN
    for piece in pieces:
        name = cut(_name(piece).rstrip(" .;…"), NAME_SHOWN).rstrip(" .;…")
        if (room := room - len(name) - 2) < 0:
            break
        names.append(name)
    more = len(pieces) - len(names)
    return "; ".join(dict.fromkeys(filter(None, names))) + (f"; {more} more" if more else "")


def _name(piece: Piece) -> str:
    if isinstance(piece, Entry):
        called = " ".join(filter(None, (piece.id, piece.title)))
        return called or foreign(first_sentence(piece.summary or piece.text))
    return piece.summary if isinstance(piece, Reference) else ""


@lru_cache(maxsize=REMEMBERED)
def _summary(text: str, title: str, sources: tuple[str, ...]) -> str:
    return foreign(brief_128(text, title=title, sources=sources))
