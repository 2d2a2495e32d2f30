"""The files that `kedge cost` writes: none of them may be one that is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from kedge.errors import FileRefused, NotATranscript, SourceUnreadable
from kedge.guarded_files import folder_below

Identity = tuple[object, ...]


def check_targets(targets: Sequence[Path], *, sources: Iterable[str], claim: Path | None) -> None:
    """Refuse an output that is a source, the claim, the other output, or any session: what it holds
    would be lost."""
    taken = {one: "a source" for name in sources for one in _identities(name)}
    if claim:
        taken |= dict.fromkeys(_identities(str(claim)), "the claim")
    for target in targets:
        if target.name in ("", ".."):
            raise FileRefused(str(target), "it names a folder; name a file in it")
        found = _identities(str(target))
        for one in found:
            if one in taken:
                raise FileRefused(str(target), f"it is {taken[one]} too; name another file")
        if _is_session(target):
            raise FileRefused(str(target), "it is a session; name another file")
        taken |= dict.fromkeys(found, "the other output")


def write_file(target: Path, text: str) -> None:
    with folder_below(target.parent) as folder:
        assert folder is not None  # it is the root itself
        with folder.replacing(target.name) as file:
            file.write(text.encode("utf-8", "replace"))


def _identities(name: str) -> list[Identity]:
    """What two names of one file have in common, whether it is there or not."""
    found: list[Identity] = []
    with suppress(OSError, ValueError):  # stdin is closed, or nothing has the name
        if name == "-":
            state = os.fstat(sys.stdin.fileno())
        else:
            found.append((str(Path(name).resolve()),))
            state = os.stat(name)
        found.append((state.st_dev, state.st_ino))
    return found


def _is_session(path: Path) -> bool:
    from kedge.reading import stream

    if not path.is_file():
        return False
    try:
        stream(path)
    except (NotATranscript, SourceUnreadable):
        return False
    return True
