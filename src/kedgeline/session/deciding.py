"""A session as it stands: what a compaction sees of it, its view, its pins, whether to compact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from kedgeline.errors import NoSuchSession, UserError
from kedgeline.model import Compaction, Masked, Plan, Span, Transcript, Turn, Value
from kedgeline.pipeline.view import earlier_summary, pinned_alone, view
from kedgeline.planning import Decision, Policy, Signals, should_compact
from kedgeline.planning.policy import reached
from kedgeline.session.appending import Appending
from kedgeline.session.archive import SPOKEN, passages_of, readable
from kedgeline.session.journal import Forked, Journal, Keeping, Pin, Recorded, add_value
from kedgeline.store import Entry, Passage, Place
from kedgeline.text.prose import neutral
from kedgeline.tokens import ContextTokens, Counter, Folded, Sized, model_of, sized
from kedgeline.tokens import context_of as context_in_tokens

if TYPE_CHECKING:
    from kedgeline.anchors import Finder


class Growing:
    """Sees the entries of a session pass, light ones too."""

    def __init__(self) -> None:
        self._last: dict[str, Entry] = {}
        """The last turn of each thread."""

    def instead_of(self, entry: Entry) -> int | None:
        """Number of the entry that had the same turn when less of it was known."""
        last = self._last.get(entry.thread)
        if entry.kind == "cut" and last is not None and entry.index <= last.index:
            del self._last[entry.thread]
        if entry.kind != "turn":
            return None
        self._last[entry.thread] = entry
        return last.number if last is not None and last.index == entry.index else None


def grown(before: Turn, now: Turn) -> bool:
    """Whether a turn is one that was there before, with no less in it."""
    asked, words = before.user_message, now.user_message
    calls = [(call.id, call.tool, call.parameters) for call in now.tool_calls]
    results = {one.call_id: (one.output, one.error) for one in now.tool_results}
    return (
        (words.startswith(asked) if asked else not words)
        and now.assistant_response.startswith(before.assistant_response)
        and [(call.id, call.tool, call.parameters) for call in before.tool_calls]
        == calls[: len(before.tool_calls)]
        and all(results.get(one.call_id) == (one.output, one.error) for one in before.tool_results)
    )


def turn_written(journal: Journal, index: int, number: int) -> Turn:
    """A turn by the number of its entry, whether it stands or not."""
    return journal.turn(Place(index=index, number=number, tokens=0, before=0, id=""))


# Outputs that a compaction replaced in kept turns: only where they are still what they were.

CHANGED = 0
"""In the place of an entry's number: the turn was another one when the compaction was ready."""


def masked_entries(journal: Journal, made: Compaction, head: int) -> tuple[tuple[int, int], ...]:
    """The turns with replaced outputs and the entries these were read from. `head` is the last
    entry that there was then."""
    found = []
    for index in sorted({one.turn for one in made.plan.masked}):
        place = journal.place(index)
        found.append((index, place.number if place and place.number <= head else CHANGED))
    return tuple(found)


def as_it_stands(journal: Journal, record: Recorded) -> Recorded:
    """The record without what it put in the place of outputs that are others now: the user rewound
    a kept turn, and what came then may have the same number and the same call id."""
    if not record.masked:
        return record
    numbers = dict(record.masked)
    stand = {place.index: place for place in journal.places(min(numbers), max(numbers))}
    same: dict[int, set[str]] = {}
    for index, number in numbers.items():
        place = stand.get(index)
        if place is None or number == CHANGED:
            same[index] = set()
        elif place.number != number:
            same[index] = _same(turn_written(journal, index, number), journal.turn(place))
    if not same:
        return record
    plan = record.compaction.plan
    masked = tuple(one for one in plan.masked if one.call_id in same.get(one.turn, (one.call_id,)))
    compaction = replace(record.compaction, plan=replace(plan, masked=masked))
    return replace(record, compaction=compaction)


