"""In coding agents: `kedgeline install`, `uninstall`, `status`, `statusline`, `hook` and `mcp`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedgeline.cli import options
from kedgeline.cli.opening import make_redactor
from kedgeline.cli.options import argument, flag, option
from kedgeline.cli.output import console, fields, harmless, say, table, write_json
from kedgeline.errors import NoSuchSession
from kedgeline.settings import load_settings, store_place, surroundings

if TYPE_CHECKING:
    from rich.console import Console

    from kedgeline.hosts.install import Change, Report
    from kedgeline.hosts.shared import Place
    from kedgeline.mcp.sessions import Kept
    from kedgeline.mcp.transports import Address, Allowed

HOSTS = "claude-code, codex, gemini-cli or opencode"
HostName = Annotated[str, argument(f"{HOSTS}, hermes or pi.", metavar="HOST")]
ForProject = Annotated[
    bool, flag("For the project around this folder, instead of for you.", "--project")
]
DryRun = Annotated[bool, flag("Show what would change, and write nothing.", "--dry-run")]
STATUS_KEYS = (
    *("session", "host", "turns", "context_tokens", "context_kind", "window", "compactions"),
    *("last", "at", "put_back", "saved_tokens", "replaced", "failure"),
)
AllowedHosts = Annotated[
    list[str] | None,
    option(
        "Also answer requests to this name; may be repeated. Needed to listen where other "
        "machines reach it.",
        metavar="NAME",
    ),
]
DefaultSession = Annotated[
    str,
    option(
        "The session that is meant where a call names none; else the newest of this folder, "
        "or of one above.",
        metavar="SESSION",
    ),
]


def install(
    host: HostName,
    project: ForProject = False,
    dry_run: DryRun = False,
    reduce_outputs: Annotated[
        bool | None,
        flag("Also keep large tool outputs apart as they come in; else as it was before."),
    ] = None,
    advise: Annotated[
        bool,
        flag("Only advise the host's own compaction, where it could be replaced.", "--advise"),
    ] = False,
    room: Annotated[
        int | None,
        option(
            "Tokens that a context may have which replaces the host's; 0 for a share of what there "
            "was. Else as it was before.",
            metavar="TOKENS",
            min=0,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Put kedgeline into a coding agent: hooks, tools, a skill and commands.

    They are merged into what is there: files of others keep all that is in them, and what they held
    before is copied beside them once.
    """
    from kedgeline.hosts.install import host_named
    from kedgeline.hosts.install import install as put_into

    # Settings hold keys; a difference shows the lines around.
    clean = make_redactor().clean if dry_run else None
    place = _place(project=project)
    place = place._replace(replacing=not advise, room=room, reducing=reduce_outputs)
    done = put_into(host_named(host), place, dry_run=dry_run, shown=clean)
    _show_report(done, json=json)


def uninstall(
    host: HostName,
    project: ForProject = False,
    dry_run: DryRun = False,
    purge: Annotated[
        bool,
        flag("Also delete the archive: every session that is kept in this store.", "--purge"),
    ] = False,
    json: options.Json = False,
) -> None:
    """Take kedgeline out of a coding agent again: its own entries and files, and nothing else.

    Kept sessions stay, unless --purge is given; `kedgeline gc` removes some of them.
    """
    from kedgeline.hosts.install import host_named
    from kedgeline.hosts.install import uninstall as take_out

    clean = make_redactor().clean if dry_run else None
    done = take_out(host_named(host), _place(project=project), dry_run=dry_run, shown=clean)
    _show_report(done, json=json)
    store = store_place(load_settings())
    if purge and not dry_run:
        for folder in _purge(store):
            say(f"deleted {folder}")
    elif Path(store).exists():
        say(f"kept sessions stay in {store}; `kedgeline uninstall {host} --purge` deletes them")


