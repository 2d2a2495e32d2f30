"""What a session writes down beside its turns."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from msgspec.structs import replace

from kedgeline.errors import StoreDamaged
from kedgeline.model import (
    Compaction,
    Message,
    ModelCall,
    Note,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
    Value,
)
from kedgeline.planning import History
from kedgeline.redact import Redactor
from kedgeline.session.archive import (
    OUTPUT,
    Damaged,
    content_id,
    packed,
    passages_of,
    readable,
    unpacked,
)
from kedgeline.store import Entry, Head, Kind, Place, StoreReading, Writing
from kedgeline.tokens import Counter, fitting, tokens_of

if TYPE_CHECKING:
    from kedgeline.session.appending import Hold


class Recorded(Value, frozen=True):
    """A compaction as it is kept, with what decides when the next one comes."""

    compaction: Compaction
    history: History = History()
    """As it was when the compaction was made."""
    turns: int = 0
    """How many turns stood then."""
    tokens: int = 0
    """Of these turns."""
    leads: int = 0
    """Tokens of what stands for the folded turns, what is said again included."""
    folded: int = 0
    """Number of the entry of the last folded turn: while it stands, so does the record."""
    chain: str = ""
    """Hash over all entries up to that one: what exactly the summary stands for."""
    provider: str = ""
    """Whose rules the cut keeps."""
    masked: tuple[tuple[int, int], ...] = ()
    """Kept turns with outputs that are replaced, each with the number of its entry then: another
    turn in that place has outputs of its own."""


class Attempt(Value, frozen=True):
    """A compaction that changed nothing."""

    why: str
    history: History = History()
    turns: int = 0
    tokens: int = 0


class Prepared(Value, frozen=True):
    """A compaction that was made and is not written down yet."""

    record: Recorded | None
    attempt: Attempt | None
    """Where it changes nothing."""
    before: int
    """Number of the entry of the compaction that stood then; 0 for none."""
    head: int
    """Number of the last entry that there was."""


class Pin(Value, frozen=True):
    """What the user wants kept word for word: a text of theirs, or a turn."""

    text: str = ""
    turn: int = -1
    number: int = 0
    """Of its entry; names the pin."""
    entry: int = 0
    """Number of the entry of the turn: the words that are meant, also when a rewind gave their
    place to others. 0 in pins of words."""


class Forked(Value, frozen=True):
    """Where a session comes from."""

    session: str
    number: int
    """Of the last entry that was taken over."""
    turns: int


# One session in a store, read back as values.


class Event(NamedTuple):
    """Something that happened to a session beside its turns."""

    number: int
    at: int
    """Microseconds since 1970, UTC."""
    what: Recorded | Attempt | Forked
    undone: bool = False


class Standing(NamedTuple):
    """The newest compaction that was not left out."""

    number: int
    """Of its entry."""
    record: Recorded


Known = dict[str, Recorded]
"""Records by the chain of their entry."""
SPOKEN_LAST: tuple[Kind, ...] = ("turn", "cut", "words")
"""Entries of which the last tell what waits for an answer."""


class Journal:
    """Reads; it keeps nothing, so it is as new as the store is."""

    def __init__(self, store: StoreReading, session: str, known: Known | None = None) -> None:
        """`known` are records that were read before: they are large, and never change."""
        self._store, self._session = store, session
        self._known = known if known is not None else {}

    def turn(self, place: Place) -> Turn:
        """A turn that stands. Of one that is damaged, what is left of it: no turn makes the others
        unreadable."""
        try:
            entry = self._store.entry(self._session, place.number)
            if entry is None:
                raise Damaged(f"t{place.index} of {self._session} is gone")
            return self._turn(entry)
        except StoreDamaged as error:
            return lost(place, error.why)

    def turns(self, first: int = 0, last: int | None = None, *, thread: str = "") -> Iterator[Turn]:
        """The turns that stand, one by one."""
        places = self._store.places(self._session, thread=thread, first=first, last=last)
        for place in places:
            yield self.turn(place)

    def last_place(self, *, thread: str = "") -> Place | None:
        return self._store.last_place(self._session, thread=thread)

    def place(self, index: int, *, thread: str = "") -> Place | None:
        found = self._store.places(self._session, thread=thread, first=index, last=index)
        return found[0] if found else None

    def number(self, index: int) -> int:
        """Of the entry of a turn; 0 where it does not stand."""
        place = self.place(index)
        return place.number if place else 0

    def places(
        self, first: int = 0, last: int | None = None, *, thread: str = ""
    ) -> Sequence[Place]:
        return self._store.places(self._session, thread=thread, first=first, last=last)

    def count(self, *, thread: str = "") -> int:
        last = self.last_place(thread=thread)
        return last.index + 1 if last else 0

    def tokens(self) -> int:
        last = self.last_place()
        return last.before + last.tokens if last else 0

    def since(self, start: int) -> int:
        """Tokens of the turns from an index on."""
        place = self.place(start)
        return self.tokens() - place.before if place else 0

    def newest(self, start: int = 0) -> Iterator[Turn]:
        """The same turns, newest first, each read when it is asked for."""
        for index in range(self.count() - 1, start - 1, -1):
            place = self.place(index)
            if place is None:  # of a damaged number one could count down for years
                yield from map(self.turn, reversed(self.places(start, index - 1)))
                return
            yield self.turn(place)

    def waiting(self, *, thread: str = "") -> list[Entry]:
        """The entries of the words that wait for an answer, oldest first."""
        newest = self._store.entries(
            self._session, kinds=SPOKEN_LAST, thread=thread, newest_first=True, light=True
        )
        words = [*takewhile(lambda entry: entry.kind == "words", newest)]
        entries = (self._store.entry(self._session, one.number) for one in reversed(words))
        return [entry for entry in entries if entry is not None]

    def waiting_ids(self) -> list[str]:
        """Content ids of the messages that these words are from."""
        return [id for entry in self.waiting() for id in entry.said]

    def newest_words(self) -> Turn | None:
        """The last piece of the words that wait."""
        newest = self._store.entries(self._session, kinds=SPOKEN_LAST, thread="", newest_first=True)
        entry = next(newest, None)
        return self._turn(entry) if entry is not None and entry.kind == "words" else None

    def pending(self, *, thread: str = "") -> Turn | None:
        """The words that wait for an answer, as one turn."""
        pieces = [self._turn(entry) for entry in self.waiting(thread=thread)]
        return _joined(pieces) if pieces else None

    def about(self, *, thread: str = "") -> Transcript:
        """What is known beside the turns."""
        kinds: tuple[Kind, ...] = ("about",)
        newest = self._store.entries(self._session, kinds=kinds, thread=thread, newest_first=True)
        for entry in newest:
            return readable(entry.data, Transcript, self._store.blob)
        return Transcript(format="kedgeline", agent=thread)

    def head(self) -> Head:
        return self._store.head(self._session)

    def chain(self, number: int) -> str:
        """The hash over all entries up to one."""
        entry = self._store.entry(self._session, number)
        return entry.chain if entry else ""

    def recorded(self) -> Standing | None:
        """The newest compaction that stands. One that is damaged is left out, as if it was undone:
        the turns are all there."""
        for mark in self._marks(("compaction", "undo")):
            if (record := self._record(mark)) is not None:
                return Standing(mark.number, record)
        return None

    def compaction_mark(self) -> Entry | None:
        """The entry of the newest compaction that stands, without its data: its index is the first
        turn that it kept."""
        return next(self.compaction_marks(), None)

    def compaction_marks(self) -> Iterator[Entry]:
        """Those of all that stand, newest first."""
        return self._marks(("compaction", "undo"))

    def _record(self, mark: Entry) -> Recorded | None:
        if mark.chain in self._known:
            return self._known[mark.chain]
        entry = self._store.entry(self._session, mark.number)
        try:
            record = unpacked(entry.data, Recorded, self._store.blob) if entry else None
        except StoreDamaged:
            return None
        if record is not None:
            self.remember(mark, record)
        return record

    def remember(self, mark: Entry, record: Recorded) -> None:
        """The newest is what is asked for again and again."""
        self._known.clear()
        self._known[mark.chain] = record

    def events(self) -> Iterator[Event]:
        """Compactions that stand, attempts, and where the session comes from, newest first."""
        return map(self._event, self._marks(("compaction", "attempt", "undo", "fork")))

    def all_events(self) -> list[Event]:
        """The same, oldest first, with the compactions that were left out marked."""
        kinds: tuple[Kind, ...] = ("compaction", "attempt", "undo", "fork")
        marks = list(self._store.entries(self._session, kinds=kinds, light=True))
        left_out = {mark.index for mark in marks if mark.kind == "undo"}
        return [
            self._event(mark)._replace(undone=mark.number in left_out)
            for mark in marks
            if mark.kind != "undo"
        ]

    def _marks(self, kinds: tuple[Kind, ...]) -> Iterator[Entry]:
        """Entries without data, newest first; what an undo names is left out."""
        left_out: set[int] = set()
        for mark in self._store.entries(self._session, kinds=kinds, newest_first=True, light=True):
            if mark.kind == "undo":
                left_out.add(mark.index)
            elif mark.number not in left_out:
                yield mark

    def history(self) -> History:
        """What the next decision about compacting is made from."""
        turns, tokens = self.count(), self.tokens()
        for event in self.events():
            done = event.what
            if isinstance(done, Forked):
                continue
            came, grown = turns - done.turns, tokens - done.tokens
            return replace(
                done.history,
                turns_since=max(0, done.history.turns_since + came),
                tokens_since=max(0, done.history.tokens_since + grown),
                turns_since_failure=max(0, done.history.turns_since_failure + came),
            )
        return History(turns_since=turns, tokens_since=tokens)

    def pins(self) -> list[Pin]:
        """What is pinned, oldest first."""
        found: dict[int, Pin] = {}
        for entry in self._store.entries(self._session, kinds=("pin", "unpin")):
            if entry.kind == "pin":
                pin = readable(entry.data, Pin, self._store.blob)
                found[entry.number] = replace(pin, number=entry.number)
            else:
                found.pop(entry.index, None)
        return list(found.values())

    def calls(self) -> Iterator[ModelCall]:
        """Requests to language models, oldest first. One that is damaged is left out."""
        kinds: tuple[Kind, ...] = ("call",)
        for entry in self._store.entries(self._session, kinds=kinds):
            try:
                call = readable(entry.data, ModelCall, self._store.blob)
            except StoreDamaged:
                continue
            yield call

    def known(self) -> Transcript:
        """What is known beside the turns, words that wait for an answer and sub-agents with it."""
        agents = (replace(self.about(thread=one), agent=one) for one in self.threads())
        return replace(self.about(), pending=self.pending(), agents=tuple(agents))

    def all_turns(self) -> Iterator[Turn]:
        """The turns that stand, one by one; those of sub-agents first, as they explain others."""
        for thread in (*self.threads(), ""):
            yield from self.turns(thread=thread)

    def transcript(self) -> Transcript:
        """All of it: every turn as it was, sub-agents attached."""
        return replace(
            self.about(),
            turns=tuple(self.turns()),
            pending=self.pending(),
            agents=self.agents(),
        )

    def threads(self) -> Sequence[str]:
        """Sub-agents, by their ids."""
        return self._store.threads(self._session)

    def agents(self) -> tuple[Transcript, ...]:
        return tuple(
            replace(
                self.about(thread=thread),
                agent=thread,
                turns=tuple(self.turns(thread=thread)),
                pending=self.pending(thread=thread),
            )
            for thread in self.threads()
        )

    def _turn(self, entry: Entry) -> Turn:
        return readable(entry.data, Turn, self._store.blob)

    def _event(self, mark: Entry) -> Event:
        if mark.chain in self._known:
            return Event(mark.number, mark.at, self._known[mark.chain])
        entry = self._store.entry(self._session, mark.number)
        if entry is None:
            raise Damaged(f"entry {mark.number} of {self._session} is gone")
        types: dict[str, type[Recorded | Attempt | Forked]] = {
            "compaction": Recorded,
            "attempt": Attempt,
            "fork": Forked,
        }
        try:
            what = readable(entry.data, types[entry.kind], self._store.blob)
        except StoreDamaged as error:
            what = Attempt(why=error.why)
        return Event(mark.number, mark.at, what)


def lost(place: Place, why: str) -> Turn:
    """What stands in the place of a turn that cannot be read."""
    mark = Note(kind="injected", text=f"[{why}; `kedgeline fsck` says more]")
    return Turn(index=place.index, tokens=place.tokens, notes=(mark,))


def _joined(pieces: list[Turn]) -> Turn:
    """Words that came one after the other, as those of one turn."""
    first = pieces[0]
    if len(pieces) == 1:
        return first
    messages: tuple[Message, ...] = tuple(one for piece in pieces for one in piece.messages)
    return replace(
        first,
        exchange=max(piece.exchange for piece in pieces),
        user_message="\n\n".join(piece.user_message for piece in pieces if piece.user_message),
        notes=tuple(note for piece in pieces for note in piece.notes),
        media=tuple(media for piece in pieces for media in piece.media),
        messages=messages if all(piece.messages for piece in pieces) else (),
        tokens=sum(piece.tokens for piece in pieces),
        source=replace(first.source, last=pieces[-1].source.last, end=pieces[-1].source.end),
    )


# Values into entries of a session that is held.

PLACED = ("index", "exchange", "tokens", "source", "session", "previous_error")
"""Fields of a turn that say where it stands and not what happened: they are no part of its content
id."""
HASHED = 16
"""Characters of a content id that tell outputs of one call id apart."""
V = TypeVar("V", bound=Value)
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

    def fitted(self, model: str) -> Keeping:
        """The same for a session of this model."""
        return dataclasses.replace(self, counter=fitting(self.counter, model))

    def kept(self, value: V) -> V:
        """The value as the archive keeps it: without secrets where the user wants none there."""
        return value if self.originals else self.cleaned(value)

    def cleaned(self, value: V) -> V:
        """A turn, what is known beside the turns, or a pin, without secrets. All other values are
        made from what is clean already."""
        found: Value = value
        if isinstance(value, Turn) and self.redactor:
            found = self.redactor.turn(value)
        elif isinstance(value, Transcript) and self.redactor:
            found = self.redactor.transcript(value)
        elif isinstance(value, Pin):
            found = replace(value, text=self.clean(value.text))
        return cast(V, found)

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
    ready = ready_value(kind, value, keeping, thread=thread, index=index, key=key)
    return writing.add(ready.entry, blobs=ready.blobs)


class Ready(NamedTuple):
    """A value that only has to be written."""

    entry: Entry
    blobs: dict[str, bytes]


def ready_value(
    kind: Kind, value: Value, keeping: Keeping, *, thread: str = "", index: int = -1, key: str = ""
) -> Ready:
    """Make a value ready: a large one takes a while in which nobody should hold the session."""
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
    return Ready(entry, made.blobs)


def written(hold: Hold, journal: Journal, keeping: Keeping, ready: Prepared) -> bool:
    """Write it down, if what it was made from still stands."""
    record, cut = ready.record, 0
    if record is None:
        assert ready.attempt is not None
        value = ready_value("attempt", ready.attempt, keeping)
    else:
        cut = record.compaction.plan.cut
        value = ready_value("compaction", record, keeping, index=cut)
    with hold() as held:
        if not _stands(held.journal, ready, cut):
            return False
        entry = held.writing.add(value.entry, blobs=value.blobs)
    if record is not None:
        journal.remember(entry, record)
    return True


def _stands(journal: Journal, ready: Prepared, cut: int) -> bool:
    """Whether what was folded is what was read, and no other compaction came between. A kept turn
    may have changed: what was masked in it is then left out of the view."""
    now = journal.compaction_mark()
    if (now.number if now else 0) != ready.before:
        return False
    place = journal.place(cut - 1) if cut else None
    return not cut or (place is not None and place.number <= ready.head)


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
