"""kedgeline put into a host, and taken out of it: all files are read before one is written, and all
are written or none.

Files are read and replaced through links, with their permissions, with a copy of what they held
before kedgeline came. `python -m kedgeline.hosts.install plugins` writes the plugins of all hosts
into a folder, for those who install with the host itself; a test compares."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import (
    FileRefused,
    KedgelineError,
    OutputUnwritable,
    UnknownName,
    UserError,
)
from kedgeline.files import PRIVATE_FILE, PRIVATE_FOLDER, Held, folder_below, unwritable
from kedgeline.hosts import claude_code, codex, extensions
from kedgeline.hosts.entries import (
    Malformed,
    comments_in,
    has_ours,
    is_plain,
    load_json,
    load_toml,
    put_in,
    put_in_table,
    says_the_same,
    take_out,
    take_out_table,
)
from kedgeline.hosts.shared import (
    BY_NAME,
    NAME,
    Host,
    InstallPlace,
    OwnFile,
    Piece,
    ServerTable,
    SettingsFile,
    installed,
    text_named,
)
from kedgeline.model import Value

HOSTS: tuple[Host, ...] = (
    claude_code.HOST,
    codex.HOST,
    extensions.GEMINI_CLI,
    extensions.OPENCODE,
    extensions.HERMES,
    extensions.PI,
    extensions.OPENCLAW,
    extensions.CLINE,
)
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
BYTE_ORDER_MARK = "\ufeff"
MANIFEST = ".claude-plugin/marketplace.json"

Action = Literal["created", "changed", "removed", "unchanged", "left"]
Shown = Callable[[str], str] | None
"""What makes a difference fit to be shown; None where none is."""


class FileUpdate(Value, frozen=True):
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
    changes: tuple[FileUpdate, ...]
    warnings: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    dry_run: bool = False


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
) -> InstallPlace:
    """For the user by the path of this kedgeline, for a project by its name: others share that."""
    return InstallPlace(
        home=home,
        environment=environment,
        launch=BY_NAME if project else installed(environment.get("PATH")),
        project=project,
    )


def project_around(folder: Path) -> Path:
    """The project that a folder is in: where its repository begins, or the folder itself."""
    parents = (folder, *folder.parents)
    return next((parent for parent in parents if (parent / ".git").exists()), folder)


def install(
    host: Host, place: InstallPlace, *, dry_run: bool = False, shown: Shown = None
) -> Report:
    """Put kedgeline into a host. Raises before anything is written where a file cannot be
    merged."""
    if place.replacing is False and not host.advises:
        why = f"leave out --advise, or run `kedgeline uninstall {host.name}`"
        raise UserError(f"the compaction of {host.title} can be replaced but not advised; {why}")
    place = host.chosen(place)
    ground = _ground(host, place)
    edits = [_edit(piece, ground, place) for piece in host.pieces(place)]
    warnings = (*_about_place(host, place), *_about_files(host, edits))
    done = _carried_out(host, place, edits, dry_run=dry_run, shown=shown)
    return replace(done, warnings=warnings, next=host.advice(place))


def uninstall(
    host: Host, place: InstallPlace, *, dry_run: bool = False, shown: Shown = None
) -> Report:
    """Take kedgeline out of a host: its entries, its files, and copies that are of no more use."""
    ground = _ground(host, place)
    edits = [_edit(piece, ground, place, removing=True) for piece in host.pieces(place)]
    return _carried_out(host, place, edits, dry_run=dry_run, shown=shown)


def is_installed(host: Host, place: InstallPlace) -> bool:
    """Whether a host calls kedgeline, for the user or in a project."""
    for piece in host.pieces(place):
        if isinstance(piece, OwnFile) and piece.path.suffix in (".ts", ".py") and piece.wanted:
            if piece.path.exists():
                return True
        elif isinstance(piece, SettingsFile) and piece.hooks:
            with suppress(KedgelineError, Malformed):
                held = _read(Path(os.path.realpath(piece.path)))
                text = _decoded(held.data)[0] if held else ""
                if has_ours(text, piece._replace(members=())):
                    return True
    return False


# What is to be done with each file.


class Ground(NamedTuple):
    """Where files may be, and what is known of them."""

    within: Path | None
    """The project that they may not lead out of; None where they are the user's."""
    copies: Path | None
    """The folder for what files held before; None where that is kept beside them."""
    plugin: Collection[str]
    """Texts that are ours although they have no mark."""


