"""Where the hooks keep what they need between two calls. Nothing heavy is loaded here."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from errno import EPERM

PRIVATE = 0o700
OWN_FILE = 0o600
OTHERS_WRITE = 0o022
SOMEBODY_ELSES = "it belongs to somebody else"
MOST_LOG = 1_000_000
"""Bytes of the log before it begins anew; one older part is kept."""
TAIL = "tail"
"""What reading goes on from."""
STEERING = "steering.md"
"""What a host's summariser is told."""
RULES = "rules.md"
"""What is put back at once after a compaction."""
LACKING = "lacking.md"
"""What a host's summary lacks, to be put back with the next word or call."""
COMPACTING = "compacting"
"""Empty; there from before a compaction until the host starts the session anew. What was lacking
before that is of the compaction before."""
LOOKED_THROUGH = "looked-through"
"""Bytes of the transcript of a host that does not tell of its compactions that were looked through
for one."""
SUMMARY = "host-summary.txt"
"""What the host wrote, until it was looked at."""
CLEARED = "cleared"
"""Empty; its time is when the user last began the session anew. What is about before is not told.
"""
ENDED = "ended"
"""Empty; there from the end of a session until what it cost was written down."""
COST = "cost.md"
"""What a session cost, by agent, model and tool, as it ended."""
GIVEN = "given"
"""A line for each text that a host was handed since the last look: `rules` or `lacking`, and its
characters."""
PUT_BACK = "put-back.md"
"""What the host was handed after its last compaction, for its user to read."""
REDUCED = "reduced"
"""A line for each output that was made shorter: its tokens before and after."""
COMPACTIONS = "replaced"
"""A line for each thing that happened to a compaction of the main conversation: `asked`, then
`replaced BEFORE AFTER MILLISECONDS` or `left WHY`; `own` where the host made one by itself."""
STATUS = "status.json"
FAILURE = "failure"
"""What kept the last look at the session from its end, in a sentence; gone after one that did it.
"""
LOCK, AGAIN = "lock", "again"


def home() -> str:
    state = os.environ.get("XDG_STATE_HOME", "")
    root = state if state.startswith("/") else os.path.expanduser("~/.local/state")
    return os.path.join(root, "kedgeline", "hooks")


def folder_of(session: str) -> str:
    """The session's own folder, which only its owner may look into."""
    folder = os.path.join(_made_home(), session)
    if os.path.lexists(folder):
        _check(os.lstat(folder))
    _make_private(folder)
    return folder


def kept(folder: str, name: str) -> str:
    """A text; empty where there is none, or where it may be somebody else's."""
    return kept_bytes(folder, name).decode("utf-8", "replace")


def kept_bytes(folder: str, name: str) -> bytes:
    """What a file has: only if file and folder are the user's own and nobody else may write them.
    It may be told to an agent, or be loaded."""
    try:
        return _own(folder, name)
    except FileNotFoundError:
        return b""
    except OSError as error:
        log(f"{os.path.join(folder, name)} is not taken: {error.strerror or error}")
        return b""


def keep(folder: str, name: str, data: bytes) -> None:
    """Put a file in the place of the one that is there, whole or not at all."""
    path = os.path.join(folder, name)
    temporary = f"{path}.{_fresh()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWN_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def taken(folder: str, name: str) -> str:
    """A text that is given once: whoever takes it first has it."""
    mine = f"{name}.{_fresh()}.taken"
    try:
        os.replace(os.path.join(folder, name), os.path.join(folder, mine))
    except OSError:
        return ""
    try:
        return kept(folder, mine)
    finally:
        forget(folder, mine)


def add_line(folder: str, name: str, line: str) -> None:
    """Behind what is there, a text of several lines as well."""
    descriptor = os.open(
        os.path.join(folder, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, OWN_FILE
    )
    with os.fdopen(descriptor, "ab") as file:
        file.write(line.encode("utf-8", "replace") + b"\n")


def forget(folder: str, name: str) -> None:
    try:
        os.unlink(os.path.join(folder, name))
    except OSError:
        return


def log(what: str) -> None:
    """A line for who looks why nothing happened. Where it cannot be written, nobody is told."""
    line = " ".join(what.split())[:2_000]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        with os.fdopen(log_file(), "ab") as file:
            file.write(f"{at} {line}\n".encode("utf-8", "replace"))
    except OSError:
        return


def log_file() -> int:
    """A descriptor that adds to the log."""
    path = os.path.join(_made_home(), "log")
    if os.path.exists(path) and os.path.getsize(path) > MOST_LOG:
        os.replace(path, f"{path}.1")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, OWN_FILE)
    try:
        os.fchmod(descriptor, OWN_FILE)  # it may be there from before, for all to read
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _made_home() -> str:
    ours = home()
    kedgeline = os.path.dirname(ours)
    os.makedirs(os.path.dirname(kedgeline), exist_ok=True)
    _make_private(kedgeline)
    _make_private(ours)
    return ours


def _make_private(folder: str) -> None:
    """Ours, and closed to all others. One that is somebody else's is an error."""
    with suppress(FileExistsError):
        os.mkdir(folder, PRIVATE)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.getuid():
            raise PermissionError(EPERM, SOMEBODY_ELSES, folder)
        if stat.S_IMODE(found.st_mode) != PRIVATE:
            os.fchmod(descriptor, PRIVATE)
    finally:
        os.close(descriptor)


def _own(folder: str, name: str) -> bytes:
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check(os.fstat(inside))
        # without waiting: what stands there may be a pipe
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(name, flags, dir_fd=inside)
    finally:
        os.close(inside)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(EPERM, "it is no file")
        _check(found)
        return file.read()


def _check(found: os.stat_result) -> None:
    if found.st_uid != os.getuid():
        raise PermissionError(EPERM, SOMEBODY_ELSES)
    if found.st_mode & OTHERS_WRITE:
        raise PermissionError(EPERM, "others may write it")


def _fresh() -> str:
    """A part of a name that nobody can know before."""
    return os.urandom(8).hex()
