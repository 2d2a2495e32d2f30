"""Documents below a root, read without following a link, and the names their chunks go under."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kedge.bank.catalog.files import HEAD
from kedge.bank.catalog.values import CATALOG, CHUNKS, Skipped
from kedge.errors import BadName, FileRefused, UserError
from kedge.guarded_files import Folder, folder_below
from kedge.names import checked

LARGEST = 16 << 20
"""Bytes of a document; what is larger was not written to be read."""
DEPTH = 32
"""Folders in each other that are looked into."""
MOST = 50_000
"""Documents of one catalog: beyond, somebody named the wrong folder."""
NOT_TEXT = 20
"""One wrong byte in so many makes a file binary; a few are of an old encoding."""
MADE_BY_TOOLS = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "target"}
)
"""Folders that hold nobody's own documents."""
MADE = "kedge made it from other documents"
NAME_MOST = 40
"""Characters of a name before its hash, where it needs one."""


class Source(NamedTuple):
    key: str
    """Its path from the root, with slashes."""
    text: str
    """Bytes that are no UTF-8 as lone surrogates, so that writing it gives the same bytes."""

    @property
    def data(self) -> bytes:
        return to_bytes(self.text)


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def key_of(path: Path, root: Path) -> str:
    """The path from the root. Raises FileRefused where it lies outside."""
    full = Path(os.path.abspath(path))
    for base, inner in (
        (Path(os.path.abspath(root)), full),
        (root.resolve(), full.parent.resolve() / full.name),
    ):
        if inner.is_relative_to(base):
            return inner.relative_to(base).as_posix()
    raise FileRefused(str(path), f"it lies outside {str(root)!r}; name files below it")


def is_key(key: str) -> bool:
    """Whether a path that a file names stays below the root."""
    parts = key.split("/")
    return key.isprintable() and not {"", ".", ".."} & set(parts)


def sources(paths: Iterable[Path], root: Path, place: Folder) -> Iterator[Source | Skipped]:
    """Each document once, in the order of the paths. What is named must be there; what lies in a
    named folder and is no document is skipped."""
    own = os.fstat(place.descriptor)
    seen: set[str] = set()
    for path in paths:
        key = key_of(path, root)
        parts = () if key == "." else PurePosixPath(key).parts
        for found in _below(root, parts, (own.st_dev, own.st_ino)):
            name = found.key if isinstance(found, Source) else found.path
            if name not in seen:
                seen.add(name)
                yield found
            if len(seen) > MOST:
                raise UserError(f"more than {MOST:,} documents; name smaller folders")


def _below(root: Path, parts: tuple[str, ...], own: tuple[int, int]) -> Iterator[Source | Skipped]:
    with folder_below(root, parts[:-1], largest=LARGEST) as folder:
        if folder is None:
            raise FileRefused("/".join(parts), "there is no such file; check the path")
        above = "".join(f"{part}/" for part in parts[:-1])
        if _is_made(root, parts):
            yield Skipped(path=_shown("/".join(parts)), why=MADE)
        elif not parts:
            yield from _walked(folder, "", own, 0)
        elif _is_folder(folder, parts[-1]):
            with folder.below(parts[-1]) as inner:
                if inner is not None:
                    yield from _walked(inner, f"{above}{parts[-1]}/", own, 0)
        else:
            yield _document(folder, parts[-1], f"{above}{parts[-1]}")


def _is_made(root: Path, parts: tuple[str, ...]) -> bool:
    """Whether it is a catalog, or lies among the chunks beside one."""
    for place, part in enumerate(parts):
        if part == CHUNKS or (part == CATALOG and place == len(parts) - 1):
            with folder_below(root, parts[:place]) as folder:
                if folder is not None and _has_catalog(folder):
                    return True
    return False


