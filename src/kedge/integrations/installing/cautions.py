"""What would keep kedge from working, or make it run twice, although all is in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kedge.errors import FileRefused
from kedge.integrations.hosts.launch import NAME
from kedge.integrations.hosts.pieces import Host, OwnFile, Piece, Place, ServerTable, SettingsFile
from kedge.integrations.installing.documents import MARK, Document, Malformed
from kedge.integrations.installing.files import found
from kedge.integrations.installing.steps import Step
from kedge.integrations.installing.wishes import any_of_ours, read

SERVER_EXTRA = "mcp"
"""The package that the server needs, and the extra that brings it."""


def about_place(host: Host, place: Place, here: Path) -> list[str]:
    """What is to know of the place; `here` is the project that the command was run in."""
    said = []
    if not place.server:
        said.append(
            f"the tools of `kedge mcp` are left out: run pip install 'kedge[{SERVER_EXTRA}]', "
            f"then install again"
        )
    if place.project and not shutil.which(NAME, path=place.environment.get("PATH")):
        said.append("kedge is not on the PATH: whoever works in this project needs it there")
    if _elsewhere(host, place, here):
        where = "for you in all projects" if place.project else "in this project"
        said.append(f"kedge is installed {where} too and would run twice: uninstall one of them")
    return said


def about_files(host: Host, steps: Iterable[tuple[Piece, Step]]) -> list[str]:
    """What is to know of the files as they were."""
    said = []
    for piece, step in steps:
        was = step.outcome.said
        if isinstance(piece, SettingsFile) and isinstance(was, Document):
            said += _about_settings(host, piece, was)
            plugins = _entry(was, piece.plugins)
        elif isinstance(piece, ServerTable) and isinstance(was, dict):
            plugins = was.get(piece.plugins)
        else:
            continue
        if _has_our_plugin(plugins):
            said.append(
                "the plugin of kedge is enabled too and would run twice: uninstall one of them"
            )
    return said


def has_ours(path: Path, piece: SettingsFile) -> bool:
    """Whether a file has entries of kedge; what cannot be read has none."""
    try:
        held = found(path, None).held
        return held is not None and any_of_ours(read(held.data.decode(), piece), piece)
    except (FileRefused, Malformed, UnicodeDecodeError):
        return False


def _elsewhere(host: Host, place: Place, here: Path) -> bool:
    """Whether the hooks are there already, for the user or for the project we are in."""
    other = place._replace(project=None if place.project else here)
    if host.root(other) == host.root(place):
        return False
    for piece in host.pieces(other):
        if isinstance(piece, OwnFile) and piece.path.suffix == ".ts" and piece.path.exists():
            return True
        if isinstance(piece, SettingsFile) and piece.hooks and _has_hooks(piece):
            return True
    return False


def _has_hooks(piece: SettingsFile) -> bool:
    return has_ours(piece.path, piece._replace(members=()))


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
    if _entry(document, piece.switch) is True:
        said.append(f"`{piece.switch}` is set in {piece.path}: no hook runs until you take it out")
    return said


def _entry(document: Document, key: str) -> Any:
    """An entry of the root; nothing where there is none, or nobody asks for one."""
    child = document.root.child(key) if document.root and key else None
    return document.value(child.value) if child else None


def _has_our_plugin(plugins: Any) -> bool:
    """Whether kedge is among plugins that are on: by `true`, or by a table that says so."""
    if not isinstance(plugins, dict):
        return False
    ours = (on for name, on in plugins.items() if name.startswith(f"{NAME}@"))
    return any(on is True or (isinstance(on, dict) and on.get("enabled") is True) for on in ours)
