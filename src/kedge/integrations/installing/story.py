"""kedge put into a host, and taken out of it: all files are looked at before one is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from kedge.errors import FileRefused
from kedge.integrations.hosts.launch import BY_NAME, NAME, installed
from kedge.integrations.hosts.pieces import Host, OwnFile, Place, SettingsFile
from kedge.integrations.installing.documents import MARK, Document, Malformed, parsed
from kedge.integrations.installing.files import found
from kedge.integrations.installing.steps import Step, installing, uninstalling
from kedge.integrations.installing.values import Report
from kedge.integrations.installing.wishes import our_groups

SERVER_EXTRA = "mcp"
"""The package that the server needs, and the extra that brings it."""

Shown = Callable[[str], str] | None
"""What makes a difference fit to be shown; None where none is."""


def place_for(
    environment: dict[str, str], *, home: Path, project: Path | None, server: bool | None = None
) -> Place:
    """For the user by the path of this kedge, for a project by its name: others share that."""
    launch = BY_NAME if project else installed(environment.get("PATH"))
    return Place(
        home=home,
        environment=environment,
        launch=launch,
        project=project,
        server=find_spec(SERVER_EXTRA) is not None if server is None else server,
    )


def project_around(folder: Path) -> Path:
    """The project that a folder is in: where its repository begins, or the folder itself."""
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent
    return folder


def install(
    host: Host,
    place: Place,
    *,
    reduce: bool | None = None,
    dry_run: bool = False,
    shown: Shown = None,
) -> Report:
    """Put kedge into a host. None for `reduce` leaves the opt-in as it is. Raises before anything
    is written where a file cannot be merged."""
    steps = [installing(piece, place.project, reduce=reduce) for piece in host.pieces(place)]
    warnings = (*_about_place(host, place), *_about_files(host, place, steps))
    if not dry_run:
        for step in steps:
            step.apply(_stays(host, place))
    return Report(
        host=host.name,
        title=host.title,
        project=str(place.project) if place.project else None,
        changes=tuple(step.change(diff=shown) for step in steps),
        warnings=warnings,
        next=host.advice(place, reduce=bool(reduce)),
        dry_run=dry_run,
    )


def uninstall(host: Host, place: Place, *, dry_run: bool = False, shown: Shown = None) -> Report:
    """Take kedge out of a host: its entries, its files, and copies that are of no more use."""
    pieces = host.pieces(place._replace(server=True))
    steps = [uninstalling(piece, place.project) for piece in pieces]
    if not dry_run:
        for step in steps:
            step.apply(_stays(host, place))
    return Report(
        host=host.name,
        title=host.title,
        project=str(place.project) if place.project else None,
        changes=tuple(step.change(diff=shown) for step in steps),
        dry_run=dry_run,
    )


def _stays(host: Host, place: Place) -> Path:
    """The folder that is not removed although it is empty."""
    return place.project or host.root(place)


def _about_place(host: Host, place: Place) -> list[str]:
    said = []
    if not place.server:
        said.append(
            f"the tools of `kedge mcp` are left out: run pip install 'kedge[{SERVER_EXTRA}]', "
            f"then install again"
        )
    if place.project and not shutil.which(NAME, path=place.environment.get("PATH")):
        said.append("kedge is not on the PATH: whoever works in this project needs it there")
    if _elsewhere(host, place):
        where = "for you in all projects" if place.project else "in this project"
        said.append(f"kedge is installed {where} too and would run twice: uninstall one of them")
    return said


def _elsewhere(host: Host, place: Place) -> bool:
    """Whether the hooks are there already, for the user or for the project we are in."""
    other = place._replace(project=None if place.project else project_around(Path.cwd()))
    if host.root(other) == host.root(place):
        return False
    for piece in host.pieces(other):
        if isinstance(piece, OwnFile) and piece.path.suffix == ".ts" and piece.path.exists():
            return True
        if isinstance(piece, SettingsFile) and piece.hooks and _has_hooks(piece.path):
            return True
    return False


def _has_hooks(path: Path) -> bool:
    try:
        held = found(path, None).held
        return held is not None and any(True for _ in our_groups(parsed(held.data.decode())))
    except (FileRefused, Malformed, UnicodeDecodeError):
        return False


def _about_files(host: Host, place: Place, steps: list[Step]) -> list[str]:
    said = []
    for piece, step in zip(host.pieces(place), steps, strict=True):
        if isinstance(piece, SettingsFile) and step.before is not None:
            said += _about_settings(host, piece, parsed(step.before.decode()))
    return said


def _about_settings(host: Host, piece: SettingsFile, document: Document) -> list[str]:
    said = []
    if piece.strict and not document.plain:
        said.append(
            f"{host.title} reads plain JSON and ignores all of {piece.path}, the entries of kedge "
            f"included, because of its comments or a comma too many: take these out"
        )
    if not piece.marked and document.text.startswith(MARK):
        said.append(
            f"{host.title} ignores {piece.path} because it begins with a mark of byte order: "
            f"save it as UTF-8 without one"
        )
    root = document.root
    value = document.value(root) if root and piece.hooks else {}
    if piece.switch and value.get(piece.switch) is True:
        said.append(f"`{piece.switch}` is set in {piece.path}: no hook runs until you take it out")
    plugins = value.get("enabledPlugins")
    if isinstance(plugins, dict) and any(
        name.startswith(f"{NAME}@") and on is True for name, on in plugins.items()
    ):
        said.append("the plugin of kedge is enabled too and would run twice: uninstall one of them")
    return said
