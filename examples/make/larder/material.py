"""What the chapters of this story share."""

from __future__ import annotations

import stored
from recorders.claude_code.session import Session
from recorders.claude_code.tools import Call

ROOT = "/home/odile/src/larder"
CSV = "internal/importer/csv.go"
CSV_TEST = "internal/importer/csv_test.go"
STORE = "internal/pantry/store.go"
STORE_TEST = "internal/pantry/store_test.go"
COMMANDS = "commands.go"
CHECK = "go vet ./... && go test ./..."


def out(name: str) -> str:
    """What a command printed, or a longer text of somebody's."""
    return stored.text("larder", name)


def file(name: str) -> str:
    """A file the agent writes."""
    return stored.file("larder", name)


def change(session: Session, path: str, name: str) -> Call:
    """A stored edit: the old text and the new one, apart by a line."""
    old, new = file(name).split("=====\n")
    return session.edit(path, old, new)


__all__ = [
    "CHECK",
    "COMMANDS",
    "CSV",
    "CSV_TEST",
    "ROOT",
    "STORE",
    "STORE_TEST",
    "Call",
    "Session",
    "change",
    "file",
    "out",
]
