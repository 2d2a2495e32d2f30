"""Measurements: the commands of `kedgeline bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import typer

from kedgeline.cli import options
from kedgeline.cli.options import QuietGroup, register
from kedgeline.cli.output import console, progress, say, show, table, write_json

if TYPE_CHECKING:
    from bench.pictures import Picture
    from bench.tables import Table
    from kedgeline.model import Value

LARGE = 1_000
"""MB of the synthetic session: the size that must go through in 256 MB of memory."""
LARGE_PLAN = 100
"""MB of the synthetic session that is planned: a long one of today."""
LATE = 100_000
"""Turns: what a session of some weeks may come to."""
STEPS = 400
"""Calls of a session that an agent works on alone for some hours."""
MUTATIONS = 1_000
"""Cases of the mutation check: enough for each kind of entry."""
SEED = 1
"""Of what is drawn by chance: any number, and the same one gives the same cases."""
MEGABYTE = 1_000_000


class Out(NamedTuple):
    """Where what was measured goes.

    Args:
        write FILE: Markdown file to write the tables into; may be given again.
    """

    write: list[Path] | None = None
    json: bool = False


@contextmanager
def measuring() -> Iterator[Callable[[str], None]]:
    """Say on stderr that it is being measured; what is given is told what."""
    with progress("measuring") as tell:
        yield lambda what: tell(f"measuring: {what}")


def report(found: Value, out: Out, origin: str, tables: Iterable[Table]) -> None:
    """Tables into the files that have a place for them, with what they were measured on below, and
    onto the screen; or all values as JSON."""
    from bench.tables import has_block, markdown_table, write_block

    files = list(out.write or ())
    for one in tables:
        rows, below = list(one.rows), origin if one.origin is None else one.origin
        text = markdown_table(one.header, rows)
        placed = [path for path in files if has_block(path, one.name)]
        for path in placed or files:  # where none has a place for it, the first one says so
            write_block(path, one.name, f"{text}\n\n{below}" if below else text)
        if not out.json:
            first, *others = one.header
            show(table(first, *(f">{name}" for name in others), rows=rows))
    if out.json:
        write_json(found)
    else:
        say(origin)


def draw(pictures: Iterable[Picture], folder: Path | None) -> None:
    from bench.pictures import write_drawn

    if folder and (missing := write_drawn(pictures, folder)):
        say(f"no pictures: {missing}")


def throughput(folder: Path, out: Out, large: int = LARGE, rounds: int = 5) -> None:
    """Measure how fast sessions are read into turns, and in how much memory.

    Args:
        folder <FOLDER>: Folder of Claude Code sessions (.jsonl).
        large N>=1: MB of the synthetic session.
        rounds N>=1: How often each measure is taken.
    """
    from bench import throughput as made

    with measuring() as watch:
        found = made.measure(folder, large=large * MEGABYTE, rounds=rounds, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def sessions(out: Out, large: int = LARGE, turns: int = LATE) -> None:
    """Measure kept sessions: appending, a session of a gigabyte, finding originals in it.

    Args:
        large N>=1: MB of the synthetic session.
        turns N>=1: Turns of the session that is appended to.
    """
    from bench import sessions as made

    with measuring() as watch:
        found = made.measure(large=large * MEGABYTE, turns=turns, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def loops(out: Out, window: list[int] | None = None, steps: int = STEPS) -> None:
    """Measure sessions that grow step by step: how often they are compacted, and what that frees.

    Messages of providers arrive one by one, by steps, as the whole list again and again, and behind
    the view; and a session file is followed.

    Args:
        window TOKENS: Of the sessions; may be given again. 8k to 200k.
        steps N>=1: Calls of each session.
    """
    from bench import loops as made

    with measuring() as watch:
        found = made.measure(steps=steps, windows=window or made.WINDOWS, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def roundtrips(folder: Path, out: Out) -> None:
    """Measure what is lost of sessions that are written as ATIF or as messages and read again.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
    """
    from bench import roundtrips as made

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def fleets(
    folder: Path,
    out: Out,
    sessions: list[int] | None = None,
    largest: int = 100_000,
    gigabytes: float = 1.0,
    engine: list[str] | None = None,
) -> None:
    """Measure `kedgeline batch`: rate and memory by engine and workers, and that rows are equal.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
        sessions N>=0: Copies of sessions; may be given again, to see how the cost grows. 1,000;
            0 leaves them out.
        largest N>=1: KB of the largest session that is copied.
        gigabytes N: Of a file of Parquet; 0 leaves it out.
        engine ENGINE:WORKERS: What to measure; may be given again. local:1 and local:2.
    """
    from bench import fleets as made

    named = [one.partition(":") for one in engine or ("local:1", "local:2")]
    runs = [(name, int(workers or 1)) for name, _, workers in named]
    with measuring() as watch:
        size = {"largest": largest, "gigabytes": gigabytes}
        counts = sessions or [1_000]
        found = made.measure(folder, counts=counts, runs=runs, watch=watch, **size)
    report(found, out, made.origin(found), made.tables(found))


def compaction(folder: Path, out: Out, large: int = LARGE_PLAN) -> None:
    """Measure anchors and compactions: how many are found, how much is freed, what is broken.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
        large N>=1: MB of the synthetic session.
    """
    from bench import compaction as made

    with measuring() as watch:
        found = made.measure(folder, large=large * MEGABYTE, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def facts(folder: Path, out: Out) -> None:
    """Measure facts and summaries: are files and citations right, and what does it cost.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
    """
    from bench import facts as made

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def replay(
    corpus: Path,
    out: Out,
    tokens: list[int] | None = None,
    method: list[str] | None = None,
    pictures: Path | None = None,
) -> None:
    """Cut real sessions, compact what is before the cut, and score what the agent needed after it.

    Cuts lie at real compactions, where the other system's own summary is scored too, and at points
    where the agent still had everything. What comes after a cut is read for scoring only.

    Args:
        corpus <FOLDER>: Folder of sessions of any format.
        tokens N>=1: Compact to so many tokens; may be given again. 2048 and 4096.
        method NAME: Compare only this method, named as in the table; may be given again.
        pictures FOLDER: Folder to draw into (extra `plots`).
    """
    from bench.plots import replay_pictures
    from bench.replay.measuring import BUDGETS, measure
    from bench.replay.methods import chosen
    from bench.replay.report import origin, tables

    compared, budgets = chosen(method) if method else None, tuple(dict.fromkeys(tokens or BUDGETS))
    with measuring() as watch:
        found = measure(corpus, compared=compared, budgets=budgets, watch=watch)
    draw(replay_pictures(found), pictures)
    report(found, out, origin(found), tables(found))


def probes(
    corpus: Path,
    out: Out,
    window: list[int] | None = None,
    mutations: int = MUTATIONS,
    seed: int = SEED,
) -> None:
    """Ask summaries of real sessions what they must say, and check the probes themselves.

    The mutation check deletes or corrupts one entry of a summary that was accepted, and counts how
    often the probes notice.

    Args:
        corpus <FOLDER>: Folder of sessions of any format.
        window TOKENS: Compact for this context window, e.g. 200k; may be given again. 8k to 200k.
        mutations N>=0: Cases of the mutation check; 0 leaves it out.
        seed N: Of the cases and the intervals.
    """
    from bench.compaction import WINDOWS
    from bench.probes import measuring as made

    windows = sorted(set(window or WINDOWS))
    with measuring() as watch:
        found = made.measure(corpus, windows=windows, mutations=mutations, seed=seed, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def rules(folder: Path, out: Out) -> None:
    """Measure standing rules on labelled messages: how many are found, how many wrongly taken.

    Args:
        folder <FOLDER>: Folder of the sessions that were labelled.
    """
    from bench import rules as made
    from bench.tables import Table

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(found, out, made.origin(found), [Table("rules", made.HEADER, made.rows(found))])


def conformance(out: Out) -> None:
    """Measure what of a conversation survives five compactions (extra `conformance`)."""
    from bench import conformance as made

    with measuring() as watch:
        found = made.measure(watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def questions(
    folder: Path, out: Out, tokens: list[int] | None = None, sheets: Path | None = None
) -> None:
    """Ask hand-offs of real sessions what a successor needs, beside the host's own summary.

    Args:
        folder <FOLDER>: Folder with `cases`: sessions and questions.
        tokens N>=0: Room of our text; may be given again. 0: the length of the host's own summary.
        sheets FOLDER: Folder to write texts and questions for readers into.
    """
    from bench import questions as made

    if not (folder / "cases").is_dir():
        say(f"nothing is asked: {folder} has no folder `cases`")
        return
    with measuring() as watch:
        seen = made.Sheets(sheets).write if sheets else None
        found = made.measure(folder, rooms=tokens or made.ROOMS, watch=watch, seen=seen)
    report(found, out, made.origin(found), made.tables(found))


def public(
    corpus: Path,
    cases: Path,
    out: Out,
    method: list[str] | None = None,
    seed: list[int] | None = None,
    sheets: Path | None = None,
    pictures: Path | None = None,
) -> None:
    """Compare compactors with the same messages and room: ours, other packages', and your own.

    Args:
        corpus <FOLDER>: Folder of sessions of any format.
        cases <CASES>: Folder with `cases`: sessions and questions.
        method COMMAND: One more: 'COMMAND {file} {tokens}' gets a file of messages and prints the
            text.
        seed N: Of what is planted; may be given again. 1, 2 and 3.
        sheets FOLDER: Folder to write texts and questions for readers into.
        pictures FOLDER: Folder to draw into (extra `plots`).
    """
    from bench import public as made

    given = {"commands": method or (), "seeds": seed or (1, 2, 3), "sheets": sheets}
    with measuring() as watch:
        found = made.measure(corpus, cases, watch=watch, **given)  # type: ignore[arg-type]
    draw([made.picture(found)], pictures)
    report(found, out, made.origin(found), made.tables(found))


def recall(
    folder: Path, out: Out, megabytes: list[int] | None = None, stores: Path | None = None
) -> None:
    """Measure whether the first hits for a question in plain words hold its evidence.

    Args:
        folder <FOLDER>: Folder with `cases` and `windows`; the corpus beside it.
        megabytes N>=1: MB of text in a store that times are taken in; may be given again.
        stores FOLDER: Folder to keep these stores in; those that are there are used again.
    """
    from bench import recall as made

    with measuring() as watch:
        found = made.measure(folder, sizes=megabytes or made.SIZES, stores=stores, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def fit(corpus: Path, out: Out, questions: Path | None = None, weights: Path | None = None) -> None:
    """Fit what a line of the Story is worth on what sessions used again later.

    Beside the weights it measures how much of what was needed a Story tells with them, each session
    with weights that were fitted on others.

    Args:
        corpus <FOLDER>: Folder of sessions of any format.
        questions FOLDER: Folder with `cases`: the sessions they are about are left out.
        weights FILE: File to write the fitted weights into.
    """
    from bench import fit as made

    with measuring() as watch:
        found = made.measure(corpus, questions, watch=watch)
    if weights:
        made.write_weights(found, weights)
    report(found, out, made.origin(found), made.tables(found))


def outputs(folder: Path, out: Out) -> None:
    """Measure which outputs are needed again after a cut, and what tells them from the others.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
    """
    from bench import outputs as made

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def paying(folder: Path, out: Out) -> None:
    """Measure what `advice` rests on: turns to come, files read again.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
    """
    from bench import paying as made

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def hook(out: Out) -> None:
    """Measure how long a coding agent's host waits for `kedgeline hook`."""
    from bench import hook as made

    with measuring() as watch:
        found = made.measure(watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def answers(out: Out) -> None:
    """Measure how long Claude Code waits for a context in the place of its own compaction."""
    from bench import answers as made

    with measuring() as watch:
        found = made.measure(watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def adapters(results: Path, out: Out) -> None:
    """Measure adapters for agent frameworks: what a request costs, and what a long loop sends.

    Args:
        results <RESULTS>: What `make adapters` wrote of its runs.
    """
    from bench import adapters as made

    with measuring() as watch:
        found = made.measure(results, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def put_back(folder: Path, out: Out) -> None:
    """Measure what hooks put back after real compactions of coding agents, and what it is worth.

    Args:
        folder <FOLDER>: Folder of sessions of any format.
    """
    from bench import put_back as made

    with measuring() as watch:
        found = made.measure(folder, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def replaced(corpus: Path, questions: Path, out: Out) -> None:
    """Compare what an agent would have gone on with after real compactions of Claude Code.

    Args:
        corpus <FOLDER>: Folder of sessions with a file `compactions.jsonl`.
        questions FOLDER: Folder with `cases`: questions about some of them.
    """
    from bench import replaced as made

    if not (corpus / "compactions.jsonl").is_file():
        say(f"nothing is compared: {corpus} has no compactions.jsonl")
        return
    with measuring() as watch:
        found = made.measure(corpus, questions, watch=watch)
    report(found, out, made.origin(found), made.tables(found))


def snapshots(
    folders: list[Path],
    to: Path,
    against: Path | None = None,
    hooks: bool = True,
    json: bool = False,
) -> None:
    """Write turns, facts, summaries, plans, verdicts and views of every session, and compare them.

    A change that only restructures the code leaves them unchanged.

    Args:
        folders <FOLDER...>: Folders of sessions of any format.
        to FOLDER: Folder to write what is made of every session into.
        against FOLDER: Folder of earlier snapshots to compare with; a difference ends with 1.
        hooks --hooks/--no-hooks: Also what hooks put back after compactions of hosts.
    """
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
    show(f"{count:,} snapshots in {to}")
    if against is None:
        return
    for name, lines in found.items():
        console().print(f"{name}\n{lines}", markup=False, highlight=False)
    show(f"{len(found):,} of them differ")
    if found:
        raise typer.Exit(1)


COMMANDS: tuple[tuple[options.Command, str], ...] = (
    (throughput, "~/.claude/projects"),
    (compaction, "sessions"),
    (sessions, ""),
    (loops, ""),
    (roundtrips, "sessions"),
    (fleets, "sessions"),
    (hook, ""),
    (answers, ""),
    (adapters, ".adapters/results.jsonl"),
    (put_back, "sessions"),
    (replaced, "sessions --questions questions"),
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
    (snapshots, "sessions --to snapshots"),
)
"""The measurements, each with what an example gives it."""
bench = typer.Typer(
    cls=QuietGroup, help="Measure kedgeline on sessions of your own.", no_args_is_help=True
)
for command, given in COMMANDS:
    name = command.__name__.replace("_", "-")
    register(bench, command, f"bench {name} {given}".rstrip())
