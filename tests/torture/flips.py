"""Bytes of a database changed at random: what is damaged is said, what is whole is shown, nothing
is invented."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import apsw
import typer
from typer.main import get_command

from kedgeline.cli.main import app
from kedgeline.errors import KedgelineError
from kedgeline.session.checking import Audit
from kedgeline.store import tables
from kedgeline.store.sqlite import SqliteStore
from kedgeline.store.sqlite_files import DATABASE
from tests.torture.acts import WINDOW, Act, do
from tests.torture.outcome import LEAST, Outcome
from tests.torture.places import NAME, session_at

STEPS = 24
"""Of the session that is damaged: some entries of every kind, on some dozens of pages."""
COMMAND = get_command(app)
"""Worked out once: that takes longer than most commands."""
IN_A_COLUMN = 0.4
"""Share of the cases in which one value is replaced; in the others bytes are changed anywhere."""
TABLES = ("entry", "session", "place", "said", "blob", "link", "passage")
NEVER_WRITTEN = ("CAST(x'ff41c3' AS TEXT)", "x'ff00'", "1.5", "-7", "'x'", "1 << 40")
MOST_SECONDS = 20
"""Of one command."""
MARKED = "`kedgeline fsck` says more"
"""Part of what stands where something cannot be read."""


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    trace: str = ""
    """Of an error that nobody expected."""


def check(place: str, seed: int, cases: int, plant: str = "") -> Outcome:
    outcome, random = Outcome(seed, acknowledged=LEAST), Random(seed)
    PLANTS.get(plant, lambda: None)()
    whole, store = Path(place, "whole"), Path(place, "store")
    signal.signal(signal.SIGALRM, _give_up)
    os.chdir(place)  # settings of a project are no part of it
    written = _built(whole, seed)
    sound = _run("view", NAME, "--json", store=whole)
    turns = len(sound.out.splitlines())
    restored = 0
    for _ in range(cases):
        outcome.cases += 1
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir(mode=0o700)
        if random.random() < IN_A_COLUMN:
            shutil.copy(whole / DATABASE, store / DATABASE)
            _damage_column(store / DATABASE, random)
        else:
            (store / DATABASE).write_bytes(_damaged((whole / DATABASE).read_bytes(), random))
        outcome.wrong(*_wrong(store, sound, written))
        if plant and outcome.violations:
            break
        restored += len(_run("view", NAME, "--json", store=store).out.splitlines()) == turns
    outcome.measured["restored"] = restored
    return outcome


def _built(place: Path, seed: int) -> set[str]:
    """A session with a compaction, and every line that a view of it can hold."""
    lines = {"injected"}  # the kind of the note that stands where a turn cannot be read
    kinds = ("turn", "words", "exchange", "large", "several", "pin")
    with session_at(str(place), "fast") as session:
        for number in range(STEPS):
            do(session, seed, Act(number, kinds[number % len(kinds)]))
            if number in (STEPS // 2, STEPS - 4):
                lines.update(_lines(_run("view", NAME, "--json", store=place).out))
                session.compact(window=WINDOW)
        lines.update(_lines(_run("view", NAME, "--json", store=place).out))
        session.undo()
        lines.update(_lines(_run("view", NAME, "--json", store=place).out))
        session.compact(window=WINDOW)
        lines.update(_lines(_run("view", NAME, "--json", store=place).out))
    return lines


def _damaged(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        at = random.randrange(len(changed))
        kind = random.choice(("bit", "bit", "byte", "run", "zeros"))
        size = 1 if kind in ("bit", "byte") else random.choice((8, 64, 512, 4_096))
        run = changed[at : at + size]
        if kind == "bit":
            run[0] ^= 1 << random.randrange(8)
        elif kind == "zeros":
            run = bytearray(len(run))
        else:
            run = bytearray(random.randbytes(len(run)))
        changed[at : at + len(run)] = run
    return bytes(changed)


def _damage_column(path: Path, random: Random) -> None:
    """One value of any table becomes what nobody writes there."""
    database = apsw.Connection(str(path))
    tables = [
        name
        for (name,) in database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
        )
        if name in TABLES
    ]
    table = random.choice(tables)
    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    column, value = random.choice(names), random.choice(NEVER_WRITTEN)
    count = database.execute(f"SELECT count(*) FROM {table}").get
    first = database.execute(
        f"SELECT {', '.join(names)} FROM {table} LIMIT 1 OFFSET {random.randrange(count)}"
    ).fetchone()
    where = " AND ".join(f"{name} = ?" for name in names)
    with suppress(apsw.ConstraintError, apsw.MismatchError):
        database.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}", first)
    database.close()


def _wrong(store: Path, sound: Ran, written: set[str]) -> Iterator[str]:
    seen = _run("view", NAME, "--json", store=store)
    others = [_run(*one, store=store) for one in (("sessions",), ("recall", "part", "--json"))]
    found = _run("fsck", store=store)
    if (seen.code, seen.out) != (sound.code, sound.out) and not found.code:
        yield "the view is another one, and fsck says nothing"
    repaired = _run("fsck", "--repair", store=store)
    after, again = _run("view", NAME, "--json", store=store), _run("fsck", store=store)
    if after.out != sound.out and len(after.out.splitlines()) < len(seen.out.splitlines()):
        yield "after the repair less is shown than before"
    for ran in (seen, *others, found, repaired, after, again):
        if ran.trace:
            yield ran.trace
    for ran in (seen, after):
        new = [line for line in _lines(ran.out) if line not in written and MARKED not in line]
        if new:
            yield f"invented: {new[:3]}"


def _lines(out: str) -> Iterator[str]:
    """All lines of all texts of a view."""
    for line in out.splitlines():
        for text in _texts(json.loads(line)):
            yield from text.splitlines()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _run(*arguments: str, store: Path) -> Ran:
    """A command as a user runs it, in this process."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    code = 0
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            code = COMMAND.main([*arguments, "--store", str(store)], standalone_mode=False) or 0
    except typer.Exit as ended:
        code = ended.exit_code
    except KedgelineError as error:
        code = error.exit_code
    except Exception:  # noqa: BLE001 that there is none is what is checked
        return Ran(1, _said(out), traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return Ran(code, _said(out))


def _give_up(*_: object) -> None:
    raise TooLong


class TooLong(Exception):
    """A command does not come to its end."""


def _see_nothing() -> None:
    """A planted bug: `kedgeline fsck` compares no entry with what was written."""
    Audit.faults = lambda *_: iter(())  # type: ignore[method-assign]
    SqliteStore.problems = lambda _: iter(())  # type: ignore[method-assign]


def _trust_every_row() -> None:
    """A planted bug: a row that holds what nobody wrote ends in whatever it leads to."""
    tables.readable_rows = lambda rows, make: map(make, rows)  # type: ignore[assignment]


PLANTS = {"blind": _see_nothing, "trusting": _trust_every_row}


def _said(out: io.TextIOWrapper) -> str:
    out.seek(0)
    return out.read()
