"""What tests of hooks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.integrations.hooks import entry
from kedge.integrations.hooks.events import Event
from kedge.integrations.hooks.work import work


@pytest.fixture
def at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store and a state of this test's own; the worker does its work before the event is
    answered for, and in this process."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KEDGE_STORE", str(tmp_path / "store"))

    def start(event: Event, folder: str) -> None:
        if event.transcript:
            work(event.session, event.host, event.transcript, folder)

    monkeypatch.setattr(entry, "start_worker", start)
