"""Opening what a caller names: a path, stdin, bytes, a file that is open already."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike, fspath
from os.path import isdir, normpath
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from msgspec.structs import replace

from kedgeline.errors import NotATranscript, SeveralSessions, SourceUnreadable
from kedgeline.formats import (
    Format,
    HasCompanions,
    Log,
    Written,
    format_names,
    load_format,
    load_provider,
)
from kedgeline.formats.editing import plain_messages
from kedgeline.formats.log import Line
from kedgeline.formats.providers.messages import foreign_in
from kedgeline.formats.registry import recognised
from kedgeline.model import Transcript, Turn
from kedgeline.tokens import EXACT, Counter, fitting, tokens_of

LONGEST = 512 << 20
"""Bytes of one line: no record has so many, and one that never ends must not fill the memory."""

Readable = str | PathLike[str] | bytes | BinaryIO
"""A path, `-` for stdin, the bytes themselves, or a binary file."""


class _Opened(NamedTuple):
    name: str
    lines: Iterator[bytes]
    """Split on newlines only: other line ends may stand inside a JSON string."""
    size: int | None = None
    path: Path | None = None


def open_source(source: Readable) -> _Opened:
    """Lines of bytes, and what is known about where they come from."""
    if isinstance(source, bytes):
        return _Opened("<bytes>", iter(_split(source)), len(source))
    if not isinstance(source, (str, PathLike)):
        name = str(getattr(source, "name", "<file>"))
        return _Opened(name, lines_in(source, name))
    name = fspath(source)
    if name == "-":
        return _Opened("<stdin>", lines_in(_stdin(), "<stdin>"))
    path = Path(name)
    if events := event_files(path):
        whole = (line + b"\n" for one in events for line in file_lines(one))
        return _Opened(name, whole, sum(_size(one) or 0 for one in events))
    return _Opened(name, file_lines(path), _size(path), path)


def event_files(path: Path) -> list[Path]:
    """The files of a conversation that is a folder, one event in each, as OpenHands keeps them;
    none where it is not such a folder."""
    return sorted((path / "events").glob("event-*.json")) if isdir(path) else []


def files_beside(path: Path, patterns: Callable[[], Iterable[str]]) -> Iterator[Path]:
    """Files that belong to one, by patterns from its folder, each once. What is read in those that
    were given may bring further patterns."""
    given = {path}
    while True:
        found = [file for one in patterns() for file in sorted(path.parent.glob(one))]
        plain = (Path(normpath(file)) for file in found)
        new = [file for file in dict.fromkeys(plain) if file not in given]
        if not new:
            return
        for file in new:
            given.add(file)
            yield file


def plain_file(path: str | PathLike[str]) -> BinaryIO:
    """A file that somebody named, open for reading. Links are followed; a folder, a pipe and a
    device are refused before anything is read of them, and nobody is waited for."""
    try:
        _check_plain(path, os.stat(path))
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        file = os.fdopen(os.open(path, flags), "rb")
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        raise SourceUnreadable(fspath(path), _why(error)) from error
    try:
        _check_plain(path, os.fstat(file.fileno()))  # it may be another one by now
    except SourceUnreadable:
        file.close()
        raise
    return file


def _check_plain(path: str | PathLike[str], found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = next((name for test, name in _NO_FILES if test(found.st_mode)), "no plain file")
        raise SourceUnreadable(fspath(path), f"it is {what}")


_NO_FILES: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def file_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, which is closed when they are exhausted or no longer wanted."""
    with plain_file(path) as file:
        yield from lines_in(file, str(path))