def _same(before: Turn, now: Turn) -> set[str]:
    """Calls that gave back the same in both."""
    was = {one.call_id: (one.output, one.error, one.media) for one in before.tool_results}
    return {
        one.call_id
        for one in now.tool_results
        if was.get(one.call_id) == (one.output, one.error, one.media)
    }


# What is loaded of a session for a view or a compaction: never more than its window and a little.

LEAST_WARM, WARM = 40, 200
"""Turns before the first new one that are read again: what a turn means may show in those before
it, such as the error that it resolves. More than the least only as far as `AHEAD` windows reach."""
AHEAD = 4
"""Windows from which on turns are folded while they are read: so much never stays, and would not
fit into memory."""
LEFT = 64
"""Turns that are never folded ahead: twice as many as bonds hold together."""
NOTED = ("instructions", "environment", "summary", "command", "plan")
"""Notes of folded turns that may be said again."""

Spoken = TypeVar("Spoken", bound=Value)


class Clean(Protocol):
    """Takes secrets out of a turn, and out of what stands beside the turns."""

    def __call__(self, value: Spoken, /) -> Spoken: ...


class Region(NamedTuple):
    transcript: Transcript
    previous: Compaction | None = None
    """The compaction that stands, with what was folded ahead in its state."""
    ahead: Span | None = None
    """Turns that were folded ahead."""


def as_kept(journal: Journal, done: Compaction | None) -> Transcript:
    """The session for a view: what stays of it as it was said."""
    start = done.plan.cut if done else 0
    return _transcript(journal, [*_blanks(journal, done, start, _unchanged), *journal.turns(start)])


def for_compaction(
    journal: Journal, done: Compaction | None, *, window: int, clean: Clean
) -> Region:
    """The session for a compaction into a window of so many tokens: what is new, and what it takes
    to understand it."""
    done, ahead, lean = _ahead(journal, done, window, clean)
    start = done.plan.cut if done else 0
    blanks = _blanks(journal, done, start, clean, lean)
    if not ahead:
        warm = _warm(journal, start, window)
        blanks[warm:] = [clean(turn) for turn in journal.turns(warm, start - 1)] if start else []
    new = (clean(turn) for turn in journal.turns(start))
    return Region(_transcript(journal, [*blanks, *new], clean), done, ahead)


def _warm(journal: Journal, start: int, window: int) -> int:
    """Index from which on the turns before the first new one are read again."""
    first = max(0, start - WARM)
    places = journal.places(first, start - 1) if start > LEAST_WARM else ()
    end = places[-1].before + places[-1].tokens if places else 0
    for place in places[:-LEAST_WARM]:
        if end - place.before <= AHEAD * window:
            return place.index
    return max(first, start - LEAST_WARM)


def _unchanged(value: Spoken) -> Spoken:
    return value


def _transcript(journal: Journal, turns: list[Turn], clean: Clean = _unchanged) -> Transcript:
    pending = journal.pending()
    return replace(
        clean(journal.about()),
        turns=tuple(turns),
        pending=clean(pending) if pending else None,
        agents=tuple(_agents(journal, turns, clean)),
    )


def _agents(journal: Journal, turns: list[Turn], clean: Clean) -> Iterator[Transcript]:
    """The sub-agents that were started in these turns."""
    calls = {call.id for turn in turns for call in turn.tool_calls}
    for thread in journal.threads():
        about = clean(replace(journal.about(thread=thread), agent=thread))
        if about.delegated_by in calls:
            yield replace(about, turns=tuple(map(clean, journal.turns(thread=thread))))


