"""One file each: what it holds, what it shall hold, and how that is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

from kedge.errors import FileRefused
from kedge.guarded_files import PRIVATE_FILE, PRIVATE_FOLDER
from kedge.integrations.hosts.pieces import OwnFile, Piece, ServerTable, SettingsFile
from kedge.integrations.installing.documents import Document, Malformed
from kedge.integrations.installing.files import (
    SHARED_FILE,
    SHARED_FOLDER,
    Found,
    check_writable,
    found,
    read_now,
    remove,
    remove_backup,
    sweep,
    take_back,
    write,
    write_copy,
)
from kedge.integrations.installing.marks import is_ours, marked, reduces
from kedge.integrations.installing.merging import merged_into
from kedge.integrations.installing.removing import guide_in, taken_out
from kedge.integrations.installing.tables import read_table, with_table, without_table
from kedge.integrations.installing.values import Action, Change
from kedge.integrations.installing.wishes import any_of_ours, read, still_unknown

CONTEXT = 2
"""Lines around a difference."""


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
    """Whether entries of kedge were there already."""
    said: Document | dict[str, Any] | None = None
    """What a file of others says, as it was read."""


class Step(NamedTuple):
    """One file, with all that is needed to write it."""

    file: Found
    make: Callable[[bytes | None], Outcome]
    outcome: Outcome
    keep: bytes | None = None
    mode: int = PRIVATE_FILE
    folders: int = PRIVATE_FOLDER
    removing: bool = False
    """Whether kedge goes: then the copy from before goes too, once it is what the file holds."""

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
        """Whether the file is what it was before kedge came."""
        after = self.outcome.after
        return self.removing and after is not None and self.file.backup == after

    def change(self, *, diff: Callable[[str], str] | None = None) -> Change:
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
        sweep(self.file)
        if self.action in ("created", "changed"):
            write(self.file, self._again, keep=self.keep, mode=self.mode, folders=self.folders)
        elif self.action == "removed":
            remove(self.file, root)
        if self.restored or (self.removing and self.action == "removed"):
            remove_backup(self.file, root)

    def undo(self) -> bool:
        """Make it what it was, if nobody else has changed it since; whether it is that now."""
        before, now = self.before, read_now(self.file)
        if now not in (before, self.outcome.after):
            return False
        if before is None:
            take_back(self.file)
        elif now != before:
            write(self.file, lambda _: before, folders=self.folders)
        if self.file.backup is not None:
            write_copy(self.file, self.file.backup)
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


def installing(piece: Piece, ground: Ground, *, reduce: bool | None) -> Step:
    """The step that puts a piece in its place. Raises what keeps it from being put there."""
    shared = (SHARED_FILE, SHARED_FOLDER) if ground.within else (PRIVATE_FILE, PRIVATE_FOLDER)

    def planned(file: Found) -> Step:
        def make(data: bytes | None) -> Outcome:
            with _told(piece.path):
                return _installed(piece, data, file.backup, reduce, ground)

        before = file.held.data if file.held else None
        step = Step(file, make, make(before), mode=shared[0], folders=shared[1])
        if isinstance(piece, OwnFile):
            return step._replace(mode=SHARED_FILE)
        if before is not None and step.action == "changed":
            fresh = not step.outcome.had_ours
            return step._replace(keep=before if fresh or file.backup is None else None)
        return step

    return _planned(piece, ground, planned)


def uninstalling(piece: Piece, ground: Ground) -> Step:
    """The step that takes a piece out."""

    def planned(file: Found) -> Step:
        def make(data: bytes | None) -> Outcome:
            with _told(piece.path):
                return _uninstalled(piece, data, file.backup, ground)

        folders = SHARED_FOLDER if ground.within else PRIVATE_FOLDER
        outcome = make(file.held.data if file.held else None)
        return Step(file, make, outcome, folders=folders, removing=True)

    return _planned(piece, ground, planned)


def _planned(piece: Piece, ground: Ground, plan: Callable[[Found], Step]) -> Step:
    """A step of which all is known that could keep it from being done."""
    try:
        if isinstance(piece, OwnFile) and (rival := piece.rival) and rival.path.exists():
            why = f"the host installed this plugin itself, and `{rival.remedy}` takes it out"
            raise FileRefused(str(piece.path), why)
        step = plan(found(piece.path, ground.within, ground.copies))
        if step.action in ("created", "changed", "removed"):
            check_writable(step.file, copied=step.keep is not None)
    except FileRefused as error:
        raise FileRefused(error.path, f"{error.why}; nothing was written") from error
    return step


def _installed(
    piece: Piece, data: bytes | None, backup: bytes | None, reduce: bool | None, ground: Ground
) -> Outcome:
    text = _text(data or b"")
    if isinstance(piece, SettingsFile):
        document = read(text, piece)
        made = merged_into(document, piece, reduce=reduce, earlier=_earlier(backup))
        ours = any_of_ours(document, piece)
        return _outcome(data, made.text, made.done, made.left, ours)._replace(said=document)
    if isinstance(piece, ServerTable):
        table = with_table(text, piece)
        ours = bool(without_table(text, piece, None).done)
        said = read_table(text)
        return _outcome(data, table.text or "", table.done, table.left, ours)._replace(said=said)
    if data is not None and not is_ours(piece, text, ground.plugin):
        return Outcome(data, left=("left: it is not as kedge wrote it; delete it for a new one",))
    reducing = piece.reducing and (reduce or (reduce is None and reduces(piece, text)))
    wanted = marked(piece, piece.reducing if reducing else piece.text)
    return _outcome(data, wanted, ("written",) if wanted != text else ())


def _uninstalled(piece: Piece, data: bytes | None, backup: bytes | None, ground: Ground) -> Outcome:
    if data is None:
        return Outcome(None)
    text = _text(data)
    if isinstance(piece, OwnFile):
        if is_ours(piece, text, ground.plugin):
            return Outcome(None, ("removed",))
        return Outcome(data, left=("left: it is not as kedge wrote it",))
    earlier = _earlier(backup)
    if isinstance(piece, ServerTable):
        rest, done, left = without_table(text, piece, earlier)
    else:
        document = read(text, piece)
        rest = taken_out(document, piece, guide_in(earlier, piece))
        done = ("entries of kedge taken out",) if rest != text else ()
        left = still_unknown(document, rest or "", piece)
    return Outcome(None if rest is None else rest.encode(), done, left)


def _earlier(backup: bytes | None) -> str | None:
    return None if backup is None else backup.decode("utf-8", "replace")


def _outcome(
    data: bytes | None,
    text: str,
    done: tuple[str, ...],
    left: tuple[str, ...] = (),
    had_ours: bool = False,
) -> Outcome:
    """A file that is not there and gets nothing stays away."""
    after = None if data is None and not done else text.encode()
    return Outcome(after, done, left, had_ours)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Malformed(line, "it is not UTF-8; save the file as UTF-8") from error


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What is wrong with a file, with its name and what to do."""
    try:
        yield
    except Malformed as error:
        raise FileRefused(str(path), str(error)) from error
