"""`kedge hook`: one entry for all events of all hosts. It never blocks or breaks the host: whatever
happens it ends with 0, and says nothing where it has nothing to say.

What runs at every word and every call loads nothing but the standard library; the work is done by a
process of its own that the host does not wait for."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from kedge.integrations.hooks import places
from kedge.integrations.hooks.answers import (
    SILENT,
    SUMMARISED,
    adding,
    claim_standard,
    say,
    steering,
)
from kedge.integrations.hooks.events import Event, event_of
from kedge.integrations.hooks.printed import is_shown_for, left_of, told_with
from kedge.integrations.hooks.reducing import reduced
from kedge.integrations.hooks.silent import has_compacted, is_of_sub_agent
from kedge.integrations.hooks.spawning import has_failed, is_busy, start_worker

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
