"""What SQLite reports, in our words; the only place that knows its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from kedge.errors import FileRefused, KedgeError, StoreBusy, StoreFailed

BUSY_SECONDS = 30.0
"""How long a call waits for another writer. One append takes milliseconds, a migration seconds."""
SAFE_AGAIN = "what was written last may not be there; appending the same again is safe"
DAMAGED = "run `kedge fsck` to see what is damaged; nothing was written"

_WHY: tuple[tuple[type[apsw.Error], str, str], ...] = (
    (apsw.FullError, "no space is left", f"make room, then try again: {SAFE_AGAIN}"),
    (apsw.IOError, "the disk reports an error", f"check the disk, then try again: {SAFE_AGAIN}"),
    (apsw.CorruptError, "the database is damaged", DAMAGED),
    (apsw.ReadOnlyError, "it may not be written to", "check its permissions; nothing was written"),
    (apsw.CantOpenError, "it cannot be opened", "check the path and its permissions"),
    (apsw.PermissionsError, "it may not be opened", "check its permissions"),
    (apsw.TooBigError, "an entry is larger than SQLite can keep", "nothing was written"),
    (apsw.NoMemError, "no memory is left", "nothing was written; try again"),
)
_OTHER = "close what else has it open, then try again; nothing was written"


def in_our_words(place: str, error: apsw.Error) -> KedgeError:
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(place, BUSY_SECONDS)
    if isinstance(error, apsw.NotADBError):
        return FileRefused(place, "it is no SQLite database; move it away")
    for kind, why, next_step in _WHY:
        if isinstance(error, kind):
            return StoreFailed(place, f"{why} ({error})", next_step=next_step)
    return StoreFailed(place, str(error) or type(error).__name__, next_step=_OTHER)


@contextmanager
def reported(place: str) -> Iterator[None]:
    """Raise what SQLite raises as an error of ours."""
    try:
        yield
    except apsw.Error as error:
        raise in_our_words(place, error) from error
