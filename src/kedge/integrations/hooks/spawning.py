"""A process that does the work of an event while the host goes on. Nothing heavy is loaded here."""

from __future__ import annotations

import os
import sys

from kedge.integrations.hooks import places
from kedge.integrations.hooks.events import Event


def start_worker(event: Event, folder: str) -> None:
    """Begin to bring the session up to date; if somebody does so already, they do it again."""
    if not event.transcript:
        return
    places.keep(folder, places.AGAIN, b"")
    if is_held(folder):
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    program = [
        sys.executable,
        "-m",
        "kedge.integrations.hooks.work",
        event.session,
        event.host,
        event.transcript,
        folder,
    ]
    actions = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)]
    try:
        os.posix_spawn(sys.executable, program, os.environ, file_actions=actions, setsid=True)
    finally:
        os.close(nothing)


def is_busy(folder: str) -> bool:
    """Whether a worker is at it, or is just being started."""
    return os.path.exists(os.path.join(folder, places.AGAIN)) or is_held(folder)


def is_held(folder: str) -> bool:
    """Whether a worker is at it."""
    import fcntl

    try:
        descriptor = os.open(os.path.join(folder, places.LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
