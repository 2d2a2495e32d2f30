"""`kedgeline hook`: one entry for all events of all hosts. It never blocks or breaks the host:
whatever happens it ends with 0, and says nothing where it has nothing to say.

What runs at every word and every call loads nothing but the standard library; the work is done by
a process of its own that the host does not wait for. `kedgeline statusline` starts the same way."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from kedgeline.hosts import places

HOSTS = ("claude-code", "codex", "gemini-cli", "opencode")
PLAIN = ("claude-code", "opencode")
"""Hosts that add what a hook prints before a compaction to the prompt of their summariser. Codex
and Gemini CLI do not, and take what looks like an answer for a faulty one."""
SUMMARISED = ("codex", "opencode")
"""Hosts whose summary stands in the transcript when they start the session anew. Codex may work on
for hours before the next word of the user, and calls for nothing else that could be added to."""
SILENT = ("gemini-cli",)
"""Hosts that do not call after a compaction: all that is put back goes with the next word or call.
"""
UNTOLD = ("claude-code",)
"""Hosts that do not call before a compaction of which kedgeline made the new context."""
SAME: dict[str, str] = {
    "AfterAgent": "Stop",
    "AfterTool": "PostToolBatch",
    "BeforeAgent": "UserPromptSubmit",
    "PreCompress": "PreCompact",
    "session.idle": "Stop",
    "session.compacted": "PostCompact",
    "experimental.session.compacting": "PreCompact",
}
"""Events of other hosts, under the names that Claude Code has for them."""
CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolBatch")
"""Events whose answer may add to the context."""
WORKING = ("PostToolUse", "PostToolBatch")
"""What hosts tell of while an agent works, many times a minute."""
OF_BEFORE = (
    *(places.RULES, places.STEERING, places.LACKING, places.SUMMARY),
    *(places.PUT_BACK, places.COMPACTING),
)
"""What goes when the user begins anew."""

HARD_STOP = 5.0
"""Seconds after which it ends, whatever it does: hosts wait for their hooks."""
PATIENCE = 3.5
"""Seconds that a host waits for a session to be up to date, before it compacts or right after."""
START_SECONDS = 3.0
"""Time that a worker may take to begin on a busy machine. Whoever calls later starts another."""
REST = 15.0
"""Seconds between two looks at a session while its agent works: each is a process of its own, and
before a compaction there is one anyway."""
LOOK_EVERY = 0.01
LARGEST, LARGEST_STATUS = 50_000_000, 1_000_000
"""Bytes of an event, and of what is new in a transcript, that are read; of what a host tells of its
state."""
FAILURE_SHOWN = 300
"""Characters of a failure that its user is told."""
LISTED, SNAPSHOT = b'{"$set"', b"<state_snapshot>"
"""How the record of a compaction of Gemini CLI begins, and what stands in it. The record of a
session that is resumed looks the same where it was compressed before: then a look too many is
taken."""
STANDARD = (0, 1, 2)
"""Descriptors of input, output and errors."""


class HookEvent(NamedTuple):
    name: str
    """As Claude Code calls it."""
    host: str
    session: str
    """A name that may stand in a path."""
    transcript: str
    source: str
    """Why a session starts: startup, resume, clear, compact."""
    agent: str
    """The sub-agent it is about; empty for the main conversation."""
    fields: dict[str, Any]
    """All that was told."""


class _Answer(NamedTuple):
    """What is printed, and which of the texts that were made ready are in it."""

    text: str = ""
    rules: str = ""
    lacking: str = ""


def main(arguments: list[str]) -> NoReturn:
    """Read the event, answer, end with 0."""

    def answer() -> None:
        stop = threading.Timer(HARD_STOP, _give_up)
        stop.daemon = True
        stop.start()
        if host := _host(arguments):
            event_answered(sys.stdin.buffer.read(LARGEST), host, _say)

    _ending(answer)


def status_line() -> NoReturn:
    """Read what the host tells of itself, print a line, end with 0."""

    def answer() -> None:
        try:
            told = json.loads(sys.stdin.buffer.read(LARGEST_STATUS))
            line = places.line_for(told if isinstance(told, dict) else {})
        except Exception as error:  # noqa: BLE001 (a host shows whatever is printed)
            places.log(f"status line: {type(error).__name__}: {error}")
            line = "kedgeline"
        try:
            _say(f"{line}\n")
        except OSError:
            places.log("status line: the host does not listen")

    _ending(answer)


def _ending(work: Callable[[], None]) -> NoReturn:
    """Do it and end with 0: the host must not see any failure."""
    try:
        _claim_standard()
        work()
    except Exception as error:  # noqa: BLE001 (the host must not see any failure)
        places.log(f"failed: {type(error).__name__}: {error}")
    finally:
        os._exit(0)  # whatever still runs in threads is not waited for


def event_answered(data: bytes, host: str, tell: Callable[[str], object] = str) -> str:
    """What is told for an event; the work that it makes is begun."""
    try:
        event = event_of(json.loads(data), host)
    except ValueError:
        places.log(f"what {host} told is not JSON: {data[:80]!r}")
        return ""
    if event is None:
        places.log(f"what {host} told names no event or no session")
        return ""
    folder = places.folder_of(event.session)
    if event.name == "PreCompact" and not event.agent and event.host not in SILENT:
        # What lies ready for the host stays: nothing may come of this compaction.
        _bring_up_to_date(event, folder)
        places.keep(folder, places.COMPACTING, b"")
        if event.host in UNTOLD:
            places.add_line(folder, places.COMPACTIONS, "own")
        steering = places.kept(folder, places.STEERING) if event.host in PLAIN else ""
        _hand_over(_Answer(steering), folder, tell)
        return steering
    answer = _prepared(event, folder)
    answer = answer._replace(text=_with_failure(answer.text, event, folder))
    _hand_over(answer, folder, tell)
    if event.name == "SessionEnd":
        places.keep(folder, places.ENDED, b"")
    if event.name not in WORKING or not _is_younger(folder, places.STATUS, REST):
        _start(event, folder)
    return answer.text


def event_of(told: object, host: str) -> HookEvent | None:
    """None where it is not told what happened, or to which session: then there is nothing to do."""
    if not isinstance(told, dict):
        return None

    def text(key: str) -> str:
        value = told.get(key)
        return value if isinstance(value, str) else ""

    name, session, transcript = text("hook_event_name"), text("session_id"), text("transcript_path")
    if not name or not session:
        return None
    # Of a sub-agent Codex names that one's transcript, until it ends and both are named.
    if host == "codex" and text("agent_id") and not text("agent_transcript_path"):
        transcript = ""
    return HookEvent(
        name=SAME.get(name, name),
        host=host,
        session=places.named(session),
        transcript=transcript,
        source=text("source"),
        agent=text("agent_id"),
        fields=told,
    )


def _say(text: str) -> None:
    """To the host, whatever its locale is."""
    left = memoryview(places.runnable(text).encode("utf-8", "replace"))
    while left:
        left = left[os.write(STANDARD[1], left) :]


def _claim_standard() -> None:
    """A host may have closed them: the next file to be opened must not be written the answer. What
    takes their place can only be read, so that what is said to nobody fails."""
    for number in STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _host(arguments: list[str]) -> str:
    """The one that calls; none where it is not one that is known: its answers would be guessed."""
    words = [*(word for one in arguments for word in one.split("=", 1)), ""]
    if "--host" not in words:
        return HOSTS[0]
    host = words[words.index("--host") + 1]
    if host not in HOSTS:
        places.log(f"no answer: {host!r} is not a host; those known are {', '.join(HOSTS)}")
        return ""
    return host


def _give_up() -> None:
    places.log(f"given up after {HARD_STOP:g} seconds")
    os._exit(0)


# What was made ready, put into an answer.


def _prepared(event: HookEvent, folder: str) -> _Answer:
    """Nothing is worked out here."""
    if event.agent:
        return _Answer()
    if event.name == "SessionStart" and event.source == "clear":
        # A worker that is at it now must not make anything ready of before either.
        places.keep(folder, places.CLEARED, b"")
        for name in OF_BEFORE:
            places.forget(folder, name)
    elif event.name == "SessionStart" and event.source == "compact":
        return _put_back(event, folder)
    elif event.name == "PostCompact":
        summary = event.fields.get("compact_summary")
        told = summary if isinstance(summary, str) else ""
        places.keep(folder, places.SUMMARY, told.encode("utf-8", "replace"))
    elif event.name in CONTEXT_EVENTS:
        return _unasked(event, folder) if event.host in SILENT else _with_lacking(event, folder)
    return _Answer()


def _unasked(event: HookEvent, folder: str) -> _Answer:
    """Where no event tells of a compaction. What is said when a session starts is put before the
    user's words, and when it is resumed, Gemini CLI forgets both."""
    if event.name == "SessionStart" or is_of_sub_agent(event):
        return _Answer()
    if has_compacted(event, folder):
        places.forget(folder, places.PUT_BACK)
        _bring_up_to_date(event, folder)
    return _with_lacking(event, folder)


