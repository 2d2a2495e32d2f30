"""kedge put into a host, and taken out of it: all files are looked at before one is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from kedge.errors import FileRefused, KedgeError, OutputUnwritable
from kedge.integrations.hosts.launch import BY_NAME, NAME, installed
from kedge.integrations.hosts.pieces import Host, Piece, Place, SettingsFile
from kedge.integrations.installing.cautions import (
    SERVER_EXTRA,
    about_files,
    about_place,
    has_ours,
)
from kedge.integrations.installing.steps import Ground, Step, installing, uninstalling
from kedge.integrations.installing.values import Report

STATE = (".local", "state")
"""Where programs of a user keep what they need again, where no variable says it."""

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
    _check(host, place)
    ground = _ground(host, place)
    steps = [
        (piece, installing(piece, ground, reduce=reduce) if put else uninstalling(piece, ground))
        for one in host.pieces(place)
        for piece, put in _where_it_is(one)
    ]
    here = project_around(Path.cwd())
    warnings = (*about_place(host, place, here), *about_files(host, steps))
    done = _carried_out(host, place, [step for _, step in steps], dry_run=dry_run, shown=shown)
    return replace(done, warnings=warnings, next=host.advice(place, reduce=bool(reduce)))


def uninstall(host: Host, place: Place, *, dry_run: bool = False, shown: Shown = None) -> Report:
    """Take kedge out of a host: its entries, its files, and copies that are of no more use."""
    _check(host, place)
    ground = _ground(host, place)
    steps = [
        uninstalling(piece, ground)
        for one in host.pieces(place._replace(server=True))
        for piece in _wherever_it_may_be(one)
    ]
    return _carried_out(host, place, steps, dry_run=dry_run, shown=shown)


def _check(host: Host, place: Place) -> None:
    """A project whose files are those of the user: in a home that is a repository."""
    own = host.root(place._replace(project=None))
    if place.project and host.root(place).resolve() == own.resolve():
        why = (
            f"the project around this folder is {str(place.project)!r}, and that is where your own "
            f"settings are; leave out --project, or run this in a repository of its own"
        )
        raise FileRefused(str(own), why)


def _ground(host: Host, place: Place) -> Ground:
    """In a project no copies are kept beside: somebody would commit them."""
    state = place.home / place.folder("XDG_STATE_HOME", *STATE)
    copies = state / NAME / "copies" if place.project else None
    return Ground(place.project, copies, frozenset(host.plugin().values()))


def _where_it_is(piece: Piece) -> list[tuple[Piece, bool]]:
    """A piece in the file that has it already, and whether it shall be there: a second file that
    has it too gives it up."""
    if not isinstance(piece, SettingsFile) or not piece.also:
        return [(piece, True)]
    having = [path for path in (piece.path, *piece.also) if has_ours(path, piece)]
    first, *more = having or [piece.path]
    kept = [(piece._replace(path=first), True)]
    return [*kept, *((piece._replace(path=path), False) for path in more)]


def _wherever_it_may_be(piece: Piece) -> list[Piece]:
    if not isinstance(piece, SettingsFile):
        return [piece]
    others = [path for path in piece.also if path.exists()]
    return [piece._replace(path=path) for path in (piece.path, *others)]


def _carried_out(
    host: Host, place: Place, steps: Sequence[Step], *, dry_run: bool, shown: Shown
) -> Report:
    """What became of the steps, or would become of them."""
    if not dry_run:
        _apply(steps, place.project or host.root(place), host)
    return Report(
        host=host.name,
        title=host.title,
        project=str(place.project) if place.project else None,
        changes=tuple(step.change(diff=shown) for step in steps),
        dry_run=dry_run,
    )


def _apply(steps: Sequence[Step], stays: Path, host: Host) -> None:
    """All steps, or none: what was done before one that fails is taken back. The folder that stays
    is not removed although it is empty."""
    begun: list[Step] = []
    try:
        for step in steps:
            begun.append(step)
            step.apply(stays)
    except BaseException as error:
        stuck = [str(step.file.path) for step in reversed(begun) if not _is_undone(step)]
        told = "all files are as they were"
        if stuck:
            told = (
                f"these were written and could not be taken back: {', '.join(stuck)}; "
                f"`kedge uninstall {host.name}` takes out what is of kedge"
            )
        if isinstance(error, FileRefused):
            raise FileRefused(error.path, f"{error.why}; {told}") from error
        if isinstance(error, OutputUnwritable):
            raise OutputUnwritable(f"{error.why}; {told}") from error
        raise


def _is_undone(step: Step) -> bool:
    try:
        return step.undo()
    except (KedgeError, OSError):
        return False
