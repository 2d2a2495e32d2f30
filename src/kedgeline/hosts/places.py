"""What the hooks keep of a session between two calls, and the line that `kedgeline statusline`
makes of it. Nothing heavy is loaded here."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from contextlib import suppress
from errno import EPERM
from hashlib import sha256
from shlex import quote
from typing import Any

PRIVATE, OWN_FILE, OTHERS_WRITE = 0o700, 0o600, 0o022
SOMEBODY_ELSES = "it belongs to somebody else"
MOST_LOG = 1_000_000
"""Bytes of the log before it begins anew; one older part is kept."""
FAILURE_SHOWN = 80
"""Characters of a failure that a status line has room for."""
UNANSWERED = "kedgeline did not answer in time"

TAIL = "tail"
"""What reading resumes from."""
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
"""Bytes of the transcript that were searched: for a compaction, of a host that tells of none; for
outputs in files, of one that has them."""
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
COMPACTIONS = "replaced"
"""A line for each thing that happened to a compaction of the main conversation: `asked`, then
`replaced BEFORE AFTER MILLISECONDS` or `left WHY`; `own` where the host made one by itself."""
AHEAD, AHEAD_LOCK = "ahead", "ahead-lock"
"""What is there already of the context that the host's compaction will be replaced with."""
WINDOW = "window"
"""Tokens that the host's model takes, where the host has told them."""
STATUS = "status.json"
FAILURE = "failure"
"""What kept the last look at the session from its end, in a sentence; gone after one that did it.
"""
FAILURE_TOLD = "failure-told"
"""The failure that its user was told of."""
LOCK, AGAIN = "lock", "again"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What may become part of a path. `kedgeline.files` has the same rules and says what is wrong; it
is not loaded here, because what it needs takes longer than all else that a hook does."""
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.IGNORECASE)
"""Names that Windows takes for devices."""


def named(session: str) -> str:
    """A host's id of a session as a name; one that could not be is known by its hash."""
    is_name = _NAME.fullmatch(session) and not session.endswith(".") and session != "log"
    if is_name and not _DEVICE.fullmatch(session):
        return session
    return "session-" + sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def runnable(text: str) -> str:
    """With kedgeline by its path in the commands of a text, where a shell of the host would not
    find it by its name."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if "`kedgeline " not in text or any(os.access(f"{one}/kedgeline", os.X_OK) for one in folders):
        return text
    beside = os.path.join(os.path.dirname(sys.executable), "kedgeline")
    is_there = os.access(beside, os.X_OK)
    words = (beside,) if is_there else (sys.executable, "-P", "-m", "kedgeline")
    return text.replace("`kedgeline ", f"`{' '.join(map(quote, words))} ")


# Files for nobody but their owner.


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
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    with os.fdopen(os.open(os.path.join(folder, name), flags, OWN_FILE), "ab") as file:
        file.write(line.encode("utf-8", "replace") + b"\n")


def forget(folder: str, name: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(folder, name))


def log(what: str) -> None:
    """A line for who looks why nothing happened. Where it cannot be written, nobody is told."""
    line = " ".join(what.split())[:2_000]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with suppress(OSError), os.fdopen(log_file(), "ab") as file:
        file.write(f"{at} {line}\n".encode("utf-8", "replace"))


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
            raise PermissionError(EPERM, "it is not a file")
        _check(found)
        return file.read()


def _check(found: os.stat_result) -> None:
    if found.st_uid != os.getuid():
        raise PermissionError(EPERM, SOMEBODY_ELSES)
    if found.st_mode & OTHERS_WRITE:
        raise PermissionError(EPERM, "others may write to it")


def _fresh() -> str:
    """A part of a name that nobody can know before."""
    return os.urandom(8).hex()


# What is known of a session.


def followed_sessions() -> list[dict[str, Any]]:
    """The status of every session that hooks follow, the one seen last first."""
    names = os.listdir(home()) if os.path.isdir(home()) else []
    found = (status_of(name) for name in names if os.path.isdir(os.path.join(home(), name)))
    return sorted((one for one in found if one), key=lambda one: -float(one.get("at") or 0))


def status_of(session: str) -> dict[str, Any]:
    """What the worker wrote down of a session, and what was handed to its host; empty where nothing
    is known."""
    folder = os.path.join(home(), session)
    found, failure = read_status(folder), kept(folder, FAILURE).strip()
    replaced, window = replaced_in(folder), kept(folder, WINDOW)
    if not found and not failure and not replaced:
        return {}
    return {
        "session": session,
        **found,
        **({"window": int(window)} if window.isdecimal() else {}),
        "put_back": kept(folder, PUT_BACK).strip(),
        "replaced": replaced,
        "failure": failure or None,
    }


def read_status(folder: str) -> dict[str, Any]:
    """Empty where there is none that can be read: then all is found out anew."""
    try:
        found = json.loads(kept_bytes(folder, STATUS))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def replaced_in(folder: str) -> dict[str, Any] | None:
    """Of the compactions of a session: how many were replaced, the tokens of the last one before
    and after, how many the host made without asking, how many were left to it and why, and why the
    last one was; None where none was."""
    replaced = own = 0
    left: dict[str, int] = {}
    tokens: list[int] = []
    before = last_left = ""
    for line in kept(folder, COMPACTIONS).splitlines():
        what, _, why = line.partition(" ")
        if before == "asked" and what in ("asked", "own"):
            what, why = ("left" if what == "own" else what), UNANSWERED
            left[why] = left.get(why, 0) + 1
        elif what == "left":
            left[why] = left.get(why, 0) + 1
        elif what == "own" and before != "left":  # else it is counted already
            own += 1
        if what == "replaced":
            replaced += 1
            tokens = [int(one) for one in why.split()[:2] if one.isdecimal()]
        last_left = why if what == "left" else "" if what == "replaced" else last_left
        before = what
    if not (replaced or own or left):
        return None
    return {
        "replaced": replaced,
        "tokens": tokens,
        "own": own,
        "left": left,
        "last_left": last_left or None,
    }


def line_for(told: dict[str, Any]) -> str:
    """Context used, the last compaction and its score, what was put back; or what
    keeps kedgeline from working."""
    window, session = told.get("context_window"), told.get("session_id")
    status = status_of(named(session)) if isinstance(session, str) and session else {}
    if failure := status.get("failure"):
        return f"kedgeline FAILED: {failure[:FAILURE_SHOWN]} · run `kedgeline doctor`"
    told_size = window.get("context_window_size") if isinstance(window, dict) else None
    if status and isinstance(told_size, int) and told_size != status.get("window"):
        keep(folder_of(str(status["session"])), WINDOW, str(told_size).encode())
    used = window.get("used_percentage") if isinstance(window, dict) else None
    if not isinstance(used, int | float):
        tokens, size = status.get("context_tokens"), status.get("window")
        used = 100 * tokens / size if isinstance(tokens, int) and size else None
    replaced, last = status.get("replaced") or {}, status.get("last")
    last = last if isinstance(last, dict) else {}
    score, after = last.get("score"), last.get("score_with_put_back")
    before, now = last.get("tokens_before"), last.get("tokens_after")
    freed = before - now if isinstance(before, int) and isinstance(now, int) else 0
    count = status.get("compactions") or 0
    why = (replaced.get("last_left") or "")[:FAILURE_SHOWN]
    with_us = f" → {after:.2f}" if isinstance(after, int | float) else ""
    parts = (
        "kedgeline",
        f"{used:.0f}% used" if used is not None else "",
        f"{count} compaction{'s' if count > 1 else ''}" if count else "",
        f"{replaced['replaced']} replaced" if replaced.get("replaced") else "",
        f"the last left to the host: {why}" if why else "",
        f"probes {score:.2f}{with_us}" if isinstance(score, int | float) else "",
        f"{last['put_back_tokens']:,} tokens put back" if last.get("put_back_tokens") else "",
        f"{freed:,} freed" if freed > 0 else "",
    )
    return " · ".join(part for part in parts if part)
