"""Measurements: the commands of `kedgeline bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import typer

from kedgeline.cli import options
from kedgeline.cli.options import (
    QuietGroup,
    amount,
    argument,
    flag,
    option,
    register,
    tokens_option,
)
from kedgeline.cli.output import console, progress, table, write_json

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


class Out(NamedTuple):
    """Where what was measured goes."""

    write: Write = None
    json: options.Json = False


class Table(NamedTuple):
    """One table: the name of its place in Markdown files, its columns and its rows."""

    name: str
    header: Sequence[str]
    rows: Iterable[Sequence[str]]
    origin: str | None = None
    """What stands below it, where that is not what stands below all."""


@contextmanager
def measuring() -> Iterator[Callable[[str], None]]:
    """Say on stderr that it is being measured; what is given is told what."""
    with progress("measuring") as tell:
        yield lambda what: tell(f"measuring: {what}")


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


def report(found: Value, out: Out, origin: str, *tables: Table) -> None:
    """The tables, then all values as JSON, or what they were measured on."""
    for one in tables:
        below = origin if one.origin is None else one.origin
        publish(one.name, one.header, one.rows, out.write, below, quiet=out.json)
    if out.json:
        write_json(found)
    else:
        console(stderr=True).print(origin)


def throughput(
    folder: Annotated[Path, argument("Folder of Claude Code sessions (.jsonl).")],
    out: Out,
    large: Annotated[int, amount("MB of the synthetic session.")] = LARGE,
    rounds: Annotated[int, amount("How often each measure is taken.")] = 5,
) -> None:
    """Measure how fast sessions are read into turns, and in how much memory."""
    from bench.corpus import MEGABYTE
    from bench.throughput import THROUGHPUT, measure, origin_line, throughput_rows

    with measuring() as watch:
        found = measure(folder, large=large * MEGABYTE, rounds=rounds, watch=watch)
    rows = throughput_rows(found)
    report(found, out, origin_line(found.origin), Table("throughput", THROUGHPUT, rows))


def sessions(
    out: Out,
    large: Annotated[int, amount("MB of the synthetic session.")] = LARGE,
    turns: Annotated[int, amount("Turns of the session that is appended to.")] = LATE,
) -> None:
    """Measure kept sessions: appending, a session of a gigabyte, finding originals in it."""
    from bench.corpus import MEGABYTE
    from bench.sessions import SESSIONS, measure, rows

    with measuring() as watch:
        found = measure(large=large * MEGABYTE, turns=turns, watch=watch)
    origin = f"kedgeline {found.version}, sessions invented for measuring."
    report(found, out, origin, Table("sessions", SESSIONS, rows(found)))


def loading(out: Out) -> None:
    """Measure how long it takes to load a memory bank into budgets of several sizes."""
    from bench.loading import LOADING, measure, rows

    with measuring() as watch:
        found = measure(watch=watch)
    origin = f"kedgeline {found.version}, an invented bank of {found.tokens:,} tokens."
    report(found, out, origin, Table("loading", LOADING, rows(found)))


def loops(
    out: Out,
    window: Annotated[
        list[int] | None, tokens_option("Of the sessions; may be given again. 8k to 200k.")
    ] = None,
    steps: Annotated[int, amount("Calls of each session.", min=1)] = STEPS,
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
        "shapes of four providers, and as a session file that is followed."
    )
    report(found, out, origin, Table("loops", LOOPS, rows(found)))


def roundtrips(folder: Folder, out: Out) -> None:
    """Measure what is lost of sessions that are written as ATIF or as messages and read again."""
    from bench.roundtrips import ROUNDTRIPS, measure, rows

    with measuring() as watch:
        found = measure(folder, watch=watch)
    origin = f"kedgeline {found.version}, every session below the folder."
    report(found, out, origin, Table("roundtrips", ROUNDTRIPS, rows(found)))


def fleets(
    folder: Folder,
    out: Out,
    sessions: Annotated[int, amount("Copies of sessions; 0 leaves them out.", min=0)] = 1_000,
    largest: Annotated[int, amount("KB of the largest session that is copied.")] = 100_000,
    gigabytes: Annotated[float, option("Of a file of Parquet; 0 leaves it out.")] = 1.0,
    engine: Annotated[
        list[str] | None, option("ENGINE:WORKERS; may be given again. local:1 and local:2.")
    ] = None,
) -> None:
    """Measure `kedgeline batch`: rate and memory by engine and workers, and that rows are equal."""
    from bench.fleets import FLEETS, measure, origin, rows

    named = [one.partition(":") for one in engine or ("local:1", "local:2")]
    runs = [(name, int(workers or 1)) for name, _, workers in named]
    with measuring() as watch:
        size = {"largest": largest, "gigabytes": gigabytes}
        found = measure(folder, sessions=sessions, runs=runs, watch=watch, **size)
    made = (("fleets", found.files), ("fleets-parquet", found.parquet))
    tables = [Table(name, FLEETS, rows(runs)) for name, runs in made if runs]
    report(found, out, origin(found), *tables)


def compaction(
    folder: Folder,
    out: Out,
    large: Annotated[int, amount("MB of the synthetic session.")] = LARGE_PLAN,
) -> None:
    """Measure anchors and compactions: how many are found, how much is freed, what is broken."""
    from bench import compaction as made
    from bench.corpus import MEGABYTE
    from bench.throughput import origin_line

    with measuring() as watch:
        found = made.measure(folder, large=large * MEGABYTE, watch=watch)
    report(
        found,
        out,
        origin_line(found.origin),
        Table("anchors", made.FOUND, made.found_rows(found)),
        Table("reduction", made.SQUEEZED, made.squeezed_rows(found)),
        Table("plan", made.LARGE, made.large_rows(found), ""),
    )


def facts(folder: Folder, out: Out) -> None:
    """Measure facts and summaries: are files and citations right, and what does it cost."""
    from bench import facts as made
    from bench.throughput import origin_line

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    best = origin_line(found.origin, intervals=False)
    report(
        found,
        out,
        origin_line(found.origin),
        Table("files", made.FILES, made.file_rows(found)),
        Table("citations", made.citation_header(found), made.citation_rows(found)),
        Table("facts", made.COST, made.cost_rows(found), best),
    )


def replay(
    corpus: Folder,
    out: Out,
    tokens: Annotated[
        list[int] | None,
        amount("Compact to so many tokens; may be given again. 2048 and 4096.", min=1),
    ] = None,
    method: Annotated[
        list[str] | None,
        option("Compare only this method, named as in the table; may be given again."),
    ] = None,
    pages: Annotated[
        Path | None,
        option("Folder to write replay.md into, with its pictures (extra `plots`).", "--report"),
    ] = None,
) -> None:
    """Cut real sessions, compact what is before the cut, and score what the agent needed after it.

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
    for path in out.write or ():
        write_block(path, "replay", replay_markdown(found))
        if has_block(path, "replay-kinds"):
            write_block(path, "replay-kinds", kinds_markdown(found))
    if pages and (missing := write_replay(found, pages).missing):
        messages.print(f"no pictures: {missing}")
    narrow = Table("replay", NARROW, narrow_rows(found))
    report(found, out._replace(write=None), origin(found), narrow)


