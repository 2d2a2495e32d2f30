"""In coding agents: `kedgeline install`, `uninstall`, `apply`, `relay`, `doctor`, `status`,
`statusline` and `hook`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import typer

from kedgeline.cli.opening import configured_store, make_redactor
from kedgeline.cli.output import (
    cell_of,
    count,
    fields,
    harmless,
    rows_table,
    say,
    show,
    styled,
    table,
    write_json,
)
from kedgeline.errors import KedgelineError, NoSuchSession
from kedgeline.settings import load_settings, store_place, surroundings

if TYPE_CHECKING:
    from kedgeline.hosts.install import FileUpdate, Report
    from kedgeline.hosts.shared import InstallPlace

STATUS_KEYS = (
    *("session", "host", "turns", "context_tokens", "context_kind", "window", "compactions"),
    *("last", "at", "put_back", "replaced", "failure"),
)


def install_command(
    host: str,
    project: bool = False,
    dry_run: bool = False,
    advise: bool = False,
    room: int | None = None,
    json: bool = False,
) -> None:
    """Install kedgeline in a coding agent: hooks, tools, a skill and commands.

    Existing files keep all of their content; what they held before is copied beside them once.

    Args:
        advise: Only advise the host's own compaction, even where it could be replaced.
        room TOKENS>=0: Largest new context after a replaced compaction, in tokens; 0 means a share
            of the old one. Unchanged if not given.
    """
    from kedgeline.hosts.install import host_named, install

    # Settings hold keys; a difference shows the lines around.
    clean = make_redactor().clean if dry_run else None
    place = _place(project=project)
    place = place._replace(replacing=not advise, room=room)
    _show_report(install(host_named(host), place, dry_run=dry_run, shown=clean), json=json)


def uninstall_command(
    host: str, project: bool = False, dry_run: bool = False, purge: bool = False, json: bool = False
) -> None:
    """Uninstall kedgeline from a coding agent: its own entries and files, and nothing else.

    Kept sessions stay, unless --purge is given; `kedgeline gc` deletes some of them.

    Args:
        purge: Also delete the archive: every session that is kept in this store.
    """
    from kedgeline.hosts.install import host_named, uninstall

    clean = make_redactor().clean if dry_run else None
    done = uninstall(host_named(host), _place(project=project), dry_run=dry_run, shown=clean)
    _show_report(done, json=json)
    store = store_place(load_settings())
    if purge:
        _purge(store, dry_run=dry_run)
    elif Path(store).exists():
        say(f"kept sessions stay in {store}; `kedgeline uninstall {host} --purge` deletes them")


def _purge(store: str, *, dry_run: bool) -> None:
    """Delete the archive, and what hooks and plugins keep of sessions. A database that others may
    share is for those to delete who run it."""
    from shutil import rmtree

    from kedgeline.hosts import places
    from kedgeline.store.sqlite_files import DATABASE

    if "://" in store:
        raise typer.BadParameter(f"{store.split('@')[-1]} is a server; delete its tables there")
    state = Path(places.home()).parent
    paths = [Path(store, f"{DATABASE}{ending}") for ending in ("", "-wal", "-shm")]
    paths += [state / name for name in ("hooks", "opencode", "openclaw", "cline")]
    for path in filter(Path.exists, paths):
        if not dry_run:
            rmtree(path) if path.is_dir() else path.unlink()
        say(f"{'would delete' if dry_run else 'deleted'} {path}")


def _place(*, project: bool) -> InstallPlace:
    """For whom it is installed, from where the command runs."""
    from kedgeline.hosts.install import place_for, project_around

    around = project_around(Path.cwd()) if project else None
    return place_for(surroundings(), home=Path.home(), project=around)


def _show_report(report: Report, *, json: bool) -> None:
    if json:
        changes = [
            {**fields(one, "file action what link backup"), "diff": one.diff or None}
            for one in report.changes
        ]
        head = fields(report, "host project dry_run")
        write_json({**head, "changes": changes, **fields(report, "warnings next")})
        return
    where = f"in {report.project}" if report.project else "for you, in all projects"
    tried = "; nothing is written" if report.dry_run else ""
    show(
        f"{report.title}, {where}{tried}:",
        *(f"  {_change_told(change)}" for change in report.changes),
        *(change.diff.rstrip("\n") for change in report.changes if change.diff),
    )
    show(*(f"warning: {warning}" for warning in report.warnings), stderr=True)
    show(*(f"next: {step}" for step in (() if report.dry_run else report.next)))


def _change_told(change: FileUpdate) -> str:
    """One file in words: what was done in it, and where it and its copy are."""
    done = ", ".join(change.what) or "nothing to do"
    link = f"; it is a link, the file is {change.link}" if change.link else ""
    copy = f"; as it was before: {change.backup}" if change.backup else ""
    return f"{change.file}: {done}{link}{copy}"


def apply(host: str = "codex", room: int = 0, keep: str = "", json: bool = False) -> None:
    """Compact the newest session of Codex in this folder, between two runs of it.

    Exit Codex first. One record is appended to its rollout; `codex exec resume --last` or `codex
    resume` continues from there.

    Args:
        host HOST: Whose session it is: codex.
        room TOKENS>=0: Largest new context, in tokens; 0 for a share of the old one.
        keep WORDS: What the compaction must not lose.
    """
    from kedgeline.errors import UnknownName
    from kedgeline.hosts.codex import HOST, compact_rollout, newest

    if host != HOST.name:
        raise UnknownName("host", host, known=(HOST.name,))
    rollout = newest(HOST.root(_place(project=False)), Path.cwd())
    done = compact_rollout(rollout, room=room, instructions=keep)
    if json:
        about = {"session": rollout.session, "rollout": str(rollout.path)}
        write_json(about | fields(done, "tokens_before tokens_after"))
        return
    show(
        f"{rollout.session}: {done.tokens_before:,} → {done.tokens_after:,} tokens",
        "next: codex resume --last",
    )


def relay(
    upstream: str = "https://api.openai.com/v1", port: int = 8_767, json: bool = False
) -> None:
    """Answer Codex's compaction requests within a turn; pass all other requests through.

    It prints the settings that make Codex use the relay as its model. It listens on this machine
    only and runs until it is interrupted.

    Args:
        upstream URL: Where the model is.
    """
    from kedgeline.hosts.relay import Relay, settings_for

    with Relay(upstream, port) as running:
        settings = settings_for(running.address, upstream)
        if json:
            write_json({"address": running.address, "upstream": upstream, "settings": settings})
        else:
            show(f"relay at {running.address} for {upstream}", "in ~/.codex/config.toml:", settings)
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            running.serve_forever()


# What hooks know of sessions.


def status(session: str | None = None, json: bool = False) -> None:
    """Show the sessions that hooks of a coding agent follow.

    Shows the context used, the host's last compaction, how well its summary answers the probes,
    what was put back, and what was saved. Exits with 1 if a session could not be followed.

    Args:
        session <SESSION>: Show this one with what was lost and what was put back. If none is named:
            the session of the Claude Code that runs the command, else all of them.
    """
    from kedgeline.hosts import places

    every = places.followed_sessions()
    names = [str(one["session"]) for one in every]
    if session is None and (own := surroundings().get("CLAUDE_CODE_SESSION_ID")) in names:
        session = own
    begun = [name for name in names if session and name.startswith(session)]
    if session is not None and session not in names:
        if len(begun) != 1:
            raise NoSuchSession(session, known=tuple((begun or names)[:3]))
        session = begun[0]
    known = [one for one in every if session in (None, one["session"])]
    if json:
        write_json({"sessions": [_status_as_json(one) for one in known]})
    elif not known:
        show(
            "no session is followed by hooks yet: run `kedgeline install claude-code`, then start "
            "a new session there"
        )
    elif session is not None:
        show(*_status_page(known[0]))
    else:
        show(_statuses(known), "`kedgeline status SESSION` shows one, with what was put back")
    failed = [one for one in known if one.get("failure")]
    for one in failed:
        say(f"{one['session']} is not followed: {one['failure']}; run `kedgeline doctor`")
    if failed:
        raise typer.Exit(1)


def _status_as_json(status: dict[str, Any]) -> dict[str, Any]:
    return {key: status.get(key) for key in STATUS_KEYS}


def _statuses(found: list[dict[str, Any]]) -> Any:
    def probes(one: dict[str, Any]) -> str | float | None:
        last = one.get("last") or {}
        score, after = last.get("score"), last.get("score_with_put_back")
        known: float | None = score
        return known if score is None or after is None else f"{score:.2f} → {after:.2f}"

    columns: dict[str, Any] = {
        "session": lambda one: str(one.get("session")),
        "host": lambda one: str(one.get("host")),
        ">turns": lambda one: one.get("turns") or 0,
        ">context": _context_told,
        ">compacted": lambda one: one.get("compactions") or 0,
        ">probes": probes,
        ">put back": lambda one: (one.get("last") or {}).get("put_back_tokens"),
        "seen": lambda one: _time_told(one.get("at")).removesuffix(" UTC"),
    }
    return rows_table(found, columns)


def _status_page(one: dict[str, Any]) -> Iterator[Any]:
    last = one.get("last") or {}
    kind, context = one.get("context_kind"), _context_told(one)
    rows = [
        ("session", f"{one.get('session')} of {one.get('host')}, {one.get('turns') or 0:,} turns"),
        ("seen", _time_told(one.get("at"))),
        ("context used", f"{context}, {kind}" if kind and context != "–" else context),
        ("compactions", f"{one.get('compactions') or 0:,}"),
    ]
    if replaced := one.get("replaced"):
        rows.append(("by kedgeline", _replaced_told(replaced)))
    if last:
        score, after = last.get("score"), last.get("score_with_put_back")
        answers = "–" if score is None else f"answers {score:.0%} of what is asked"
        if score is not None and after is not None:
            answers += f", {after:.0%} with what was put back"
        rows += [
            ("last compaction", f"{_time_told(last.get('at'))}, before turn {last.get('turn')}"),
            ("tokens", _freed_told(last)),
            ("summary of the host", answers),
            ("put back", f"{last.get('put_back_tokens') or 0:,} tokens"),
        ]
    yield table("", "", rows=rows)
    if questions := last.get("unanswered"):
        yield from ("", "what the summary of the host does not answer:")
        yield from (f"  {question}" for question in questions)
    if handed := one.get("put_back"):
        yield from ("", "what was put back:", "", str(handed))


def _replaced_told(replaced: dict[str, Any]) -> str:
    """What became of the compactions of a session that a host could have left to kedgeline."""
    parts = [f"{replaced['replaced']:,} replaced"]
    if len(tokens := replaced["tokens"]) == 2:
        parts[0] += f", the last from {tokens[0]:,} to {tokens[1]:,} tokens"
    parts += [f"{number:,} left to the host: {why}" for why, number in replaced["left"].items()]
    parts += [f"{replaced['own']:,} by the host without asking"] if replaced["own"] else []
    return "; ".join(parts)


def _time_told(at: object) -> str:
    from datetime import UTC, datetime

    seconds = float(at) if isinstance(at, int | float) else 0
    return f"{cell_of(datetime.fromtimestamp(seconds, UTC))} UTC"


def _freed_told(last: dict[str, Any]) -> str:
    before, after = last.get("tokens_before"), last.get("tokens_after")
    summary = f"{last.get('summary_tokens') or 0:,} of its summary"
    if not isinstance(before, int):
        return f"{summary}; the host does not say of what"
    if not isinstance(after, int):
        return f"{before:,} → {summary}"
    return f"{before:,} → {after:,}" + (f", {before - after:,} freed" if before > after else "")


def _context_told(one: dict[str, Any]) -> str:
    """With its share of the window."""
    tokens, window = one.get("context_tokens"), one.get("window")
    if not tokens:
        return "–"
    return f"{tokens:,} ({tokens / window:.0%})" if window else f"{tokens:,}"


def statusline(json: bool = False) -> None:
    """Print one line about a session for a host's status line: its JSON on stdin.

    With --json, print the session's state instead: the keys of `kedgeline status`.
    """
    from json import loads

    from kedgeline.hosts.hook import status_line
    from kedgeline.hosts.places import named, status_of

    if not json:
        status_line()
    given = loads(sys.stdin.read() or "{}")
    session = given.get("session_id") if isinstance(given, dict) else ""
    write_json(_status_as_json(status_of(named(str(session or "none")))))


def hook(host: str = "claude-code", json: bool = False) -> None:
    """Handle a hook event of a coding agent: JSON on stdin, the answer on stdout.

    It always exits with 0, and prints nothing if there is nothing to say. The answer is JSON with
    or without --json.

    Args:
        host HOST: Whose event it is: claude-code, codex, gemini-cli or opencode.
    """
    # Hosts call this and `statusline` by a shorter way, which loads nothing of this: __main__.py.
    from kedgeline.hosts.hook import main

    main([f"--host={host}"])


# What is installed where, and what does not work.

State = Literal["works", "absent", "broken"]
SIGNS: dict[State, tuple[str, str]] = {
    "works": ("✓", "green"),
    "absent": ("·", "dim"),
    "broken": ("✗", "bold red"),
}
EXTRAS = {
    "web": ("uvicorn", "the viewer, `kedgeline web`"),
    "models": ("pydantic_ai", "prose by language models"),
    "prices": ("genai_prices", "what tokens cost"),
    "postgres": ("psycopg", "a store for teams"),
    "batch": ("pyarrow", "Parquet and remote files"),
    "ray": ("ray", "batches on a cluster"),
}
"""By extra: a module of it, and what it is for."""


class Check(NamedTuple):
    """One thing that was looked at."""

    part: str
    name: str
    state: State
    what: str
    next: str = ""
    """What to do about it; empty where nothing is to be done."""


def doctor(json: bool = False) -> None:
    """Check what is installed, what works and what does not, with the next step for each.

    It checks hosts and their hooks, the store, settings and extras, and exits with 1 if something
    that is installed does not work.
    """
    checks = [*_settings(), *_store(), *_hosts(), *_sessions(), *_extras()]
    broken = sum(one.state == "broken" for one in checks)
    if json:
        write_json({"works": not broken, "checks": [one._asdict() for one in checks]})
    else:
        for one in checks:
            sign, style = SIGNS[one.state]
            show(styled(sign, style).append(harmless(f" {one.part} {one.name}: {one.what}"), ""))
            if one.next:
                show(f"    next: {one.next}")
        result = (
            f"{broken:,} of {len(checks):,} checks failed"
            if broken
            else "everything that is installed works"
        )
        show("", result)
    if broken:
        raise typer.Exit(1)


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
        yield Check("kedgeline", "settings", "works", "valid")


def _store() -> Iterator[Check]:
    try:
        place = store_place(load_settings())
        if "://" not in place and not Path(place).exists():
            how = "`kedgeline add NAME FILE`, or a session of a coding agent with hooks, creates it"
            yield Check("store", place, "absent", "no session is kept yet", how)
            return
        with closing(configured_store(None)) as store:
            found = store.sessions()
    except Exception as error:  # noqa: BLE001 (whatever is wrong with it is what is asked for)
        is_ours = isinstance(error, KedgelineError)
        why = str(error) if is_ours else f"{type(error).__name__}: {error}"
        how = "`kedgeline fsck --repair` rebuilds what can be rebuilt"
        yield Check("store", "sessions", "broken", why, how)
        return
    yield Check("store", place, "works", f"{count(len(found), 'session')} kept")


def _hosts() -> Iterator[Check]:
    """Every host whose folder is there or that kedgeline is installed into."""
    from kedgeline.hosts.install import HOSTS, install, is_installed

    for host in HOSTS:
        for place in (_place(project=False), _place(project=True)):
            own = place._replace(project=None)
            if place.project and host.root(place).resolve() == host.root(own).resolve():
                continue
            where = "in this project" if place.project else "for you"
            how = f"kedgeline install {host.name}{' --project' if place.project else ''}"
            try:
                if not is_installed(host, place):
                    if not place.project:
                        there = host.root(place).is_dir()
                        what = "not installed" if there else "not found on this machine"
                        yield Check("host", host.title, "absent", what, f"`{how}`" if there else "")
                    continue
                report = install(host, place, dry_run=True)
            except KedgelineError as error:
                yield Check("host", host.title, "broken", str(error), f"then `{how}`")
                continue
            old = sum(one.action in ("created", "changed") for one in report.changes)
            for warning in report.warnings:
                yield Check("host", host.title, "broken", f"{where}: {warning}")
            if old:
                what = f"{where}: {count(old, 'file')} not as this version writes them"
                yield Check("host", host.title, "broken", what, f"`{how}` brings them up to date")
            elif not report.warnings:
                yield Check("host", host.title, "works", f"installed {where}")


def _sessions() -> Iterator[Check]:
    """Sessions that hooks follow, and the compactions of hosts that were replaced or left to
    them."""
    from kedgeline.hosts import places
    from kedgeline.hosts.replacement import NOTHING_GAINED

    found, log = places.followed_sessions(), Path(places.home(), "log")
    failed = [one for one in found if one.get("failure")]
    known = [one for one in found if one.get("replaced")]
    left = [one for one in known if one["replaced"]["last_left"]]
    for one in failed:
        yield Check("hooks", str(one["session"]), "broken", one["failure"], f"the log is {log}")
    for one in left:
        last = one["replaced"]["last_left"]
        why = f"the last compaction was left to the host: {last}"
        if last.startswith(NOTHING_GAINED):
            yield Check("compactions", str(one["session"]), "absent", why)
        else:
            yield Check("compactions", str(one["session"]), "broken", why, f"see {log}")
    if known and not left:
        number = sum(one["replaced"]["replaced"] for one in known)
        what = f"{number:,} in {count(len(known), 'session')}"
        yield Check("compactions", "replaced", "works", what)
    if found and not failed:
        yield Check("hooks", "sessions", "works", f"{count(len(found), 'session')} followed")
    elif not found:
        yield Check("hooks", "sessions", "absent", "no session is followed yet")


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