def apply(
    host: Annotated[str, option("Whose session it is: codex.", "--host", metavar="HOST")] = "codex",
    room: Annotated[
        int, option("Tokens that the new context may have.", metavar="TOKENS", min=0)
    ] = 0,
    keep: Annotated[str, option("What the compaction must not lose.", metavar="WORDS")] = "",
    json: options.Json = False,
) -> None:
    """Compact the newest session of Codex in this folder, between two runs of it.

    A record is put behind its rollout; `codex exec resume --last` or `codex resume` goes on from
    there. End Codex first.
    """
    from kedgeline.errors import UnknownName
    from kedgeline.hosts.codex import HOST, applied, newest
    from kedgeline.hosts.install import place_for

    if host != HOST.name:
        raise UnknownName("host", host, known=(HOST.name,))
    home = HOST.root(place_for(surroundings(), home=Path.home(), project=None))
    rollout = newest(home, Path.cwd())
    done = applied(rollout, room=room, instructions=keep)
    told = {
        "session": rollout.session,
        "rollout": str(rollout.path),
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
    }
    if json:
        write_json(told)
        return
    out = console()
    out.print(harmless(f"{rollout.session}: {done.tokens_before:,} → {done.tokens_after:,} tokens"))
    out.print("next: codex resume --last")


def _purge(store: str) -> list[str]:
    """The folders of the archive and of the hooks, deleted. A database that others may share is for
    those to delete who run it."""
    from shutil import rmtree

    from kedgeline.hosts import places
    from kedgeline.store.sqlite_files import DATABASE

    if "://" in store:
        raise typer.BadParameter(f"{store.split('@')[-1]} is a server; delete its tables there")
    paths = [Path(store, f"{DATABASE}{ending}") for ending in ("", "-wal", "-shm")]
    gone = [str(path) for path in paths if path.exists()]
    for path in gone:
        Path(path).unlink()
    for folder in (Path(places.home()), Path(places.home()).parent / "opencode"):
        if folder.is_dir():
            rmtree(folder)
            gone.append(str(folder))
    return gone


def _place(*, project: bool) -> Place:
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
    lines = [f"{report.title}, {where}{tried}:"]
    lines += [f"  {_change_told(change)}" for change in report.changes]
    lines += [change.diff.rstrip("\n") for change in report.changes if change.diff]
    out = console()
    for line in lines:
        out.print(harmless(line), soft_wrap=True)
    for warning in report.warnings:
        console(stderr=True).print(f"warning: {harmless(warning)}", soft_wrap=True)
    for step in () if report.dry_run else report.next:
        out.print(harmless(f"next: {step}"), soft_wrap=True)


def _change_told(change: Change) -> str:
    """One file in words: what was done in it, and where it and its copy are."""
    done = ", ".join(change.what) or "nothing to do"
    link = f"; it is a link, the file is {change.link}" if change.link else ""
    copy = f"; as it was before: {change.backup}" if change.backup else ""
    return f"{change.file}: {done}{link}{copy}"


