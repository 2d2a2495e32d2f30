"""The active context: the newest entries stay, the older ones go to its archive."""

from __future__ import annotations

from kedge.bank.moving.replacing import Moved, fewer_references, replaced, runs
from kedge.bank.moving.triggers import tokens_of_text
from kedge.bank.values import Document, Entry, Limits

REFERENCE_TOKENS = 250
"""Estimated tokens of one more reference: a summary of 128 tokens, a hash, a range and a name."""


def moved_from_active(document: Document, limits: Limits, *, stay: int | None = None) -> Moved:
    """All but the newest `stay` entries go, each run of neighbours as one block."""
    newest = document.by_age()[: limits.entries if stay is None else stay]
    kept = {entry.line for entry in newest}
    going = {
        place
        for place, piece in enumerate(document.pieces)
        if isinstance(piece, Entry) and piece.line not in kept
    }
    return fewer_references(replaced(document, list(runs(going))), limits.references)


def stay_for_tokens(document: Document, limits: Limits, over: int) -> int:
    """How many entries can stay so that the file loses `over` estimated tokens beyond what
    entries over the limit of entries were, and never fewer than the least."""
    rows = document.by_age()[: limits.entries]
    stay, saved = len(rows), -REFERENCE_TOKENS
    while saved < over and stay > limits.least_entries:
        stay -= 1
        saved += tokens_of_text(rows[stay].text)
    return stay
