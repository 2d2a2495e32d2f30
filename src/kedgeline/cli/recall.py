"""A session handed on as a whole, originals found again, words kept in every view: `kedgeline
summarize`, `handoff`, `recall`, `pin` and `unpin`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
import typer

from kedgeline.cli.look import turns_marked
from kedgeline.cli.opening import check_name, configured_store, open_kept, open_session
from kedgeline.cli.options import SessionSource
from kedgeline.cli.output import (
    console,
    dotted,
    harmless,
    progress,
    say,
    say_done,
    shorten,
    show,
    styled,
    write_json,
    write_lines,
)
from kedgeline.cli.verdict import WHOLE, check_room, round_score
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from rich.console import Console

    from kedgeline.session.journal import Pin
    from kedgeline.session.query import Question
    from kedgeline.session.recall import Recalled
    from kedgeline.summary import Phase


NOTHING = 1
"""Exit code where nothing is found, as grep has it."""
TITLE_WIDTH, PIN_WIDTH = 60, 100
"""Characters of a title, so that the head of a block stays on one line; and of a pin in a list."""
DIGITS = 9
"""Of the number of a turn: no session has more turns."""


class Search(NamedTuple):
    """What is to be found, and where.

    Args:
        query <[QUERY...]>: A question, or words; '"exact phrase"'; a name such as src/a.py; wor*
            for words that begin so. -- before a QUERY that begins with a dash.
        session TEXT: Only in this session; may be repeated.
        file PATH: Only calls that name this file, or a part of it.
        command WORDS: Only shell commands with these words side by side.
        error: Only calls that failed.
        who WHO: Only what user, agent, tool or client said.
        since TIME: Only from this time on: 2026-11-01, 2026-11-01T14:30, 7d, 12h.
        until TIME: Only up to this time; a date includes the whole day.
        turn TURNS: Only these turns: t12, or t10-20.
        limit N>=1: Most answers; 10 if not given.
    """

    query: list[str] | None = None
    session: list[str] | None = None
    file: list[str] | None = None
    command: list[str] | None = None
    error: bool = False
    who: str = ""
    since: str | None = None
    until: str | None = None
    turn: str | None = None
    limit: int | None = None

    def question(self) -> Question:
        from kedgeline.session.query import LIMIT, query_of

        return query_of(
            " ".join(self.query or ()),
            files=self.file or (),
            commands=self.command or (),
            sessions=self.session or (),
            errors=self.error,
            turns=turns_marked(self.turn) if self.turn else None,
            limit=LIMIT if self.limit is None else self.limit,
            who=self.who,
            since=self.since,
            until=self.until,
        )


def recall_command(
    wanted: Search, lines: int = 2, json: bool = False, store: str | None = None
) -> None:
    """Find originals in all sessions by a question or words, file, command, error, time or turn.

    Originals are shown unchanged, secrets included; the search index contains no secrets. Exits
    with 1 if nothing is found, like grep.

    Args:
        lines N>=0: Lines around each match.
    """
    from contextlib import closing

    from kedgeline.session.recall import recall

    asked = wanted.question()
    with closing(configured_store(store)) as opened:
        found = recall(opened, asked, lines=lines)
    out = console()
    some = asked.asks or any(not one.relaxed for one in found)  # a question is not all to stand
    for one in found:
        if json:
            when = _when(one)
            at = when.isoformat() if when else None
            write_json({**msgspec.to_builtins(one), "at": at})
        else:
            _show(one, out, some=some)
    if not found:
        say(f"nothing found; {'; '.join(_to_try(asked))}")
        raise typer.Exit(NOTHING)


def _to_try(asked: Question) -> Iterator[str]:
    if asked.quoted:
        yield "leave out the quotes, or give a part of what is in them"
    elif asked.phrases:
        yield "give fewer or other words, or wor* for words that begin so"
    if asked.files or asked.commands or asked.who or asked.errors or asked.sessions:
        yield "leave out a filter"
    elif asked.phrases:
        yield "name a file it was about: --file PATH"
    yield "`kedgeline sessions` lists what is there"


def _when(one: Recalled) -> datetime | None:
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=one.at)
    except OverflowError:
        return None


def _show(one: Recalled, out: Console, *, some: bool) -> None:
    when = _when(one)
    told = dotted(
        f"{when.astimezone():%Y-%m-%d %H:%M}" if when else "",
        one.who,
        shorten(one.title, TITLE_WIDTH),
        "failed" if one.error else "",
    )
    head = styled(harmless(one.session), style="bold")
    head.append(f"  {harmless(one.mark)}", style="bold cyan").append(f"  {told}", style="dim")
    out.print(head, overflow="fold")
    before = None
    for line in one.lines:
        if before is not None and line.number > before + 1:
            out.print("       ⋮", style="dim")
        before = line.number
        text = styled(harmless(line.text))
        for begin, end in line.spans:
            text.stylize("bold black on yellow", begin, end)
        shown = styled(f"{line.number:>6}  ", style="green" if line.spans else "dim")
        shown.append("…" if line.column else "").append_text(text)
        out.print(shown.append("…" if line.cut else ""), overflow="fold")
    for remark in _remarks(one, some=some):
        out.print(f"  {harmless(remark)}", style="yellow", overflow="fold")
    words = ("kedgeline", "show", one.session, one.mark)
    out.print(f"  whole: {harmless(' '.join(map(quote, words)))}\n", style="dim", soft_wrap=True)


def _remarks(one: Recalled, *, some: bool) -> Iterator[str]:
    """What a reader must know of an answer."""
    if one.relaxed:
        missing = ", ".join(f'"{phrase}"' for phrase in one.relaxed)
        yield f"{'' if some else 'nothing has all of it; '}this lacks {missing}"
    if not one.stands:
        yield f"was t{one.turn}, and was taken back later"
    if one.also:
        yield f"also in {', '.join(one.also)}"
    if one.damage:
        yield one.damage


def pin(
    session: str, what: str | None = None, json: bool = False, store: str | None = None
) -> None:
    """Pin a turn or words so that every later view contains them, or list the pins.

    Args:
        what <WHAT>: A turn (t12, 12), or words; without it the pins are listed.
    """
    kept = open_kept(session, store)
    found = [kept.pin(_meant(what))] if what is not None else kept.pins()
    if json:
        write_lines(map(_pin_as_json, found))
    elif not found:
        show(f"nothing is pinned; pin with: kedgeline pin {session} t12")
    else:
        show(*(f"#{one.number}: {_pin_told(one)}" for one in found))


def unpin(session: str, what: str, json: bool = False, store: str | None = None) -> None:
    """Remove a pin.

    Args:
        what <WHAT>: The turn (t12, 12), the words, or the pin's number ('#7').
    """
    gone = open_kept(session, store).unpin(_meant(what))
    say_done(_pin_as_json(gone), f"no longer pinned: {_pin_told(gone)}", json=json)


def _pin_as_json(pin: Pin) -> dict[str, Any]:
    turn = pin.turn if pin.turn >= 0 else None
    return {"pin": pin.number, "turn": turn, "text": pin.text or None}


def _meant(what: str) -> str | int:
    """A bare number is a turn, as it is for `kedgeline show`."""
    return int(what) if what.isascii() and what.isdecimal() and len(what) <= DIGITS else what


def _pin_told(pin: Pin) -> str:
    return f"t{pin.turn}" if pin.turn >= 0 else shorten(pin.text, PIN_WIDTH)


# A whole session handed on: `kedgeline summarize` and `handoff`.

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


def summarize_command(
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
        tokens TOKENS: Target length; 2048 if not given. Rules and the request are always included.
        level N: A named level: 128 (one line), 512 (five lines) or 2048 tokens.
        style NAME: markdown, session-file, outcomes or json (all that is known).
        phase NAME: For the end of research, planning or implementation; auto detects which.
        state_file --state FILE: Also set compression_state in a state.json.
    """
    from kedgeline.pipeline.handoff import hand_on, summarize
    from kedgeline.pipeline.handoff import level as at_level
    from kedgeline.pipeline.outcomes import outcomes_of_session
    from kedgeline.session.exports import write_state
    from kedgeline.summary import phase_of, phased, session_file
    from kedgeline.tokens import EXACT, Exact

    _check_names(tokens, level, style, phase)
    write = session_file_writer(task)
    found = open_session(source)
    counter = Exact(source.vocabulary or EXACT.name)  # a hand-off is for any model
    room, name, kept = tokens or WHOLE, found.transcript.session.latest("id"), dict[str, str]()
    with progress("summarizing"):
        state = summarize(found.transcript)
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
        named = phase_of(state) if phase == "auto" else cast("Phase", phase)
        text = phased(state, named)
    elif style == "outcomes":
        text = outcomes_of_session(found.transcript, state, level or room, counter.count)
    elif style == "session-file":
        text = session_file(state, level or room, counter.count, task=task.task or "session")
    elif level:
        text = at_level(state, level, counter.count)
    else:
        text = hand_on(state, room, counter.count).text
    size = counter.count(text)
    if json:
        write_json({"markdown": text, "tokens": size, "style": style, **kept})
        return
    _print_summary(text, size, tokens or size)