def status(
    session: Annotated[
        str | None, argument("One of them; all of them if none is named.", metavar="SESSION")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the sessions that hooks of a coding agent follow.

    The context used, the last compaction of the host, how its summary answers the probes, what was
    put back, and what was saved. Exits with 1 where a session could not be followed.
    """
    import os

    from kedgeline.hosts import places
    from kedgeline.hosts.places import status_of

    home = places.home()
    every = os.listdir(home) if os.path.isdir(home) else []
    names = sorted(name for name in every if os.path.isdir(os.path.join(home, name)))
    begun = [name for name in names if session and name.startswith(session)]
    if session is not None and session not in names:
        if len(begun) != 1:
            raise NoSuchSession(session, known=tuple((begun or names)[:3]))
        session = begun[0]
    found = [status_of(name) for name in names if session in (None, name)]
    known = sorted((one for one in found if one), key=lambda one: -float(one.get("at") or 0))
    failed = [one for one in known if one.get("failure")]
    if json:
        write_json({"sessions": [_status_as_json(one) for one in known]})
    elif not known:
        console().print(
            "no session is followed by hooks yet. `kedgeline install claude-code` sets them up; "
            "after that it is the first session that is started anew"
        )
    elif session is not None:
        _show_status(known[0], console())
    else:
        _show_statuses(known, console())
    for one in failed:
        say(f"{one['session']} is not followed: {one['failure']}; run `kedgeline doctor`")
    if failed:
        raise typer.Exit(1)


def _status_as_json(status: dict[str, Any]) -> dict[str, Any]:
    return {key: status.get(key) for key in STATUS_KEYS}


def _show_statuses(found: list[dict[str, Any]], out: Console) -> None:
    numbers = (">turns", ">context", ">compacted", ">probes", ">put back", ">saved")
    made = table(
        {"header": "session", "overflow": "fold", "min_width": 8},
        {"header": "host", "overflow": "fold", "min_width": 6},
        *({"header": name, "no_wrap": True} for name in numbers),
        {"header": "seen", "overflow": "fold", "min_width": 10},
    )
    for one in found:
        last = one.get("last") or {}
        score, after = last.get("score"), last.get("score_with_put_back")
        scores = "–" if score is None else f"{score:.2f}"
        made.add_row(
            harmless(str(one.get("session"))),
            harmless(str(one.get("host"))),
            f"{one.get('turns') or 0:,}",
            _context_told(one),
            f"{one.get('compactions') or 0:,}",
            scores if score is None or after is None else f"{scores} → {after:.2f}",
            f"{last['put_back_tokens']:,}" if last else "–",
            f"{one.get('saved_tokens') or 0:,}",
            _time_told(one.get("at")).removesuffix(" UTC"),
        )
    out.print(made)
    out.print("`kedgeline status SESSION` shows one, with what was put back")


def _show_status(one: dict[str, Any], out: Console) -> None:
    last = one.get("last") or {}
    kind = one.get("context_kind")
    context = _context_told(one)
    rows = [
        ("session", f"{one.get('session')} of {one.get('host')}, {one.get('turns') or 0:,} turns"),
        ("seen", _time_told(one.get("at"))),
        ("context used", f"{context}, {kind}" if kind and context != "–" else context),
        ("compactions", f"{one.get('compactions') or 0:,}"),
    ]
    if replaced := one.get("replaced"):
        rows.append(("by kedgeline", replaced_told(replaced)))
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
    rows.append(("saved on outputs", f"{one.get('saved_tokens') or 0:,} tokens"))
    cells = [(name, harmless(value)) for name, value in rows]
    out.print(table("", "", rows=cells, show_header=False))
    if questions := last.get("unanswered"):
        out.print("\nwhat the summary of the host does not answer:")
        for question in questions:
            out.print(f"  {harmless(question)}")
    if handed := one.get("put_back"):
        out.print("\nwhat was put back:\n")
        out.print(harmless(handed))


def replaced_told(replaced: dict[str, Any]) -> str:
    """What became of the compactions of a session that a host could have left to kedgeline."""
    parts = [f"{replaced['replaced']:,} replaced"]
    parts += [f"{count:,} left to the host: {why}" for why, count in replaced["left"].items()]
    parts += [f"{replaced['own']:,} by the host without asking"] if replaced["own"] else []
    return "; ".join(parts)


def _time_told(at: object) -> str:
    from datetime import UTC, datetime

    seconds = float(at) if isinstance(at, int | float) else 0
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


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


def hook(
    host: Annotated[str, option(f"Whose event it is: {HOSTS}.", metavar="HOST")] = "claude-code",
    json: options.Json = False,
) -> None:
    """Take an event of a coding agent's host: JSON on stdin, its answer on stdout.

    It ends with 0 whatever happens, and prints nothing where it has nothing to say. With --json the
    answer is JSON in any case, as a host takes it anyway."""
    # Hosts call this and `statusline` by a shorter way, which loads nothing of this: __main__.py.
    from kedgeline.hosts.hook import main

    main([f"--host={host}"])


def statusline(json: options.Json = False) -> None:
    """One line about a session for a host's status line: JSON about it on stdin.

    With --json what is known of it instead: the keys of `kedgeline status`."""
    from json import loads

    from kedgeline.hosts.hook import status_line
    from kedgeline.hosts.places import named, status_of

    if not json:
        status_line()
    told = loads(sys.stdin.read() or "{}")
    session = told.get("session_id") if isinstance(told, dict) else ""
    write_json(_status_as_json(status_of(named(str(session or "none")))))


def mcp(
    http: Annotated[
        str | None,
        option(
            "Serve over HTTP instead of stdin and stdout, e.g. 127.0.0.1:8765; port 0 takes any.",
            metavar="HOST:PORT",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        option(
            "The token that clients must send; else KEDGELINE_MCP_TOKEN, else one is made and "
            "kept.",
            metavar="FILE",
        ),
    ] = None,
    allow_host: AllowedHosts = None,
    allow_origin: Annotated[
        list[str] | None,
        option(
            "Also answer pages of this origin, e.g. https://box.local; may be repeated.",
            metavar="ORIGIN",
        ),
    ] = None,
    store: options.StorePlace = None,
    session: DefaultSession = "",
    json: Annotated[
        bool,
        flag(
            "Say in one JSON object how it serves, then serve; on stderr without --http.", "--json"
        ),
    ] = False,
) -> None:
    """Serve sessions to agents over the Model Context Protocol, until the client is gone.

    Without --http it is started by the client and speaks on stdin and stdout; what there is to
    know goes to stderr."""
    from contextlib import closing
    from json import dumps

    from kedgeline.mcp import check_extra

    if http is None and (token_file or allow_host or allow_origin):
        raise typer.BadParameter("--token-file, --allow-host and --allow-origin need --http")
    check_extra()
    from kedgeline.mcp.sessions import opened
    from kedgeline.mcp.transports import log_to_stderr, serve_stdio

    log_to_stderr()
    kept = opened(store, session=session)
    with closing(kept.store):
        if http is not None:
            _serve_http(kept, http, token_file, allow_host or (), allow_origin or (), json=json)
            return
        if json:
            typer.echo(dumps(serving_as_json(kept)), err=True)
        serve_stdio(kept)


def _serve_http(
    kept: Kept,
    http: str,
    token_file: Path | None,
    hosts: Iterable[str],
    origins: Iterable[str],
    *,
    json: bool,
) -> None:
    """Say where, and serve. What is wrong is told before the port is open."""
    from kedgeline.mcp.transports import (
        Allowed,
        address_of,
        allowed_hosts,
        allowed_origins,
        check_public,
        is_loopback,
        listening,
        serve_http,
        token_from,
    )

    wanted, names = address_of(http), allowed_hosts(hosts)
    check_public(wanted, names)
    token = token_from(token_file)
    allowed = Allowed(token.value, names, allowed_origins(origins))
    opened, address = listening(wanted)
    with opened:
        if json:
            write_json(serving_as_json(kept, address, allowed, token.place))
            sys.stdout.flush()
        else:
            say(f"serving {address.url}; the token is in {token.place}")
        if not is_loopback(address.host):
            say("warning: over plain HTTP others can read along; put TLS before it")
        serve_http(kept, opened, allowed)


def serving_as_json(
    kept: Kept, address: Address | None = None, allowed: Allowed | None = None, token: str = ""
) -> dict[str, Any]:
    """The keys of `kedgeline mcp --json`. The token itself is in none of them."""
    from kedgeline.mcp.transports import LOOPBACK

    return {
        "transport": "stdio" if address is None else "http",
        "url": address.url if address else None,
        "token_in": token or None,
        "allowed_hosts": sorted(LOOPBACK | allowed.hosts) if allowed else [],
        "allowed_origins": sorted(allowed.origins) if allowed else [],
        "store": kept.clean(kept.place),
        "session": kept.default or None,
        "folder": str(kept.folder),
    }
