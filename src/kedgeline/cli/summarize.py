"""A whole session handed on: `kedgeline summarize` and `handoff`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import typer

from kedgeline.cli.opening import open_session
from kedgeline.cli.options import SessionSource
from kedgeline.cli.output import harmless, progress, say, write_json
from kedgeline.cli.verdict import WHOLE, check_room, round_score
from kedgeline.errors import UnknownName
from kedgeline.settings import load_settings

STYLES = ("markdown", "session-file", "outcomes", "json")


class SessionFile(NamedTuple):
    """The session file of a task, which hands its state on.

    Args:
        task ID: The task's id, for the session file; else `session`.
        write_session_file: Also write or update the session file of --product and --task.
    """

    product: str | None = None
    task: str | None = None
    write_session_file: bool = False
    root: str = "."


def summarize(
    source: SessionSource,
    task: SessionFile,
    tokens: int | None = None,
    level: int | None = None,
    style: str = "markdown",
    phase: str | None = None,
    state_file: str | None = None,
    json: bool = False,
) -> None:
    """Summarize a whole session as a hand-off: Markdown on stdout.

    Args:
        tokens TOKENS: Longest summary, counted with the vocabulary itself; 2048 if none.
        level N: A named level: 128 (one line), 512 (five lines) or 2048.
        style NAME: markdown, session-file, outcomes or json (all that is known).
        phase NAME: As a phase hands it on: research, planning, implementation; auto finds out.
        state_file --state FILE: Also set compression_state in a state.json.
    """
    from kedgeline.pipeline.handoff import hand_on
    from kedgeline.pipeline.handoff import level as at_level
    from kedgeline.pipeline.handoff import summarize as summary_of
    from kedgeline.pipeline.outcomes import outcomes_of_session
    from kedgeline.session.files import write_state
    from kedgeline.summary import PHASES, phase_of, phased, session_file
    from kedgeline.tokens import EXACT, Exact

    check_room(tokens)
    _check_names(level, style, phase)
    write = session_file_writer(task)
    found = open_session(source)
    counter = Exact(source.vocabulary or EXACT.name)  # a hand-off is for any model
    room, name, kept = tokens or WHOLE, found.transcript.session.latest("id"), dict[str, str]()
    with progress("summarizing"):
        state = summary_of(found.transcript)
    if write is not None:
        kept["session_file"] = str(write(state, tokens=room, session=name))
    if state_file is not None:
        score = round_score(hand_on(state, room, found.counter.count).verdict.score)
        write_state(state_file, state, at=datetime.now(UTC), probe_score=score, session=name)
        kept["state_file"] = state_file
    for path in kept.values():
        say(f"wrote {path}")
    if style == "json":
        write_json(state)
        return
    if phase:
        text = phased(state, next((one for one in PHASES if one == phase), phase_of(state)))
    elif style == "outcomes":
        text = outcomes_of_session(found.transcript, state, level or room, counter.count)
    elif style == "session-file":
        text = session_file(state, level or room, counter.count, task=task.task or "session")
    elif level:
        text = at_level(state, level, counter.count)
    else:
        text = hand_on(state, room, counter.count).text
    if json:
        write_json({"markdown": text, "tokens": counter.count(text), "style": style, **kept})
    else:
        typer.echo(harmless(text))


def session_file_writer(wanted: SessionFile) -> Callable[..., Path] | None:
    """Writes the session file of a task, where that is wanted. A wrong name is said before any work
    is done."""
    from kedgeline.session.files import path_below, write_session_file

    if not wanted.write_session_file:
        return None
    if wanted.product is None or wanted.task is None:
        raise typer.BadParameter("--write-session-file needs --product and --task")
    template = load_settings(Path(wanted.root).resolve()).session_file
    path_below(wanted.product, wanted.task, template=template)
    return partial(write_session_file, wanted.root, wanted.product, wanted.task, template=template)


def _check_names(level: int | None, style: str, phase: str | None) -> None:
    """Names that nobody knows are an error and no silent default."""
    from kedgeline.summary import LEVELS, PHASES

    if level is not None and level not in LEVELS:
        raise UnknownName("level", str(level), known=tuple(map(str, LEVELS)))
    if style not in STYLES:
        raise UnknownName("style", style, known=STYLES)
    if phase not in (None, "auto", *PHASES):
        raise UnknownName("phase", str(phase), known=("auto", *PHASES))


def handoff(product: str, task: str, root: str = ".", json: bool = False) -> None:
    """Print the `## Prior Session Context` block of a task for a sub-agent's prompt.

    It comes from the task's session file; for a fresh task there is nothing.

    Args:
        product NAME: The product the task belongs to.
        task ID: The task's id.
    """
    from kedgeline.session.files import path_below, prior_context, read_session_file

    template = load_settings(Path(root).resolve()).session_file
    names = path_below(product, task, template=template)
    text = read_session_file(root, product, task, template=template)
    block = None if text is None else prior_context(text)
    if json:
        file = str(Path(root, *names))
        write_json({"product": product, "task": task, "file": file, "markdown": block})
    elif block is not None:
        typer.echo(harmless(block), nl=False)