class Edit(NamedTuple):
    """One file, with all that is needed to write it and to take that back."""

    piece: Piece
    real: Path
    """Where links lead."""
    held: Held | None
    after: bytes | None
    """What it shall hold; None where it shall go."""
    done: tuple[str, ...]
    left: tuple[str, ...]
    copy: Path
    """Where what it held before kedgeline came is kept."""
    backup: bytes | None
    """What is kept there."""
    keeps: bool
    """Whether what it holds is copied first."""
    retires: bool
    """Whether the copy is of no more use afterwards."""
    modes: tuple[int, int]
    """Of a new file, and of new folders."""
    missing: tuple[Path, ...]
    """The folders above it that are not there, the innermost first."""

    @property
    def before(self) -> bytes | None:
        return self.held.data if self.held else None

    @property
    def action(self) -> Action:
        if self.before == self.after:
            return "left" if self.left and not self.done else "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"

    def change(self, shown: Shown) -> FileUpdate:
        keeps = self.keeps or (self.backup is not None and not self.retires)
        return FileUpdate(
            file=str(self.piece.path),
            action=self.action,
            what=(*self.done, *self.left),
            link=str(self.real) if self.piece.path.is_symlink() else None,
            backup=str(self.copy) if keeps and self.action == "changed" else None,
            diff=shown(self._difference()) if shown else "",
        )

    def apply(self, root: Path) -> None:
        if self.before != self.after:
            if self.keeps and self.before is not None:
                self._write_copy(self.before)
            if self.after is not None:
                self._write(self.after, self.before)
            else:
                self._checked(self.before, _read(self.real))
                _unlink(self.real, root)
        if self.retires:
            _unlink(self.copy, root if self.copy.parent == self.real.parent else self.copy.parent)

    def undo(self) -> bool:
        """Make it what it was, if nobody else has changed it since; whether it is that now."""
        found = _read(self.real)
        now = found.data if found else None
        if now not in (self.before, self.after):
            return False
        if self.before is None:
            self.real.unlink(missing_ok=True)
            for folder in self.missing:
                with suppress(OSError):  # something else is in it
                    folder.rmdir()
        elif now != self.before:
            self._write(self.before, now)
        if self.backup is not None:
            self._write_copy(self.backup)
        elif self.keeps:
            self.copy.unlink(missing_ok=True)
        return True

    def _write(self, data: bytes, expected: bytes | None) -> None:
        def change(now: bytes | None) -> bytes:
            self._checked(expected, now)
            return data

        _replace(self.real, change, self.held.mode if self.held else self.modes[0], self.modes[1])

    def _checked(self, expected: bytes | None, now: Held | bytes | None) -> None:
        if (now.data if isinstance(now, Held) else now) != expected:
            why = "somebody else changed it meanwhile; try again"
            raise FileRefused(str(self.piece.path), why)

    def _write_copy(self, data: bytes) -> None:
        beside = self.copy.parent == self.real.parent
        mode = self.held.mode if self.held and beside else PRIVATE_FILE
        _replace(self.copy, lambda _: data, mode, PRIVATE_FOLDER)

    def _difference(self) -> str:
        name = str(self.piece.path)
        before, after = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
            for data in (self.before, self.after)
        )
        made = unified_diff(before, after, name, name, n=CONTEXT)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in made)


def _ground(host: Host, place: InstallPlace) -> Ground:
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


def _edit(piece: Piece, ground: Ground, place: InstallPlace, *, removing: bool = False) -> Edit:
    """What puts a piece in its place or takes it out. Raises what keeps it from that."""
    try:
        return _found(piece, ground, place, removing=removing)
    except Malformed as error:
        raise FileRefused(str(piece.path), f"{error}; nothing was written") from error
    except FileRefused as error:
        raise FileRefused(error.path, f"{error.why}; nothing was written") from error


