"""`kedge view`: a session as the agent goes on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.compact import check
from kedge.cli.kept import SessionName, StoreOption, opened_store, session_named
from kedge.cli.output import Json, console, harmless, write_json
from kedge.cli.session import known_provider
from kedge.cli.turns import as_json, show_all

if TYPE_CHECKING:
    from kedge.model import Transcript


def view(
    session: SessionName,
    to: Annotated[
        str | None,
        typer.Option(help="Write messages for anthropic, openai-chat, openai-responses or gemini."),
    ] = None,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Show a session as it stands: the summary, what is pinned, and the turns that are kept.

    With `--to`, the message list for a provider, one JSON document on stdout."""
    kept = session_named(session, opened_store(store))
    provider = known_provider(to)
    if not provider:
        _show(kept.context(), json=json)
        return
    written = kept.view(provider)
    for problem in check(provider, written):
        typer.echo(f"warning: {provider} would refuse it: {harmless(problem)}", err=True)
    if json:
        write_json(
            {
                "messages": written.messages,
                "system": written.system,
                "left_out": list(written.left_out),
            }
        )
        return
    write_json(written.messages)
    if written.system:
        typer.echo("the system prompt stands apart from the messages: --json has it", err=True)
    for left_out in written.left_out:
        typer.echo(f"left out: {harmless(left_out)}", err=True)


def _show(context: Transcript, *, json: bool) -> None:
    if json:
        pending = (context.pending,) if context.pending else ()
        for turn in (*context.turns, *pending):
            write_json(as_json(turn, pending=turn is context.pending))
        return
    for note in context.turns[0].notes if context.turns else ():
        typer.echo(harmless(note.text))
        typer.echo()
    show_all([context], console())
