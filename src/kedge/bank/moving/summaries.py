"""The summary_128 of entries and of what stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kedge.bank.briefs import brief_128
from kedge.bank.values import Entry, Piece, Reference
from kedge.foreign import foreign
from kedge.tokens import EXACT

MOST_TOKENS = 128
"""Of a summary_128, as its name says."""
REMEMBERED = 16_384
"""Summaries kept by their text: the index of a growing log is made again with every decision."""
LOOKED_AT = 40_000
"""Characters of a batch that its summary is made of; its end says as little as its middle."""


def summary_of(pieces: Sequence[Piece]) -> str:
    """One for all of them, on one line."""
    if len(pieces) == 1 and isinstance(pieces[0], Entry):
        return entry_summary(pieces[0])
    sources = [source for piece in pieces if isinstance(piece, Entry) for source in piece.sources]
    text = "\n\n".join(
        piece.summary if isinstance(piece, Reference) else piece.text for piece in pieces
    )
    return _summary(text[:LOOKED_AT], tuple(dict.fromkeys(sources)))


def entry_summary(entry: Entry) -> str:
    """Its own where it keeps to the size, or one that is made from its text."""
    if (own := foreign(entry.summary)) and EXACT.count(own) <= MOST_TOKENS:
        return own
    return _summary(entry.summary or entry.text, entry.sources)


@lru_cache(maxsize=REMEMBERED)
def _summary(text: str, sources: tuple[str, ...]) -> str:
    return foreign(brief_128(text, sources=sources))
