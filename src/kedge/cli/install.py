"""`kedge install`: kedge put into a coding agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from kedge.integrations.hosts.pieces import Place
    from kedge.integrations.installing.values import Change, Report

HostName = Annotated[
    str, typer.Argument(metavar="HOST", help="claude-code, codex, gemini-cli or opencode.")
]
ForProject = Annotated[
    bool,
    typer.Option("--project", help="For the project around this folder, instead of for you."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
]
UNCHANGED = "nothing to do"


def install(
    host: HostName,
    project: ForProject = False,
    dry_run: DryRun = False,
    reduce_outputs: Annotated[
        bool | None,
        typer.Option(
            help="Also keep large tool outputs apart as they come in; else as it was before."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Put kedge into a coding agent: hooks, tools, a skill and commands, merged into what is there.

    Files of others keep all that is in them; what they held before is copied beside them once.
    """
    from kedge.integrations.hosts.known import host_named
    from kedge.integrations.installing.story import install as put

    report = put(
        host_named(host),
        place_here(project=project),
        reduce=reduce_outputs,
        dry_run=dry_run,
        shown=redacting() if dry_run else None,
    )
    show_report(report, json=json)


def place_here(*, project: bool) -> Place:
    """For whom it is installed, from where the command runs."""
    from kedge.integrations.installing.story import place_for, project_around
    from kedge.settings import surroundings

    around = project_around(Path.cwd()) if project else None
    return place_for(surroundings(), home=Path.home(), project=around)


def show_report(report: Report, *, json: bool) -> None:
    if json:
        write_json(as_json(report))
        return
    out = console()

    def say(line: str) -> None:
        out.print(harmless(line), markup=False, soft_wrap=True)

    where = f"in {report.project}" if report.project else "for you, in all projects"
    tried = "; nothing is written" if report.dry_run else ""
    say(f"{report.title}, {where}{tried}:")
    for change in report.changes:
        say(f"  {_told(change)}")
    for change in report.changes:
        if change.diff:
            say(change.diff.rstrip("\n"))
    for warning in report.warnings:
        console(stderr=True).print(f"warning: {harmless(warning)}", markup=False, soft_wrap=True)
    if not report.dry_run:
        for step in report.next:
            say(f"next: {step}")


def as_json(report: Report) -> dict[str, Any]:
    return {
        "host": report.host,
        "project": report.project,
        "dry_run": report.dry_run,
        "changes": [
            {
                "file": change.file,
                "action": change.action,
                "what": change.what,
                "link": change.link,
                "backup": change.backup,
                "diff": change.diff or None,
            }
            for change in report.changes
        ],
        "warnings": report.warnings,
        "next": report.next,
    }


def _told(change: Change) -> str:
    """One file in words: what was done in it, and where it and its copy are."""
    done = ", ".join(change.what) or UNCHANGED
    link = f"; it is a link, the file is {change.link}" if change.link else ""
    copy = f"; as it was before: {change.backup}" if change.backup else ""
    return f"{change.file}: {done}{link}{copy}"


def redacting() -> Any:
    """Settings hold keys; a difference shows the lines around."""
    from kedge.cli.kept import redactor

    return redactor().clean
