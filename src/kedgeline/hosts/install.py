"""kedgeline put into a host, and taken out of it: all files are looked at before one is written,
and all are written or none.

Files are read and replaced through links, with their permissions, with a copy of what they held
before kedgeline came. `python -m kedgeline.hosts.install plugins` writes the plugins of all hosts
into a folder, for those who install with the host itself; a test compares."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import FileRefused, KedgelineError, OutputUnwritable, UnknownName
from kedgeline.files import PRIVATE_FILE, PRIVATE_FOLDER, Held, folder_below, unwritable
from kedgeline.hosts import claude_code, codex, gemini_cli, hermes, opencode, pi, settings
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
    room_in,
    text_named,
)
from kedgeline.model import Value

HOSTS: tuple[Host, ...] = (
    claude_code.HOST,
    codex.HOST,
    gemini_cli.HOST,
    opencode.HOST,
    hermes.HOST,
    pi.HOST,
)
SERVER_EXTRA = "mcp"
"""The package that the server needs, and the extra that brings it."""
STATE = (".local", "state")
"""Where programs of a user keep what they need again, where no variable says it."""
CONTEXT = 2
"""Lines around a difference."""
BACKUP = ".kedgeline-backup"
"""Behind the name of a file: what it held before kedgeline came."""
LARGEST = 64 << 20
"""Bytes of a settings file: one host keeps its history in there as well."""
SHARED_FILE, SHARED_FOLDER = 0o644, 0o755
"""Modes of what is new, holds nothing private, and others may have to read."""
CODE = 12
"""Characters of the code in our mark, and in the names of copies: none has it by chance."""

MANIFEST = ".claude-plugin/marketplace.json"

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
    """One file, with all that is needed to write it and to take that back."""

    path: Path
    real: Path
    """Where links lead."""
    held: Held | None
    copy: Path
    """Where what it held before is kept."""
    backup: bytes | None
    """What is kept there."""
    missing: tuple[Path, ...]
    """The folders above it that are not there, the innermost first."""
    make: Callable[[bytes | None, bytes | None], Outcome]
    """From what the file holds and what its copy holds."""
    outcome: Outcome
    mode: int
    folders: int
    """Modes of what is new."""
    keep: bool = False
    """Whether what it holds is copied first."""
    removing: bool = False
    """Whether kedgeline goes: then the copy goes too, once it is what the file holds."""

    @property
    def before(self) -> bytes | None:
        return self.held.data if self.held else None

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
        return self.removing and after is not None and self.backup == after

    def change(self, *, diff: Shown = None) -> Change:
        keeps = self.keep or (self.backup is not None and not self.restored)
        return Change(
            file=str(self.path),
            action=self.action,
            what=(*self.outcome.done, *self.outcome.left),
            link=str(self.real) if self.path.is_symlink() else None,
            backup=str(self.copy) if keeps and self.action == "changed" else None,
            diff=diff(self._difference()) if diff else "",
        )

    def apply(self, root: Path) -> None:
        if self.action in ("created", "changed"):
            if self.keep and self.before is not None:
                self._write_copy(self.before)
            _replace(self.real, self._again, self.held.mode if self.held else self.mode, self)
        elif self.action == "removed":
            now = _read(self.real)
            if now and self.held and now.version != self.held.version:
                raise FileRefused(str(self.path), "somebody else changed it meanwhile; try again")
            _unlink(self.real, root)
        if self.restored or (self.removing and self.action == "removed"):
            _unlink(self.copy, root if self.copy.parent == self.real.parent else self.copy.parent)

    def undo(self) -> bool:
        """Make it what it was, if nobody else has changed it since; whether it is that now."""
        before, found = self.before, _read(self.real)
        now = found.data if found else None
        if now not in (before, self.outcome.after):
            return False
        if before is None:
            self.real.unlink(missing_ok=True)
            for folder in self.missing:
                with suppress(OSError):  # something else is in it
                    folder.rmdir()
        elif now != before and self.held:
            _replace(self.real, lambda _: before, self.held.mode, self)
        if self.backup is not None:
            self._write_copy(self.backup)
        elif self.keep:
            self.copy.unlink(missing_ok=True)
        return True

    def _write_copy(self, data: bytes) -> None:
        beside = self.copy.parent == self.real.parent
        mode = self.held.mode if self.held and beside else PRIVATE_FILE
        _replace(self.copy, lambda _: data, mode, self._replace(folders=PRIVATE_FOLDER))

    def _again(self, held: bytes | None) -> bytes:
        """What is to be written, also where somebody changed the file in between."""
        made = self.outcome if held == self.before else self.make(held, self.backup)
        return held or b"" if made.after is None else made.after

    def _difference(self) -> str:
        name = str(self.path)
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
    environment: Mapping[str, str],
    *,
    home: Path,
    project: Path | None,
    server: bool | None = None,
) -> Place:
    """For the user by the path of this kedgeline, for a project by its name: others share that."""
    return Place(
        home=home,
        environment=environment,
        launch=BY_NAME if project else installed(environment.get("PATH")),
        project=project,
        server=find_spec(SERVER_EXTRA) is not None if server is None else server,
    )


def as_installed(host: Host, place: Place) -> Place:
    """The place with what its user chose there: replaced or advised, and the room."""
    path = host.seam(place)
    if path is None:
        return place
    try:
        text = path.read_text("utf-8")
        return place._replace(room=room_in(text), replacing="REPLACING: string[] = []" not in text)
    except (OSError, UnicodeDecodeError):
        return place._replace(replacing=False)


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
    warnings = (*_about_place(host, place), *_about_files(host, steps))
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


def is_installed(host: Host, place: Place) -> bool:
    """Whether the hooks of a host call kedgeline, for the user or in a project."""
    return any(
        piece.path.exists()
        if isinstance(piece, OwnFile) and piece.path.suffix in (".ts", ".py")
        else isinstance(piece, SettingsFile)
        and bool(piece.hooks)
        and _has_ours(piece.path, piece._replace(members=()))
        for piece in host.pieces(place)
    )


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
        return [(piece, not isinstance(piece, OwnFile) or piece.wanted)]
    having = [path for path in (piece.path, *piece.also) if _has_ours(path, piece)]
    first, *more = having or [piece.path]
    kept = [(piece._replace(path=first), True)]
    return [*kept, *((piece._replace(path=path), False) for path in more)]


def _has_ours(path: Path, piece: SettingsFile) -> bool:
    """Whether a file has entries of kedgeline; what cannot be read has none."""
    try:
        held = _read(Path(os.path.realpath(path)))
        return held is not None and settings.has_ours(held.data.decode(), piece)
    except (FileRefused, UnicodeDecodeError):
        return False


def _planned(
    piece: Piece, ground: Ground, *, reduce: bool | None = None, removing: bool = False
) -> Step:
    """The step that puts a piece in its place or takes it out. Raises what keeps it from that."""

    def make(data: bytes | None, backup: bytes | None) -> Outcome:
        try:
            earlier = None if backup is None else backup.decode("utf-8", "replace")
            if removing:
                return _uninstalled(piece, data, earlier, ground)
            return _installed(piece, data, earlier, reduce, ground)
        except Malformed as error:
            raise FileRefused(str(piece.path), str(error)) from error

    try:
        if isinstance(piece, OwnFile) and piece.rival and piece.rival[0].exists():
            why = f"the host installed this plugin itself, and `{piece.rival[1]}` takes it out"
            raise FileRefused(str(piece.path), why)
        step = _found(piece, ground, make)._replace(removing=removing)
        is_fresh = not step.outcome.had_ours or step.backup is None
        if not removing and not isinstance(piece, OwnFile) and step.action == "changed":
            step = step._replace(keep=is_fresh)
        # A file that is replaced as a whole could be although it is read-only: that is refused.
        if step.before != step.outcome.after and step.held and not step.held.mode & stat.S_IWUSR:
            how = f"allow writing with chmod u+w {step.real}, or change its source"
            raise FileRefused(str(step.path), f"it is read-only; {how}")
    except FileRefused as error:
        raise FileRefused(error.path, f"{error.why}; nothing was written") from error
    return step


def _found(
    piece: Piece, ground: Ground, make: Callable[[bytes | None, bytes | None], Outcome]
) -> Step:
    """What is at a path. Within a project no link may lead out of it: whoever wrote the project
    could have kedgeline write elsewhere."""
    real = Path(os.path.realpath(piece.path))
    if ground.within and not real.is_relative_to(os.path.realpath(ground.within)):
        why = f"it leads out of the project, to {str(real)!r}; remove the link"
        raise FileRefused(str(piece.path), why)
    copy = real.with_name(f"{real.name}{BACKUP}")
    if ground.copies:
        code = sha256(os.fsencode(real)).hexdigest()[:CODE]
        copy = ground.copies / f"{code}-{real.name}{BACKUP}"
    held, kept = _read(real), _read(copy)
    missing = [parent for parent in real.parents if not os.path.lexists(parent)]
    folder = real.parents[len(missing)]
    if not folder.is_dir():
        raise FileRefused(str(piece.path), f"{str(folder)!r} is no folder; move it away")
    backup = kept.data if kept else None
    return Step(
        piece.path,
        real,
        held,
        copy,
        backup,
        tuple(missing),
        make,
        make(held.data if held else None, backup),
        SHARED_FILE if ground.within or isinstance(piece, OwnFile) else PRIVATE_FILE,
        SHARED_FOLDER if ground.within else PRIVATE_FOLDER,
    )


def _installed(
    piece: Piece, data: bytes | None, earlier: str | None, reduce: bool | None, ground: Ground
) -> Outcome:
    text = _text(data or b"")
    if isinstance(piece, OwnFile):
        if data is not None and not is_ours(piece, text, ground.plugin):
            why = "left: it is not as kedgeline wrote it; delete it for a new one"
            return Outcome(data, left=(why,))
        reducing = piece.reducing and (reduce or (reduce is None and _reduces(piece, text)))
        wanted = marked(piece, piece.reducing if reducing else piece.text)
        return Outcome(wanted.encode(), ("written",) if wanted != text else ())
    if isinstance(piece, SettingsFile):
        made = settings.put_in(text, piece, reduce=reduce, earlier=earlier)
        ours = settings.has_ours(text, piece)
    else:
        made = settings.put_in_table(text, piece)
        ours = bool(settings.take_out_table(text, piece, None).done)
    # A file that is not there and gets nothing stays away.
    after = None if data is None and not made.done else (made.text or "").encode()
    return Outcome(after, made.done, made.left, ours, text)


def _uninstalled(piece: Piece, data: bytes | None, earlier: str | None, ground: Ground) -> Outcome:
    if data is None:
        return Outcome(None)
    text = _text(data)
    if isinstance(piece, OwnFile):
        if is_ours(piece, text, ground.plugin):
            return Outcome(None, ("removed",))
        return Outcome(data, left=("left: it is not as kedgeline wrote it",))
    if isinstance(piece, ServerTable):
        made = settings.take_out_table(text, piece, earlier)
    else:
        made = settings.take_out(text, piece, earlier)
    return Outcome(None if made.text is None else made.text.encode(), made.done, made.left)


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
        stuck = [str(step.path) for step in reversed(begun) if not _is_undone(step)]
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


# Files, replaced as a whole.


def _read(path: Path) -> Held | None:
    if not path.parent.is_dir():
        return None
    with folder_below(path.parent, largest=LARGEST) as folder:
        return folder.read(path.name) if folder else None


def _replace(path: Path, change: Callable[[bytes | None], bytes], mode: int, step: Step) -> None:
    """Replace a file by what the change makes of what it holds by then."""
    missing = [parent for parent in path.parents if not os.path.lexists(parent)]
    names = [parent.name for parent in reversed(missing)]
    for count in range(1, len(names) + 1):
        with folder_below(missing[-1].parent, names[:count], create=True) as made:
            if made is not None and step.folders != PRIVATE_FOLDER:
                os.fchmod(made.descriptor, step.folders)
    with folder_below(path.parent, largest=LARGEST) as folder:
        if folder is None:
            raise FileRefused(str(path), "its folder is gone; try again")
        folder.update(path.name, change, mode=mode)


def _unlink(path: Path, root: Path) -> None:
    """A file, and folders that are empty then, up to a root that stays."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    stays = Path(os.path.realpath(root))
    for parent in path.parents:
        if parent == stays or not parent.is_relative_to(stays):
            return
        with suppress(OSError):  # something else is in it
            parent.rmdir()


