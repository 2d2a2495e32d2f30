"""Reading a session: open, recognise, stream turns, or collect them into a transcript."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO

import msgspec

from kedge.errors import NotATranscript, SeveralSessions, SourceUnreadable
from kedge.formats import Format, Head, Log, detect, format_names, load_format
from kedge.formats.head import HEAD_BYTES
from kedge.model import Transcript, Turn

Readable = str | PathLike[str] | bytes | BinaryIO
"""A path, `-` for stdin, the bytes themselves, or a binary file."""

TokensOf = Callable[[Turn], int]


class Reading:
    """Turns as they are read; the log is complete once they are exhausted. Memory does not grow."""

    def __init__(
        self, name: str, lines: Iterator[bytes], format: Format, *, size: int | None
    ) -> None:
        self.name, self.format, self.size = name, format.name, size
        self.log = Log()
        self.bytes_read = 0
        self._turns = format.read(self._counted(lines), self.log)

    def __iter__(self) -> Iterator[Turn]:
        return self._turns

    def _counted(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.bytes_read += len(line)
            yield line


def stream(source: Readable, *, format: str | None = None) -> Reading:
    """Open a session and read it turn by turn.

    A turn whose index does not follow the last one of its conversation takes back what was read from
    that index on: the user had rewound.
    """
    name, lines, size = _opened(source)
    head, lines = _head(lines)
    found = load_format(format) if format else detect(head)
    if found is None:
        raise NotATranscript(name, found=head.described(), expected=format_names())
    return Reading(name, lines, found, size=size)


def read(
    source: Readable,
    *,
    format: str | None = None,
    session: int | None = None,
    tokens_of: TokensOf | None = None,
) -> Transcript:
    """One session as a transcript, sub-agents attached.

    `session` chooses where a file holds several; `tokens_of` fills in each turn's tokens.
    """
    reading = stream(source, format=format)
    sessions = collect(reading, tokens_of=tokens_of)
    if session is None and len(sessions) == 1:
        return sessions[0]
    if session is None or not 0 <= session < len(sessions):
        raise SeveralSessions(reading.name, count=len(sessions), chosen=session)
    return sessions[session]


def read_all(
    source: Readable, *, format: str | None = None, tokens_of: TokensOf | None = None
) -> tuple[Transcript, ...]:
    """Every session a file holds; most hold one."""
    return collect(stream(source, format=format), tokens_of=tokens_of)


def collect(reading: Reading, *, tokens_of: TokensOf | None = None) -> tuple[Transcript, ...]:
    """Exhaust a reading into transcripts, one per session."""
    threads: dict[tuple[int, str], list[Turn]] = {}
    for turn in reading:
        turns = threads.setdefault((turn.session, turn.agent), [])
        del turns[turn.index :]
        turns.append(
            turn if tokens_of is None else msgspec.structs.replace(turn, tokens=tokens_of(turn))
        )
    log = reading.log
    for key, length in log.lengths.items():
        del threads.setdefault(key, [])[length:]
    numbers = sorted({session for session, _ in threads}) or [0]
    return tuple(
        _transcript(reading, threads, number, first=number == numbers[0]) for number in numbers
    )


def _transcript(
    reading: Reading, threads: dict[tuple[int, str], list[Turn]], session: int, *, first: bool
) -> Transcript:
    """One session; what was found beside the turns of the whole file goes with the first."""
    log = reading.log
    agents = [
        Transcript(
            format=reading.format,
            turns=tuple(turns),
            pending=log.pending.get((number, agent)),
            agent=agent,
            delegated_by=log.delegated_by.get(agent, ""),
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
        session=log.facts(),
        compactions=tuple(log.compactions),
        agents=tuple(agents),
        rewound=log.rewound if first else 0,
        damage=tuple(log.damage) if first else (),
        damage_count=log.damage_counts.total() if first else 0,
        ignored=dict(log.ignored) if first else {},
        wire=log.wire,
    )


def _opened(source: Readable) -> tuple[str, Iterator[bytes], int | None]:
    if isinstance(source, bytes):
        return "<bytes>", iter(_split(source)), len(source)
    if isinstance(source, (str, PathLike)):
        name = fspath(source)
        if name == "-":
            return "<stdin>", iter(sys.stdin.buffer), None
        return name, *_opened_file(name)
    return getattr(source, "name", "<file>"), iter(source), None


def _split(data: bytes) -> list[bytes]:
    """Lines as a binary file gives them: split on newlines only."""
    parts = data.split(b"\n")
    last = parts.pop()
    return [part + b"\n" for part in parts] + ([last] if last else [])


def _opened_file(name: str) -> tuple[Iterator[bytes], int]:
    path = Path(name)
    try:
        size = path.stat().st_size
        file = path.open("rb")
    except OSError as error:
        raise SourceUnreadable(name, (error.strerror or str(error)).lower()) from error
    return _lines(file), size


def _lines(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from file


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
