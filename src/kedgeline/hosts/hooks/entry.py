"""`kedgeline hook`: one entry for all events of all hosts. It never blocks or breaks the host:
whatever happens it ends with 0, and says nothing where it has nothing to say.

What runs at every word and every call loads nothing but the standard library; the work is done by a
process of its own that the host does not wait for."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple, NoReturn

from kedgeline.hosts.hooks import places
from kedgeline.hosts.hooks.events import (
    REPLACING,
    SILENT,
    SUMMARISED,
    Event,
    adding,
    claim_standard,
    event_of,
    has_compacted,
    is_of_sub_agent,
    is_shown_for,
    left_of,
    say,
    steering,
    told_with,
)

# A process that does the work of an event while the host goes on.

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
        "kedgeline.hosts.hooks.work",
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


# A large output made shorter as it comes in: the whole of it is kept, and what stands in its place
# says where.

LARGE = 24_000
"""Characters from which on an output is looked at: some 6,000 tokens. Nothing heavy is loaded for
less."""
LEFT = 1_500
"""Tokens that are left of it: head, tail and the lines that tell of errors."""
FIELDS = ("stdout", "output", "llmContent")
"""Where hosts have the text of an output."""
ERRORS = "stderr"
"""Where hosts have what a program told of errors, beside its output."""
ENCODED = "data:"
"""What begins so is an image or the like: a part of it is nothing."""

_PLAIN = re.compile(r"[A-Za-z0-9._:-]{1,200}")
"""An id that may stand in a line for a shell; any other is known by its hash."""


def reduced(event: Event) -> Any:
    """What the host is to show the model in the place of an output, in the same shape; None where
    it stays as it is."""
    told, call_id = event.fields.get("tool_response"), event.fields.get("tool_use_id")
    if event.host not in REPLACING or not isinstance(call_id, str) or not call_id:
        return None
    if not _PLAIN.fullmatch(call_id):
        call_id = "call-" + sha256(call_id.encode("utf-8", "replace")).hexdigest()[:32]
    if isinstance(told, str):
        return _shorter(told, event, call_id) if _is_large(told) else None
    if not isinstance(told, dict) or told.get("isImage") is True:
        return None
    changed = {}
    if name := next((name for name in FIELDS if _is_large(told.get(name))), ""):
        changed[name] = _shorter(told[name], event, call_id)
    if _is_large(told.get(ERRORS)):  # kept apart: an id has one text
        changed[ERRORS] = _shorter(told[ERRORS], event, f"{call_id}-{ERRORS}")
    return {**told, **changed} if changed else None


def _is_large(text: object) -> bool:
    return isinstance(text, str) and len(text) >= LARGE and not text.startswith(ENCODED)


def _shorter(text: str, event: Event, call_id: str) -> str:
    from kedgeline.hosts.hooks.work import opened_session
    from kedgeline.model import ToolCall
    from kedgeline.text.shortening import shortened

    given = event.fields.get("tool_input")
    call = ToolCall(
        id=call_id,
        tool=str(event.fields.get("tool_name") or ""),
        parameters=given if isinstance(given, dict) else {},
    )
    with opened_session(event.session) as session:
        mark = session.keep_output(call, text)
        count = session.keeping.counter.count
        left = shortened(text, room=LEFT, count=count)
        shorter = (
            f"{left}\n[kedgeline left out a part of this output, and kept all of it: "
            f"kedgeline show {event.session} {mark}]"
        )
        line = f"{count(text)} {count(shorter)}"
    places.add_line(places.folder_of(event.session), places.REDUCED, line)
    return shorter


HARD_STOP = 5.0
"""Seconds after which it ends, whatever it does: hosts wait for their hooks."""
PATIENCE = 3.5
"""Seconds that a host waits for a session to be up to date, before it compacts or right after."""
LOOK_EVERY = 0.01
LARGEST = 50_000_000
"""Bytes of an event that are read: a tool's output may be among them."""
WORKING = ("PostToolUse", "PostToolBatch")
"""What hosts tell of while an agent works, many times a minute."""
REST = 15.0
"""Seconds between two looks at a session while its agent works: each is a process of its own, and
before a compaction there is one anyway."""
OF_BEFORE = (
    *(places.RULES, places.STEERING, places.LACKING, places.SUMMARY),
    *(places.PUT_BACK, places.COMPACTING, places.PRINTED),
)
"""What goes when the user begins anew."""
HOSTS = ("claude-code", "codex", "gemini-cli", "opencode")