def _blanks(
    journal: Journal, done: Compaction | None, end: int, clean: Clean, lean: Sequence[Turn] = ()
) -> list[Turn]:
    """Turns up to a position of which only those have words that are said again, or may be. The
    others have the exchange of the one before: it is the same request."""
    known = {turn.index: turn for turn in lean}
    again = {one.turn for one in done.plan.repeated} if done else set()
    turns: list[Turn] = []
    exchange = 0
    for index in range(end):
        if index in known:
            turns.append(known[index])
            exchange = turns[-1].exchange
        elif index in again and (place := journal.place(index)) is not None:
            turns.append(clean(journal.turn(place)))
            exchange = turns[-1].exchange
        else:
            turns.append(Turn(index=index, exchange=exchange))
    return turns


def _ahead(
    journal: Journal, done: Compaction | None, window: int, clean: Clean
) -> tuple[Compaction | None, Span | None, list[Turn]]:
    """Fold what is too far back to be kept, turn by turn; with what of it may be said again."""
    # half a second, and few sessions need it
    from kedgeline.facts import Extraction, session_facts, setting_of
    from kedgeline.summary import Fold

    start = done.plan.cut if done else 0
    masked = done.plan.masked if done else ()
    end = _too_far(journal, start, window, masked)
    if end <= start:
        return done, None, []
    about = clean(journal.about())
    fold = Fold(done.state if done and done.state else earlier_summary(about))
    extraction = Extraction(setting_of(about))
    for turn in journal.turns(_warm(journal, start, window), start - 1) if start else ():
        for _ in extraction.add(clean(turn)):
            pass
    lean: list[Turn] = []
    tokens = 0
    for turn in map(clean, journal.turns(start, end - 1)):
        tokens += turn.tokens
        for fact in extraction.add(turn):
            fold.add(fact)
        fold.covers(turn.index)
        if (kept := _lean(turn)) is not None:
            lean.append(kept)
    for fact in session_facts(about.session, (Turn(index=end - 1),)):
        if start <= fact.turn < end:
            fold.add(fact)
    before = done or Compaction(plan=Plan())
    masked = tuple(one for one in masked if one.turn >= end)
    plan = replace(before.plan, cut=end, masked=masked)
    moved = replace(before, plan=plan, state=fold.summary())
    span = Span(first=start, last=end - 1, tokens=tokens, reason="too far back to be kept")
    return moved, span, lean


def _too_far(journal: Journal, start: int, window: int, masked: Sequence[Masked]) -> int:
    """Position up to which turns cannot stay; the start itself where all could be looked at. A
    turn whose outputs are masked has the tokens that it has in the view."""
    last = journal.last_place()
    if last is None or journal.place(start) is None:
        return start

    def from_turn(index: int) -> int:
        place = journal.place(index)
        saved = sum(one.tokens_before - one.tokens_after for one in masked if one.turn >= index)
        return last.before + last.tokens - place.before - saved if place else 0

    if from_turn(start) <= AHEAD * window:
        return start
    low, high = start, max(start, last.index + 1 - LEFT)
    while low < high:  # the first turn from which on all that follows fits the window
        middle = (low + high) // 2
        if from_turn(middle) > window:
            low = middle + 1
        else:
            high = middle
    return max(start, low - 1)  # so that there is still something to be folded


def _lean(turn: Turn) -> Turn | None:
    """What of a folded turn may be said again: the user's side of it."""
    notes = tuple(note for note in turn.notes if note.kind in NOTED)
    if not (notes or turn.user_message or turn.media):
        return None
    heard = tuple(message for message in turn.messages if message.role == "user")
    return Turn(
        index=turn.index,
        exchange=turn.exchange,
        user_message=turn.user_message,
        notes=notes,
        media=turn.media,
        messages=heard,
        timestamp=turn.timestamp,
    )


# What is pinned: written down, taken back, and as it stands in a view.

_MARK = re.compile(r"\[?t([0-9]{1,9})\]?")
_NUMBER = re.compile(r"#([0-9]{1,9})")


