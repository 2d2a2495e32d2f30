"""What is loaded of a session for a view or a compaction: never more than its window and a little.

Turns that an earlier compaction folded are there as blanks: only their number counts, and what of
them is said again. So all positions are those of the whole session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from kedge.earlier import earlier_summary
from kedge.facts import Extraction, setting_of
from kedge.facts.session.session import session_facts
from kedge.living.journal import Journal
from kedge.model import Compaction, Plan, Span, Transcript, Turn
from kedge.summary import Fold

WARM = 200
"""Turns before the first new one that are looked at again: what a turn means may show in those
before it, such as the error that it resolves. Extractors remember less than that of most things."""
AHEAD = 4
"""Windows from which on turns are folded while they are read: so much never stays, and would not
fit into memory."""
LEFT = 64
"""Turns that are never folded ahead: twice as many as bonds hold together."""
NOTED = ("instructions", "environment", "summary", "command", "plan")
"""Notes of folded turns that may be said again."""

Spoken = TypeVar("Spoken", Turn, Transcript)


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
    return _transcript(journal, [*_blanks(journal, done, start, _same), *journal.turns(start)])


def for_compaction(
    journal: Journal, done: Compaction | None, *, window: int, clean: Clean
) -> Region:
    """The session for a compaction into a window of so many tokens: what is new, and what it takes
    to understand it."""
    done, ahead, lean = _ahead(journal, done, window, clean)
    start = done.plan.cut if done else 0
    blanks = _blanks(journal, done, start, clean)
    for turn in lean:
        blanks[turn.index] = turn
    warm = max(0, start - WARM)
    if not ahead:
        blanks[warm:] = [clean(turn) for turn in journal.turns(warm, start - 1)] if start else []
    new = (clean(turn) for turn in journal.turns(start))
    return Region(_transcript(journal, [*blanks, *new], clean), done, ahead)


def _same(value: Spoken) -> Spoken:
    return value


def _transcript(journal: Journal, turns: list[Turn], clean: Clean = _same) -> Transcript:
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


def _blanks(journal: Journal, done: Compaction | None, end: int, clean: Clean) -> list[Turn]:
    """Turns up to a position of which only those have words that are said again. The others have
    the exchange of the one before: it is the same request."""
    again = {one.turn for one in done.plan.repeated} if done else set()
    turns: list[Turn] = []
    exchange = 0
    for index in range(end):
        if index in again and (place := journal.place(index)) is not None:
            turns.append(clean(journal.turn(place)))
            exchange = turns[-1].exchange
        else:
            turns.append(Turn(index=index, exchange=exchange))
    return turns


def _ahead(
    journal: Journal, done: Compaction | None, window: int, clean: Clean
) -> tuple[Compaction | None, Span | None, list[Turn]]:
    """Fold what is too far back to be kept, turn by turn; with what of it may be said again."""
    start = done.plan.cut if done else 0
    end = _too_far(journal, start, window)
    if end <= start:
        return done, None, []
    about = clean(journal.about())
    fold = Fold(done.state if done and done.state else earlier_summary(about))
    extraction = Extraction(setting_of(about))
    for turn in journal.turns(max(0, start - WARM), start - 1) if start else ():
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
    moved = replace(before, plan=replace(before.plan, cut=end), state=fold.summary())
    span = Span(first=start, last=end - 1, tokens=tokens, reason="too far back to be kept")
    return moved, span, lean


def _too_far(journal: Journal, start: int, window: int) -> int:
    """Position up to which turns cannot stay; the start itself where all could be looked at."""
    last = journal.last_place()
    first = journal.place(start)
    if last is None or first is None:
        return start
    total = last.before + last.tokens
    if total - first.before <= AHEAD * window:
        return start
    low, high = start, max(start, last.index + 1 - LEFT)
    while low < high:  # the first turn from which on all that follows fits the window
        middle = (low + high) // 2
        place = journal.place(middle)
        if place is not None and total - place.before > window:
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
