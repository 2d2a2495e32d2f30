"""The index of the decision log: a line per entry, made from the log alone and at any time."""

from __future__ import annotations

from hashlib import sha256

from kedge.bank.moving.summaries import entry_summary
from kedge.bank.values import INDEX, Document, Entry, Limits
from kedge.foreign import foreign


def index_name(name: str) -> str:
    """decisionLog.md has decisionLog.index.md."""
    return f"{name.rpartition('.')[0] or name}{INDEX}.md"


def index_of(document: Document) -> bytes:
    """The same bytes for the same log."""
    entries = list(document.entries())
    digest = sha256(document.text.encode()).hexdigest()
    counted = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    head = (
        f"# Index of {document.name}\n\n"
        f"Made from {document.name} ({counted}, sha256 {digest}), which is what "
        f"counts. It is made again with every change, so nothing is kept that is written here.\n\n"
    )
    return (head + "".join(map(_line, entries))).encode()


def index_wanted(document: Document, index: bytes | None, limits: Limits) -> bool:
    """From the limit on a log has one. One that is there is kept up to date in any case."""
    return index is not None or sum(1 for _ in document.entries()) > limits.index_after


def _line(entry: Entry) -> str:
    date = entry.at.date().isoformat() if entry.at else "no date"
    fields = (
        foreign(entry.id) or "no id",
        date,
        foreign(entry.status) or "no status",
        f"line {entry.line}",
        entry_summary(entry),
    )
    return f"- {' · '.join(fields)}\n"
