"""kedgeline put into a host, and taken out of it: all files are looked at before one is written.

`python -m kedgeline.hosts.install plugins` writes the plugins of all hosts into a folder, for
those who install with the host itself; a test compares."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import FileRefused, KedgelineError, OutputUnwritable, UnknownName
from kedgeline.files import PRIVATE_FILE, PRIVATE_FOLDER
from kedgeline.hosts import claude_code, codex, files, gemini_cli, opencode, settings
from kedgeline.hosts.files import SHARED_FILE, SHARED_FOLDER, Found
from kedgeline.hosts.jsonc import MARK, Malformed, is_plain, load
from kedgeline.hosts.shared import (
    BY_NAME,
    NAME,
    Host,
    OwnFile,
    Piece,
    Place,
    ServerTable,
    SettingsFile,
    installed,
    text_named,
)
from kedgeline.model import Value

HOSTS: tuple[Host, ...] = (claude_code.HOST, codex.HOST, gemini_cli.HOST, opencode.HOST)
SERVER_EXTRA = "mcp"
"""The package that the server needs, and the extra that brings it."""
STATE = (".local", "state")
"""Where programs of a user keep what they need again, where no variable says it."""
CONTEXT = 2
"""Lines around a difference."""

Action = Literal["created", "changed", "removed", "unchanged", "left"]
Shown = Callable[[str], str] | None
"""What makes a difference fit to be shown; None where none is."""


class Change(Value, frozen=True):
    """One file."""

    file: str
    action: Action
    what: tuple[str, ...] = ()
    """What was done in it, or why it was left."""
    link: str | None = None
    """Where the file is, if its name is a link."""
    backup: str | None = None
    """The copy of what it held before kedgeline came."""
    diff: str = ""
    """The difference, without secrets."""


class Report(Value, frozen=True):
    """All files of a host."""

    host: str
    title: str
    project: str | None
    """None where it is for the user."""
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    dry_run: bool = False


class Ground(NamedTuple):
    """Where files may be, and what is known of them."""

    within: Path | None = None
    """The project that they may not lead out of; None where they are the user's."""
    copies: Path | None = None
    """The folder for what files held before; None where that is kept beside them."""
    plugin: frozenset[str] = frozenset()
    """Texts that are ours although they have no mark."""


class Outcome(NamedTuple):
    """What a file shall hold, nothing where it shall go, and what that means."""

    after: bytes | None
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    had_ours: bool = False
    """Whether entries of kedgeline were there already."""
    was: str | None = None
    """The text of a file of others."""


class Step(NamedTuple):
    """One file, with all that is needed to write it."""

    file: Found
    make: Callable[[bytes | None], Outcome]
    outcome: Outcome
    keep: bytes | None = None
    mode: int = PRIVATE_FILE
    folders: int = PRIVATE_FOLDER
    removing: bool = False
    """Whether kedgeline goes: then the copy from before goes too, once it is what the file
    holds."""

    @property
    def before(self) -> bytes | None:
        return self.file.held.data if self.file.held else None

    @property
    def action(self) -> Action:
        if self.before == self.outcome.after:
            return "left" if self.outcome.left and not self.outcome.done else "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.outcome.after is None else "changed"

    @property
    def restored(self) -> bool:
        """Whether the file is what it was before kedgeline came."""
        after = self.outcome.after
        return self.removing and after is not None and self.file.backup == after

    def change(self, *, diff: Shown = None) -> Change:
        link = self.file.link
        keeps = self.keep is not None or (self.file.backup is not None and not self.restored)
        shown = keeps and self.action == "changed"
        return Change(
            file=str(self.file.path),
            action=self.action,
            what=(*self.outcome.done, *self.outcome.left),
            link=str(link) if link else None,
            backup=str(self.file.copy) if shown else None,
            diff=diff(self._difference()) if diff else "",
        )

    def apply(self, root: Path) -> None:
        """Make it so."""
        files.sweep(self.file)
        if self.action in ("created", "changed"):
            modes = {"mode": self.mode, "folders": self.folders}
            files.write(self.file, self._again, keep=self.keep, **modes)
        elif self.action == "removed":
            files.remove(self.file, root)
        if self.restored or (self.removing and self.action == "removed"):
            files.remove_backup(self.file, root)

    def undo(self) -> bool:
        """Make it what it was, if nobody else has changed it since; whether it is that now."""
        before, now = self.before, files.read_now(self.file)
        if now not in (before, self.outcome.after):
            return False
        if before is None:
            files.take_back(self.file)
        elif now != before:
            files.write(self.file, lambda _: before, folders=self.folders)
        if self.file.backup is not None:
            files.write_copy(self.file, self.file.backup)
        elif self.keep is not None:
            self.file.copy.unlink(missing_ok=True)
        return True

    def _again(self, held: bytes | None) -> bytes:
        after = self.make(held).after if held != self.before else self.outcome.after
        return held or b"" if after is None else after

    def _difference(self) -> str:
        name = str(self.file.path)
        before, after = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
            for data in (self.before, self.outcome.after)
        )
        made = unified_diff(before, after, name, name, n=CONTEXT)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in made)


