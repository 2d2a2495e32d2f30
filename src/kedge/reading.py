"""Reading a session: open, recognise, stream turns, or collect them into a transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Protocol

from msgspec.structs import replace

from kedge.errors import NotATranscript, SeveralSessions, SourceUnreadable
from kedge.formats import Format, HasCompanions, Head, Log, format_names, load_format
from kedge.formats.intake.head import HEAD_BYTES
from kedge.formats.intake.lines import Line
from kedge.formats.registry import Recognised, recognise
from kedge.model import Transcript, Turn
from kedge.opening import Opened, Readable, file_lines, files_beside, open_source
from kedge.tokens import EXACT, Counter, tokens_of


class Reading:
    """Turns as they are read; the log is complete once they are exhausted. Memory does not grow."""

    def __init__(self, opened: Opened, format: Format, skipped: tuple[str, ...] = ()) -> None:
        self.name, self.size, self.format = opened.name, opened.size, format.name
        self.skipped = skipped
        """Registered formats that are broken and could not be asked whether they know the file."""
        self.log = Log()
        self.bytes_read = 0
        self._turns = self._all(opened, format)

    def __iter__(self) -> Iterator[Turn]:
        return self._turns

    def choose(self, sessions: tuple[Transcript, ...], session: int | None) -> Transcript:
        """The only session, or the one asked for."""
        if session is None and len(sessions) == 1:
            return sessions[0]
        if session is None or not 0 <= session < len(sessions):
            raise SeveralSessions(self.name, count=len(sessions), chosen=session)
        return sessions[session]

    def _all(self, opened: Opened, format: Format) -> Iterator[Turn]:
        """The session's own turns, then those of files its client keeps beside it."""
        yield from format.read(self._counted(opened.lines), self.log)
        if opened.path is None or not isinstance(format, HasCompanions):
            return
        stem, patterns = opened.path.stem, format.beside
        for path in files_beside(opened.path, lambda: patterns(stem, self.log)):
            log = self.log.beside(path.name)
            try:
                for turn in format.read(self._counted(file_lines(path)), log):
                    if turn.agent:
                        yield replace(turn, source=replace(turn.source, file=path.name))
            except SourceUnreadable as error:
                log.broken("unreadable", Line(0, 0), error.why)
            self.log.take_in(log)

    def _counted(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.bytes_read += len(line)
            yield line


def stream(source: Readable, *, format: str | None = None) -> Reading:
    """Open a session and read it turn by turn; tokens are left to the one who takes them.

    A turn whose index does not follow the last one of its conversation takes back what was read
    from that index on: the user had rewound."""
    opened = open_source(source)
    head, lines = _head(opened.lines)
    found = Recognised(load_format(format)) if format else recognise(head)
    if found.format is None:
        expected = tuple(name for name in format_names() if name not in found.skipped)
        raise NotATranscript(
            opened.name, found=head.described(), expected=expected, skipped=found.skipped
        )
    return Reading(opened._replace(lines=lines), found.format, found.skipped)


def read(
    source: Readable,
    *,
    format: str | None = None,
    session: int | None = None,
    counter: Counter | None = EXACT,
) -> Transcript:
    """One session as a transcript, sub-agents attached.

    `session` chooses where a file holds several. Each turn's tokens are counted with `counter`;
    with None they stay 0, which is faster.
    """
    reading = stream(source, format=format)
    return reading.choose(collect(reading, counter=counter), session)


def read_all(
    source: Readable, *, format: str | None = None, counter: Counter | None = EXACT
) -> tuple[Transcript, ...]:
    """Every session a file holds; most hold one."""
    return collect(stream(source, format=format), counter=counter)


class Logged(Protocol):
    """A session that was read, and what was found in it beside the turns."""

    @property
    def format(self) -> str: ...

    @property
    def log(self) -> Log: ...


def about(reading: Logged, session: int = 0, *, lone: str | None = None) -> Transcript:
    """What a reading that is over found beside the turns, with its sub-agents. `lone` is the
    sub-agent whose own file it is."""
    log = reading.log
    calls = log.delegated_by
    agents = tuple(
        Transcript(
            format=reading.format,
            agent=agent,
            delegated_by=calls.get(agent, ""),
            pending=log.pending.get((session, agent)),
        )
        for number, agent in log.lengths
        if number == session and agent not in ("", lone)
    )
    first = _transcript(reading, {}, session, first=True)
    return replace(first, pending=log.pending.get((session, lone or "")), agents=agents, agent="")


def collect(
    reading: Reading, *, turns: Iterable[Turn] | None = None, counter: Counter | None = None
) -> tuple[Transcript, ...]:
    """Exhaust a reading into transcripts, one per session.

    `turns` are the reading's own turns, where someone watches them pass.
    """
    threads: dict[tuple[int, str], list[Turn]] = {}
    for turn in reading if turns is None else turns:
        thread = threads.setdefault((turn.session, turn.agent), [])
        del thread[turn.index :]
        thread.append(_counted(turn, counter))
    log = reading.log
    for key, length in log.lengths.items():
        del threads.setdefault(key, [])[length:]
    for key, words in log.pending.items():
        log.pending[key] = _counted(words, counter)
    numbers = sorted({session for session, _ in threads}) or [0]
    return tuple(
        _transcript(reading, threads, number, first=number == numbers[0]) for number in numbers
    )


def counted(transcript: Transcript, counter: Counter) -> Transcript:
    """The transcript with every turn's tokens counted anew; sub-agents keep what they have."""
    pending = transcript.pending
    return replace(
        transcript,
        turns=tuple(_counted(turn, counter) for turn in transcript.turns),
        pending=_counted(pending, counter) if pending else None,
    )


def _counted(turn: Turn, counter: Counter | None) -> Turn:
    return turn if counter is None else replace(turn, tokens=tokens_of(turn, counter).total)


def _transcript(
    reading: Logged, threads: dict[tuple[int, str], list[Turn]], session: int, *, first: bool
) -> Transcript:
    """One session; what was found beside the turns of the whole file goes with the first."""
    log = reading.log
    calls = log.delegated_by
    agents = [
        Transcript(
            format=reading.format,
            turns=tuple(turns),
            pending=log.pending.get((number, agent)),
            agent=agent,
            delegated_by=calls.get(agent, ""),
        )
        for (number, agent), turns in threads.items()
        if number == session and agent
    ]
    main = tuple(threads.get((session, ""), ()))
    pending = log.pending.get((session, ""))
    alone = agents.pop() if len(agents) == 1 and not main and pending is None else None
    return Transcript(
        format=reading.format,
        turns=alone.turns if alone else main,
        pending=alone.pending if alone else pending,
        agent=alone.agent if alone else "",
        head=tuple(log.heads.get(session, ())),
        session=log.facts(session),
        compactions=tuple(c for c in log.compactions if c.session == session),
        agents=tuple(agents),
        rewound=log.rewound if first else 0,
        damage=tuple(log.damage) if first else (),
        damage_count=log.damage_counts.total() if first else 0,
        ignored=dict(log.ignored) if first else {},
        wire=log.wire,
    )


def _head(lines: Iterator[bytes]) -> tuple[Head, Iterator[bytes]]:
    """The beginning, and all lines again."""
    taken: list[bytes] = []
    size = 0
    for line in lines:
        taken.append(line)
        size += len(line)
        if size >= HEAD_BYTES:
            break
    return Head(b"".join(taken)), chain(taken, lines)
