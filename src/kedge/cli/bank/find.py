"""`kedge bank find`: what the catalog knows, read in the order that costs least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.bank.opening import BankOption, opened_bank
from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from kedge.bank.catalog import Found, Hit

STEPS = {"128": 1, "512": 2, "chunk": 3, "source": 4}
"""What is read at each step (seed 003)."""
HITS = 8
"""Shown, where no other number is given: what one looks through."""


def find(
    query: Annotated[str, typer.Argument(help="Words; a phrase in quotes.")],
    depth: Annotated[
        str, typer.Option(metavar="STEP", help="Begin at 128, 512, chunk or source.")
    ] = "128",
    limit: Annotated[int, typer.Option(min=1, help="Hits at the most.")] = HITS,
    bank: BankOption = None,
    json: Json = False,
) -> None:
    """Find chunks by words: in summaries of 128 tokens, of 512, in chunks, in the sources.

    It goes on only as far as it must, and says where it stopped.
    """
    from kedge.bank.catalog import find as found_in
    from kedge.cli.kept import redactor

    if depth not in STEPS:
        raise typer.BadParameter(f"{depth!r} is no step; choose one of {', '.join(STEPS)}")
    folder = opened_bank(bank).path
    found = found_in(query, folder, redactor=redactor(), step=STEPS[depth], most=limit)
    if json:
        write_json(as_json(found))
        return
    _show(found)


def as_json(found: Found) -> dict[str, Any]:
    """The keys of `kedge bank find --json`."""
    names = {number: name for name, number in STEPS.items()}
    return {
        "query": found.query,
        "stopped_at": names[found.step],
        "answered": found.answered,
        "why": found.why,
        "read": [
            {"step": names[one.step], "items": one.items, "tokens": one.tokens}
            for one in found.read
        ],
        "hits": [hit_json(hit) for hit in found.hits],
        "more": found.more,
        "notes": list(found.notes),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "path": hit.path,
        "source": hit.source,
        "lines": list(hit.lines) if any(hit.lines) else None,
        "text": hit.text,
        "tokens": hit.tokens,
        "missing": list(hit.missing),
        "stale": hit.stale or None,
    }


def _show(found: Found) -> None:
    out = console()
    for hit in found.hits:
        lines = f":{hit.lines[0]}-{hit.lines[1]}" if any(hit.lines) else ""
        stale = f" (stale: {hit.stale})" if hit.stale else ""
        head = f"{hit.source}{lines}  {hit.path}, {hit.tokens:,} tokens{stale}"
        out.print(harmless(head), style="bold", markup=False, soft_wrap=True)
        for line in hit.text.splitlines():
            out.print(f"  {harmless(line)}", markup=False, soft_wrap=True)
    read = ", ".join(
        f"{one.what} ({one.items:,} items, {one.tokens:,} tokens)" for one in found.read
    )
    more = f"; {found.more:,} more hits" if found.more else ""
    typer.echo(f"{harmless(found.why)}{more}; read: {harmless(read)}", err=True)
    for note in found.notes:
        typer.echo(f"note: {harmless(note)}", err=True)
