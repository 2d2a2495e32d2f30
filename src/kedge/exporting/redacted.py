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
from kedge.model import Transcript, Turn, Value
from kedge.store import Entry, Head
from kedge.store.chain import linked


class Cleaning(Protocol):
    """Takes secrets out, as `kedge.redaction.Redactor` does."""

    def clean(self, text: str) -> str: ...

    def turn(self, turn: Turn) -> Turn: ...


def redacted(
    entries: Iterable[Entry], blob: Blob, cleaning: Cleaning
) -> Iterator[tuple[Entry, Blob]]:
    """The entries in a chain of their own, each with where its texts are."""
    redaction = Redaction(cleaning)
    for entry in entries:
        made, texts = redaction.cleaned(entry, blob)
        yield made, blob if texts is None else texts.get


class Redaction:
    """Sees the entries of a session pass. Of an entry that is changed, the ids of the messages it
    took in are left out: they are hashes of what was said, and whoever guesses a short secret could
    make sure of it."""

    def __init__(self, cleaning: Cleaning) -> None:
        self._cleaning, self._head = cleaning, Head()
        self._chains: dict[int, str] = {}
        """Of the turns, by their numbers: the record of a compaction names one."""
        self._threads: dict[str, str] = {}
        """What became of the names of sub-agents: two must not become one."""

    def cleaned(self, entry: Entry, blob: Blob) -> tuple[Entry, dict[str, bytes] | None]:
        """The next entry without secrets, with its number and chain; and the texts it refers to,
        where these are others than before."""
        entry = replace(entry, thread=self._thread(entry.thread))
        if self._cleaning.clean(entry.key) != entry.key:
            entry = replace(entry, key="")
        entry, texts = self._without_secrets(entry, blob)
        made = linked(entry, self._head)
        self._head = Head(number=made.number, chain=made.chain)
        if made.kind == "turn":
            self._chains[made.number] = made.chain
        return made, texts

    def _without_secrets(self, entry: Entry, blob: Blob) -> tuple[Entry, dict[str, bytes] | None]:
        expected = SAYS.get(entry.kind)
        if expected is None:
            return entry, None
        was = unpacked(entry.data, expected, blob)
        now = _value(was, self._cleaning)
        if isinstance(now, Recorded):
            now = replace(now, chain=self._chains.get(now.folded, ""))
        if isinstance(now, (Turn, Transcript)) and now.agent != entry.thread:
            now = replace(now, agent=entry.thread)
        if now == was:
            return entry, None
        made = packed(now, beside=PLACED if entry.kind in SPOKEN else ())
        said = () if entry.kind in SPOKEN else entry.said
        anew = replace(entry, data=made.data, id=made.id, blobs=tuple(made.blobs), said=said)
        return anew, made.blobs

    def _thread(self, name: str) -> str:
        if name not in self._threads:
            cleaned, taken = self._cleaning.clean(name), {*self._threads.values()}
            same = sum(1 for one in taken if one.startswith(cleaned)) if cleaned != name else 0
            self._threads[name] = f"{cleaned} {same + 1}" if same else cleaned
        return self._threads[name]


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
