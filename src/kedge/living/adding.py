"""Values into entries of a session that is held."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from msgspec.structs import replace

from kedge.archive import OUTPUT, content_id, packed, passages_of
from kedge.living.values import Pin
from kedge.model import ToolCall, ToolResult, Transcript, Turn, Value
from kedge.redaction import Redactor
from kedge.store import Entry, Kind, Writing
from kedge.tokens import Counter, tokens_of

PLACED = ("index", "exchange", "tokens", "source", "session", "previous_error")
"""Fields of a turn that say where it stands and not what happened: they are no part of its content
id."""
HASHED = 16
"""Characters of a content id that tell outputs of one call id apart."""
Spoken = TypeVar("Spoken", Turn, Transcript)
Any_ = TypeVar("Any_", bound=Value)
Clock = Callable[[], int]
"""Microseconds since 1970, UTC."""


def now() -> int:
    return time.time_ns() // 1_000


@dataclass(frozen=True)
class Keeping:
    """How what is said is kept."""

    counter: Counter
    redactor: Redactor | None
    """Cleans what is not the archive: the index of words, the summary."""
    originals: bool = True
    """Whether the archive keeps secrets as they were said."""
    clock: Clock = now

    def ready(self, turn: Turn) -> Turn:
        """The turn as it goes into the archive, counted."""
        turn = self.kept(turn)
        return turn if turn.tokens else replace(turn, tokens=tokens_of(turn, self.counter).total)

    def kept(self, value: Any_) -> Any_:
        """A turn, what is known beside the turns, or a pin, without secrets where the user does not
        want them in the archive. All other values are made from what is clean already."""
        if self.originals or self.redactor is None:
            return value
        kept: Value = value
        if isinstance(value, Turn):
            kept = self.redactor.turn(value)
        elif isinstance(value, Transcript):
            kept = self.redactor.transcript(value)
        elif isinstance(value, Pin):
            kept = replace(value, text=self.clean(value.text))
        return cast(Any_, kept)

    def cleaned(self, value: Spoken) -> Spoken:
        """A turn or a transcript without secrets."""
        if self.redactor is None:
            return value
        if isinstance(value, Turn):
            return self.redactor.turn(value)
        return self.redactor.transcript(value)

    def clean(self, text: str) -> str:
        return text if self.redactor is None else self.redactor.clean(text)


def add_turn(
    writing: Writing,
    turn: Turn,
    keeping: Keeping,
    *,
    kind: Kind = "turn",
    instead_of: int | None = None,
    said: Sequence[str] = (),
    key: str = "",
) -> Entry:
    """Write a turn at its index, or words that wait for an answer. `instead_of` is the entry that
    had the same turn when less of it was known."""
    made = packed(turn, beside=PLACED)
    entry = Entry(
        kind=kind,
        data=made.data,
        at=_when(turn, keeping),
        thread=turn.agent,
        index=turn.index,
        tokens=turn.tokens,
        id=made.id,
        key=key,
        blobs=tuple(made.blobs),
        said=tuple(said),
    )
    passages = tuple(passages_of(turn, keeping.clean))
    return writing.add(entry, blobs=made.blobs, passages=passages, instead_of=instead_of)


def add_value(
    writing: Writing,
    kind: Kind,
    value: Value,
    keeping: Keeping,
    *,
    thread: str = "",
    index: int = -1,
    key: str = "",
) -> Entry:
    """Write any other value."""
    made = packed(keeping.kept(value))
    entry = Entry(
        kind=kind,
        data=made.data,
        at=keeping.clock(),
        thread=thread,
        index=index,
        id=made.id,
        key=key,
        blobs=tuple(made.blobs),
    )
    return writing.add(entry, blobs=made.blobs)


def keep_output(
    writing: Writing, session: str, call: ToolCall, output: str, keeping: Keeping
) -> str:
    """Keep what a call gave back apart from its turn, once; the mark that finds it. Some providers
    begin their ids anew: another text under the same id has a mark of its own."""
    result = ToolResult(call_id=call.id, output=output)
    kept = Turn(tool_calls=(call,), tool_results=(result,))
    hashed, mark = content_id(keeping.kept(kept)), f"{OUTPUT}{call.id}"
    number = writing.keyed(session, mark)
    if number is not None and _id_of(writing, session, number) != hashed:
        mark = f"{mark}-{hashed[:HASHED]}"
        number = writing.keyed(session, mark)
    if number is None:
        add_value(writing, "output", kept, keeping, key=mark)
    return mark


def _id_of(writing: Writing, session: str, number: int) -> str:
    entry = writing.entry(session, number)
    return entry.id if entry else ""


def add_mark(
    writing: Writing, kind: Kind, keeping: Keeping, *, index: int, thread: str = ""
) -> Entry:
    """Write an entry that says all by its kind and index."""
    return writing.add(Entry(kind=kind, at=keeping.clock(), thread=thread, index=index))


def add_about(writing: Writing, known: Transcript, keeping: Keeping, *, key: str = "") -> Entry:
    """Write what is known beside the turns."""
    bare = keeping.kept(replace(known, turns=(), pending=None, agents=()))
    return add_value(writing, "about", bare, keeping, thread=bare.agent, key=key)


def _when(turn: Turn, keeping: Keeping) -> int:
    """When it was said, where the turn knows; else now."""
    if turn.timestamp is None:
        return keeping.clock()
    return int(turn.timestamp.timestamp() * 1_000_000)