def host_named(name: str) -> Host:
    found = next((host for host in HOSTS if host.name == name), None)
    if found is None:
        raise UnknownName("host", name, known=tuple(host.name for host in HOSTS))
    return found


def place_for(
    environment: dict[str, str], *, home: Path, project: Path | None, server: bool | None = None
) -> Place:
    """For the user by the path of this kedgeline, for a project by its name: others share that."""
    return Place(
        home=home,
        environment=environment,
        launch=BY_NAME if project else installed(environment.get("PATH")),
        project=project,
        server=find_spec(SERVER_EXTRA) is not None if server is None else server,
    )


def project_around(folder: Path) -> Path:
    """The project that a folder is in: where its repository begins, or the folder itself."""
    parents = (folder, *folder.parents)
    return next((parent for parent in parents if (parent / ".git").exists()), folder)


def install(
    host: Host,
    place: Place,
    *,
    reduce: bool | None = None,
    dry_run: bool = False,
    shown: Shown = None,
) -> Report:
    """Put kedgeline into a host. None for `reduce` leaves the opt-in as it is. Raises before
    anything is written where a file cannot be merged."""
    ground = _ground(host, place)
    steps = [
        (piece, _planned(piece, ground, reduce=reduce, removing=not put))
        for one in host.pieces(place)
        for piece, put in _where_it_is(one)
    ]
    here = project_around(Path.cwd())
    warnings = (*_about_place(host, place, here), *_about_files(host, steps))
    done = _carried_out(host, place, [step for _, step in steps], dry_run=dry_run, shown=shown)
    return replace(done, warnings=warnings, next=host.advice(place, reduce=bool(reduce)))


def uninstall(host: Host, place: Place, *, dry_run: bool = False, shown: Shown = None) -> Report:
    """Take kedgeline out of a host: its entries, its files, and copies that are of no more use."""
    ground = _ground(host, place)
    pieces = list(host.pieces(place._replace(server=True)))
    for piece in [one for one in pieces if isinstance(one, SettingsFile)]:
        pieces += [piece._replace(path=path) for path in piece.also if path.exists()]
    steps = [_planned(piece, ground, removing=True) for piece in pieces]
    return _carried_out(host, place, steps, dry_run=dry_run, shown=shown)


def _ground(host: Host, place: Place) -> Ground:
    """In a project no copies are kept beside: somebody would commit them. A project whose files are
    those of the user, in a home that is a repository, is refused."""
    own = host.root(place._replace(project=None))
    if place.project and host.root(place).resolve() == own.resolve():
        why = (
            f"the project around this folder is {str(place.project)!r}, and that is where your own "
            f"settings are; leave out --project, or run this in a repository of its own"
        )
        raise FileRefused(str(own), why)
    state = place.home / place.folder("XDG_STATE_HOME", *STATE)
    copies = state / NAME / "copies" if place.project else None
    return Ground(place.project, copies, frozenset(host.plugin().values()))


