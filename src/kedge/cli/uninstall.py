"""`kedge uninstall`: kedge taken out of a coding agent."""

from __future__ import annotations

from kedge.cli.install import DryRun, ForProject, HostName, place_here, redacting, show_report
from kedge.cli.output import Json


def uninstall(
    host: HostName, project: ForProject = False, dry_run: DryRun = False, json: Json = False
) -> None:
    """Take kedge out of a coding agent again: its own entries and files, and nothing else.

    Kept sessions stay; `kedge gc` removes those.
    """
    from kedge.integrations.hosts.known import host_named
    from kedge.integrations.installing.story import uninstall as take

    report = take(
        host_named(host),
        place_here(project=project),
        dry_run=dry_run,
        shown=redacting() if dry_run else None,
    )
    show_report(report, json=json)
