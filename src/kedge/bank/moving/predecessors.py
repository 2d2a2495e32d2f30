"""The chain inside a JSON Lines file: every entry has the hash of the one before it."""

from __future__ import annotations

from kedge.bank.shapes.json_lines import JsonLines, line_hash
from kedge.bank.values import Document, Piece, Reference


def is_chained(document: Document) -> bool:
    return document.shape == JsonLines.name


def end_of_chain(piece: Piece) -> str:
    """What the next entry must name: the hash of this line, or of the last line that a reference
    stands for."""
    return piece.end if isinstance(piece, Reference) else line_hash(piece.text)
