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
from typing import NoReturn

from kedge.integrations.hooks import places
from kedge.integrations.hooks.answers import SILENT, SUMMARISED, adding, steering
from kedge.integrations.hooks.events import Event, event_of
from kedge.integrations.hooks.reducing import reduced
from kedge.integrations.hooks.spawning import is_busy, start_worker

HARD_STOP = 5.0
"""Seconds after which it ends, whatever it does: hosts wait for their hooks."""
PATIENCE = 3.5
"""Seconds that a host waits for a session to be up to date, before it compacts or right after."""
LOOK_EVERY = 0.01
LARGEST = 50_000_000
"""Bytes of an event that are read: a tool's output may be among them."""
HOSTS = ("claude-code", "codex", "gemini-cli", "opencode")


def main(arguments: list[str]) -> NoReturn:
    """Read the event, answer, end with 0."""
    stop = threading.Timer(HARD_STOP, _give_up)
    stop.daemon = True
    stop.start()
    answer = ""
    try:
        answer = answered(sys.stdin.buffer.read(LARGEST), _host(arguments))
    except Exception as error:  # noqa: BLE001 (the host must not see any failure)
        places.log(f"failed: {type(error).__name__}: {error}")
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except OSError:
        places.log("failed: the host does not listen")
    os._exit(0)  # whatever still runs in threads is not waited for


def answered(data: bytes, host: str) -> str:
    """What is printed for an event; the work that it makes is begun."""
    try:
        event = event_of(json.loads(data), host)
    except ValueError:
        places.log(f"what {host} told is no JSON: {data[:80]!r}")
        return ""
    if event is None:
        places.log(f"what {host} told names no event or no session")
        return ""
    folder = places.folder_of(event.session)
    if event.name == "PreCompact" and not event.agent:
        if event.host in SILENT:
            places.keep(folder, places.COMPACTING, b"now")
        _bring_up_to_date(event, folder)
        return steering(event, places.kept(folder, places.STEERING))
    answer = _light(event, folder)
    start_worker(event, folder)
    return answer


def _light(event: Event, folder: str) -> str:
    """What was prepared before; nothing is worked out here, but where an output is too large."""
    if event.name == "PostToolUse":
        lacking = "" if event.agent else places.taken(folder, places.LACKING)
        return adding(event, lacking, reduced(event))
    if event.agent:
        return ""
    if event.name == "SessionStart" and event.source in ("compact", "clear"):
        if event.source == "clear":
            places.forget(folder, places.LACKING)
            return ""
        return adding(event, _put_back(event, folder))
    if event.name == "PostCompact":
        summary = event.fields.get("compact_summary")
        told = summary if isinstance(summary, str) else ""
        places.keep(folder, places.SUMMARY, told.encode("utf-8", "replace"))
        return ""
    if event.name in ("SessionStart", "UserPromptSubmit"):
        if event.host in SILENT and places.taken(folder, places.COMPACTING):
            _bring_up_to_date(event, folder)
        return adding(event, places.taken(folder, places.LACKING))
    return ""


def _put_back(event: Event, folder: str) -> str:
    """The rules at once; where the host's summary can be read already, what it lacks as well."""
    if event.host not in SUMMARISED:
        return places.kept(folder, places.RULES)
    _bring_up_to_date(event, folder)
    parts = (places.kept(folder, places.RULES), places.taken(folder, places.LACKING))
    return "\n\n".join(filter(None, parts))


def _bring_up_to_date(event: Event, folder: str) -> None:
    """Where that takes too long, what is known from before must do."""
    start_worker(event, folder)
    if not event.transcript:
        return
    deadline = time.monotonic() + PATIENCE
    while is_busy(folder):
        if time.monotonic() > deadline:
            places.log(f"{event.session}: not up to date within {PATIENCE:g} seconds")
            return
        time.sleep(LOOK_EVERY)


def _host(arguments: list[str]) -> str:
    given = [*arguments, ""]
    for place, one in enumerate(arguments):
        host = given[place + 1] if one == "--host" else one.removeprefix("--host=")
        if host in HOSTS:
            return host
    return HOSTS[0]


def _give_up() -> None:
    places.log(f"given up after {HARD_STOP:g} seconds")
    os._exit(0)
