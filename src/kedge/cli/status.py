"""`kedge status`: how the sessions are that hooks follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from rich.console import Console

Name = Annotated[
    str | None, typer.Argument(metavar="SESSION", help="One of them; all of them if none is named.")
]


def status(session: Name = None, json: Json = False) -> None:
    """Show the sessions that hooks of a coding agent follow: the context used, the last compaction
    of the host, how its summary answers the probes, and what was put back."""
    import os

    from kedge.errors import NoSuchSession
    from kedge.integrations.hooks import places
    from kedge.integrations.hooks.statusline import status_of

    home = places.home()
    every = os.listdir(home) if os.path.isdir(home) else []
    names = sorted(name for name in every if os.path.isdir(os.path.join(home, name)))
    if session is not None and session not in names:
        raise NoSuchSession(session, known=tuple(names[:3]))
    found = [status_of(name) for name in names if session in (None, name)]
    known = sorted((one for one in found if one), key=lambda one: -float(one.get("at") or 0))
    if json:
        write_json({"sessions": [as_json(one) for one in known]})
        return
    _show(known, console())


def as_json(status: dict[str, Any]) -> dict[str, Any]:
    """One of the `sessions` of `kedge status --json`."""
    keys = ("session", "host", "turns", "context_tokens", "window", "compactions", "last", "at")
    return {key: status.get(key) for key in keys}


def _show(found: list[dict[str, Any]], out: Console) -> None:
    from datetime import UTC, datetime

    from rich.table import Table

    if not found:
        out.print("no session is followed by hooks yet; `kedge install claude-code` sets them up")
        return
    table = Table()
    table.add_column("session", overflow="fold")
    table.add_column("host")
    for heading in ("turns", "context", "compactions", "probes", "put back"):
        table.add_column(heading, justify="right")
    table.add_column("seen")
    for one in found:
        last = one.get("last") or {}
        seen = datetime.fromtimestamp(float(one.get("at") or 0), UTC)
        table.add_row(
            harmless(str(one.get("session"))),
            harmless(str(one.get("host"))),
            f"{one.get('turns') or 0:,}",
            _context(one),
            f"{one.get('compactions') or 0:,}",
            _scores(last),
            f"{last['put_back_tokens']:,}" if last else "–",
            f"{seen:%Y-%m-%d %H:%M}",
        )
    out.print(table)
    questions = [
        question for one in found[:1] for question in (one.get("last") or {}).get("unanswered", ())
    ]
    if questions:
        out.print("what the summary of the host does not answer:")
        for question in questions:
            out.print(f"  {harmless(question)}", markup=False)


def _context(one: dict[str, Any]) -> str:
    tokens, window = one.get("context_tokens"), one.get("window")
    if not tokens:
        return "–"
    return f"{tokens:,} ({tokens / window:.0%})" if window else f"{tokens:,}"


def _scores(last: dict[str, Any]) -> str:
    if last.get("score") is None:
        return "–"
    after = last.get("score_with_put_back")
    return f"{last['score']:.2f}" + (f" → {after:.2f}" if after is not None else "")
