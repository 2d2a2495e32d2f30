"""Which turns of a file stand in the end, and whether it is the file a session was made from."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from kedge.archive import content_id
from kedge.errors import OtherSession, SeveralSessions
from kedge.living.adding import PLACED, Keeping
from kedge.living.growing import grown
from kedge.living.journal import Journal
from kedge.model import SessionFacts, Turn
from kedge.reading import Reading


class Chosen(NamedTuple):
    """The turns of a file that stand in the end, and what tells its main conversation."""

    session: int
    numbers: frozenset[int]
    """By the order in which they pass."""
    lone: str | None
    """The sub-agent whose own file it is, where nobody else speaks in it."""
    format: str
    facts: SessionFacts
    length: int
    """Turns that stand."""
    longest: int
    """The most that ever stood: a rewind in the file takes some back."""
    first: Turn | None
    last: Turn | None
    """None where a rewind ends the file."""
    pending: Turn | None

    def home(self, turn: Turn) -> Turn:
        return replace(turn, agent="") if turn.agent == self.lone else turn


class _Thread:
    """One conversation as it passes."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.longest = 0
        self.first: Turn | None = None
        self.last: Turn | None = None

    def add(self, number: int, turn: Turn) -> None:
        self.end(turn.index)
        self.numbers.append(number)
        self.longest = max(self.longest, len(self.numbers))
        self.first = turn if not turn.index else self.first
        self.last = turn

    def end(self, length: int) -> None:
        if length < len(self.numbers):
            self.last = None
        del self.numbers[length:]


def standing(reading: Reading, session: int | None) -> Chosen:
    """Read to the end what a file holds, and choose among its sessions."""
    threads: dict[tuple[int, str], _Thread] = {}
    for number, turn in enumerate(reading):
        threads.setdefault((turn.session, turn.agent), _Thread()).add(number, turn)
    log = reading.log
    for key, length in log.lengths.items():
        threads.setdefault(key, _Thread()).end(length)
    found = sorted({key[0] for key in threads}) or [0]
    if (session is None and len(found) > 1) or (session is not None and session >= len(found)):
        raise SeveralSessions(reading.name, count=len(found), chosen=session)
    chosen = found[session or 0]
    spoken = {agent: thread for (key, agent), thread in threads.items() if key == chosen}
    alone = len(spoken) == 1 and (chosen, "") not in log.pending
    lone = next(iter(spoken)) if alone else None
    main = spoken.get(lone or "", _Thread())
    return Chosen(
        session=chosen,
        numbers=frozenset(number for thread in spoken.values() for number in thread.numbers),
        lone=lone,
        format=reading.format,
        facts=log.facts(chosen),
        length=len(main.numbers),
        longest=main.longest,
        first=main.first,
        last=main.last,
        pending=log.pending.get((chosen, lone or "")),
    )


def refuse_others(journal: Journal, name: str, file: Chosen, keeping: Keeping) -> None:
    """Refuse a file that would take the session back although nobody rewound it."""
    count = journal.count()
    if not count:
        return
    about = journal.about()
    known, ids = about.session.latest("id"), _ids(file.facts)
    if known and ids and known not in ids:
        told = file.facts.latest("id")
        raise OtherSession(name, f"it is the session {known!r}, and the file is of {told!r}")
    if file.format != about.format and not _has(journal, file, file.first, keeping):
        why = f"nothing of the file ({file.format}) is in it, and it was read from {about.format}"
        raise OtherSession(name, why)
    if file.longest < count and file.length < count and _is_old(journal, file, keeping):
        why = f"the file ends after {file.length:,} of its {count:,} turns, as an old copy does"
        raise OtherSession(name, why)


def _is_old(journal: Journal, file: Chosen, keeping: Keeping) -> bool:
    """Whether a file that is shorter than the session says nothing that the session does not."""
    place = journal.place(file.length)
    words = file.pending.user_message if file.pending else ""
    if words and (place is None or words not in journal.turn(place).user_message):
        return False
    return file.last is None or _has(journal, file, file.last, keeping)


def _has(journal: Journal, file: Chosen, turn: Turn | None, keeping: Keeping) -> bool:
    """Whether a turn of the file stands in the session, or an earlier or later state of it."""
    place = journal.place(turn.index) if turn else None
    if turn is None or place is None:
        return False
    ready = keeping.kept(file.home(turn))
    if content_id(ready, beside=PLACED) == place.id:
        return True
    kept = journal.turn(place)
    return grown(ready, kept) or grown(kept, ready)


def _ids(facts: SessionFacts) -> set[str]:
    return {change.value for change in facts.changes if change.name == "id"}
