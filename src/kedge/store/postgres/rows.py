"""Values as they stand in the tables. What anyone may have put a NUL or half a surrogate pair into
is kept as bytes: PostgreSQL takes neither in a text."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from kedge.errors import BadSettings
from kedge.store.values import Entry, Place

LONGEST_OWNER = 200
"""Characters: an owner is in every index, whose rows must stay small."""
ENTRY = "number, kind, at, thread, index, tokens, id, key, chain"
"""Columns of a light entry."""
WHOLE = f"{ENTRY}, blobs, said, data"
PLACE = "index, number, tokens, before, id"


def packed(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def unpacked(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def all_packed(texts: Iterable[str]) -> list[bytes]:
    return [packed(text) for text in texts]


def hashed(text: str) -> bytes:
    """Stands for a text of any length in an index."""
    return sha256(packed(text)).digest()


def owner_column(owner: str) -> str:
    """An owner as it stands in every table: as it is, but for what no text may hold."""
    if len(owner) > LONGEST_OWNER:
        problem = f"it has {len(owner)} characters; use {LONGEST_OWNER} at the most"
        raise BadSettings("the owner of the store", problem)
    plain = owner.replace("\\", "\\\\").replace("\0", "\\0")
    return plain.encode("utf-8", "backslashreplace").decode()


def sought(session: str) -> str:
    """A name as it may be asked for: one that no session can have finds none."""
    return session if session.isascii() and "\0" not in session else ""


def entry_of(row: tuple[Any, ...]) -> Entry:
    number, kind, at, thread, index, tokens, id, key, chain, *rest = row
    blobs, said, data = rest or ((), (), b"")
    return Entry(
        kind=kind,
        data=data,
        at=at,
        thread=unpacked(thread),
        index=index,
        tokens=tokens,
        id=unpacked(id),
        key=unpacked(key),
        blobs=tuple(map(unpacked, blobs)),
        said=tuple(map(unpacked, said)),
        number=number,
        chain=chain,
    )


def place_of(row: tuple[Any, ...]) -> Place:
    index, number, tokens, before, id = row
    return Place(index=index, number=number, tokens=tokens, before=before, id=unpacked(id))
