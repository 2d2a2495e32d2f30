"""Remembering no more than so much: readers look back, and memory must not grow with the file."""

from __future__ import annotations

from typing import TypeVar

REMEMBERED = 65_536
"""Records whose place is remembered. Users go back within one context window, which never holds as
many."""

Kept = TypeVar("Kept")


def remember(known: dict[str, Kept], key: str, value: Kept, *, most: int = REMEMBERED) -> None:
    """Keep a value under a key, and no more than `most`: the oldest goes."""
    if key not in known and len(known) >= most:
        del known[next(iter(known))]
    known[key] = value
