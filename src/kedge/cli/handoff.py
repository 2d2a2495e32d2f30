"""`kedge handoff`: what an earlier session of a task left, for the prompt of the next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.keeping import Root
from kedge.cli.output import Json, harmless, write_json


def handoff(
    product: Annotated[str, typer.Option(help="The product the task belongs to.")],
    task: Annotated[str, typer.Option(help="The task's id.")],
    root: Root = ".",
    json: Json = False,
) -> None:
    """Print the `## Prior Session Context` block for a sub-agent's prompt from the task's session
    file; nothing for a fresh task."""
    from kedge.session_files import path_below, prior_context, read_session_file
    from kedge.settings import load_settings

    template = load_settings(Path(root).resolve()).session_file
    names = path_below(product, task, template=template)
    text = read_session_file(root, product, task, template=template)
    block = None if text is None else prior_context(text)
    if json:
        file = str(Path(root, *names))
        write_json({"product": product, "task": task, "file": file, "markdown": block})
    elif block is not None:
        typer.echo(harmless(block), nl=False)
