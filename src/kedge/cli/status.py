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
    of the host, how its summary answers the probes, what was put back, and what was saved."""
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
    _show(known, console(), whole=session is not None)


def as_json(status: dict[str, Any]) -> dict[str, Any]:
    """One of the `sessions` of `kedge status --json`."""
    keys = (
        *("session", "host", "turns", "context_tokens", "window", "compactions", "last", "at"),
        *("put_back", "saved_tokens"),
    )
    return {key: status.get(key) for key in keys}


def _show(found: list[dict[str, Any]], out: Console, *, whole: bool) -> None:
    if not found:
        out.print(
            "no session is followed by hooks yet. `kedge install claude-code` sets them up; after "
            "that it is the first session that is started anew"
        )
    elif whole:
        _show_one(found[0], out)
    else:
        _show_all(found, out)


def _show_all(found: list[dict[str, Any]], out: Console) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("session", overflow="fold", min_width=8)
    table.add_column("host", overflow="fold", min_width=6)
    for heading in ("turns", "context", "compacted", "probes", "put back", "saved"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("seen", overflow="fold", min_width=10)
    for one in found:
        last = one.get("last") or {}
        table.add_row(
            harmless(str(one.get("session"))),
            harmless(str(one.get("host"))),
            f"{one.get('turns') or 0:,}",
            _context(one),
            f"{one.get('compactions') or 0:,}",
            _scores(last),
            f"{last['put_back_tokens']:,}" if last else "–",
            f"{one.get('saved_tokens') or 0:,}",
            _moment(one.get("at")).removesuffix(" UTC"),
        )
    out.print(table)
    out.print("`kedge status SESSION` shows one, with what was put back", markup=False)


def _show_one(one: dict[str, Any], out: Console) -> None:
    from rich.table import Table

    last = one.get("last") or {}
    table = Table(show_header=False, box=None, pad_edge=False)
    rows = [
        ("session", f"{one.get('session')} of {one.get('host')}, {one.get('turns') or 0:,} turns"),
        ("seen", _moment(one.get("at"))),
        ("context used", _context(one)),
        ("compactions", f"{one.get('compactions') or 0:,}"),
    ]
    if last:
        rows += [
            ("last compaction", f"{_moment(last.get('at'))}, before turn {last.get('turn')}"),
            ("tokens", _freed(last)),
            ("summary of the host", _score(last)),
            ("put back", f"{last.get('put_back_tokens') or 0:,} tokens"),
        ]
    rows.append(("saved on outputs", f"{one.get('saved_tokens') or 0:,} tokens"))
    for name, value in rows:
        table.add_row(name, harmless(value))
    out.print(table)
    if questions := last.get("unanswered"):
        out.print("\nwhat the summary of the host does not answer:")
        for question in questions:
            out.print(f"  {harmless(question)}", markup=False)
    if handed := one.get("put_back"):
        out.print("\nwhat was put back:\n")
        out.print(harmless(handed), markup=False, highlight=False)


def _moment(at: object) -> str:
    from datetime import UTC, datetime

    seconds = float(at) if isinstance(at, int | float) else 0
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _freed(last: dict[str, Any]) -> str:
    before, after = last.get("tokens_before"), last.get("tokens_after")
    if not isinstance(before, int):
        return f"{last.get('summary_tokens') or 0:,} of its summary; the host does not say of what"
    if not isinstance(after, int):
        return f"{before:,} → {last.get('summary_tokens') or 0:,} of its summary"
    return f"{before:,} → {after:,}" + (f", {before - after:,} freed" if before > after else "")


def _score(last: dict[str, Any]) -> str:
    if last.get("score") is None:
        return "–"
    told = f"answers {last['score']:.0%} of what is asked"
    after = last.get("score_with_put_back")
    return told + (f", {after:.0%} with what was put back" if after is not None else "")


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