# The mark in files that are ours as a whole: by it they are known, and whether a person changed
# them since.


def marked(file: OwnFile, text: str) -> str:
    """The text with our mark."""
    rest = text.removeprefix(file.opening)
    line = f"{file.comment} kedgeline install {_code(text)}{file.ending}\n"
    return f"{text[: len(text) - len(rest)]}{line}{rest}"


def is_ours(file: OwnFile, found: str, plugin: Collection[str] = ()) -> bool:
    """Whether a file has our mark and is as we wrote it, or is one of the plugin, which has none;
    but for the ends of its lines."""
    text = found.replace("\r\n", "\n")
    comment, ending = re.escape(file.comment), re.escape(file.ending)
    line = rf"^{comment} kedgeline install ([0-9a-f]{{{CODE}}}){ending}\n"
    mark = re.search(line, text, re.MULTILINE)
    if not mark:
        return text in plugin
    return _code(text[: mark.start()] + text[mark.end() :]) == mark[1]


def _reduces(file: OwnFile, found: str) -> bool:
    """Whether a file of ours, of whichever kedgeline, is the one that reduces tool outputs."""
    only = set(file.reducing.splitlines()) - set(file.text.splitlines())
    return bool(only) and only <= set(found.splitlines())


def _code(text: str) -> str:
    return sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:CODE]


