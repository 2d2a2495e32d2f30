"""Measurements: the commands of `kedgeline bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from kedgeline.cli import options
from kedgeline.cli.options import argument, option, tokens_option
from kedgeline.cli.output import console, table, write_json

if TYPE_CHECKING:
    from kedgeline.model import Value

LARGE = 1_000
"""MB of the synthetic session: the size that must go through in 256 MB of memory."""

Write = Annotated[
    list[Path] | None, option("Markdown file to write the tables into; may be given again.")
]
LATE = 100_000
"""Turns: what a session of some weeks may come to."""
STEPS = 400
"""Calls of a session that an agent works on alone for some hours."""
LARGE_PLAN = 100
"""MB of the synthetic session that is planned: a long one of today."""
MUTATIONS = 1_000
"""Cases of the mutation check: enough for each kind of entry."""
SEED = 1
"""Of what is drawn by chance: any number, and the same one gives the same cases."""
Folder = Annotated[Path, argument("Folder of sessions of any format.")]


@contextmanager
def measuring() -> Iterator[Callable[[str], None]]:
    """Say on stderr that it is being measured; what is given is told what."""
    with console(stderr=True).status("measuring") as status:
        yield lambda what: status.update(f"measuring: {what}")


def publish(
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    write: Sequence[Path] | None,
    origin: str,
    *,
    quiet: bool,
) -> None:
    """A table into the files that have a place for it, with what it was measured on below, and onto
    the screen."""
    from bench.throughput import has_block, markdown_table, write_block

    listed = list(rows)
    files = list(write or ())
    placed = [path for path in files if has_block(path, name)]
    for path in placed or files:  # where none has a place for it, the first one says so
        text = markdown_table(header, listed)
        write_block(path, name, f"{text}\n\n{origin}" if origin else text)
    if not quiet:
        first, *others = header
        console().print(table(first, *(f">{name}" for name in others), rows=listed))


def finish(found: Value, origin: str, json: bool) -> None:
    """All values as JSON, or what the tables were measured on."""
    if json:
        write_json(found)
    else:
        console(stderr=True).print(origin)


def throughput(
    folder: Annotated[Path, argument("Folder of Claude Code sessions (.jsonl).")],
    json: options.Json = False,
    large: Annotated[int, option("MB of the synthetic session.")] = LARGE,
    rounds: Annotated[int, option("How often each measure is taken.")] = 5,
    write: Write = None,
) -> None:
    """Measure how fast sessions are read into turns, and in how much memory."""
    from bench.corpus import MEGABYTE
    from bench.throughput import THROUGHPUT, measure, origin_line, throughput_rows

    with measuring() as watch:
        found = measure(folder, large=large * MEGABYTE, rounds=rounds, watch=watch)
    origin = origin_line(found.origin)
    publish("throughput", THROUGHPUT, throughput_rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def sessions(
    json: options.Json = False,
    large: Annotated[int, option("MB of the synthetic session.")] = LARGE,
    turns: Annotated[int, option("Turns of the session that is appended to.")] = LATE,
    write: Write = None,
) -> None:
    """Measure kept sessions: appending, a session of a gigabyte, finding originals in it."""
    from bench.corpus import MEGABYTE
    from bench.sessions import SESSIONS, measure, rows

    with measuring() as watch:
        found = measure(large=large * MEGABYTE, turns=turns, watch=watch)
    origin = f"kedgeline {found.version}, sessions invented for measuring."
    publish("sessions", SESSIONS, rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def loading(json: options.Json = False, write: Write = None) -> None:
    """Measure how long it takes to load a memory bank into budgets of several sizes."""
    from bench.loading import LOADING, measure, rows

    with measuring() as watch:
        found = measure(watch=watch)
    origin = f"kedgeline {found.version}, an invented bank of {found.tokens:,} tokens."
    publish("loading", LOADING, rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def loops(
    json: options.Json = False,
    window: Annotated[
        list[int] | None, tokens_option("Of the sessions; may be given again. 8k to 200k.")
    ] = None,
    steps: Annotated[int, option("Calls of each session.", min=1)] = STEPS,
    write: Write = None,
) -> None:
    """Measure sessions that grow step by step: how often they are compacted, and what that frees.

    Messages of providers arrive one by one, by steps, as the whole list again and again, and behind
    the view; and a session file is followed.
    """
    from bench.loops import LOOPS, WINDOWS, measure, rows

    with measuring() as watch:
        found = measure(steps=steps, windows=window or WINDOWS, watch=watch)
    origin = (
        f"kedgeline {found.version}, invented sessions of {found.steps:,} steps each, in the "
        f"shapes of "
        "four providers, and as a session file that is followed."
    )
    publish("loops", LOOPS, rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def compaction(
    folder: Folder,
    json: options.Json = False,
    large: Annotated[int, option("MB of the synthetic session.")] = LARGE_PLAN,
    write: Write = None,
) -> None:
    """Measure anchors and compactions: how many are found, how much is freed, what is broken."""
    from bench import compaction as report
    from bench.compaction import measure
    from bench.corpus import MEGABYTE
    from bench.throughput import origin_line

    with measuring() as watch:
        found = measure(folder, large=large * MEGABYTE, watch=watch)
    origin = origin_line(found.origin)
    publish("anchors", report.FOUND, report.found_rows(found), write, origin, quiet=json)
    publish("reduction", report.SQUEEZED, report.squeezed_rows(found), write, origin, quiet=json)
    publish("plan", report.LARGE, report.large_rows(found), write, "", quiet=json)
    finish(found, origin, json)


def facts(folder: Folder, json: options.Json = False, write: Write = None) -> None:
    """Measure facts and summaries: are files and citations right, and what does it cost."""
    from bench import facts as report
    from bench.facts import measure
    from bench.throughput import origin_line

    with measuring() as watch:
        found = measure(folder, watch=watch)
    cited, origin = report.citation_header(found), origin_line(found.origin)
    publish("files", report.FILES, report.file_rows(found), write, origin, quiet=json)
    publish("citations", cited, report.citation_rows(found), write, origin, quiet=json)
    best = origin_line(found.origin, intervals=False)
    publish("facts", report.COST, report.cost_rows(found), write, best, quiet=json)
    finish(found, origin, json)


def replay(
    corpus: Folder,
    json: options.Json = False,
    tokens: Annotated[
        list[int] | None,
        option("Compact to so many tokens; may be given again. 2048 and 4096.", min=1),
    ] = None,
    method: Annotated[
        list[str] | None,
        option("Compare only this method, named as in the table; may be given again."),
    ] = None,
    write: Write = None,
    report: Annotated[
        Path | None, option("Folder to write replay.md into, with its pictures (extra `plots`).")
    ] = None,
) -> None:
    """Cut real sessions, compact what is before, and score what the agent needed after.

    Cuts lie at real compactions, where the other system's own summary is scored too, and at points
    where the agent still had everything. What comes after a cut is read for scoring only.
    """
    from bench.pages import write_replay
    from bench.replay.measuring import BUDGETS, measure
    from bench.replay.methods import chosen
    from bench.replay.report import (
        NARROW,
        kinds_markdown,
        narrow_rows,
        origin,
        replay_markdown,
    )
    from bench.throughput import has_block, write_block

    compared = chosen(method) if method else None
    messages = console(stderr=True)
    with measuring() as watch:
        found = measure(
            corpus, compared=compared, budgets=tuple(dict.fromkeys(tokens or BUDGETS)), watch=watch
        )
    for path in write or ():
        write_block(path, "replay", replay_markdown(found))
        if has_block(path, "replay-kinds"):
            write_block(path, "replay-kinds", kinds_markdown(found))
    if report and (missing := write_replay(found, report).missing):
        messages.print(f"no pictures: {missing}")
    publish("replay", NARROW, narrow_rows(found), None, "", quiet=json)
    finish(found, origin(found), json)


def probes(
    corpus: Folder,
    json: options.Json = False,
    window: Annotated[
        list[int] | None,
        tokens_option(
            "Compact for this context window, e.g. 200k; may be given again. 8k to 200k."
        ),
    ] = None,
    mutations: Annotated[
        int, option("Cases of the mutation check; 0 leaves it out.", min=0)
    ] = MUTATIONS,
    seed: Annotated[int, option("Of the cases and the intervals.")] = SEED,
    write: Write = None,
    pictures: Annotated[
        Path | None, option("Folder to draw the dimensions into (extra `plots`).")
    ] = None,
) -> None:
    """Ask summaries of real sessions what they must say, and check the probes themselves.

    The mutation check deletes or corrupts one entry of a summary that was accepted, and counts how
    often the probes notice.
    """
    from bench.compaction import WINDOWS
    from bench.pages import write_drawn
    from bench.probes.measuring import dimensions_picture, measure, on_screen, tables

    messages = console(stderr=True)
    with measuring() as watch:
        found = measure(
            corpus,
            windows=sorted(set(window or WINDOWS)),
            mutations=mutations,
            seed=seed,
            watch=watch,
        )
    if pictures and (missing := write_drawn([dimensions_picture(found)], pictures)):
        messages.print(f"no pictures: {missing}")
    for one in tables(found):
        publish(one.name, one.header, one.rows, write, one.origin, quiet=True)
        publish(one.name, one.narrow_header, one.narrow_rows, None, "", quiet=json)
    finish(found, on_screen(found), json)


def rules(
    folder: Annotated[Path, argument("Folder of the sessions that were labelled.")],
    json: options.Json = False,
    write: Write = None,
) -> None:
    """Measure standing rules on labelled messages: how many are found, how many wrongly taken."""
    from bench.rules import HEADER, measure, origin, rows

    with measuring() as watch:
        found = measure(folder, watch=watch)
    publish("rules", HEADER, rows(found), write, origin(found), quiet=json)
    finish(found, origin(found), json)


def conformance(json: options.Json = False, write: Write = None) -> None:
    """Measure what of a talk survives five compactions, with compaction-conformance-kit (extra
    `conformance`)."""
    from bench.conformance import HEADER, measure, origin, rows

    with measuring() as watch:
        found = measure(watch=watch)
    publish("conformance", HEADER, rows(found), write, origin(found), quiet=json)
    finish(found, origin(found), json)


def questions(
    folder: Annotated[Path, argument("Folder with `cases`: sessions and questions.")],
    json: options.Json = False,
    tokens: Annotated[
        list[int] | None,
        option(
            "Room of our text; may be given again. 0: the length of the host's own summary.", min=0
        ),
    ] = None,
    write: Write = None,
    sheets: Annotated[
        Path | None, option("Folder to write texts and questions for readers into.")
    ] = None,
) -> None:
    """Ask hand-offs of real sessions what a successor needs, beside the host's own summary."""
    from bench.questions import ROOMS, Report, Sheets, measure, origin

    if not (folder / "cases").is_dir():
        console(stderr=True).print(f"nothing is asked: {folder} has no folder `cases`")
        return
    with measuring() as watch:
        seen = {"seen": Sheets(sheets).write} if sheets else {}
        found = measure(folder, rooms=tokens or ROOMS, watch=watch, **seen)
    report = Report(found)
    publish("questions", report.header, report.rows(), write, origin(found), quiet=json)
    finish(found, origin(found), json)


