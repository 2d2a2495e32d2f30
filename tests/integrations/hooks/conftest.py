"""What tests of hooks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.hosts import hook as entry
from kedgeline.hosts.hook import HookEvent
from kedgeline.hosts.worker import work
from tests.integrations.hooks.following import Host


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store and a state of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGELINE_STORE", str(tmp_path / "store"))
    return tmp_path


@pytest.fixture
def at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker does its work before the event is answered for, and in this process."""

    def start(event: HookEvent, folder: str) -> None:
        if event.transcript:
            work(event.session, event.host, event.transcript, folder)

    monkeypatch.setattr(entry, "start_worker", start)


@pytest.fixture
def host(home: Path) -> Host:
    made = Host(home)
    made.works()
    return made
