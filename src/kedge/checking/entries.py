"""What is wrong with one entry, by nothing but what it says itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kedge.archive import Damaged, packed_id, readable, references
from kedge.living.adding import PLACED
from kedge.living.values import Attempt, Forked, Pin, Recorded
from kedge.model import ModelCall, Transcript, Turn, Value
from kedge.store import Entry, Kind

SAYS: Mapping[Kind, type[Value]] = {
    "turn": Turn,
    "words": Turn,
    "about": Transcript,
    "compaction": Recorded,
    "attempt": Attempt,
    "pin": Pin,
    "call": ModelCall,
    "output": Turn,
    "fork": Forked,
}
"""What the data of an entry is by its kind. The others say all by their kind and index."""
SPOKEN = ("turn", "words")


def faults(entry: Entry) -> Iterator[str]:
    """Each in one sentence, beginning with what is at fault. The texts it refers to are not looked
    at."""
    expected = SAYS.get(entry.kind)
    if expected is None:
        if entry.data or entry.blobs:
            yield f"an entry of the kind {entry.kind!r} has data, and none was written"
        return
    try:
        inside = {hash for _, hash in references(entry.data)}
        id = packed_id(entry.data, beside=PLACED if entry.kind in SPOKEN else ())
        readable(entry.data, expected, _no_text)
    except Damaged as error:
        yield f"it cannot be read: {error.why}"
        return
    if inside != set(entry.blobs):
        yield "the texts it refers to are not those that are noted beside it"
    if id != entry.id:
        yield "what it says is not what was written: its content id is another"


def _no_text(_: str) -> None:
    """Whatever the texts are, they are texts: the type shows without them."""