def fit(
    corpus: Folder,
    json: options.Json = False,
    questions: Annotated[
        Path | None, option("Folder with `cases`: the sessions they are about are left out.")
    ] = None,
    weights: Annotated[Path | None, option("File to write the fitted weights into.")] = None,
    write: Write = None,
) -> None:
    """Fit what a line of the Story is worth on what sessions used again later.

    Beside the weights it measures how much of what was needed a Story tells with them, each session
    with weights that were fitted on others.
    """
    from bench import fit as report

    with measuring() as watch:
        found = report.measure(corpus, questions, watch=watch)
    if weights:
        report.write_weights(found, weights)
    origin = report.origin(found)
    publish("fit", report.SIGNALS, report.signal_rows(found), write, "", quiet=json)
    publish("fit-stories", report.STORIES, report.story_rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def paying(folder: Folder, json: options.Json = False, write: Write = None) -> None:
    """Measure what `advice` rests on: turns to come, files read again, tokens left."""
    from bench import paying as report
    from bench.throughput import origin_line

    with measuring() as watch:
        found = report.measure(folder, watch=watch)
    origin = origin_line(found.origin)
    publish("paying-turns", report.TURNS, report.turn_rows(found), write, origin, quiet=json)
    publish("paying-again", report.AGAIN, report.again_rows(found), write, origin, quiet=json)
    publish("paying-left", report.LEFT, report.left_rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def ledger(
    corpus: Folder,
    json: options.Json = False,
    large: Annotated[int, option("MB of the synthetic session; 0 leaves it out.", min=0)] = LARGE,
    write: Write = None,
) -> None:
    """Compare what `kedgeline cost` counts in Claude Code sessions with a count of the raw
    lines."""
    from bench.corpus import MEGABYTE
    from bench.ledger import HEADER, measure, remarks, rows
    from bench.throughput import origin_line

    with measuring() as watch:
        found = measure(corpus, large=large * MEGABYTE, watch=watch)
    origin = f"{remarks(found)} {origin_line(found.origin)}"
    publish("ledger", HEADER, rows(found), write, origin, quiet=json)
    finish(found, origin, json)
    if not all(one.is_equal for one in found.folders):
        raise typer.Exit(1)


def hook(json: options.Json = False, write: Write = None) -> None:
    """Measure how long a coding agent's host waits for `kedgeline hook`."""
    from bench.hook import HEADER, measure, rows

    with measuring() as watch:
        found = measure(watch=watch)
    origin = f"kedgeline {found.version}; the interpreter alone takes {found.start:.0f} ms."
    publish("hook", HEADER, rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def adapters(
    results: Annotated[Path, argument("What `make adapters` wrote of its runs.")],
    json: options.Json = False,
    write: Write = None,
) -> None:
    """Measure adapters for agent frameworks: what a request costs, and what a long loop sends."""
    from bench.adapters import HEADER, measure, origin, rows

    with measuring() as watch:
        found = measure(results, watch=watch)
    publish("adapters", HEADER, rows(found), write, origin(found), quiet=json)
    finish(found, origin(found), json)


def put_back(folder: Folder, json: options.Json = False, write: Write = None) -> None:
    """Measure what hooks put back after real compactions of coding agents, and what it is worth."""
    from bench.put_back import HEADER, NARROW, measure, rows
    from bench.throughput import origin_line

    with measuring() as watch:
        found = measure(folder, watch=watch)
    origin = origin_line(found.origin)
    publish("put-back", HEADER, rows(found), write, origin, quiet=True)
    publish("put-back", NARROW, rows(found), None, "", quiet=json)
    finish(found, origin, json)


def snapshots(
    folders: Annotated[list[Path], argument("Folders of sessions of any format.")],
    to: Annotated[Path, option("Folder to write what is made of every session into.")],
    against: Annotated[
        Path | None,
        option("Folder of earlier snapshots to compare with; a difference ends with 1."),
    ] = None,
    hooks: Annotated[bool, option("Also what hooks put back after compactions of hosts.")] = True,
) -> None:
    """Write turns, facts, summaries, plans, verdicts and views of every session, and compare them.

    A change of the inside alone leaves them as they are."""
    from bench.put_back import measure as put_back_of
    from bench.snapshots import differences
    from bench.snapshots import snapshots as made

    count = 0
    with measuring() as watch:
        for folder in folders:
            for name, text in made(folder, watch):
                path = to / folder.name / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8", "surrogatepass")
                count += 1
            if hooks and folder is folders[0]:
                told = msgspec.json.format(msgspec.json.encode(put_back_of(folder, watch=watch)))
                (to / "put-back.json").write_bytes(told)
    console().print(f"{count:,} snapshots in {to}")
    if against is None:
        return
    found = differences(to, against)
    for name, lines in found.items():
        console().print(f"{name}\n{lines}", markup=False, highlight=False)
    console().print(f"{len(found):,} of them differ")
    if found:
        raise typer.Exit(1)


bench = typer.Typer(help="Measure kedgeline on sessions of your own.", no_args_is_help=True)
for command in (
    *(throughput, compaction, sessions, loops, loading, hook, adapters, put_back, facts),
    *(rules, replay, probes, conformance, questions, fit, paying, ledger, snapshots),
):
    bench.command(command.__name__.replace("_", "-"))(command)