def _has_catalog(folder: Folder) -> bool:
    """Whether a catalog of ours lies here, however large it is."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(CATALOG, flags, dir_fd=folder.descriptor)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return file.read(len(HEAD)) == HEAD.encode()


def _is_folder(folder: Folder, name: str) -> bool:
    try:
        found = os.lstat(name, dir_fd=folder.descriptor)
    except (OSError, ValueError) as error:
        raise FileRefused(str(folder.path / name), "it cannot be found; check the path") from error
    return (found.st_mode & 0o170000) == 0o040000


def _walked(
    folder: Folder, above: str, own: tuple[int, int], depth: int
) -> Iterator[Source | Skipped]:
    found = os.fstat(folder.descriptor)
    is_own = (found.st_dev, found.st_ino) == own
    made = is_own or _has_catalog(folder)
    with os.scandir(folder.descriptor) as entries:
        rows = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in rows:
        key = f"{above}{name}"
        if made and name in (CATALOG, CHUNKS):
            if not is_own:  # of another bank: catalogs would take in each other without end
                yield Skipped(path=_shown(key), why=MADE)
        elif why := _why_not(name, is_folder=is_folder, depth=depth):
            yield Skipped(path=_shown(key), why=why)
        elif is_folder:
            yield from _entered(folder, name, key, own, depth)
        else:
            try:
                yield _document(folder, name, key)
            except FileRefused as error:
                yield Skipped(path=_shown(key), why=error.why)


def _entered(
    folder: Folder, name: str, key: str, own: tuple[int, int], depth: int
) -> Iterator[Source | Skipped]:
    with ExitStack() as open_folders:
        try:
            inner = open_folders.enter_context(folder.below(name))
        except FileRefused as error:
            yield Skipped(path=_shown(key), why=error.why)
            return
        if inner is not None:
            yield from _walked(inner, f"{key}/", own, depth + 1)


def _why_not(name: str, *, is_folder: bool, depth: int) -> str:
    if name.startswith("."):
        return "it is hidden; name it to have it"
    if is_folder and name in MADE_BY_TOOLS:
        return "tools made what is in it; name it to have it"
    if is_folder and depth >= DEPTH:
        return f"it lies more than {DEPTH} folders deep"
    return ""


def _document(folder: Folder, name: str, key: str) -> Source | Skipped:
    if _shown(key) != key:
        return Skipped(path=_shown(key), why="its name is no UTF-8 or has a control character")
    held = folder.read(name)
    if held is None:
        return Skipped(path=key, why="it is gone")
    if not held.data:
        return Skipped(path=key, why="it is empty")
    text = held.data.decode("utf-8", "surrogateescape")
    wrong = 0 if text.isprintable() else len(re.findall("[\udc80-\udcff]", text))
    if b"\0" in held.data or wrong * NOT_TEXT > len(held.data):
        return Skipped(path=key, why="it is binary")
    return Source(key, text)


def _shown(key: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in key)


def source_names(keys: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """A folder's name for each document, safe on every system: its path with points for slashes,
    without what it ends with; with a hash where another has that name already."""
    names: dict[str, str] = {}
    taken = {name.casefold() for name in others}
    for key in sorted(keys):
        name = _safe(key)
        if name.casefold() in taken:
            name = _hashed(name, key)
        taken.add(name.casefold())
        names[key] = name
    return names


def _safe(key: str) -> str:
    path = PurePosixPath(key)
    plain = ".".join([*path.parts[:-1], path.stem])
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).lstrip("._-").rstrip(".")
    try:
        return checked("source", name) if name == plain else _hashed(name, key)
    except BadName:
        return _hashed(name, key)


def _hashed(name: str, key: str) -> str:
    short = sha256(to_bytes(key)).hexdigest()[:12]
    return checked("source", f"s-{short}" if not name else f"{_no_device(name)}-{short}")


def _no_device(name: str) -> str:
    """The points of a long name may make a device of it; dashes do not."""
    return name[:NAME_MOST].replace(".", "-")
