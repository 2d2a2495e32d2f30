"""A process that does the work of an event while the host goes on. Nothing heavy is loaded here."""

from __future__ import annotations

import os
import sys
import time

from kedge.integrations.hooks import places
from kedge.integrations.hooks.events import Event

START_SECONDS = 3.0
"""Time that a worker may take to begin on a busy machine. Whoever calls later starts another."""


def start_worker(event: Event, folder: str) -> int | None:
    """Begin to bring the session up to date; if somebody does so already, they do it again. The
    process that was started."""
    if not event.transcript:
        return None
    if _is_starting(folder):
        return None
    places.keep(folder, places.AGAIN, b"")
    if is_held(folder):
        return None
    # -P: it runs in the folder of a project, whose modules are nobody's to load
    program = [
        sys.executable,
        "-P",
        "-m",
        "kedge.integrations.hooks.work",
        event.session,
        event.host,
        event.transcript,
        folder,
    ]
    nothing = os.open(os.devnull, os.O_RDWR)
    told = _log_or(nothing)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, nothing, 1)]
    actions.append((os.POSIX_SPAWN_DUP2, told, 2))
    try:
        return os.posix_spawn(
            sys.executable, program, os.environ, file_actions=actions, setsid=True
        )
    finally:
        for descriptor in {nothing, told}:
            os.close(descriptor)


def _is_starting(folder: str) -> bool:
    """Whether one was called for a moment ago and has not begun: what it will find is what we would
    tell it of."""
    try:
        called = os.stat(os.path.join(folder, places.AGAIN)).st_mtime
    except OSError:
        return False
    return 0 <= time.time() - called < START_SECONDS


def has_failed(process: int) -> bool:
    """Whether a worker of ours has ended with an error: what it was to do is not going to come."""
    try:
        ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return ended is not None and ended.si_status != 0


def _log_or(nothing: int) -> int:
    try:
        return places.log_file()
    except OSError:
        return nothing


def is_busy(folder: str) -> bool:
    """Whether a worker is at it, or is just being started."""
    return os.path.exists(os.path.join(folder, places.AGAIN)) or is_held(folder)


def is_held(folder: str) -> bool:
    """Whether a worker is at it."""
    import fcntl

    try:
        descriptor = os.open(
            os.path.join(folder, places.LOCK),
            os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW,
            places.OWN_FILE,
        )
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