def _where_it_is(piece: Piece) -> list[tuple[Piece, bool]]:
    """A piece in the file that has it already, and whether it shall be there: a second file that
    has it too gives it up."""
    if not isinstance(piece, SettingsFile) or not piece.also:
        return [(piece, True)]
    having = [path for path in (piece.path, *piece.also) if _has_ours(path, piece)]
    first, *more = having or [piece.path]
    kept = [(piece._replace(path=first), True)]
    return [*kept, *((piece._replace(path=path), False) for path in more)]


def _planned(
    piece: Piece, ground: Ground, *, reduce: bool | None = None, removing: bool = False
) -> Step:
    """The step that puts a piece in its place or takes it out. Raises what keeps it from that."""
    try:
        if isinstance(piece, OwnFile) and (rival := piece.rival) and rival.path.exists():
            why = f"the host installed this plugin itself, and `{rival.remedy}` takes it out"
            raise FileRefused(str(piece.path), why)
        file = files.found(piece.path, ground.within, ground.copies)

        def make(data: bytes | None) -> Outcome:
            try:
                if removing:
                    return _uninstalled(piece, data, file.backup, ground)
                return _installed(piece, data, file.backup, reduce, ground)
            except Malformed as error:
                raise FileRefused(str(piece.path), str(error)) from error

        before = file.held.data if file.held else None
        mode = SHARED_FILE if ground.within or isinstance(piece, OwnFile) else PRIVATE_FILE
        folders = SHARED_FOLDER if ground.within else PRIVATE_FOLDER
        step = Step(file, make, make(before), mode=mode, folders=folders, removing=removing)
        is_fresh = not step.outcome.had_ours or file.backup is None
        if not removing and not isinstance(piece, OwnFile) and step.action == "changed":
            step = step._replace(keep=before if is_fresh else None)
        if step.action in ("created", "changed", "removed"):
            files.check_writable(step.file, copied=step.keep is not None)
    except FileRefused as error:
        raise FileRefused(error.path, f"{error.why}; nothing was written") from error
    return step


def _installed(
    piece: Piece, data: bytes | None, backup: bytes | None, reduce: bool | None, ground: Ground
) -> Outcome:
    text = _text(data or b"")
    if isinstance(piece, OwnFile):
        if data is not None and not files.is_ours(piece, text, ground.plugin):
            why = "left: it is not as kedgeline wrote it; delete it for a new one"
            return Outcome(data, left=(why,))
        reducing = piece.reducing and (reduce or (reduce is None and files.reduces(piece, text)))
        wanted = files.marked(piece, piece.reducing if reducing else piece.text)
        return Outcome(wanted.encode(), ("written",) if wanted != text else ())
    if isinstance(piece, SettingsFile):
        made = settings.put_in(text, piece, reduce=reduce, earlier=_earlier(backup))
        ours = settings.has_ours(text, piece)
    else:
        made = settings.put_in_table(text, piece)
        ours = bool(settings.take_out_table(text, piece, None).done)
    # A file that is not there and gets nothing stays away.
    after = None if data is None and not made.done else (made.text or "").encode()
    return Outcome(after, made.done, made.left, ours, text)


def _uninstalled(piece: Piece, data: bytes | None, backup: bytes | None, ground: Ground) -> Outcome:
    if data is None:
        return Outcome(None)
    text, earlier = _text(data), _earlier(backup)
    if isinstance(piece, OwnFile):
        if files.is_ours(piece, text, ground.plugin):
            return Outcome(None, ("removed",))
        return Outcome(data, left=("left: it is not as kedgeline wrote it",))
    if isinstance(piece, ServerTable):
        made = settings.take_out_table(text, piece, earlier)
    else:
        made = settings.take_out(text, piece, earlier)
    return Outcome(None if made.text is None else made.text.encode(), made.done, made.left)


