"""The catalog of a bank: documents in chunks with summaries, tags that lead to them, and a search
that reads as little as it can."""

from kedge.bank.catalog.finding import find
from kedge.bank.catalog.indexing import index
from kedge.bank.catalog.values import (
    CATALOG,
    CHUNK_TOKENS,
    CHUNKS,
    Found,
    Hit,
    Indexed,
    Listed,
    Read,
    Skipped,
)

__all__ = [
    "CATALOG",
    "CHUNKS",
    "CHUNK_TOKENS",
    "Found",
    "Hit",
    "Indexed",
    "Listed",
    "Read",
    "Skipped",
    "find",
    "index",
]
