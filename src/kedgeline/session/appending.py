"""What comes next in a session, put behind its open end; what is there already is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from itertools import takewhile
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.formats import Written, is_provider
from kedgeline.model import PINNED_TAG, SUMMARY_TAG, Transcript, Turn
from kedgeline.session.alignment import (
    USUAL,
    Envelope,
    IdentifiedMessage,
    Message,
    OpenEnd,
    answering,
    beside,
    envelope_of,
    extended_end,
    identified,
    longer,
    message_blocks,
    only_words,
    opens,
    overlap,
    placed,
    places_of,
    provider_of,
    refuse_unread,
    unknown,
)
from kedgeline.session.archive import content_id
from kedgeline.session.journal import PLACED, Journal, Keeping, add_about, add_mark, add_turn
from kedgeline.store import Entry, Kind, Place, StoreReading, Writing

# A host that goes on with our view sends it back: what is ours in it is not taken for said.

Shown = Callable[[str], Written]
"""The view of the session for a provider."""
OURS = tuple(
    f"{before}<{tag}>"
    for tag in (SUMMARY_TAG, PINNED_TAG)
    for before in ("", "<system-reminder>\n")
)
"""How a message begins that leads a view, as writers write notes."""


def without_lead(
    found: list[IdentifiedMessage], format: str, shown: Shown
) -> list[IdentifiedMessage]:
    """The messages behind a view of ours, as far as the list is the view as it is now. Of another
    the lead alone is left out: what was kept is known by its content.

    Blocks are compared: what came behind the view stands in it now, where messages of one role that
    follow each other may be one."""
    place = same = 0
    if is_provider(format):
        written = [one for each in shown(format).messages for one in message_blocks(each)]
        while same < len(found) and (own := message_blocks(found[same].message)):
            if written[place : place + len(own)] != own:
                break
            place, same = place + len(own), same + 1
    if _is_lead(found[0]):
        return found[max(same, 1) :]
    return found[same:] if same > 1 else found  # the first words alone may be said again


def _is_lead(one: IdentifiedMessage) -> bool:
    return one.message.get("role") == "user" and any(
        text.lstrip().startswith(OURS) for text in _texts(one.message)
    )


def _texts(message: Any) -> list[str]:
    """The texts of a message, whatever the provider calls its blocks."""
    found: list[str] = []
    for field in ("content", "parts"):
        content = message.get(field)
        blocks = content if isinstance(content, list) else [content]
        texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
        found += [text for text in texts if isinstance(text, str)]
    return found


# Which messages a session has, by their content ids.

MARK = "!"
"""Stands among the ids of an entry that takes something back, and before the number of the last
entry whose ids still count."""
KINDS: tuple[Kind, ...] = ("turn", "words", "cut", "about")
"""Entries that have ids."""


class SaidBefore:
    def __init__(self, reading: StoreReading, session: str) -> None:
        self._reading, self._session = reading, session

    def last(self, many: int) -> Sequence[str]:
        """The ids of so many newest messages, oldest first."""
        found = self._reading.said(self._session, many)
        return self._standing()[-many:] if any(map(_is_mark, found)) else found

    def known(self, ids: Collection[str]) -> frozenset[str]:
        """Those of the ids that a message has which was not taken back."""
        found = self._reading.known(self._session, ids) if ids else frozenset()
        if found and self._reading.known(self._session, {MARK}):
            return found & frozenset(self._standing())
        return found

    def forgetting(self, number: int) -> tuple[str, ...]:
        """What an entry says that takes back all behind another; nothing where no message has an
        id."""
        if not self._reading.said(self._session, 1):
            return ()
        return (MARK, f"{MARK}{number}")

    def _standing(self) -> list[str]:
        """All ids that count. It takes a walk over the session, which few ever need."""
        found: list[tuple[int, str]] = []
        for entry in self._reading.entries(self._session, kinds=KINDS):
            for id in entry.said:
                if not _is_mark(id):
                    found.append((entry.number, id))
                elif id != MARK:
                    last = int(id.removeprefix(MARK))
                    found = [one for one in found if one[0] <= last]
        return [id for _, id in found]


def _is_mark(id: str) -> bool:
    return id.startswith(MARK)


# Which entry has the ids of which messages: what is taken back takes its ids with it.


def shared_out(
    ids: Sequence[str], new: Sequence[IdentifiedMessage], first: int, entries: Sequence[Turn]
) -> list[list[str]]:
    """For each entry the ids of its messages. `new` are those of the messages that were read, from
    the place `first` on; the other ids go with the message before them. The order of all ids stays
    that of the messages, also where a late result belongs to an earlier turn."""
    shares: list[list[str]] = [[] for _ in entries]
    places = [set(places_of((entry,))) for entry in entries]
    read = current = 0
    for id in ids:
        if read < len(new) and id == new[read].id:
            home = (n for n in range(current, len(entries)) if first + read in places[n])
            current = next(home, current)
            read += 1
        shares[current].append(id)
    return shares


# What comes next in a session: messages in a provider's shape, or turns.

EARLY = 16
"""Turns among which the user's first request is looked for; it is nearly always in the first."""


