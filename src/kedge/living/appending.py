"""What comes next in a session: messages in a provider's shape, or turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from msgspec.structs import replace

from kedge.archive import content_id
from kedge.formats import is_provider
from kedge.living.adding import PLACED, Keeping, add_about, add_mark, add_turn
from kedge.living.alignment import Envelope, Said, envelope_of, overlap, said, unknown
from kedge.living.journal import Journal
from kedge.living.leading import Shown, without_lead
from kedge.living.merging import answering
from kedge.living.said_before import SaidBefore
from kedge.living.sharing import shared_out
from kedge.living.tail import (
    USUAL,
    Tail,
    beside,
    extended,
    longer,
    only_words,
    opens,
    placed,
    provider_of,
)
from kedge.model import Transcript, Turn
from kedge.store import Entry, Place, Writing

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

    def messages(self, given: Sequence[object], *, format: str | None, key: str) -> Appended:
        """Take messages; those that the session has already are known again by their content."""
        envelope = envelope_of(given)
        found = said(envelope.messages)
        if key and self.writing.keyed(self._session, key) is not None:
            return Appended(known=len(found), turns=self.end.turns)
        about = self.end.about
        usual = about.format if is_provider(about.format) else USUAL
        format = format or provider_of([one.message for one in found], usual)
        system, spoken = _divided(found)
        if self._has_begun():
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
        ready = self._keeping.ready(turn)
        entry = add_turn(
            self.writing, ready, self._keeping, instead_of=instead_of, said=ids, key=key
        )
        return self._moved(entry, self._ending(entry, ready))

    def words(self, turn: Turn, *, ids: Sequence[str] = (), key: str = "") -> Entry:
        """Write words that wait for an answer."""
        ready = self._keeping.ready(turn)
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
        while (mark := self.journal.compaction_mark()) is not None and mark.index > index:
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

    def _given_id(self, place: Place) -> str:
        """The id of a turn as it was given, where it took words in that waited for it."""
        entry = self.writing.entry(self._session, place.number)
        given = [id for id in entry.said if len(id) == len(place.id)] if entry else []
        return given[0] if given else place.id

    def _id(self, turn: Turn) -> str:
        return content_id(self._keeping.kept(turn), beside=PLACED)

    def _new(self, found: list[Said]) -> tuple[list[Said], list[str]]:
        """The messages that are new, and the ids of all behind those that were sent again: with
        the known ones among them, the same list is known as a whole the next time."""
        ids = [one.id for one in found]
        again = overlap(ids, self._before.last(len(ids)))
        rest = found[again:]
        known = self._before.known({one.id for one in rest if one.named})
        return unknown(rest, known), ids[again:]

    def _is_known(self, found: list[Said]) -> bool:
        return bool(self._before.known({one.id for one in found}))

    def _has_begun(self) -> bool:
        return self.end.place is not None or self.end.words is not None

    def _told(self, envelope: Envelope, system: list[Said], format: str) -> Transcript:
        """What is said beside the conversation."""
        if not envelope.body and not system:
            return Transcript(format=format)
        return self._keeping.kept(beside(envelope, [one.message for one in system], format))

    def _asked(self, turn: Turn | None) -> bool:
        """Whether the user asked for something up to a turn."""
        if turn is None or turn.exchange or turn.index > EARLY:
            return turn is not None
        return any(map(opens, self.journal.turns(0, turn.index)))

    def _take(self, new: list[Said], ids: list[str], format: str, key: str) -> None:
        messages = [one.message for one in new]
        _, about, place, turn, newest = self.end
        before = 0 if turn else len(about.head)
        words = only_words(messages, format)
        if words is not None:
            tail = Tail(turn, newest, before, self._asked(turn))
            self.words(placed(words, tail), ids=ids, key=key)
            return
        pending = self.journal.pending() if newest is not None else None
        tail = Tail(turn, pending, before, self._asked(turn))
        made = extended(tail, messages, format)
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


def _divided(found: list[Said]) -> tuple[list[Said], list[Said]]:
    """System messages that a list begins with, and the rest."""
    first = next((n for n, one in enumerate(found) if not one.is_system), len(found))
    return found[:first], found[first:]
