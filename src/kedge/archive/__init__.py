"""The archive: originals as bytes, large strings apart by their hash, and what finds them."""

from kedge.archive.packing import (
    Damaged,
    Packed,
    checked_text,
    content_id,
    packed,
    packed_id,
    readable,
    references,
    unpacked,
)
from kedge.archive.passages import OUTPUT, passages_of

__all__ = [
    "OUTPUT",
    "Damaged",
    "Packed",
    "checked_text",
    "content_id",
    "packed",
    "packed_id",
    "passages_of",
    "readable",
    "references",
    "unpacked",
]