def _earlier(backup: bytes | None) -> str | None:
    return None if backup is None else backup.decode("utf-8", "replace")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Malformed(line, "it is not UTF-8; save the file as UTF-8") from error


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
                f"`kedgeline uninstall {host.name}` takes out what is of kedgeline"
            )
        if isinstance(error, FileRefused):
            raise FileRefused(error.path, f"{error.why}; {told}") from error
        if isinstance(error, OutputUnwritable):
            raise OutputUnwritable(f"{error.why}; {told}") from error
        raise


def _is_undone(step: Step) -> bool:
    try:
        return step.undo()
    except (KedgelineError, OSError):
        return False


def _about_place(host: Host, place: Place, here: Path) -> list[str]:
    """What would keep kedgeline from working there, or make it run twice. `here` is the project
    that the command was run in."""
    said = []
    if not place.server:
        said.append(
            f"the tools of `kedgeline mcp` are left out: run pip install "
            f"'kedgeline[{SERVER_EXTRA}]', "
            f"then install again"
        )
    if place.project and not shutil.which(NAME, path=place.environment.get("PATH")):
        said.append("kedgeline is not on the PATH: whoever works in this project needs it there")
    other = place._replace(project=None if place.project else here)
    if host.root(other) != host.root(place) and any(map(_is_there, host.pieces(other))):
        where = "for you in all projects" if place.project else "in this project"
        said.append(
            f"kedgeline is installed {where} too and would run twice: uninstall one of them"
        )
    return said


def _about_files(host: Host, steps: Iterable[tuple[Piece, Step]]) -> list[str]:
    """What is to know of the files as they were."""
    said = []
    for piece, step in steps:
        text = step.outcome.was
        if text is None or isinstance(piece, OwnFile):
            continue
        if isinstance(piece, SettingsFile):
            value = load(text) or {}
            said += _about_settings(host, piece, text, value)
        else:
            value = settings.load_toml(text)
        if _has_our_plugin(value.get(piece.plugins)):
            said.append(
                "the plugin of kedgeline is enabled too and would run twice: uninstall one of them"
            )
    return said


def _about_settings(host: Host, piece: SettingsFile, text: str, value: Any) -> list[str]:
    said = []
    if piece.strict and not is_plain(text):
        said.append(
            f"{host.title} reads plain JSON and ignores all of {piece.path}, the entries of "
            f"kedgeline "
            f"included, because of its comments or a comma too many: take these out"
        )
    if not piece.marked and text.startswith(MARK):
        said.append(
            f"{host.title} ignores {piece.path} because it begins with a mark of byte order: "
            f"save it as UTF-8 without one"
        )
    if value.get(piece.switch) is True:
        said.append(f"`{piece.switch}` is set in {piece.path}: no hook runs until you take it out")
    return said


def _is_there(piece: Piece) -> bool:
    """Whether the hooks of a piece are installed."""
    if isinstance(piece, OwnFile):
        return piece.path.suffix == ".ts" and piece.path.exists()
    if isinstance(piece, ServerTable) or not piece.hooks:
        return False
    return _has_ours(piece.path, piece._replace(members=()))


def _has_ours(path: Path, piece: SettingsFile) -> bool:
    """Whether a file has entries of kedgeline; what cannot be read has none."""
    try:
        held = files.found(path, None).held
        return held is not None and settings.has_ours(held.data.decode(), piece)
    except (FileRefused, UnicodeDecodeError):
        return False


def _has_our_plugin(plugins: Any) -> bool:
    """Whether kedgeline is among plugins that are on: by `true`, or by a table that says so."""
    if not isinstance(plugins, dict):
        return False
    ours = (on for name, on in plugins.items() if name.startswith(f"{NAME}@"))
    return any(on is True or (isinstance(on, dict) and on.get("enabled") is True) for on in ours)


def plugins() -> dict[str, str]:
    """Every file of the plugins by its path below their folder."""
    texts = {f"{host.name}/{path}": text for host in HOSTS for path, text in host.plugin().items()}
    about = {"README.md": text_named("plugins.md")}
    return {**about, **claude_code.marketplace(), **codex.marketplace(), **texts}


def main(folder: Path) -> None:
    """Write every file; what is made no more is for whoever runs this to remove."""
    for name, text in plugins().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
