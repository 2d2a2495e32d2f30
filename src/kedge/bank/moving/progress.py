"""Progress: milestones that were reached long ago go to its archive; the newest ones and all that
are open stay."""

from __future__ import annotations

from datetime import datetime, timedelta

from kedge.bank.moving.replacing import Moved, by_table, fewer_references, is_listed, replaced, runs
from kedge.bank.shapes.times import aware
from kedge.bank.values import Document, Entry, Limits


def moved_from_progress(document: Document, limits: Limits, now: datetime) -> Moved:
    """One block for all that go from a table, and one reference where the first stood: open
    milestones between them would otherwise leave more references than rows. Entries that are no
    rows go with their neighbours. Of the newest, only those count that could go: the open ones stay
    anyway, and so do those of which nobody knows how old they are."""
    reached = [entry for entry in document.by_age() if entry.done and entry.at is not None]
    newest = {entry.line for entry in reached[: limits.milestones]}
    before = aware(now) - timedelta(days=limits.milestone_days)
    going = {
        place
        for place, piece in enumerate(document.pieces)
        if isinstance(piece, Entry) and piece.line not in newest and _is_old(piece, before)
    }
    groups = by_table(document, going) if is_listed(document) else runs(going)
    return fewer_references(replaced(document, list(groups)), limits.references)


def _is_old(entry: Entry, before: datetime) -> bool:
    """One without a time stays: nobody knows how old it is."""
    return entry.done and entry.at is not None and aware(entry.at) < before


def undated(document: Document) -> int:
    """Reached milestones of which nobody knows how old they are."""
    return sum(entry.done and entry.at is None for entry in document.entries())
