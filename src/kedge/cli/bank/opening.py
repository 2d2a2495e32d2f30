"""The memory bank that is meant, for a command, and who asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kedge.bank import Bank

BankOption = Annotated[
    Path | None,
    typer.Option(
        "--bank",
        metavar="FOLDER",
        help="The bank's folder; else what settings say, here or in a folder above.",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="ID", help="Who asks; else what settings say, or your name."),
]


def opened_bank(path: Path | None) -> Bank:
    from kedge.bank import Bank, Limits
    from kedge.cli.kept import redactor
    from kedge.settings import load_settings

    settings = load_settings()
    limits = Limits(
        entries=settings.bank_entries,
        least_entries=settings.bank_least_entries,
        references=settings.bank_references,
        index_after=settings.bank_index_after,
        milestone_days=settings.bank_milestone_days,
        milestones=settings.bank_milestones,
        tokens=settings.bank_tokens,
        session_share=settings.bank_session_share,
        lock_seconds=settings.bank_lock_seconds,
    )
    return Bank(
        path or _nearest(settings.bank),
        limits=limits,
        owner=settings.bank_owner,
        redactor=redactor(),
    )


def agent_named(agent: str | None) -> str:
    """Who asks: as given, as settings say, or the name of the person."""
    from getpass import getuser

    from kedge.settings import load_settings

    return agent or load_settings().agent or getuser()


def _nearest(folder: str) -> Path:
    """The bank's folder here or above, as people work in folders below it; here otherwise."""
    given = Path(folder).expanduser()
    here = Path.cwd()
    for parent in (here, *here.parents):
        if (found := parent / given).is_dir():
            return found
    return here / given
