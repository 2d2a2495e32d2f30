"""Values as they stand in the tables."""

from __future__ import annotations

import json
from typing import Any

from kedge.store.values import Entry, Place

ENTRY = "number, kind, at, thread, turn, tokens, id, key, chain"
"""Columns of a light entry."""
WHOLE = f"{ENTRY}, blobs, said, data"
PLACE = "turn, number, tokens, before, id"


def kept(text: str) -> str | bytes:
    """A text as SQLite takes it: one that is no Unicode as its bytes, which equal no text."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def given(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def packed(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, separators=(",", ":")) if texts else ""


def unpacked(value: str) -> tuple[str, ...]:
    return tuple(json.loads(value)) if value else ()


def entry_of(row: tuple[Any, ...]) -> Entry:
    number, kind, at, thread, turn, tokens, id, key, chain, *rest = row
    blobs, said, data = rest or ("", "", b"")
    return Entry(
        kind=kind,
        data=data,
        at=at,
        thread=given(thread),
        index=turn,
        tokens=tokens,
        id=given(id),
        key=given(key),
        blobs=unpacked(blobs),
        said=unpacked(said),
        number=number,
        chain=chain,
    )


def place_of(row: tuple[Any, ...]) -> Place:
    index, number, tokens, before, id = row
    return Place(index=index, number=number, tokens=tokens, before=before, id=given(id))
