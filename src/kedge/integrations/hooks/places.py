"""Where the hooks keep what they need between two calls. Nothing heavy is loaded here."""

from __future__ import annotations

import os
import time

PRIVATE = 0o700
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
"""There while a host that does not call after a compaction may have made one."""
SUMMARY = "host-summary.txt"
"""What the host wrote, until it was looked at."""
STATUS = "status.json"
LOCK, AGAIN = "lock", "again"


def home() -> str:
    state = os.environ.get("XDG_STATE_HOME", "")
    root = state if state.startswith("/") else os.path.expanduser("~/.local/state")
    return os.path.join(root, "kedge", "hooks")


def folder_of(session: str) -> str:
    """The session's own folder, which only its owner may look into."""
    folder = os.path.join(home(), session)
    os.makedirs(folder, mode=PRIVATE, exist_ok=True)
    return folder


def kept(folder: str, name: str) -> str:
    """A text; empty where there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def keep(folder: str, name: str, data: bytes) -> None:
    """Put a file in the place of the one that is there, whole or not at all."""
    path = os.path.join(folder, name)
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


def taken(folder: str, name: str) -> str:
    """A text that is given once: whoever takes it first has it."""
    path = os.path.join(folder, name)
    mine = f"{path}.{os.getpid()}.taken"
    try:
        os.replace(path, mine)
    except OSError:
        return ""
    try:
        with open(mine, encoding="utf-8") as file:
            return file.read()
    finally:
        os.unlink(mine)


def forget(folder: str, name: str) -> None:
    try:
        os.unlink(os.path.join(folder, name))
    except OSError:
        return


def log(what: str) -> None:
    """A line for who looks why nothing happened. Where it cannot be written, nobody is told."""
    path = os.path.join(home(), "log")
    try:
        os.makedirs(home(), mode=PRIVATE, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > MOST_LOG:
            os.replace(path, f"{path}.1")
        line = " ".join(what.split())[:2_000]
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}\n")
    except OSError:
        return