# What a person should know.


def _about_place(host: Host, place: Place) -> list[str]:
    """What would keep kedgeline from working there, or make it run twice."""
    said = []
    if not place.server:
        said.append(
            f"the tools of `kedgeline mcp` are left out: run pip install "
            f"'kedgeline[{SERVER_EXTRA}]', then install again"
        )
    if place.project and not shutil.which(NAME, path=place.environment.get("PATH")):
        said.append("kedgeline is not on the PATH: whoever works in this project needs it there")
    other = place._replace(project=None if place.project else project_around(Path.cwd()))
    if host.root(other) != host.root(place) and is_installed(host, other):
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
        is_json = isinstance(piece, SettingsFile)
        value = (load(text) or {}) if is_json else settings.load_toml(text)
        if isinstance(piece, SettingsFile):
            said += _about_settings(host, piece, text, value)
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
            f"kedgeline included, because of its comments or a comma too many: take these out"
        )
    if not piece.marked and text.startswith(MARK):
        said.append(
            f"{host.title} ignores {piece.path} because it begins with a mark of byte order: "
            f"save it as UTF-8 without one"
        )
    if value.get(piece.switch) is True:
        said.append(f"`{piece.switch}` is set in {piece.path}: no hook runs until you take it out")
    return said


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
    found = {MANIFEST: claude_code.marketplace()}
    return {**about, **found, **codex.marketplace(), **texts}


def at_root() -> dict[str, str]:
    """What stands at the root of the repository: whoever adds that by its address finds it."""
    return {MANIFEST: claude_code.marketplace("./plugins/claude-code")}


def main(folder: Path) -> None:
    """Write every file; what is made no more is for whoever runs this to remove."""
    beside = {folder.parent / name: text for name, text in at_root().items()}
    inside = {folder / name: text for name, text in plugins().items()}
    for target, text in (inside | beside).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