class Answer(NamedTuple):
    """What is printed, and which of the texts that were made ready are in it."""

    text: str = ""
    rules: str = ""
    lacking: str = ""
    printed: str = ""
    """What the agent reads beside the host's summary."""


NOTHING = Answer()


def main(arguments: list[str]) -> NoReturn:
    """Read the event, answer, end with 0."""
    try:
        claim_standard()
        stop = threading.Timer(HARD_STOP, _give_up)
        stop.daemon = True
        stop.start()
        if host := _host(arguments):
            answered(sys.stdin.buffer.read(LARGEST), host, say)
    except Exception as error:  # noqa: BLE001 (the host must not see any failure)
        places.log(f"failed: {type(error).__name__}: {error}")
    finally:
        os._exit(0)  # whatever still runs in threads is not waited for


def answered(data: bytes, host: str, tell: Callable[[str], object] = str) -> str:
    """What is told for an event; the work that it makes is begun."""
    try:
        event = event_of(json.loads(data), host)
    except ValueError:
        places.log(f"what {host} told is no JSON: {data[:80]!r}")
        return ""
    if event is None:
        places.log(f"what {host} told names no event or no session")
        return ""
    folder = places.folder_of(event.session)
    if event.name == "PreCompact" and not event.agent and event.host not in SILENT:
        answer = _before_compaction(event, folder)
        _hand_over(answer, folder, tell)
        return answer.text
    answer = _light(event, folder)
    _hand_over(answer, folder, tell)
    if event.name == "SessionEnd":
        places.keep(folder, places.ENDED, b"")
    if event.name not in WORKING or not _is_fresh(folder):
        _start(event, folder)
    return answer.text


def _hand_over(answer: Answer, folder: str, tell: Callable[[str], object]) -> None:
    """What did not reach the host is there for the next time; what did is noted."""
    try:
        tell(answer.text)
    except OSError:
        places.log("failed: the host does not listen")
        if answer.lacking and not os.path.exists(os.path.join(folder, places.LACKING)):
            places.keep(folder, places.LACKING, answer.lacking.encode("utf-8", "replace"))
        return
    if answer.printed:
        places.keep(folder, places.PRINTED, answer.printed.encode("utf-8", "replace"))
    for kind, text in (("rules", answer.rules), ("lacking", answer.lacking)):
        if text:
            places.add_line(folder, places.GIVEN, f"{kind} {len(text)}")
            places.add_line(folder, places.PUT_BACK, f"{text}\n")


def _before_compaction(event: Event, folder: str) -> Answer:
    """What lies ready for the host stays: nothing may come of this compaction."""
    places.forget(folder, places.PRINTED)  # for the compaction before
    _bring_up_to_date(event, folder)
    places.keep(folder, places.COMPACTING, b"")
    text = steering(event, places.kept(folder, places.STEERING))
    return Answer(text, printed=text if is_shown_for(event) else "")


def _light(event: Event, folder: str) -> Answer:
    """What was prepared before; nothing is worked out here, but where an output is too large."""
    if event.name == "PostToolUse":
        output = _reduced(event)
        if event.agent:
            return Answer(adding(event, "", output))
        return _adding(event, folder, output=output)
    if event.agent:
        return NOTHING
    if event.name == "SessionStart" and event.source == "clear":
        _clear(folder)
    elif event.name == "SessionStart" and event.source == "compact":
        return _put_back(event, folder)
    elif event.name == "PostCompact":
        summary = event.fields.get("compact_summary")
        told = summary if isinstance(summary, str) else ""
        places.keep(folder, places.SUMMARY, told.encode("utf-8", "replace"))
    elif event.name in ("SessionStart", "UserPromptSubmit", "PostToolBatch"):
        return _unasked(event, folder) if event.host in SILENT else _adding(event, folder)
    return NOTHING


