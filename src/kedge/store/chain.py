"""The chain over the entries of a session: whoever changes, drops or moves one breaks it."""

from __future__ import annotations

from hashlib import sha256

from msgspec.structs import replace

from kedge.store.values import Entry, Head


def linked(entry: Entry, head: Head) -> Entry:
    """The entry as it stands behind a head. The session's name is not in it: a copy keeps its
    chain."""
    return replace(entry, number=head.number + 1, chain=chain_of(entry, head.chain))


def chain_of(entry: Entry, before: str) -> str:
    parts = (
        before,
        entry.kind,
        str(entry.at),
        entry.thread,
        str(entry.index),
        str(entry.tokens),
        entry.id,
        entry.key,
        " ".join(entry.blobs),
        " ".join(entry.said),
    )
    hashed = sha256()
    for part in (*(part.encode("utf-8", "surrogatepass") for part in parts), entry.data):
        hashed.update(b"%d:" % len(part))  # so that no part can pass for the end of another
        hashed.update(part)
    return hashed.hexdigest()