class Appended(NamedTuple):
    """What became of what was appended."""

    new: int = 0
    """Messages, or turns, that were not there before."""
    known: int = 0
    """Those that were, and were left out."""
    turns: int = 0
    """How many turns the session has now."""
    taken_back: int = 0
    """Turns that stood before and no longer do."""
    undone: int = 0
    """Compactions that are left out since, as they had folded such turns."""


class End(NamedTuple):
    """What a session ends with, so that who goes on with it need not look it up."""

    chain: str
    """Of its last entry: while that is the last, all of this holds."""
    about: Transcript
    place: Place | None
    turn: Turn | None
    """The last that stands."""
    words: Turn | None
    """The last piece of the words that wait."""

    @property
    def turns(self) -> int:
        return self.place.index + 1 if self.place else 0


class Appending:
    """One session held by a writer, and what is put behind its end."""

    def __init__(
        self,
        writing: Writing,
        session: str,
        keeping: Keeping,
        shown: Shown,
        end: End | None = None,
    ) -> None:
        """`shown` gives the view, which a host may send back; `end` is what the session ended with
        when it was last looked at."""
        self.writing, self._session, self._keeping = writing, session, keeping
        self.journal, self._before = Journal(writing, session), SaidBefore(writing, session)
        self._shown = shown
        self._chain = writing.head(session).chain
        self._end = end if end is not None and end.chain == self._chain else None

    @property
    def known_end(self) -> End | None:
        """What the session ends with, if that was looked at."""
        return self._end

    @property
    def end(self) -> End:
        if self._end is None:
            place = self.journal.last_place()
            self._end = End(
                chain=self._chain,
                about=self.journal.about(),
                place=place,
                turn=self.journal.turn(place) if place else None,
                words=self.journal.newest_words(),
            )
        return self._end

    def messages(self, given: Sequence[Message], *, format: str | None, key: str) -> Appended:
        """Take messages; those that the session has already are known again by their content."""
        envelope = envelope_of(given)
        found = identified(envelope.messages)
        if key and self.writing.keyed(self._session, key) is not None:
            return Appended(known=len(found), turns=self.end.turns)
        about = self.end.about
        usual = about.format if is_provider(about.format) else USUAL
        format = format or provider_of(envelope.messages, usual)
        refuse_unread(envelope.messages, format)
        system, spoken = _divided(found)
        if spoken and self._may_be_view(spoken):
            spoken = without_lead(spoken, format, self._shown)
        new, ids = self._new(spoken)
        told = self._told(envelope, system, format)
        sent_again = told.head == about.head or len(new) < len(spoken)
        if system and self._has_begun() and (self._is_known(system) or not sent_again):
            # It is no prompt: it stands among the messages, or comes next.
            spoken, told = found, self._told(envelope, [], format)
            new, ids = self._new(spoken)
        self._note(told, about)
        if new:
            self._take(new, ids, format, key)
        elif key:
            self._over(key)
        known = len(spoken) - len(new)
        return Appended(len(new), known, self.end.turns)

    def turns(self, given: Sequence[Turn], *, key: str) -> Appended:
        """Take turns that were built or read elsewhere; they get the next numbers."""
        ids = [self._id(turn) for turn in given]
        count = self.end.turns
        if key and self.writing.keyed(self._session, key) is not None:
            return Appended(known=len(given), turns=count)
        last = self.writing.places(self._session, first=max(0, count - len(ids)))
        known = overlap(ids, [place.id for place in last])
        if not known:
            known = overlap(ids, [self._given_id(place) for place in last])
        for turn in given[known:]:
            self._turn(turn, key)
            key = ""  # it names the call, and its first entry stands for all of it
        if key:
            self._over(key)
        return Appended(len(given) - known, known, self.end.turns)

    def put(
        self, turn: Turn, *, instead_of: int | None = None, ids: Sequence[str] = (), key: str = ""
    ) -> Entry:
        """Write a turn at its index. One below what a compaction folded takes that compaction back:
        what it stands for is no longer what was said."""
        if not turn.agent and turn.index > self.end.turns:
            stand = self.end.turns
            raise ValueError(f"t{turn.index} is not the next turn: {stand} stand before it")
        self.take_back(turn.index, thread=turn.agent)
        if instead_of is None and not turn.agent and turn.index < self.end.turns:
            ids = (*self._forgetting(turn.index), *ids)
        ready = self._ready(turn)
        entry = add_turn(
            self.writing, ready, self._keeping, instead_of=instead_of, said=ids, key=key
        )
        return self._moved(entry, self._ending(entry, ready))

    def note_rewound(self, turn: Turn) -> None:
        """Write a turn that never stood."""
        entry = add_turn(self.writing, turn, self._keeping, kind="rewound")
        self._moved(entry, self._end)

    def turn_ids(self) -> set[str]:
        """Of all turns that were ever written."""
        kinds: tuple[Kind, ...] = ("turn", "rewound")
        entries = self.writing.entries(self._session, kinds=kinds, light=True)
        return {entry.id for entry in entries}

    def words(self, turn: Turn, *, ids: Sequence[str] = (), key: str = "") -> Entry:
        """Write words that wait for an answer."""
        ready = self._ready(turn)
        entry = add_turn(self.writing, ready, self._keeping, kind="words", said=ids, key=key)
        end = self._end._replace(words=ready) if self._end and not turn.agent else self._end
        return self._moved(entry, end)

    def cut(self, index: int, *, thread: str = "") -> None:
        """End a thread before an index; words that wait are taken back too."""
        self.take_back(index, thread=thread)
        gone = () if thread else self._forgetting(index)
        at = self._keeping.clock()
        mark = Entry(kind="cut", at=at, thread=thread, index=index, said=gone)
        self._moved(self.writing.add(mark), None)

    def take_back(self, index: int, *, thread: str = "") -> None:
        """Leave out the compactions that folded a turn which is about to be replaced."""
        if thread or index >= self.end.turns:
            return
        for mark in [*takewhile(lambda mark: mark.index > index, self.journal.compaction_marks())]:
            add_mark(self.writing, "undo", self._keeping, index=mark.number)

    def _forgetting(self, index: int) -> tuple[str, ...]:
        """What an entry says that takes back all messages from a turn on."""
        last = self.journal.place(index - 1) if index else None
        return self._before.forgetting(last.number if last else 0)

    def _ending(self, entry: Entry, turn: Turn) -> End | None:
        """What the session ends with behind a turn; None where it has to be looked up."""
        end = self._end
        if end is None or turn.agent:
            return end
        last = end.place
        if turn.index == end.turns:
            before = last.before + last.tokens if last else 0
        elif last is not None and turn.index == last.index:
            before = last.before
        else:
            return None
        place = Place(
            index=turn.index, number=entry.number, tokens=turn.tokens, before=before, id=entry.id
        )
        return end._replace(place=place, turn=turn, words=None)

    def _moved(self, entry: Entry, end: End | None) -> Entry:
        """Note that an entry is the last one now."""
        self._chain = entry.chain
        self._end = end._replace(chain=entry.chain) if end else None
        return entry

    def _ready(self, turn: Turn) -> Turn:
        """The turn as it is kept, counted for the model that the session names."""
        return self._keeping.fitted(self.end.about.session.latest("model")).ready(turn)

    def _given_id(self, place: Place) -> str:
        """The id of a turn as it was given, where it took words in that waited for it."""
        entry = self.writing.entry(self._session, place.number)
        given = [id for id in entry.said if len(id) == len(place.id)] if entry else []
        return given[0] if given else place.id

    def _id(self, turn: Turn) -> str:
        return content_id(self._keeping.kept(turn), beside=PLACED)

    def _new(self, found: list[IdentifiedMessage]) -> tuple[list[IdentifiedMessage], list[str]]:
        """The messages that are new, and the ids of all behind those that were sent again: with
        the known ones among them, the same list is known as a whole the next time."""
        ids = [one.id for one in found]
        again = overlap(ids, self._before.last(len(ids)))
        rest = found[again:]
        known = self._before.known({one.id for one in rest if one.named})
        return unknown(rest, known), ids[again:]

    def _may_be_view(self, found: list[IdentifiedMessage]) -> bool:
        """Whether a list may begin with a view: with its lead; or, where a compaction has only
        masked outputs, as the session began, but not with what was said then."""
        if not self._has_begun() or _is_lead(found[0]):
            return self._has_begun()
        if len(found) == 1 or self.journal.compaction_mark() is None:
            return False
        ids = [one.id for one in found]
        return self._is_known(found[:1]) and not overlap(ids, self._before.last(len(ids)))

    def _is_known(self, found: list[IdentifiedMessage]) -> bool:
        return bool(self._before.known({one.id for one in found}))

    def _has_begun(self) -> bool:
        return self.end.place is not None or self.end.words is not None

    def _told(self, envelope: Envelope, system: list[IdentifiedMessage], format: str) -> Transcript:
        """What is said beside the conversation."""
        if not envelope.body and not system:
            return Transcript(format=format)
        return self._keeping.kept(beside(envelope, [one.message for one in system], format))

    def _asked(self, turn: Turn | None) -> bool:
        """Whether the user asked for something up to a turn."""
        if turn is None or turn.exchange or turn.index > EARLY:
            return turn is not None
        return any(map(opens, self.journal.turns(0, turn.index)))

    def _take(self, new: list[IdentifiedMessage], ids: list[str], format: str, key: str) -> None:
        messages = [one.message for one in new]
        _, about, place, turn, newest = self.end
        before = 0 if turn else len(about.head)
        words = only_words(messages, format)
        if words is not None:
            tail = OpenEnd(turn, newest, before, self._asked(turn))
            self.words(placed(words, tail), ids=ids, key=key)
            return
        pending = self.journal.pending() if newest is not None else None
        tail = OpenEnd(turn, pending, before, self._asked(turn))
        made = extended_end(tail, messages, format)
        if made.about.head and turn is None and pending is None:
            # It stands in the first message, beside what the user said.
            self._note(replace(made.about, turns=(), pending=None), about)
        unchanged = place is not None and self._id(made.turns[0]) == place.id
        turns = made.turns[1:] if unchanged else made.turns
        entries = (*turns, *((made.pending,) if made.pending else ()))
        if not entries:  # messages that say nothing at all
            self._over(key)
            return
        shares = shared_out(ids, new, made.first, entries)
        for turn, share in zip(turns, shares, strict=False):
            was = place if place is not None and turn.index == place.index else None
            self.put(turn, instead_of=was.number if was else None, ids=share, key=key)
            key = ""
        if made.pending is not None:
            share = shares[-1]
            if pending is not None and not turns:  # they are written again with what came
                share = [*self.journal.waiting_ids(), *share]
                self.cut(made.pending.index)
            self.words(made.pending, ids=share, key=key)

    def _turn(self, turn: Turn, key: str) -> None:
        """A turn behind the last one, with the words that waited for it."""
        last = self.end.turn
        words = self.journal.pending() if self.end.words is not None else None
        given = [self._id(turn)] if words is not None else []
        if words is not None:
            turn = answering(turn, words)
        under_way = last.exchange if last and self._asked(last) else -1
        exchange = max(under_way + opens(turn), 0)
        index = last.index + 1 if last else 0
        self.put(replace(turn, index=index, exchange=exchange, agent=""), ids=given, key=key)

    def _over(self, key: str) -> None:
        """Note that a call under a key was made, although all of it was known."""
        self._moved(add_about(self.writing, self.end.about, self._keeping, key=key), self._end)

    def _note(self, told: Transcript, about: Transcript) -> None:
        """The system prompt and the tools as they are now; who says nothing of them changes
        nothing."""
        head = told.head or about.head
        if head[: len(about.head)] != about.head and not self._has_begun():
            head = longer(about.head, told.head)
        now = replace(
            about,
            format=told.format,
            head=head,
            wire=told.wire or about.wire,
            session=told.session if told.session.changes else about.session,
        )
        if now != about:
            entry = add_about(self.writing, now, self._keeping)
            self._moved(entry, self.end._replace(about=now))


Hold = Callable[[], AbstractContextManager[Appending]]
"""Holds the session for one batch of writing."""


def _divided(
    found: list[IdentifiedMessage],
) -> tuple[list[IdentifiedMessage], list[IdentifiedMessage]]:
    """System messages that a list begins with, and the rest."""
    first = next((n for n, one in enumerate(found) if not one.is_system), len(found))
    return found[:first], found[first:]
