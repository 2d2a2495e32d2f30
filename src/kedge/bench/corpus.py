"""A folder of sessions, and what a report says of it so that others can measure the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from kedge.bench.intervals import RESAMPLES, SEED
from kedge.errors import NotATranscript, SourceUnreadable
from kedge.model import Transcript, Value
from kedge.reading import read_all
from kedge.tokens import EXACT, Counter

Watch = Callable[[str], None]


class Origin(Value, frozen=True):
    """What numbers were measured with, and on what."""

    version: str
    """Of kedge."""
    fingerprint: str
    """SHA-256 over the names and sizes of all files of the folder."""
    files: int
    """That are sessions."""
    sessions: int | None
    """With turns; none where sessions are not told apart."""
    seed: int | None
    """Of the intervals; none where nothing is drawn."""
    resamples: int


class Session(NamedTuple):
    """One session of a file below the folder."""

    file: str
    """Its path, as seen from the folder."""
    number: int
    """Which, where a file holds several."""
    transcript: Transcript

    @property
    def key(self) -> str:
        """Tells it from all others of the folder."""
        return f"{self.file} {self.number}"


class Corpus:
    """Every session with turns below a folder; counts what it has given."""

    def __init__(self, folder: Path, *, watch: Watch, counter: Counter | None = EXACT) -> None:
        self._folder, self._watch, self._counter = folder, watch, counter
        self.paths = files_below(folder)
        self.files = self.sessions = 0

    def __iter__(self) -> Iterator[Session]:
        """Files that are no sessions are passed over."""
        for path in self.paths:
            name = path.relative_to(self._folder).as_posix()
            self._watch(name)
            try:
                transcripts = read_all(path, counter=self._counter)
            except (NotATranscript, SourceUnreadable):
                continue
            self.files += 1
            for number, transcript in enumerate(transcripts):
                if transcript.turns:
                    self.sessions += 1
                    yield Session(name, number, transcript)

    def origin(self) -> Origin:
        """Of means over the sessions that were given."""
        return Origin(
            version=version("kedge"),
            fingerprint=fingerprint(self._folder, self.paths),
            files=self.files,
            sessions=self.sessions,
            seed=SEED,
            resamples=RESAMPLES,
        )


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def fingerprint(folder: Path, paths: Sequence[Path] | None = None) -> str:
    """SHA-256 over the names and sizes of files: all below the folder, or those given."""
    chosen = files_below(folder) if paths is None else paths
    listed = sorted((path.relative_to(folder).as_posix(), path.stat().st_size) for path in chosen)
    text = "".join(f"{name}\0{size}\n" for name, size in listed)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