def pin_of(journal: Journal, session: str, what: str | int) -> Pin:
    """A pin for a turn (12, t12) or for words."""
    index = _turn(what)
    if isinstance(index, str):
        if not index.strip():
            raise UserError(
                f"there are no words to pin in {session!r}; give some, or a turn such as t12"
            )
        return Pin(text=index)
    place = journal.place(index) if index >= 0 else None
    if place is None:
        raise _no_such(session, f"turn t{index}", journal.count())
    return Pin(turn=index, entry=place.number)


def pin_named(journal: Journal, session: str, what: str | int) -> Pin:
    """The newest pin that stands for a turn (12, t12) or for these words, or the one of a number
    (#7)."""
    pins = journal.pins()
    number = _NUMBER.fullmatch(what.strip()) if isinstance(what, str) else None
    for pin in pins if number else ():
        if number and pin.number == int(number[1]):
            return pin
    wanted = _turn(what)
    for pin in reversed(pins):
        if wanted == (pin.text if pin.turn < 0 else pin.turn):
            return pin
    named = f"t{wanted}" if isinstance(wanted, int) else repr(what)
    raise _no_such(session, f"pin {named}", journal.count())


def _no_such(session: str, what: str, turns: int) -> UserError:
    last = f"its last turn is t{turns - 1}" if turns else "it has no turns"
    return UserError(f"the session {session!r} has no {what}; {last}")


def pinned_texts(journal: Journal, cut: int) -> list[str]:
    """What a view says word for word: pinned words, and pinned turns that are folded or were taken
    back."""
    return [text for pin in journal.pins() if (text := _text(journal, pin, cut))]


def _text(journal: Journal, pin: Pin, cut: int) -> str:
    if pin.turn < 0:
        return pin.text
    place = journal.place(pin.turn)
    if place is not None and place.number == pin.entry:
        return _told(journal.turn(place)) if pin.turn < cut else ""
    meant = turn_written(journal, pin.turn, pin.entry)
    now = journal.turn(place) if place is not None else None
    if now is None or not grown(meant, now):
        return _told(meant, since=", which was taken back since")
    return _told(now) if pin.turn < cut else ""


def _turn(what: str | int) -> str | int:
    """The index of a turn that is meant, or words."""
    mark = _MARK.fullmatch(what.strip()) if isinstance(what, str) else None
    return int(mark[1]) if mark else what


def _told(turn: Turn, since: str = "") -> str:
    """A turn by what was said in it, each with who said it. The agent's words are quoted, line by
    line, so that none of them reads as if the user had said it."""
    said = [("The user", words) for words in turn.user_words()]
    answer = neutral(turn.assistant_response)  # the agent's words close no tag of ours
    if answer:
        said.append(("The agent", "\n".join(f"> {line}" for line in answer.splitlines())))
    return "\n\n".join(f"{who} in t{turn.index}{since}:\n{text}" for who, text in said)


# A session as it is read back: as the agent goes on with it, and as it was said.


def in_force(journal: Journal) -> Recorded | None:
    """The compaction that the view rests on."""
    standing = journal.recorded()
    return as_it_stands(journal, standing.record) if standing else None


def pinned_beside(journal: Journal, done: Recorded | None) -> list[str]:
    """What the view says word for word beside what that compaction keeps."""
    return pinned_texts(journal, done.compaction.plan.cut if done else 0)


def session_context(journal: Journal, done: Recorded | None = None) -> Transcript:
    """The session as the agent goes on with it, or will once `done` is written down."""
    done = done or in_force(journal)
    pinned = pinned_beside(journal, done)
    made = done.compaction if done else None
    transcript = as_kept(journal, made)
    if made is not None:
        return view(transcript, made, pinned=pinned)
    return replace(transcript, turns=(*pinned_alone(pinned), *transcript.turns))


# A session that begins as another one is.