def _found(piece: Piece, ground: Ground, place: InstallPlace, *, removing: bool) -> Edit:
    """Within a project no link may lead out of it: whoever wrote the project could have kedgeline
    write elsewhere."""
    if isinstance(piece, OwnFile) and piece.rival and piece.rival[0].exists():
        why = f"the host installed this plugin itself, and `{piece.rival[1]}` takes it out"
        raise FileRefused(str(piece.path), why)
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
        raise FileRefused(str(piece.path), f"{str(folder)!r} is not a folder; move it away")
    data, backup = held.data if held else None, kept.data if kept else None
    removing = removing or (isinstance(piece, OwnFile) and not piece.wanted)
    if isinstance(piece, OwnFile):
        wanted = _own(piece, data, ground.plugin, removing=removing)
    elif removing:
        wanted = _without(piece, data, backup)
    else:
        wanted = _with(piece, data)
    # A file that is replaced as a whole could be although it is read-only: that is refused.
    if data != wanted.after and held and not held.mode & stat.S_IWUSR:
        how = f"allow writing with chmod u+w {real}, or change its source"
        raise FileRefused(str(piece.path), f"it is read-only; {how}")
    is_changed = data is not None and wanted.after is not None and data != wanted.after
    return Edit(
        *(piece, real, held, *wanted[:3], copy, backup),
        keeps=is_changed and not removing and wanted.is_new,
        retires=removing and backup is not None and wanted.after == backup,
        modes=(
            SHARED_FILE if ground.within or isinstance(piece, OwnFile) else PRIVATE_FILE,
            SHARED_FOLDER if ground.within else PRIVATE_FOLDER,
        ),
        missing=tuple(missing),
    )


class Wanted(NamedTuple):
    """What a file shall hold, None where it shall go, and what that means for a person."""

    after: bytes | None
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    is_new: bool = False
    """Whether entries of kedgeline come into a file of others for the first time."""


def _own(piece: OwnFile, data: bytes | None, plugin: Collection[str], *, removing: bool) -> Wanted:
    if data is not None and not is_ours(piece, data.decode("utf-8", "replace"), plugin):
        why = "left: it is not as kedgeline wrote it; delete it for a new one"
        return Wanted(data, left=(why,))
    if removing:
        return Wanted(None, ("removed",) if data is not None else ())
    after = marked(piece, piece.text).encode()
    return Wanted(after, ("written",) if after != data else ())


def _with(piece: SettingsFile | ServerTable, data: bytes | None) -> Wanted:
    text, encoded = _decoded(data or b"")
    if isinstance(piece, SettingsFile):
        made, is_new = put_in(text, piece), not has_ours(text, piece)
    else:
        made, is_new = put_in_table(text, piece), not take_out_table(text, piece).done
    if not made.done:  # a file that is not there and gets nothing stays away
        return Wanted(data, (), made.left)
    return Wanted(encoded(made.text), made.done, made.left, is_new)


def _without(piece: SettingsFile | ServerTable, data: bytes | None, backup: bytes | None) -> Wanted:
    """The file without our entries: to the byte what it was, where nobody else changed it."""
    if data is None:
        return Wanted(None)
    text, encoded = _decoded(data)
    earlier = _decoded(backup)[0] if backup is not None else None
    if isinstance(piece, SettingsFile):
        rest = take_out(text, piece)
        is_empty = load_json(rest.text) == {} and not comments_in(rest.text)
        is_same = earlier is not None and says_the_same(rest.text, earlier, piece)
    else:
        rest = take_out_table(text, piece)
        is_empty = not rest.text.strip()
        is_same = earlier is not None and rest.text.strip() == earlier.strip()
    after = backup if is_same else None if is_empty and earlier is None else encoded(rest.text)
    return Wanted(after, rest.done, rest.left) if rest.done else Wanted(data, (), rest.left)


