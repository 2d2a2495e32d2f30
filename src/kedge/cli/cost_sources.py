"""Sessions, files and folders for `kedge cost`, counted into one ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kedge.cli.kept import is_file, opened_store, session_named
from kedge.cli.output import shown
from kedge.cli.progress import progress
from kedge.errors import NotATranscript, SourceUnreadable

if TYPE_CHECKING:
    from kedge.economy.building import LedgerBuilder
    from kedge.economy.saving import Made, Saving
    from kedge.model import Turn
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
        """The exit code of what was named and could not be read."""


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
        typer.echo(f"kedge: {error}", err=True)
        found.failed = error.exit_code
    else:
        found.read += 1


def _folder(folder: Path, found: Counted, format: str | None) -> None:
    """Every session below a folder. By their names as text, a session comes before the files of its
    sub-agents, which are then known."""
    from kedge.economy.counting import count_reading
    from kedge.reading import stream

    paths = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    with progress() as told:
        for number, path in enumerate(paths):
            told(path, number, len(paths))
            try:
                reading = stream(path, format=format)
                found.savings += count_reading(found.builder, reading, source=path)
            except (NotATranscript, SourceUnreadable):
                found.passed_over += 1
            else:
                found.read += 1


def _kept(name: str, place: str | None, found: Counted) -> None:
    from kedge.economy.counting import count_turns

    session = session_named(name, opened_store(place))
    made = _made(session)
    found.savings += count_turns(found.builder, _turns(session), source=name, made=made)
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
