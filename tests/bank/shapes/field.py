"""What tests of files of the field have in common."""

from __future__ import annotations

from datetime import UTC, datetime

from kedgeline.bank.compacting import BankPlan
from kedgeline.bank.documents import read_document, with_entry
from kedgeline.bank.values import Document, NewEntry, Other
from tests.bank.shapes.made import HASH

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
NEW = NewEntry(agent="Mate", at=AT, title="Third port", text="It has other columns.")
QUOTED = f"> Archived: 2 entries: both (activeContext.archive.md, sha256:{HASH})\n\n"


def read(text: str, name: str = "activeContext.md") -> Document:
    document = read_document(name, text.encode())
    assert document.text == text
    return document


def titles(document: Document) -> list[str]:
    return [entry.title for entry in document.entries()]


def others(document: Document) -> str:
    return "".join(piece.text for piece in document.pieces if isinstance(piece, Other))


def grown(document: Document) -> Document:
    return read_document(document.name, with_entry(document, NEW).encode())


def refusals(plan: BankPlan) -> list[str]:
    return [note for note in plan.notes if "would" in note]
