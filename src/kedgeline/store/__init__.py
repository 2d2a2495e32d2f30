"""The store: entries in order, blobs by hash, passages to search; behind one small protocol."""

from kedgeline.store.protocol import (
    Durability,
    Entry,
    Found,
    Head,
    Kind,
    Passage,
    Phrase,
    Place,
    Problem,
    Query,
    SessionInfo,
    Store,
    StoreReading,
    Writing,
    open_store,
    words,
)

__all__ = [
    "Durability",
    "Entry",
    "Found",
    "Head",
    "Kind",
    "Passage",
    "Phrase",
    "Place",
    "Problem",
    "Query",
    "SessionInfo",
    "Store",
    "StoreReading",
    "Writing",
    "open_store",
    "words",
]
