"""What is installed where, and what does not work: `kedgeline doctor`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import typer

from kedgeline.cli import options
from kedgeline.cli.opening import open_store
from kedgeline.cli.output import console, count, harmless, styled, table, write_json
from kedgeline.errors import KedgelineError
from kedgeline.settings import load_settings, store_place, surroundings

State = Literal["works", "absent", "broken"]
SIGNS: dict[State, tuple[str, str]] = {
    "works": ("✓", "green"),
    "absent": ("·", "dim"),
    "broken": ("✗", "bold red"),
}
EXTRAS = {
    "mcp": ("mcp", "the tools of `kedgeline mcp`"),
    "models": ("pydantic_ai", "prose by language models"),
    "prices": ("genai_prices", "what tokens cost"),
    "postgres": ("psycopg", "a store for teams"),
    "telemetry": ("opentelemetry.sdk", "spans of compactions"),
    "plots": ("vl_convert", "pictures"),
    "batch": ("pyarrow", "Parquet and remote files"),
    "ray": ("ray", "batches on a cluster"),
}
"""By extra: a module of it, and what it is for."""
BROKEN = 1
"""Exit code where something does not work."""


class Check(NamedTuple):
    """One thing that was looked at."""

    part: str
    name: str
    state: State
    what: str
    next: str = ""
    """What to do about it; empty where nothing is to be done."""


def doctor(json: options.Json = False) -> None:
    """Say what is installed where, what works, what does not, and what to do next.

    Hosts and their hooks, the store, settings and extras. Exits with 1 where something that is
    installed does not work.
    """
    checks = [*_settings(), *_store(), *_hosts(), *_sessions(), *_extras()]
    broken = [one for one in checks if one.state == "broken"]
    if json:
        found: dict[str, Any] = {"works": not broken, "checks": [one._asdict() for one in checks]}
        write_json(found)
    else:
        _show(checks)
    if broken:
        raise typer.Exit(BROKEN)


def _settings() -> Iterator[Check]:
    from importlib.metadata import version

    python = ".".join(map(str, sys.version_info[:3]))
    about = f"{version('kedgeline')} on Python {python}"
    yield Check("kedgeline", "package", "works", about)
    try:
        load_settings()
    except KedgelineError as error:
        yield Check("kedgeline", "settings", "broken", str(error), "correct the setting")
    else:
        yield Check("kedgeline", "settings", "works", "all can be read")


def _store() -> Iterator[Check]:
    try:
        place = store_place(load_settings())
        if "://" not in place and not Path(place).exists():
            how = "`kedgeline add NAME FILE` or a host's hooks begin it"
            yield Check("store", place, "absent", "nothing is kept yet", how)
            return
        store = open_store(None)
        try:
            found = store.sessions()
        finally:
            store.close()
    except Exception as error:  # noqa: BLE001 (whatever is wrong with it is what is asked for)
        told = (
            str(error) if isinstance(error, KedgelineError) else f"{type(error).__name__}: {error}"
        )
        how = "`kedgeline fsck --repair` makes good what can be made anew"
        yield Check("store", "sessions", "broken", told, how)
        return
    yield Check("store", place, "works", f"{count(len(found), 'session')} kept")


def _hosts() -> Iterator[Check]:
    """Every host whose folder is there or that kedgeline is installed into."""
    from kedgeline.hosts.install import (
        HOSTS,
        install,
        is_installed,
        place_for,
        project_around,
    )

    here = project_around(Path.cwd())
    for host in HOSTS:
        for project in (None, here):
            place = place_for(surroundings(), home=Path.home(), project=project)
            own = place._replace(project=None)
            if project and host.root(place).resolve() == host.root(own).resolve():
                continue
            where = "in this project" if project else "for you"
            how = f"kedgeline install {host.name}{' --project' if project else ''}"
            try:
                if not is_installed(host, place):
                    if not project:
                        there = host.root(place).is_dir()
                        what = "not installed" if there else "the host is not here"
                        yield Check("host", host.title, "absent", what, f"`{how}`" if there else "")
                    continue
                report = install(host, place, dry_run=True)
            except KedgelineError as error:
                yield Check("host", host.title, "broken", str(error), f"then `{how}`")
                continue
            old = sum(one.action in ("created", "changed") for one in report.changes)
            for warning in report.warnings:
                yield Check("host", host.title, "broken", f"{where}: {warning}", "see left")
            if old:
                what = f"{where}: {count(old, 'file')} not as this version writes them"
                yield Check("host", host.title, "broken", what, f"`{how}` brings them up to date")
            elif not report.warnings:
                yield Check("host", host.title, "works", f"installed {where}")


def _sessions() -> Iterator[Check]:
    """Sessions that hooks follow."""
    from kedgeline.hosts import places
    from kedgeline.hosts.places import status_of

    home = Path(places.home())
    names = sorted(path.name for path in home.iterdir() if path.is_dir()) if home.is_dir() else []
    found = [one for one in map(status_of, names) if one]
    failed = [one for one in found if one.get("failure")]
    for one in failed:
        how = f"the log is {home / 'log'}"
        yield Check("hooks", str(one["session"]), "broken", str(one["failure"]), how)
    yield from _compactions(found, home)
    if found and not failed:
        yield Check("hooks", "sessions", "works", f"{count(len(found), 'session')} followed")
    elif not found:
        yield Check("hooks", "sessions", "absent", "none is followed yet")


def _compactions(found: list[dict[str, Any]], home: Path) -> Iterator[Check]:
    """Compactions of hosts that were replaced, and those that were left to them."""
    known = [one for one in found if one.get("replaced")]
    left = [one for one in known if one["replaced"]["last_left"]]
    for one in left:
        why = f"the last compaction was left to the host: {one['replaced']['last_left']}"
        yield Check("compactions", str(one["session"]), "broken", why, f"see {home / 'log'}")
    if known and not left:
        number = sum(one["replaced"]["replaced"] for one in known)
        yield Check(
            "compactions", "replaced", "works", f"{number:,} in {count(len(known), 'session')}"
        )


def _extras() -> Iterator[Check]:
    for extra, (module, what) in EXTRAS.items():
        try:
            is_there = find_spec(module) is not None
        except ModuleNotFoundError:
            is_there = False
        if is_there:
            yield Check("extra", extra, "works", what)
        else:
            how = f"pip install 'kedgeline[{extra}]'"
            yield Check("extra", extra, "absent", f"{what}: not installed", how)


def _show(checks: list[Check]) -> None:
    fold = {"overflow": "fold"}
    made = table("", "", {"header": "", **fold}, {"header": "", **fold}, show_header=False)
    for one in checks:
        sign, style = SIGNS[one.state]
        words = f"{one.what}; next: {one.next}" if one.next else one.what
        made.add_row(styled(sign, style=style), one.part, harmless(one.name), harmless(words))
    out = console()
    out.print(made)
    broken = sum(one.state == "broken" for one in checks)
    out.print(f"{broken:,} of {len(checks):,} do not work" if broken else "all that is here works")