def probes(
    corpus: Folder,
    out: Out,
    window: Annotated[
        list[int] | None,
        tokens_option(
            "Compact for this context window, e.g. 200k; may be given again. 8k to 200k."
        ),
    ] = None,
    mutations: Annotated[
        int, amount("Cases of the mutation check; 0 leaves it out.", min=0)
    ] = MUTATIONS,
    seed: Annotated[int, amount("Of the cases and the intervals.")] = SEED,
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
    narrow = []
    for one in tables(found):
        publish(one.name, one.header, one.rows, out.write, one.origin, quiet=True)
        narrow.append(Table(one.name, one.narrow_header, one.narrow_rows, ""))
    report(found, out._replace(write=None), on_screen(found), *narrow)


def rules(
    folder: Annotated[Path, argument("Folder of the sessions that were labelled.")], out: Out
) -> None:
    """Measure standing rules on labelled messages: how many are found, how many wrongly taken."""
    from bench.rules import HEADER, measure, origin, rows

    with measuring() as watch:
        found = measure(folder, watch=watch)
    report(found, out, origin(found), Table("rules", HEADER, rows(found)))


def conformance(out: Out) -> None:
    """Measure what of a conversation survives five compactions (extra `conformance`)."""
    from bench.conformance import HEADER, measure, origin, rows

    with measuring() as watch:
        found = measure(watch=watch)
    report(found, out, origin(found), Table("conformance", HEADER, rows(found)))


def questions(
    folder: Annotated[Path, argument("Folder with `cases`: sessions and questions.")],
    out: Out,
    tokens: Annotated[
        list[int] | None,
        amount(
            "Room of our text; may be given again. 0: the length of the host's own summary.", min=0
        ),
    ] = None,
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
        seen = Sheets(sheets).write if sheets else None
        found = measure(folder, rooms=tokens or ROOMS, watch=watch, seen=seen)
    made = Report(found)
    report(found, out, origin(found), Table("questions", made.header, made.rows()))


def public(
    corpus: Folder,
    cases: Annotated[Path, argument("Folder with `cases`: sessions and questions.")],
    out: Out,
    method: Annotated[
        list[str] | None,
        option("One more: 'COMMAND {file} {tokens}' gets a file of messages and prints the text."),
    ] = None,
    seed: Annotated[
        list[int] | None, option("Of what is planted; may be given again. 1, 2 and 3.")
    ] = None,
    sheets: Annotated[
        Path | None, option("Folder to write texts and questions for readers into.")
    ] = None,
    pictures: Annotated[Path | None, option("Folder to draw into (extra `plots`).")] = None,
) -> None:
    """Compare compactors with the same messages and room: ours, other packages', and your own."""
    from bench import public as made
    from bench import recall as asked
    from bench.outcomes import DID, STOOD
    from bench.outcomes import rows as outcome_rows
    from bench.pages import write_drawn

    with measuring() as watch:
        found = made.measure(
            corpus,
            cases,
            commands=method or (),
            seeds=seed or (1, 2, 3),
            sheets=sheets,
            watch=watch,
        )
    if pictures and (missing := write_drawn([made.picture(found)], pictures)):
        console(stderr=True).print(f"no pictures: {missing}")
    report(
        found,
        out,
        made.origin(found),
        Table("public-methods", made.METHODS, made.method_rows(found), ""),
        Table("public-questions", made.ANSWERED, made.question_rows(found), ""),
        Table("public-surviving", made.SURVIVES, made.surviving_rows(found), ""),
        Table("public-replay", made.REPLAY, made.replay_rows(found), ""),
        Table("public-recall", asked.HEADER, list(asked.rows(found.recall))[:3], ""),
        Table("public-did", DID, outcome_rows(found.outcomes.measured, ".1f"), ""),
        Table("public-stood", STOOD, outcome_rows(found.outcomes.stood, ".2f")),
    )


def recall(
    folder: Annotated[Path, argument("Folder with `cases` and `windows`; the corpus beside it.")],
    out: Out,
    megabytes: Annotated[
        list[int] | None,
        amount("MB of text in a store that times are taken in; may be given again.", min=1),
    ] = None,
    stores: Annotated[
        Path | None, option("Folder to keep these stores in; those that are there are used again.")
    ] = None,
) -> None:
    """Measure whether the first hits for a question in plain words hold its evidence."""
    from bench import recall as made

    with measuring() as watch:
        found = made.measure(folder, sizes=megabytes or made.SIZES, stores=stores, watch=watch)
    report(
        found,
        out,
        made.origin(found),
        Table("recall", made.HEADER, made.rows(found)),
        Table("recall-times", made.TIMES, made.time_rows(found), ""),
    )


def fit(
    corpus: Folder,
    out: Out,
    questions: Annotated[
        Path | None, option("Folder with `cases`: the sessions they are about are left out.")
    ] = None,
    weights: Annotated[Path | None, option("File to write the fitted weights into.")] = None,
) -> None:
    """Fit what a line of the Story is worth on what sessions used again later.

    Beside the weights it measures how much of what was needed a Story tells with them, each session
    with weights that were fitted on others.
    """
    from bench import fit as made

    with measuring() as watch:
        found = made.measure(corpus, questions, watch=watch)
    if weights:
        made.write_weights(found, weights)
    report(
        found,
        out,
        made.origin(found),
        Table("fit", made.SIGNALS, made.signal_rows(found), ""),
        Table("fit-stories", made.STORIES, made.story_rows(found)),
    )


def outputs(folder: Folder, out: Out) -> None:
    """Measure which outputs are needed again after a cut, and what tells them from the others."""
    from bench import outputs as made

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(
        found,
        out,
        made.origin(found),
        Table("outputs-weights", made.WEIGHTS, made.weight_rows(found), ""),
        Table("outputs", made.TOLD, made.told_rows(found)),
    )


def paying(folder: Folder, out: Out) -> None:
    """Measure what `advice` rests on: turns to come, files read again, tokens left."""
    from bench import paying as made
    from bench.throughput import origin_line

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(
        found,
        out,
        origin_line(found.origin),
        Table("paying-turns", made.TURNS, made.turn_rows(found)),
        Table("paying-again", made.AGAIN, made.again_rows(found)),
        Table("paying-left", made.LEFT, made.left_rows(found)),
    )


def ledger(
    corpus: Folder,
    out: Out,
    large: Annotated[int, amount("MB of the synthetic session; 0 leaves it out.", min=0)] = LARGE,
) -> None:
    """Compare what `kedgeline cost` counts in Claude Code sessions with a count of the raw
    lines."""
    from bench.corpus import MEGABYTE
    from bench.ledger import HEADER, measure, remarks, rows
    from bench.throughput import origin_line

    with measuring() as watch:
        found = measure(corpus, large=large * MEGABYTE, watch=watch)
    origin = f"{remarks(found)} {origin_line(found.origin)}"
    report(found, out, origin, Table("ledger", HEADER, rows(found)))
    if not all(one.is_equal for one in found.folders):
        raise typer.Exit(1)


def hook(out: Out) -> None:
    """Measure how long a coding agent's host waits for `kedgeline hook`."""
    from bench.hook import HEADER, measure, rows

    with measuring() as watch:
        found = measure(watch=watch)
    origin = f"kedgeline {found.version}; the interpreter alone takes {found.start:.0f} ms."
    report(found, out, origin, Table("hook", HEADER, rows(found)))


def adapters(
    results: Annotated[Path, argument("What `make adapters` wrote of its runs.")], out: Out
) -> None:
    """Measure adapters for agent frameworks: what a request costs, and what a long loop sends."""
    from bench.adapters import HEADER, measure, origin, rows

    with measuring() as watch:
        found = measure(results, watch=watch)
    report(found, out, origin(found), Table("adapters", HEADER, rows(found)))


def put_back(folder: Folder, out: Out) -> None:
    """Measure what hooks put back after real compactions of coding agents, and what it is worth."""
    from bench.put_back import HEADER, NARROW, measure, rows
    from bench.throughput import origin_line

    with measuring() as watch:
        found = measure(folder, watch=watch)
    origin = origin_line(found.origin)
    publish("put-back", HEADER, rows(found), out.write, origin, quiet=True)
    report(found, out._replace(write=None), origin, Table("put-back", NARROW, rows(found)))


def replaced(
    corpus: Annotated[Path, argument("Folder of sessions with a file `compactions.jsonl`.")],
    questions: Annotated[Path, option("Folder with `cases`: questions about some of them.")],
    out: Out,
) -> None:
    """Compare what an agent would have gone on with after real compactions of Claude Code."""
    from bench.replaced import HEADER, Compactions, measure, origin, rows

    if not (corpus / "compactions.jsonl").is_file():
        console(stderr=True).print(f"nothing is compared: {corpus} has no compactions.jsonl")
        return
    with measuring() as watch:
        found = Compactions(cuts=tuple(measure(corpus, questions, watch=watch)))
    report(found, out, origin(found.cuts), Table("replaced", HEADER, rows(found.cuts)))


def snapshots(
    folders: Annotated[list[Path], argument("Folders of sessions of any format.")],
    to: Annotated[Path, option("Folder to write what is made of every session into.")],
    against: Annotated[
        Path | None,
        option("Folder of earlier snapshots to compare with; a difference ends with 1."),
    ] = None,
    hooks: Annotated[bool, flag("Also what hooks put back after compactions of hosts.")] = True,
    json: options.Json = False,
) -> None:
    """Write turns, facts, summaries, plans, verdicts and views of every session, and compare them.

    A change that only restructures the code leaves them unchanged."""
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
    found = differences(to, against) if against else {}
    if json:
        write_json({"snapshots": count, "folder": str(to), "differences": found})
        raise typer.Exit(bool(found))
    console().print(f"{count:,} snapshots in {to}")
    if against is None:
        return
    for name, lines in found.items():
        console().print(f"{name}\n{lines}", markup=False, highlight=False)
    console().print(f"{len(found):,} of them differ")
    if found:
        raise typer.Exit(1)


COMMANDS: tuple[tuple[options.Command, str], ...] = (
    (throughput, "~/.claude/projects"),
    (compaction, "sessions"),
    (sessions, ""),
    (loops, ""),
    (roundtrips, "sessions"),
    (fleets, "sessions"),
    (loading, ""),
    (hook, ""),
    (adapters, ".adapters/results.jsonl"),
    (put_back, "sessions"),
    (replaced, "sessions"),
    (facts, "sessions"),
    (rules, "sessions"),
    (replay, "sessions"),
    (probes, "sessions"),
    (conformance, ""),
    (questions, "questions"),
    (public, "sessions questions"),
    (recall, "questions --megabytes 100"),
    (fit, "sessions"),
    (outputs, "sessions"),
    (paying, "sessions"),
    (ledger, "~/.claude/projects"),
    (snapshots, "sessions --to snapshots"),
)
"""The measurements, each with what an example gives it."""
bench = typer.Typer(
    cls=QuietGroup, help="Measure kedgeline on sessions of your own.", no_args_is_help=True
)
for command, given in COMMANDS:
    name = command.__name__.replace("_", "-")
    register(bench, command, f"bench {name} {given}".rstrip())