def lines_in(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of an open file. None is held here while it is looked at: one may be large."""

    def line() -> bytes:
        found = file.readline(LONGEST + 1)
        if len(found) > LONGEST:
            raise SourceUnreadable(name, f"a line of it has more than {LONGEST >> 20} MB")
        return found

    try:
        yield from iter(line, b"")
    except (OSError, ValueError) as error:  # a file that is closed is a ValueError
        raise SourceUnreadable(name, _why(error)) from error


def _stdin() -> BinaryIO:
    found: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if found is None:  # the interpreter was started without one
        raise SourceUnreadable("<stdin>", "it is closed")
    return found


def _size(path: Path) -> int | None:
    """The size, only to show progress; whether the file can be read shows when it is opened."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return None


def _why(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _split(data: bytes) -> list[bytes]:
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


# Reading a session: open, recognise, stream turns, or collect them into a transcript.

Messages = Mapping[str, object] | list[Any] | tuple[Any, ...]
"""A list of messages, objects of SDKs among them, or a whole request."""


class Reading:
    """Turns as they are read; the log is complete once they are exhausted. Memory does not grow."""

    def __init__(self, opened: _Opened, format: Format, skipped: tuple[str, ...] = ()) -> None:
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

    def _all(self, opened: _Opened, format: Format) -> Iterator[Turn]:
        """The session's own turns, then those of files its client keeps beside it."""
        yield from format.read(map(self._counted, opened.lines), self.log)
        if opened.path is None or not isinstance(format, HasCompanions):
            return
        stem, patterns = opened.path.stem, format.beside
        for path in files_beside(opened.path, lambda: patterns(stem, self.log)):
            log = self.log.beside(path.name)
            try:
                for turn in format.read(map(self._counted, file_lines(path)), log):
                    if turn.agent:
                        yield replace(turn, source=replace(turn.source, file=path.name))
            except SourceUnreadable as error:
                log.broken("unreadable", Line(0, 0), error.why)
            self.log.take_in(log)

    def _counted(self, line: bytes) -> bytes:
        self.bytes_read += len(line)
        return line


def stream(source: Readable | Messages, *, format: str | None = None) -> Reading:
    """Open a session and read it turn by turn; tokens are left to the one who takes them.

    A turn whose index does not follow the last one of its conversation takes back what was read
    from that index on: the user had rewound."""
    opened = _opened(source)
    if format:
        return Reading(opened, load_format(format))
    found, head, lines = recognised(opened.lines)
    if found.format is None:
        expected = tuple(name for name in format_names() if name not in found.skipped)
        raise NotATranscript(
            opened.name,
            found=foreign_in(head) or head.described(),
            expected=expected,
            skipped=found.skipped,
        )
    return Reading(opened._replace(lines=lines), found.format, found.skipped)


def read(
    source: Readable | Messages,
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
    source: Readable | Messages, *, format: str | None = None, counter: Counter | None = EXACT
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
    known = (key for key in log.lengths if key[0] == session and key[1] not in ("", lone))
    agents = _agents(reading, {key: [] for key in known})
    first = _transcript(reading, {}, session, first=True)
    pending = log.pending.get((session, lone or ""))
    return replace(first, pending=pending, agents=agents, agent="")


def _agents(
    reading: Logged, threads: Mapping[tuple[int, str], list[Turn]]
) -> tuple[Transcript, ...]:
    """The sub-agents among the threads of a session."""
    log, calls = reading.log, reading.log.delegated_by
    return tuple(
        Transcript(
            format=reading.format,
            turns=tuple(turns),
            pending=log.pending.get((number, agent)),
            agent=agent,
            delegated_by=calls.get(agent, ""),
        )
        for (number, agent), turns in threads.items()
        if agent
    )


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
        thread.append(_counted(turn, counter, reading.log.latest("model")))
    log = reading.log
    for key, length in log.lengths.items():
        del threads.setdefault(key, [])[length:]
    for key, words in log.pending.items():
        log.pending[key] = _counted(words, counter, log.latest("model"))
    numbers = sorted({session for session, _ in threads}) or [0]
    return tuple(
        _transcript(reading, threads, number, first=number == numbers[0]) for number in numbers
    )


def counted(transcript: Transcript, counter: Counter) -> Transcript:
    """The transcript with every turn's tokens counted anew; sub-agents keep what they have."""
    pending, model = transcript.pending, transcript.session.latest("model")
    return replace(
        transcript,
        turns=tuple(_counted(turn, counter, model) for turn in transcript.turns),
        pending=_counted(pending, counter, model) if pending else None,
    )


def _counted(turn: Turn, counter: Counter | None, model: str) -> Turn:
    """A turn that does not name its model is counted for the one that the session names."""
    if counter is None:
        return turn
    return replace(turn, tokens=tokens_of(turn, fitting(counter, model)).total)


def _transcript(
    reading: Logged, threads: dict[tuple[int, str], list[Turn]], session: int, *, first: bool
) -> Transcript:
    """One session; what was found beside the turns of the whole file goes with the first."""
    log = reading.log
    agents = _agents(reading, {key: turns for key, turns in threads.items() if key[0] == session})
    main = tuple(threads.get((session, ""), ()))
    pending = log.pending.get((session, ""))
    alone = agents[0] if len(agents) == 1 and not main and pending is None else None
    return Transcript(
        format=reading.format,
        turns=alone.turns if alone else main,
        pending=alone.pending if alone else pending,
        agent=alone.agent if alone else "",
        head=tuple(log.heads.get(session, ())),
        session=log.facts(session),
        compactions=tuple(c for c in log.compactions if c.session == session),
        agents=() if alone else agents,
        rewound=log.rewound if first else 0,
        damage=tuple(log.damage) if first else (),
        damage_count=log.damage_counts.total() if first else 0,
        ignored=dict(log.ignored) if first else {},
        wire=log.wire,
    )


def _opened(source: Readable | Messages) -> _Opened:
    if not isinstance(source, (Mapping, list, tuple)):
        return open_source(source)
    given: Any = plain_messages([source] if isinstance(source, Mapping) else source)
    data = json.dumps(given[0] if isinstance(source, Mapping) else given).encode()
    return open_source(data)._replace(name="<messages>")


# Writing a transcript as the message list of a provider's API.


def write(transcript: Transcript, *, to: str) -> Written:
    """The transcript in a provider's shape.

    In the shape it was read from, the messages are equal to those that were read. In another, they
    are legal there, and what has no place is named in `left_out`. A format for handing sessions on,
    such as `atif`, gives one document."""
    export = getattr(load_format(to), "export", None) if to in format_names() else None
    written: Written = export(transcript) if export else load_provider(to).write(transcript)
    return written
