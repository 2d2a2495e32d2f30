"""What a host gets, as files: whole ones of ours, and entries in files of others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kedge.integrations.hosts.launch import Launch


class Rival(NamedTuple):
    """A file by which a host shows that it installed the plugin itself, and what takes it out."""

    path: Path
    remedy: str


class OwnFile(NamedTuple):
    """A file that is ours as a whole."""

    path: Path
    text: str
    comment: str
    """What the line of our mark begins with."""
    ending: str = ""
    """What it ends with."""
    opening: str = ""
    """A first line that must stay the first: the mark goes behind it."""
    reducing: str = ""
    """The same where tool outputs are reduced; empty where that makes no difference."""
    rival: Rival | None = None
    """Who else may have put it there."""


class Member(NamedTuple):
    """One entry of an object in a settings file."""

    path: tuple[str, ...]
    value: Mapping[str, Any]
    runs: str
    """The command of kedge that it runs, by which it is known again."""
    what: str
    """As a person calls it."""


class SettingsFile(NamedTuple):
    """Entries in a file of JSON that others write too."""

    path: Path
    hooks: Mapping[str, Mapping[str, Any]] = {}
    """By event: the group that is put behind the others of that event."""
    opt_in: frozenset[str] = frozenset()
    """The events of those that only reduce tool outputs."""
    members: tuple[Member, ...] = ()
    strict: bool = False
    """Whether the host ignores the whole file where it has a comment or a comma too many."""
    marked: bool = True
    """Whether the host reads a file that begins with a mark of byte order."""
    switch: str = ""
    """A key that turns all hooks off, where the host has one."""
    plugins: str = ""
    """The key of the plugins that are enabled, where the host has them in this file."""
    also: tuple[Path, ...] = ()
    """Other files that may have these entries: they stay where they are, and go from all of them.
    """


class ServerTable(NamedTuple):
    """A table of a server in a TOML file that others write too."""

    path: Path
    table: tuple[str, ...]
    value: Mapping[str, Any]
    runs: str
    plugins: str = ""
    """The table of the plugins that are enabled, where the host has them in this file."""


Piece = OwnFile | SettingsFile | ServerTable


class Place(NamedTuple):
    """For whom it is installed."""

    home: Path
    environment: Mapping[str, str]
    launch: Launch
    project: Path | None = None
    """The folder of the project; None where it is for the user, in all projects."""
    server: bool = True
    """Whether the server of the Model Context Protocol can be started."""

    def folder(self, variable: str, *usual: str) -> Path:
        """A folder of a host: what its variable says, or the usual one in the user's home."""
        named = self.environment.get(variable, "")
        return Path(named).expanduser() if named else self.home.joinpath(*usual)


class Host(Protocol):
    """A coding agent that kedge is installed into."""

    name: str
    title: str

    def root(self, place: Place) -> Path:
        """The folder below which its files are."""
        ...

    def pieces(self, place: Place) -> tuple[Piece, ...]: ...

    def advice(self, place: Place, *, reduce: bool) -> tuple[str, ...]:
        """What the user does next, and should know."""
        ...

    def plugin(self) -> dict[str, str]:
        """The plugin for those who do not install with kedge: its files by their paths."""
        ...
