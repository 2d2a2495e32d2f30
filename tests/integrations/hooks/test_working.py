"""What hosts tell of while their agent works, many times a minute, and from many sides at once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import hook as entry
from kedgeline.hosts import places
from kedgeline.hosts import worker as work
from kedgeline.hosts.hook import HOSTS, WORKING, event_answered

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The events that a worker would be started for; none is."""
    found: list[str] = []
    monkeypatch.setattr(entry, "start_worker", lambda event, folder: found.append(event.name))
    return found


def told(name: str, session: str = "s1", **fields: Any) -> bytes:
    return json.dumps({"hook_event_name": name, "session_id": session, **fields}).encode()


@pytest.mark.parametrize("name", WORKING)
def test_a_session_is_looked_at_now_and_then_while_its_agent_works(
    name: str, started: list[str]
) -> None:
    folder = places.folder_of("s1")
    event_answered(told(name), HOSTS[0])
    assert started == [name]
    places.keep(folder, places.STATUS, b"{}")
    event_answered(told(name), HOSTS[0])
    assert started == [name]
    event_answered(told("Stop"), HOSTS[0])
    assert started == [name, "Stop"]
    longer = time.time() - entry.REST
    os.utime(Path(folder, places.STATUS), (longer, longer))
    event_answered(told(name), HOSTS[0])
    assert started == [name, "Stop", name]


def test_who_calls_while_a_worker_comes_to_its_end_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It called when the worker had just looked whether anybody did."""
    folder = places.folder_of("s1")
    rounds: list[str] = []
    monkeypatch.setattr(work, "_once", lambda *given: rounds.append("looked"))
    close = os.close

    def closing(descriptor: int) -> None:
        if len(rounds) == 1 and not os.path.exists(os.path.join(folder, places.AGAIN)):
            places.keep(folder, places.AGAIN, b"")
        close(descriptor)

    monkeypatch.setattr(work.os, "close", closing)
    work.work("s1", HOSTS[0], "nowhere.jsonl", folder)
    assert rounds == ["looked", "looked"]
