"""One file each: what it holds, what it shall hold, and how that is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from kedge.errors import FileRefused
from kedge.integrations.hosts.pieces import OwnFile, Piece, ServerTable, SettingsFile
from kedge.integrations.installing.documents import Malformed, parsed
from kedge.integrations.installing.files import (
    Found,
    backup_of,
    check_writable,
    found,
    remove,
    remove_backup,
    write,
)
from kedge.integrations.installing.marks import is_ours, marked
from kedge.integrations.installing.merging import merged
from kedge.integrations.installing.removing import without
from kedge.integrations.installing.tables import with_table, without_table
from kedge.integrations.installing.values import Action, Change
from kedge.integrations.installing.wishes import any_of_ours

SHARED_FILE = 0o644
"""Mode of a new file that holds nothing private and that others may have to read."""
CONTEXT = 2
"""Lines around a difference."""


class Outcome(NamedTuple):
    """What a file shall hold, nothing where it shall go, and what that means."""

    after: bytes | None
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Step(NamedTuple):
    """One file, with all that is needed to write it."""

    file: Found
    make: Callable[[bytes | None], Outcome]
    outcome: Outcome
    keep: bytes | None = None
    mode: int | None = None
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
            backup=str(backup_of(self.file.real)) if shown else None,
            diff=diff(self._difference()) if diff else "",
        )

    def apply(self, root: Path) -> None:
        """Make it so."""
        if self.action in ("created", "changed"):
            options = {} if self.mode is None else {"mode": self.mode}
            write(self.file, self._again, keep=self.keep, **options)
        elif self.action == "removed":
            remove(self.file, root)
        if self.restored or (self.removing and self.action == "removed"):
            remove_backup(self.file, root)

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


def installing(piece: Piece, within: Path | None, *, reduce: bool | None) -> Step:
    """The step that puts a piece in its place. Raises what keeps it from being put there."""
    file = found(piece.path, within)
    shared = SHARED_FILE if within else None

    def make(data: bytes | None) -> Outcome:
        with _told(piece.path):
            return _installed(piece, data, file.backup, reduce)

    before = file.held.data if file.held else None
    step = Step(file, make, make(before), mode=shared)
    if isinstance(piece, OwnFile):
        step = step._replace(mode=SHARED_FILE)
    elif before is not None and step.action == "changed":
        fresh = not _has_ours(piece, before)
        step = step._replace(keep=before if fresh or file.backup is None else None)
    if step.action == "changed":
        check_writable(file)
    return step


def uninstalling(piece: Piece, within: Path | None) -> Step:
    """The step that takes a piece out."""
    file = found(piece.path, within)

    def make(data: bytes | None) -> Outcome:
        with _told(piece.path):
            return _uninstalled(piece, data, file.backup)

    step = Step(file, make, make(file.held.data if file.held else None), removing=True)
    if step.action in ("changed", "removed"):
        check_writable(file)
    return step


def _installed(
    piece: Piece, data: bytes | None, backup: bytes | None, reduce: bool | None
) -> Outcome:
    text = _text(data or b"")
    if isinstance(piece, SettingsFile):
        earlier = _earlier(backup) if any_of_ours(parsed(text), piece) else None
        made = merged(text, piece, reduce=reduce, earlier=earlier)
        return _outcome(data, made.text, made.done, made.left)
    if isinstance(piece, ServerTable):
        table, done, left = with_table(text, piece)
        return _outcome(data, table, done, left)
    if data is not None and not is_ours(piece, text):
        return Outcome(data, left=("left: it is not as kedge wrote it; delete it for a new one",))
    reducing = piece.reducing and (reduce or (reduce is None and _body(text) == piece.reducing))
    wanted = marked(piece, piece.reducing if reducing else piece.text)
    return _outcome(data, wanted, ("written",) if wanted != text else ())


def _uninstalled(piece: Piece, data: bytes | None, backup: bytes | None) -> Outcome:
    if data is None:
        return Outcome(None)
    text = _text(data)
    if isinstance(piece, OwnFile):
        if is_ours(piece, text):
            return Outcome(None, ("removed",))
        return Outcome(data, left=("left: it is not as kedge wrote it",))
    earlier = _earlier(backup)
    if isinstance(piece, SettingsFile):
        rest = without(text, piece, earlier)
    else:
        rest = without_table(text, piece, earlier)
    done = ("entries of kedge taken out",) if rest != text else ()
    return Outcome(None if rest is None else rest.encode(), done)


def _earlier(backup: bytes | None) -> str | None:
    return None if backup is None else backup.decode("utf-8", "replace")


def _outcome(
    data: bytes | None, text: str, done: tuple[str, ...], left: tuple[str, ...] = ()
) -> Outcome:
    """A file that is not there and gets nothing stays away."""
    return Outcome(None if data is None and not done else text.encode(), done, left)


def _body(text: str) -> str:
    """A file of ours without its mark."""
    return "".join(line for line in text.splitlines(keepends=True) if " kedge install " not in line)


def _has_ours(piece: Piece, data: bytes) -> bool:
    if isinstance(piece, SettingsFile):
        return any_of_ours(parsed(_text(data)), piece)
    return isinstance(piece, ServerTable) and without_table(_text(data), piece, None) != _text(data)


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
        raise FileRefused(str(path), f"{error}; nothing was written") from error