def copy_session(
    held: Appending, source: str, name: str, keeping: Keeping, *, through: int | None = None
) -> None:
    """Take over all entries of another session, numbers and chains included; originals are kept
    once. `held` and `name` are those of the copy, `through` is the last turn that stands in it."""
    if held.writing.head(name).number:
        raise UserError(f"there is a session {name!r} already; choose another name")
    if not held.writing.head(source).number:
        raise NoSuchSession(source)
    count = Journal(held.writing, source).count()
    if through is not None and not 0 <= through < count:
        raise _no_such(source, f"turn t{through}", count)
    number, growing = 0, Growing()
    for entry in held.writing.entries(source):
        passages: tuple[Passage, ...] = ()
        before = growing.instead_of(entry)
        if entry.kind in SPOKEN:
            turn = readable(entry.data, Turn, held.writing.blob)
            passages = tuple(passages_of(turn, keeping.clean))
        number = held.writing.add(entry, passages=passages, instead_of=before).number
    origin = Forked(session=source, number=number, turns=count)
    add_value(held.writing, "fork", origin, keeping)
    if through is not None and through + 1 < count:
        held.cut(through + 1)


# Whether to compact now, from what the store knows at once; turns are looked at only where an
# anchor among them could decide.


class Watch:
    """Remembers the anchors since the last compaction, so that each turn is looked at once, and
    the last decision."""

    def __init__(self) -> None:
        self._finder: Finder | None = None
        self._since = self._next = 0
        self._newest: str | None = None
        self.last: Decision | None = None

    def trigger(self) -> str:
        """What the last decision says made a compaction begin; it is asked once."""
        decision, self.last = self.last, None
        return decision.trigger if decision is not None and decision.compacts else ""

    def newest(self, journal: Journal, since: int) -> str | None:
        """What the newest anchor is, among the turns from an index on."""
        from kedgeline.anchors import Finder  # few sessions need it

        count = journal.count()
        if self._finder is None or since != self._since or count < self._next:
            self._finder, self._newest = Finder(), None
            self._since = self._next = since
        for turn in journal.turns(self._next, count - 1) if count > self._next else ():
            anchor = self._finder.add(turn)
            self._newest = anchor.description if anchor else self._newest
        self._next = count
        return self._newest


class _Sizes(NamedTuple):
    """The numbers of the turns of a journal."""

    journal: Journal
    counter: Counter

    def since(self, start: int) -> int:
        return self.journal.since(start)

    def newest(self, start: int) -> Iterator[Sized]:
        return (sized(turn, self.counter) for turn in self.journal.newest(start))


def fitted(journal: Journal, keeping: Keeping) -> Keeping:
    """With a counter for the model that the session goes on with."""
    return keeping.fitted(model_of(journal.about(), journal.newest()))


def context_tokens(journal: Journal, keeping: Keeping) -> ContextTokens:
    """What the next request of the session would send; `keeping` is `fitted` to it."""
    counter, done = keeping.counter, in_force(journal)
    pinned = sum(map(counter.count, pinned_beside(journal, done)))
    about = replace(journal.about(), pending=journal.pending())
    return context_in_tokens(
        about, _Sizes(journal, counter), counter, done=_left(done) if done else None, pinned=pinned
    )


def _left(done: Recorded) -> Folded:
    made = done.compaction
    masked = sum(one.tokens_before - one.tokens_after for one in made.plan.masked)
    return Folded(made.plan.cut, done.turns, done.leads - masked, made.hidden)


def decided(journal: Journal, signals: Signals, policy: Policy, watch: Watch) -> Decision:
    """The decision, with a task that was finished where that could be a reason."""
    decision = should_compact(signals, policy)
    usable = signals.usable(policy)
    since = signals.history.tokens_since
    near = signals.context_tokens >= reached(policy.target, usable)
    if decision.compacts or not usable or not near or since < reached(policy.boundary, usable):
        return decision
    first = journal.count() - signals.history.turns_since
    anchor = watch.newest(journal, max(0, first))
    if anchor is None:
        return decision
    return should_compact(
        replace(signals, history=replace(signals.history, anchor_since=anchor)), policy
    )