def _put_back(event: HookEvent, folder: str) -> _Answer:
    """The rules at once; where the host's summary can be read already, what it lacks as well."""
    places.forget(folder, places.PUT_BACK)
    if event.host in SUMMARISED:
        _bring_up_to_date(event, folder)
    elif _time_of(folder, places.LACKING) <= _time_of(folder, places.COMPACTING):
        places.forget(folder, places.LACKING)  # it is of the compaction before
    places.forget(folder, places.COMPACTING)
    return _with_lacking(event, folder, places.kept(folder, places.RULES))


def _with_lacking(event: HookEvent, folder: str, rules: str = "") -> _Answer:
    """What is lacking is taken last: whatever goes wrong before, it is still there. In a context of
    our own nothing is."""
    if _is_ours(folder):
        places.forget(folder, places.LACKING)
        return _Answer()
    lacking = places.taken(folder, places.LACKING)
    text = "\n\n".join(filter(None, (rules, lacking)))
    return _Answer(_adding(event, text), rules, lacking)


def _adding(event: HookEvent, text: str) -> str:
    """The answer that puts a text into the context; nothing where the host has no place for it."""
    if event.name not in CONTEXT_EVENTS or not text:
        return ""
    name = event.fields.get("hook_event_name", event.name)
    told = {"hookEventName": name, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": told})


def _with_failure(text: str, event: HookEvent, folder: str) -> str:
    """With what keeps the session from being followed, for the user to read, once."""
    why = places.kept(folder, places.FAILURE).strip()
    is_asked = event.name == "UserPromptSubmit" and not event.agent
    if not is_asked or not why or why == places.kept(folder, places.FAILURE_TOLD):
        return text
    places.keep(folder, places.FAILURE_TOLD, why.encode("utf-8", "replace"))
    said = f"kedgeline does not follow this session: {why[:FAILURE_SHOWN]}. Run `kedgeline doctor`."
    return json.dumps({**(json.loads(text) if text else {}), "systemMessage": said})


def _hand_over(answer: _Answer, folder: str, tell: Callable[[str], object]) -> None:
    """What did not reach the host is there for the next time; what did is noted."""
    try:
        tell(answer.text)
    except OSError:
        places.log("failed: the host does not listen")
        if answer.lacking and not os.path.exists(os.path.join(folder, places.LACKING)):
            places.keep(folder, places.LACKING, answer.lacking.encode("utf-8", "replace"))
        return
    for kind, text in (("rules", answer.rules), ("lacking", answer.lacking)):
        if text:
            places.add_line(folder, places.GIVEN, f"{kind} {len(text)}")
            places.add_line(folder, places.PUT_BACK, f"{text}\n")


def _is_ours(folder: str) -> bool:
    """Whether kedgeline made the context that the session goes on with."""
    lines = places.kept(folder, places.COMPACTIONS).splitlines()
    ends = [line for line in lines[-3:] if not line.startswith("asked")]
    return bool(ends) and ends[-1].startswith("replaced")


def _time_of(folder: str, name: str) -> float:
    """When a file was written; that one which is not there is never the older one."""
    try:
        return os.stat(os.path.join(folder, name)).st_mtime_ns
    except OSError:
        return float("inf") if name == places.COMPACTING else 0


def _is_younger(folder: str, name: str, seconds: float) -> bool:
    try:
        written = os.stat(os.path.join(folder, name)).st_mtime
    except OSError:
        return False
    return 0 <= time.time() - written < seconds


# A process that does the work of an event while the host goes on.


def start_worker(event: HookEvent, folder: str) -> int | None:
    """Begin to bring the session up to date; if somebody does so already, they do it again. The
    process that was started."""
    # Whoever was called a moment ago and has not begun will find what we would tell it of.
    if not event.transcript or _is_younger(folder, places.AGAIN, START_SECONDS):
        return None
    places.keep(folder, places.AGAIN, b"")
    if _is_held(folder):
        return None
    return spawn("kedgeline.hosts.worker", event.session, event.host, event.transcript, folder)


def spawn(module: str, *words: str) -> int:
    """A module of ours started as a process of its own, which outlives this one. Its errors go to
    the log."""
    # -P: it runs in the folder of a project, whose modules are nobody's to load
    program = [sys.executable, "-P", "-m", module, *words]
    nothing = told = os.open(os.devnull, os.O_RDWR)
    with suppress(OSError):
        told = places.log_file()
    ends = ((nothing, 0), (nothing, 1), (told, 2))
    actions = [(os.POSIX_SPAWN_DUP2, opened, number) for opened, number in ends]
    try:
        return os.posix_spawn(
            sys.executable, program, os.environ, file_actions=actions, setsid=True
        )
    finally:
        for descriptor in {nothing, told}:
            os.close(descriptor)


def is_busy(folder: str) -> bool:
    """Whether a worker is at it, or is just being started."""
    return os.path.exists(os.path.join(folder, places.AGAIN)) or _is_held(folder)


def _is_held(folder: str) -> bool:
    """Whether a worker is at it."""
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        descriptor = os.open(os.path.join(folder, places.LOCK), flags, places.OWN_FILE)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _start(event: HookEvent, folder: str) -> int | None:
    """An answer does not wait for what can go wrong here."""
    try:
        return start_worker(event, folder)
    except OSError as error:
        places.log(f"{event.session}: no worker: {type(error).__name__}: {error}")
        places.forget(folder, places.AGAIN)
        return None


def _bring_up_to_date(event: HookEvent, folder: str) -> None:
    """Where that takes too long or fails, what is known from before must do."""
    process = _start(event, folder)
    deadline = time.monotonic() + PATIENCE
    while event.transcript and is_busy(folder):
        if process and _has_failed(process):
            places.log(f"{event.session}: the worker could not do it; what it said stands above")
            return
        if time.monotonic() > deadline:
            places.log(f"{event.session}: not up to date within {PATIENCE:g} seconds")
            return
        time.sleep(LOOK_EVERY)


def _has_failed(process: int) -> bool:
    """Whether a worker of ours has ended with an error: what it was to do is not going to come."""
    try:
        ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return ended is not None and ended.si_status != 0


# Gemini CLI does not tell of a compaction: its transcript does.


def has_compacted(event: HookEvent, folder: str) -> bool:
    """Whether the transcript has a compaction in what is new since the last look. Before the first
    look nothing is new: whoever looks begins a worker that reads all of it."""
    from kedgeline.errors import SourceUnreadable
    from kedgeline.pipeline.read import plain_file  # not needed for most hosts

    try:
        with plain_file(event.transcript) as file:
            size = os.fstat(file.fileno()).st_size
            told = places.kept(folder, places.LOOKED_THROUGH)
            start = int(told) if told.isdecimal() else size
            start = start if start <= size else 0  # it began anew
            file.seek(start)
            new = file.read(LARGEST)
    except (OSError, SourceUnreadable):
        return False
    whole = new.rfind(b"\n") + 1
    if start + len(new) < size:  # so much that is new is as good as a compaction
        places.forget(folder, places.LOOKED_THROUGH)
        return True
    places.keep(folder, places.LOOKED_THROUGH, str(start + whole).encode())
    lines = new[:whole].splitlines()
    return any(line.startswith(LISTED) and SNAPSHOT in line for line in lines)


def is_of_sub_agent(event: HookEvent) -> bool:
    """Whether a sub-agent is at work: its calls are told of as if they were of the main
    conversation, but only its own record grows."""
    name = event.fields.get("session_id")
    beside = os.path.join(os.path.dirname(event.transcript), str(name))
    try:
        written = os.stat(event.transcript).st_mtime_ns
        with os.scandir(beside) as found:
            return any(one.stat().st_mtime_ns > written for one in found)
    except OSError:
        return False