def _unasked(event: Event, folder: str) -> Answer:
    """Where no event tells of a compaction. What is said when a session starts is put before the
    user's words, and when it is taken up again, Gemini CLI forgets both."""
    if event.name == "SessionStart" or is_of_sub_agent(event):
        return NOTHING
    if has_compacted(event, folder):
        places.forget(folder, places.PUT_BACK)
        _bring_up_to_date(event, folder)
    return _adding(event, folder)


def _adding(event: Event, folder: str, rules: str = "", output: Any = None) -> Answer:
    """What is lacking is taken last: whatever goes wrong before, it is still there."""
    lacking = places.taken(folder, places.LACKING)
    text = "\n\n".join(filter(None, (rules, lacking)))
    return Answer(adding(event, text, output), rules, lacking)


def _reduced(event: Event) -> Any:
    try:
        return reduced(event)
    except Exception as error:  # noqa: BLE001 (the output stays as it is)
        places.log(f"{event.session}: an output stays whole: {type(error).__name__}: {error}")
        return None


def _clear(folder: str) -> None:
    """The user began anew: nothing of before is to come back, and nothing that a worker that is at
    it now finds."""
    places.keep(folder, places.CLEARED, b"")
    for name in OF_BEFORE:
        places.forget(folder, name)


def _put_back(event: Event, folder: str) -> Answer:
    """The rules at once; where the host's summary can be read already, what it lacks as well."""
    places.forget(folder, places.PUT_BACK)
    if event.host in SUMMARISED:
        _bring_up_to_date(event, folder)
    elif not _is_of_this_compaction(folder):
        places.forget(folder, places.LACKING)
    places.forget(folder, places.COMPACTING)
    rules, printed = places.kept(folder, places.RULES), places.kept(folder, places.PRINTED)
    answer = _adding(event, folder, left_of(rules, printed))
    return answer._replace(rules=told_with(rules, printed))


def _is_of_this_compaction(folder: str) -> bool:
    """Whether what lies ready was found out since the host began to compact."""
    began, found = (os.path.join(folder, one) for one in (places.COMPACTING, places.LACKING))
    try:
        return os.stat(found).st_mtime_ns > os.stat(began).st_mtime_ns
    except OSError:
        return False


def _bring_up_to_date(event: Event, folder: str) -> None:
    """Where that takes too long or fails, what is known from before must do."""
    process = _start(event, folder)
    if not event.transcript:
        return
    deadline = time.monotonic() + PATIENCE
    while is_busy(folder):
        if process and has_failed(process):
            places.log(f"{event.session}: the worker could not do it; what it said stands above")
            return
        if time.monotonic() > deadline:
            places.log(f"{event.session}: not up to date within {PATIENCE:g} seconds")
            return
        time.sleep(LOOK_EVERY)


def _is_fresh(folder: str) -> bool:
    """Whether the session was looked at a moment ago."""
    try:
        looked = os.stat(os.path.join(folder, places.STATUS)).st_mtime
    except OSError:
        return False
    return 0 <= time.time() - looked < REST


def _start(event: Event, folder: str) -> int | None:
    """An answer does not wait for what can go wrong here."""
    try:
        return start_worker(event, folder)
    except OSError as error:
        places.log(f"{event.session}: no worker: {type(error).__name__}: {error}")
        places.forget(folder, places.AGAIN)
        return None


def _host(arguments: list[str]) -> str:
    """The one that calls; none where it is not one that is known: its answers would be guessed."""
    given = [*arguments, ""]
    for place, one in enumerate(arguments):
        if one == "--host" or one.startswith("--host="):
            host = given[place + 1] if one == "--host" else one.removeprefix("--host=")
            if host in HOSTS:
                return host
            places.log(f"no answer: {host!r} is no host; those known are {', '.join(HOSTS)}")
            return ""
    return HOSTS[0]


def _give_up() -> None:
    places.log(f"given up after {HARD_STOP:g} seconds")
    os._exit(0)
