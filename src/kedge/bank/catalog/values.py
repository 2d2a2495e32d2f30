"""What the catalog consists of, and what was found in it."""

from __future__ import annotations

from typing import Literal

from kedge.model import Value

CATALOG, CHUNKS = "catalog.yml", "chunks"
"""Names of the file and of the folder in the catalog's place."""
CHUNK_TOKENS = 3_800
"""Estimated tokens of a chunk at the most: what the field's chunks have, and a tenth of what an
agent can spend on one question."""
CHARACTERS = 4
"""Of one estimated token (seed 003 and the field: characters // 4)."""

Step = Literal[1, 2, 3, 4]


def estimated(text: str) -> int:
    return len(text) // CHARACTERS


class Chunk(Value, frozen=True):
    """A part of a document. All of them joined are the document."""

    text: str
    titles: tuple[tuple[str, ...], ...] = ()
    """Paths of the headings it has, the outermost first; of code, the names of what it defines."""
    inside: bool = False
    """Whether it was cut out of a block of code that is larger than a chunk."""


class Listed(Value, frozen=True):
    """A chunk as the catalog has it."""

    path: str
    """From the catalog's folder."""
    summary_128: str = ""
    tokens: int = 0
    hash: str = ""


class Skipped(Value, frozen=True):
    path: str
    why: str


class Indexed(Value, frozen=True):
    """What an index did."""

    documents: int
    chunks: int
    tags: int
    written: tuple[str, ...] = ()
    """Files that were made or changed."""
    removed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


class Read(Value, frozen=True):
    """What a step looked at."""

    step: Step
    what: str
    items: int
    tokens: int
    """Estimated."""


class Hit(Value, frozen=True):
    path: str
    """Of the chunk, from the catalog's folder; of the source where only that answers."""
    source: str
    lines: tuple[int, int] = (0, 0)
    """Of the source, where the chunk stands or where the words do; zeros where it changed."""
    text: str = ""
    """What answered, shortened."""
    tokens: int = 0
    """Estimated, of the chunk or the source as a whole."""
    missing: tuple[str, ...] = ()
    """Words of the query that it does not have."""
    stale: str = ""
    """Why the chunk is not what the source is now."""


class Found(Value, frozen=True):
    query: str
    step: Step
    """Where the search stopped."""
    answered: bool
    """Whether something has all words; else the hits are those that have most of them."""
    why: str
    hits: tuple[Hit, ...] = ()
    more: int = 0
    """Hits that are not shown."""
    read: tuple[Read, ...] = ()
    notes: tuple[str, ...] = ()