def _decoded(data: bytes) -> tuple[str, Callable[[str], bytes]]:
    """The text with plain line ends and without a byte order mark, and what brings these back."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Malformed(line, "it is not UTF-8; save the file as UTF-8") from error
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    newline = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"

    def encoded(made: str) -> bytes:
        return (mark + made.replace("\n", newline)).encode()

    plain = text.removeprefix(mark)
    return plain.replace(newline, "\n"), encoded


def _carried_out(
    host: Host, place: InstallPlace, edits: Sequence[Edit], *, dry_run: bool, shown: Shown
) -> Report:
    """What became of the files, or would become of them."""
    if not dry_run:
        _apply(edits, place.project or host.root(place), host)
    return Report(
        host=host.name,
        title=host.title,
        project=str(place.project) if place.project else None,
        changes=tuple(edit.change(shown) for edit in edits),
        dry_run=dry_run,
    )


def _apply(edits: Sequence[Edit], stays: Path, host: Host) -> None:
    """All edits, or none: what was done before one that fails is taken back. The folder that stays
    is not removed although it is empty."""
    begun: list[Edit] = []
    try:
        for edit in edits:
            begun.append(edit)
            edit.apply(stays)
    except BaseException as error:
        stuck = [str(edit.piece.path) for edit in reversed(begun) if not _is_undone(edit)]
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


def _is_undone(edit: Edit) -> bool:
    try:
        return edit.undo()
    except (KedgelineError, OSError):
        return False


# Files, replaced as a whole.


def _read(path: Path) -> Held | None:
    if not path.parent.is_dir():
        return None
    with folder_below(path.parent, largest=LARGEST) as folder:
        return folder.read(path.name) if folder else None


def _replace(path: Path, change: Callable[[bytes | None], bytes], mode: int, folders: int) -> None:
    """Replace a file by what the change makes of what it holds by then."""
    missing = [parent for parent in path.parents if not os.path.lexists(parent)]
    names = [parent.name for parent in reversed(missing)]
    for count in range(1, len(names) + 1):
        with folder_below(missing[-1].parent, names[:count], create=True) as made:
            if made is not None and folders != PRIVATE_FOLDER:
                os.fchmod(made.descriptor, folders)
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


def _code(text: str) -> str:
    return sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:CODE]


# What a person should know.


def _about_place(host: Host, place: InstallPlace) -> Iterator[str]:
    """What would keep kedgeline from working there, or make it run twice."""
    if place.project and not shutil.which(NAME, path=place.environment.get("PATH")):
        yield "kedgeline is not on the PATH: whoever works in this project needs it there"
    other = place._replace(project=None if place.project else project_around(Path.cwd()))
    if host.root(other) != host.root(place) and is_installed(host, other):
        where = "for you in all projects" if place.project else "in this project"
        yield f"kedgeline is installed {where} too and would run twice: uninstall one of them"


def _about_files(host: Host, edits: Sequence[Edit]) -> Iterator[str]:
    """What is to know of the files as they were."""
    for edit in edits:
        piece = edit.piece
        if isinstance(piece, OwnFile) or edit.before is None:
            continue
        text = _decoded(edit.before)[0]
        value = (load_json(text) or {}) if isinstance(piece, SettingsFile) else load_toml(text)
        if isinstance(piece, SettingsFile) and piece.strict and not is_plain(text):
            yield (
                f"{host.title} reads plain JSON and ignores all of {piece.path}, the entries of "
                f"kedgeline included, because of its comments or a trailing comma: take these out"
            )
        if isinstance(piece, SettingsFile) and value.get(piece.switch) is True:
            yield f"`{piece.switch}` is set in {piece.path}: no hook runs until you take it out"
        if _has_our_plugin(value.get(piece.plugins)):
            yield (
                "the plugin of kedgeline is enabled too and would run twice: uninstall one of them"
            )


def _has_our_plugin(plugins: Any) -> bool:
    """Whether kedgeline is among plugins that are on: by `true`, or by a table that says so."""
    if not isinstance(plugins, dict):
        return False
    ours = (on for name, on in plugins.items() if name.startswith(f"{NAME}@"))
    return any(on is True or (isinstance(on, dict) and on.get("enabled") is True) for on in ours)


# The plugins, for those who install with the host itself.


def plugins() -> dict[str, str]:
    """Every file of the plugins by its path below their folder."""
    texts = {f"{host.name}/{path}": text for host in HOSTS for path, text in host.plugin().items()}
    found = {"README.md": text_named("plugins.md"), MANIFEST: claude_code.marketplace()}
    return {**found, **codex.codex_marketplace(), **texts}


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