def _check_names(tokens: int | None, level: int | None, style: str, phase: str | None) -> None:
    from kedgeline.summary import LEVELS, PHASES

    check_room(tokens)
    check_name("level", str(level or LEVELS[0]), map(str, LEVELS))
    check_name("style", style, STYLES)
    check_name("phase", phase or "auto", ("auto", *PHASES))


def _print_summary(text: str, size: int, wanted: int) -> None:
    typer.echo(harmless(text))
    if size > wanted:
        say(
            f"the summary has {size:,} tokens, not {wanted:,}: "
            "rules and the current request are always included"
        )


def session_file_writer(wanted: SessionFile) -> Callable[..., Path] | None:
    """Writes the session file of a task, where that is wanted. A wrong name is said before any work
    is done."""
    from kedgeline.session.exports import path_below, write_session_file

    if not wanted.write_session_file:
        return None
    if wanted.product is None or wanted.task is None:
        raise typer.BadParameter("--write-session-file needs --product and --task")
    template = load_settings(Path(wanted.root).resolve()).session_file
    path_below(wanted.product, wanted.task, template=template)
    return partial(write_session_file, wanted.root, wanted.product, wanted.task, template=template)


def handoff_command(product: str, task: str, root: str = ".", json: bool = False) -> None:
    """Print the `## Prior Session Context` block of a task for a sub-agent's prompt.

    It comes from the task's session file; for a new task the output is empty.

    Args:
        product NAME: The product the task belongs to.
        task ID: The task's id.
    """
    from kedgeline.session.exports import path_below, prior_context, read_session_file

    template = load_settings(Path(root).resolve()).session_file
    names = path_below(product, task, template=template)
    text = read_session_file(root, product, task, template=template)
    block = None if text is None else prior_context(text)
    if json:
        file = str(Path(root, *names))
        write_json({"product": product, "task": task, "file": file, "markdown": block})
    elif block is not None:
        typer.echo(harmless(block), nl=False)
