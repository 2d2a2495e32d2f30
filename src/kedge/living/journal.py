"""One session in a store, read back as values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedge.archive import Damaged, readable, unpacked
from kedge.living.values import Attempt, Forked, Pin, Recorded
from kedge.model import Message, ModelCall, Note, Transcript, Turn
from kedge.planning import History
from kedge.store import Entry, Head, Kind, Place, Reading


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


class Journal:
    """Reads; it keeps nothing, so it is as new as the store is."""

    def __init__(self, store: Reading, session: str, known: Known | None = None) -> None:
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
        except Damaged as error:
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

    def waiting(self, *, thread: str = "") -> list[Entry]:
        """The entries of the words that wait for an answer, without their data, newest first."""
        found: list[Entry] = []
        entries = self._store.entries(
            self._session,
            kinds=("turn", "cut", "words"),
            thread=thread,
            newest_first=True,
            light=True,
        )
        for entry in entries:
            if entry.kind != "words":
                break
            found.append(entry)
        return found

    def waiting_ids(self) -> list[str]:
        """Content ids of the messages that these words are from, oldest first."""
        numbers = [entry.number for entry in reversed(self.waiting())]
        entries = (self._store.entry(self._session, number) for number in numbers)
        return [id for entry in entries if entry is not None for id in entry.said]

    def newest_words(self) -> Turn | None:
        """The last piece of the words that wait."""
        for entry in self._store.entries(
            self._session, kinds=("turn", "cut", "words"), thread="", newest_first=True
        ):
            return self._turn(entry) if entry.kind == "words" else None
        return None

    def pending(self, *, thread: str = "") -> Turn | None:
        """The words that wait for an answer, as one turn."""
        numbers = [entry.number for entry in reversed(self.waiting(thread=thread))]
        entries = (self._store.entry(self._session, number) for number in numbers)
        pieces = [self._turn(entry) for entry in entries if entry is not None]
        return joined(pieces) if pieces else None

    def about(self, *, thread: str = "") -> Transcript:
        """What is known beside the turns."""
        kinds: tuple[Kind, ...] = ("about",)
        newest = self._store.entries(self._session, kinds=kinds, thread=thread, newest_first=True)
        for entry in newest:
            return readable(entry.data, Transcript, self._store.blob)
        return Transcript(format="kedge", agent=thread)

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
        return next(self._marks(("compaction", "undo")), None)

    def _record(self, mark: Entry) -> Recorded | None:
        if mark.chain in self._known:
            return self._known[mark.chain]
        entry = self._store.entry(self._session, mark.number)
        try:
            record = unpacked(entry.data, Recorded, self._store.blob) if entry else None
        except Damaged:
            return None
        if record is not None:
            self._known.clear()  # the newest is what is asked for again and again
            self._known[mark.chain] = record
        return record

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
            except Damaged:
                continue
            yield call

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
        except Damaged as error:
            what = Attempt(why=error.why)
        return Event(mark.number, mark.at, what)


def lost(place: Place, why: str) -> Turn:
    """What stands in the place of a turn that cannot be read."""
    mark = Note(kind="injected", text=f"[{why}; `kedge fsck` says more]")
    return Turn(index=place.index, tokens=place.tokens, notes=(mark,))


def joined(pieces: list[Turn]) -> Turn:
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
