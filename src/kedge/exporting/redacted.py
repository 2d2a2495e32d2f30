"""Entries without the secrets in them. Their ids and chains are made anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from kedge.archive import packed, unpacked
from kedge.archive.packing import Blob
from kedge.checking.entries import SAYS, SPOKEN
from kedge.living.adding import PLACED
from kedge.living.values import Recorded
from kedge.model import Turn, Value
from kedge.store import Entry, Head
from kedge.store.chain import linked


class Cleaning(Protocol):
    """Takes secrets out, as `kedge.redaction.Redactor` does."""

    def clean(self, text: str) -> str: ...

    def turn(self, turn: Turn) -> Turn: ...


def redacted(
    entries: Iterable[Entry], blob: Blob, cleaning: Cleaning
) -> Iterator[tuple[Entry, Blob]]:
    """The entries in a chain of their own, each with where its texts are. Of an entry that is
    changed, the ids of the messages it took in are left out: they are hashes of what was said, and
    whoever guesses a short secret could make sure of it."""
    head = Head()
    chains: dict[int, str] = {}
    """Of the turns, by their numbers: the record of a compaction names one."""
    for entry in entries:
        cleaned, texts = _cleaned(entry, blob, cleaning, chains)
        made = linked(cleaned, head)
        head = Head(number=made.number, chain=made.chain)
        if made.kind == "turn":
            chains[made.number] = made.chain
        yield made, texts


def _cleaned(
    entry: Entry, blob: Blob, cleaning: Cleaning, chains: dict[int, str]
) -> tuple[Entry, Blob]:
    if cleaning.clean(entry.key) != entry.key:
        entry = replace(entry, key="")
    expected = SAYS.get(entry.kind)
    if expected is None:
        return entry, blob
    was = unpacked(entry.data, expected, blob)
    now = _value(was, cleaning)
    if isinstance(now, Recorded):
        now = replace(now, chain=chains.get(now.folded, ""))
    if now == was:
        return entry, blob
    made = packed(now, beside=PLACED if entry.kind in SPOKEN else ())
    said = () if entry.kind in SPOKEN else entry.said
    anew = replace(entry, data=made.data, id=made.id, blobs=tuple(made.blobs), said=said)
    return anew, made.blobs.get


def _value(value: Value, cleaning: Cleaning) -> Value:
    if isinstance(value, Turn):
        return cleaning.turn(value)
    return msgspec.convert(_tree(msgspec.to_builtins(value), cleaning), type(value))


def _tree(value: Any, cleaning: Cleaning) -> Any:
    if isinstance(value, str):
        return cleaning.clean(value)
    if isinstance(value, dict):
        return {key: _tree(inner, cleaning) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tree(inner, cleaning) for inner in value]
    return value
