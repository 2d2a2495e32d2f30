"""`kedge bank load`: what of the bank goes into an agent's prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.bank.opening import BankOption, opened_bank
from kedge.cli.kept import StoreOption, redactor
from kedge.cli.output import Json, Vocabulary, console, harmless, write_json
from kedge.cli.session import tokens_given

if TYPE_CHECKING:
    from kedge.economy.loading import Loaded
    from kedge.economy.packets import Packet

BUDGET = 20_000
"""Tokens: what a bank may have before it is compacted (seed 003)."""


def load(
    budget: Annotated[
        int,
        typer.Option(parser=tokens_given, metavar="TOKENS", help="Tokens to fill, e.g. 20k."),
    ] = BUDGET,
    session: Annotated[
        str | None,
        typer.Option(help="A session, kept or a file, whose open errors come first."),
    ] = None,
    packet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The delegation packet, as JSON.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="A source file to load; may be repeated.")
    ] = None,
    find: Annotated[
        str, typer.Option(metavar="WORDS", help="Load what of the history has these words.")
    ] = "",
    history: Annotated[
        bool, typer.Option("--history", help="Load archives and the whole log of decisions too.")
    ] = False,
    table: Annotated[
        bool, typer.Option("--table", help="Show what was loaded, and not the text.")
    ] = False,
    vocabulary: Vocabulary = None,
    bank: BankOption = None,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Print as much of the bank as fits a budget, by priority, secrets taken out.

    P0 30 %: open errors, the packet, systemPatterns. P1 25 %: activeContext, source files. P2 25 %:
    decisions, progress, productContext. P3 20 %: other files, and the history where it is asked
    for. What does not fit is loaded in 2,048, 512 or 128 tokens before it is left out.
    """
    from kedge.economy.items import load_context
    from kedge.settings import load_settings
    from kedge.tokens import counter_named

    loaded = load_context(
        budget,
        bank=opened_bank(bank).path,
        errors=_errors(session, store) if session else (),
        packet=_packet(packet) if packet else None,
        files=file or (),
        wanted=find,
        history=history,
        count=counter_named(vocabulary or load_settings().vocabulary).count,
        redactor=redactor(),
    )
    if json:
        write_json(as_json(loaded))
        return
    _show(loaded, stderr=not table)
    if not table:
        typer.echo(harmless(loaded.text), nl=False)


def as_json(loaded: Loaded) -> dict[str, Any]:
    """The keys of `kedge bank load --json`."""
    return {
        "budget": loaded.budget,
        "tokens": loaded.tokens,
        "loaded": [
            {
                "name": part.name,
                "priority": part.priority,
                "level": part.level,
                "tokens": part.tokens,
                "full_tokens": part.whole,
            }
            for part in loaded.parts
        ],
        "left_out": [
            {
                "name": one.name,
                "priority": one.priority,
                "why": one.why,
                "tokens": one.tokens,
                "full_tokens": one.whole,
            }
            for one in loaded.left_out
        ],
        "classes": [
            {
                "priority": one.priority,
                "share": one.share,
                "used": one.used,
                "flowed": one.flowed,
            }
            for one in loaded.shares
        ],
        "markdown": loaded.text,
    }


def _errors(session: str, store: str | None) -> list[str]:
    from kedge.cli.kept import is_file, opened_store, session_named
    from kedge.cli.session import given
    from kedge.economy.items import open_errors
    from kedge.summarizing import summarize

    if is_file(session):
        transcript = given(session, format=None, session=None)
    else:
        transcript = session_named(session, opened_store(store)).transcript()
    return open_errors(summarize(transcript, redactor=redactor()))


def _packet(path: Path) -> Packet:
    from kedge.economy.packets import read_packet
    from kedge.errors import SourceUnreadable

    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceUnreadable(str(path), (error.strerror or str(error)).lower()) from error
    return read_packet(data, str(path))


def _show(loaded: Loaded, *, stderr: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console(stderr=stderr)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("class", "what", "level", "tokens", "of"):
        right = name in ("tokens", "of")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    rows = [
        (part.priority, part.name, str(part.level), f"{part.tokens:,}", f"{part.whole:,}")
        for part in loaded.parts
    ]
    rows += [
        (one.priority, one.name, f"left out: {one.why}", "", f"{one.whole:,}" * bool(one.whole))
        for one in loaded.left_out
    ]
    for priority, *cells in rows:
        table.add_row(f"P{priority}", *(Text(harmless(cell)) for cell in cells))
    out.print(table)
    used = ", ".join(f"P{one.priority} {one.used:,} of {one.share:,}" for one in loaded.shares)
    out.print(f"{loaded.tokens:,} of {loaded.budget:,} tokens: {used}", markup=False)
