"""`kedge gc`: sessions that need not be kept any longer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.kept import StoreOption, opened_store
from kedge.cli.output import Json, console, harmless, write_json
from kedge.cli.sessions import size, time_of
from kedge.names import checked

if TYPE_CHECKING:
    from kedge.retention import Removal, Removed

DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.0}
BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
NO_RULES = (
    "no rule is given, so no session goes; rules are --older-than 90d, --larger-than 100MB, "
    "--match 'ci-*' and --keep-last 20, and all that are given must hold"
)

OPENCODE = "opencode"
"""Folder beside that of the hooks in which the plugin for OpenCode keeps copies of sessions and
what was put back."""

_COPY = re.compile(r"(.+)\.(?:json|put-back)(?:\.\d+-\d+)?")
"""The plugin's files of a session; numbers are behind those that were not written to the end."""
_AGE = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*([hdwy]?)")
_SIZE = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([kmgt]?b?)")


def days_given(text: str | float) -> float:
    found = _AGE.fullmatch(str(text).strip().lower())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no time; write 36h, 90d, 12w or 1y")
    return float(found[1]) * DAYS[found[2] or "d"]


def bytes_given(text: str | int) -> int:
    found = _SIZE.fullmatch(str(text).strip().lower())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size; write 500kB, 100MB or 2GB")
    unit = found[2] if found[2] in BYTES else f"{found[2]}b"
    return int(float(found[1]) * BYTES[unit])


def gc(
    older_than: Annotated[
        float | None,
        typer.Option(
            parser=days_given,
            metavar="TIME",
            help="Last written to so long ago: 36h, 90d, 12w, 1y.",
        ),
    ] = None,
    larger_than: Annotated[
        int | None,
        typer.Option(parser=bytes_given, metavar="SIZE", help="Larger than this: 500kB, 100MB."),
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="With a name like 'ci-*'; may be repeated."),
    ] = None,
    keep_last: Annotated[
        int | None,
        typer.Option(min=0, help="Keep so many that were written to last, of those that match."),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Remove them; without it nothing is changed.")
    ] = False,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Remove sessions by rules, all of which must hold; without --apply, show what would go.

    Texts that no session refers to any more go with them. A session that others were forked from
    may go: forks have all they need.
    """
    import time

    from kedge.retention import Rules, collect, plan_gc

    rules = Rules(
        older_than=older_than,
        larger_than=larger_than,
        match=tuple(match or ()),
        keep_last=keep_last,
    )
    with closing(opened_store(store)) as kept:
        removal = plan_gc(kept, rules, time.time_ns() // 1_000)
        removed = collect(kept, removal) if apply else None
    if removed is not None:
        forget_hooks(removed.sessions)
    if json:
        write_json(as_json(removal, removed))
    else:
        _show(removal, removed, given=rules.given)


def forget_hooks(sessions: Iterable[str]) -> None:
    """What hooks of a coding agent noted of sessions goes with them, and what its plugin did."""
    from shutil import rmtree

    from kedge.integrations.hooks import places

    home = Path(places.home())
    names = [checked("session", name) for name in sessions]
    for name in names:
        rmtree(home / name, ignore_errors=True)
    for path in (home.parent / OPENCODE).glob("*"):
        found = _COPY.fullmatch(path.name)
        if found is not None and found[1] in names:
            with suppress(OSError):
                path.unlink()


def as_json(removal: Removal, removed: Removed | None) -> dict[str, Any]:
    """The keys of `kedge gc --json`."""
    return {
        "going": [
            {
                "name": one.name,
                "turns": one.turns,
                "last": time_of(one.last).isoformat(),
                "bytes": one.bytes,
                "why": one.why,
            }
            for one in removal.going
        ],
        "kept": removal.kept,
        "loose_texts": removal.loose,
        "frees_bytes": removal.frees,
        "applied": removed is not None,
        "removed": list(removed.sessions) if removed else [],
        "spared": list(removed.spared) if removed else [],
    }


def _show(removal: Removal, removed: Removed | None, *, given: bool) -> None:
    out = console()
    if not given:
        typer.echo(NO_RULES, err=True)
    if removal.going:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("session", "turns", "size", "last written", "why"):
            right = name in ("turns", "size")
            table.add_column(name, justify="right" if right else "left", overflow="fold")
        for one in removal.going:
            when = time_of(one.last).strftime("%Y-%m-%d")
            row = (harmless(one.name), f"{one.turns:,}", size(one.bytes), when, harmless(one.why))
            table.add_row(*map(Text, row))
        out.print(table)
    out.print(_summary(removal, removed), markup=False)
    for name in removed.spared if removed else ():
        out.print(f"{name} stays: it was written to meanwhile", markup=False)


def _summary(removal: Removal, removed: Removed | None) -> str:
    if not removal.going and not removal.loose:
        return f"nothing to remove; {_number(removal.kept, 'session')} kept"
    count = len(removal.going) if removed is None else len(removed.sessions)
    what = f"{_number(count, 'session')} and {_number(removal.loose, 'loose text')}"
    freed = size(removal.frees)
    if removed is None:
        return f"{what} would go and free {freed}; --apply removes them"
    return f"removed {what}, freed {freed}; {_number(removal.kept, 'session')} kept"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
