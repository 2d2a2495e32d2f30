"""`kedge fsck`: whether what is kept is what was written."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.kept import StoreOption, opened_store, redactor
from kedge.cli.output import Json, console, harmless, write_json
from kedge.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.store import Problem, Store

DAMAGED = 1
"""Exit code where something is damaged, and is not made good."""


def fsck(
    session: Annotated[
        list[str] | None, typer.Option(help="Only this session; may be repeated.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make good what can be made anew from the originals.")
    ] = False,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Check everything that is kept: hashes, chains, references, and the indexes.

    Says which turn is damaged, what of it is lost and what is not. --repair makes indexes anew; it
    never changes or removes an original. Exits with 1 where damage is left.
    """
    with closing(opened_store(store)) as kept:
        names = tuple(session or ())
        _check_names(kept, names)
        made_good = _repaired(kept, names) if repair else []
        left = _found(kept, names)
        count = len(names) if names else len(kept.sessions())
    if json:
        for problem in made_good:
            write_json({**_fields(problem), "repaired": True})
        for problem in left:
            write_json({**_fields(problem), "repaired": False})
    else:
        _show(made_good, left, count)
    if left:
        raise typer.Exit(DAMAGED)


def _check_names(kept: Store, names: Sequence[str]) -> None:
    from kedge.recall.originals import check_session

    for name in names:
        check_session(kept, name)


def _found(kept: Store, names: Sequence[str]) -> list[Problem]:
    from kedge.checking import check

    with progress() as watch:
        return list(check(kept, sessions=names, watch=watch))


def _repaired(kept: Store, names: Sequence[str]) -> list[Problem]:
    from kedge.checking import repair

    with progress() as watch:
        return list(repair(kept, sessions=names, clean=redactor().clean, watch=watch))


def _fields(problem: Problem) -> dict[str, object]:
    return {
        "where": problem.where,
        "what": problem.what,
        "repairable": problem.repairable,
    }


def _show(made_good: Sequence[Problem], left: Sequence[Problem], count: int) -> None:
    if made_good:
        _table("made good", made_good)
    if left:
        _table("damaged", left)
    out = console()
    sessions = "1 session" if count == 1 else f"{count:,} sessions"
    if not left:
        out.print(f"{sessions} checked; nothing is damaged", markup=False)
        return
    can = sum(problem.repairable for problem in left)
    out.print(
        f"{sessions} checked; {len(left):,} damaged"
        + (f", {can:,} of these `kedge fsck --repair` makes good" if can else ""),
        markup=False,
    )


def _table(title: str, problems: Sequence[Problem]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(title, style="bold", overflow="fold")
    table.add_column("what", overflow="fold")
    for problem in problems:
        table.add_row(Text(harmless(problem.where)), Text(harmless(problem.what)))
    console().print(table)
