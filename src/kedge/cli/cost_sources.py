"""Sessions, files and folders for `kedge cost`, counted into one ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kedge.cli.kept import is_file, opened_store, session_named
from kedge.cli.output import harmless, shown
from kedge.cli.progress import progress
from kedge.errors import NotATranscript, SourceUnreadable

if TYPE_CHECKING:
    from kedge.economy.building import LedgerBuilder
    from kedge.economy.saving import Made, Saving
    from kedge.model import Turn
    from kedge.reading import Reading
    from kedge.session import Session


class Counted:
    """What was counted, and what was not."""

    def __init__(self) -> None:
        from kedge.economy.building import LedgerBuilder

        self.builder: LedgerBuilder = LedgerBuilder()
        self.savings: list[Saving] = []
        self.read = 0
        """Sessions and files."""
        self.passed_over = 0
        """Files of folders that are no sessions."""
        self.failed = 0
        """The exit code of what could not be read."""

    def fail(self, error: NotATranscript | SourceUnreadable) -> None:
        typer.echo(f"kedge: {harmless(str(error))}", err=True)
        self.failed = error.exit_code

    def take(self, reading: Reading) -> None:
        """One that was read to its end; files beside it may not have been."""
        self.read += 1
        for one in reading.log.damage:
            if one.kind == "unreadable":
                self.fail(SourceUnreadable(one.file, one.detail))


def counted(names: Sequence[str], *, store: str | None, format: str | None) -> Counted:
    found = Counted()
    for name in dict.fromkeys(names):
        if not is_file(name):
            _kept(name, store, found)
        elif name != "-" and Path(name).is_dir():
            _folder(Path(name), found, format)
        else:
            _file(name, found, format)
    return found


def _file(name: str, found: Counted, format: str | None) -> None:
    from kedge.economy.counting import count_reading
    from kedge.reading import stream

    try:
        reading = stream(name, format=format)
        turns = shown(reading)
        found.savings += count_reading(found.builder, reading, source=name, turns=turns)
    except (NotATranscript, SourceUnreadable) as error:
        found.fail(error)
    else:
        found.take(reading)


def _folder(folder: Path, found: Counted, format: str | None) -> None:
    """Every session below a folder. By their names as text, a session comes before the files of its
    sub-agents, which are then known."""
    from kedge.economy.counting import count_reading
    from kedge.reading import stream

    paths = sorted(_files_below(folder, found))
    with progress() as told:
        for number, path in enumerate(paths):
            told(path, number, len(paths))
            try:
                reading = stream(path, format=format)
                found.savings += count_reading(found.builder, reading, source=path)
            except NotATranscript:
                found.passed_over += 1
            except SourceUnreadable as error:
                found.fail(error)
            else:
                found.take(reading)


def _files_below(folder: Path, found: Counted) -> Iterator[str]:
    def fail(error: OSError) -> None:
        found.fail(SourceUnreadable(str(error.filename), (error.strerror or str(error)).lower()))

    for parent, _, names in os.walk(folder, onerror=fail):
        yield from (path for name in names if os.path.isfile(path := os.path.join(parent, name)))


def _kept(name: str, place: str | None, found: Counted) -> None:
    from kedge.economy.counting import count_turns
    from kedge.living.journal import Journal

    session = session_named(name, opened_store(place))
    made, calls = _made(session), Journal(session.store, session.name).calls()
    turns = _turns(session)
    found.savings += count_turns(found.builder, turns, source=name, made=made, calls=calls)
    found.read += 1


def _turns(session: Session) -> Iterator[Turn]:
    from kedge.living.paid import paid_turns

    total = session.store.head(session.name).number
    with progress() as told:
        for number, turn in enumerate(paid_turns(session.store, session.name)):
            told(session.name, number, total)
            yield turn


def _made(session: Session) -> list[Made]:
    """The compactions of a kept session, from their records."""
    from kedge.economy.saving import Made
    from kedge.living.values import Recorded

    return [
        Made(
            turn=event.what.turns,
            by="kedge",
            before=event.what.compaction.tokens_before,
            after=event.what.compaction.tokens_after,
            by_model=False,
            undone=event.undone,
        )
        for event in session.history()
        if isinstance(event.what, Recorded)
    ]
