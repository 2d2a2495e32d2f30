"""T-D9: what was confirmed is there, once, whatever happens to the connection or the server."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from kedgeline.errors import StoreFailed
from kedgeline.store import Entry
from kedgeline.store.postgres import UNKNOWN, open_postgres
from tests.conftest import ROOT, then_longer
from tests.postgres_server import Server
from tests.store.postgres_faults import SESSION, Fault, How, Proxy, append, violations

HOWS: tuple[How, ...] = ("before", "half", "after", "killed")
MESSAGES = 8
"""That an append sends, about: begin, hold, look for its key, write, head, commit."""
ENOUGH = 100
"""Confirmed entries before a stop: with fewer it would show nothing."""


@pytest.fixture
def proxy(postgres: str, postgres_server: Server) -> Iterator[tuple[Proxy, str]]:
    """A proxy before the server, and the address of the test's database through it."""
    name = postgres.rpartition("/")[0] and postgres.partition("@/")[2].partition("?")[0]

    def kill() -> None:
        postgres_server.ask(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE datname = '{name}' AND application_name = 'kedgeline'"
        )

    with tempfile.TemporaryDirectory(prefix="kedgeline-proxy-") as folder:
        proxy = Proxy(postgres_server.folder, Path(folder), kill)
        yield proxy, postgres_server.address(name, folder=Path(folder))
        proxy.close()


def faults(cases: int) -> list[Fault]:
    """Every kind at every message, as often as there are cases, in any order."""
    every = [Fault(at, how) for at in range(MESSAGES) for how in HOWS]
    chosen = (every * (cases // len(every) + 1))[:cases]
    random.Random(cases).shuffle(chosen)
    return chosen


@pytest.mark.parametrize("cuts", then_longer([48], [960]))
def test_no_entry_is_lost_or_double_when_connections_break(
    cuts: int, proxy: tuple[Proxy, str]
) -> None:
    between, address = proxy
    confirmed: list[str] = []
    with closing(open_postgres(address)) as store:
        for fault in faults(cuts):
            between.arm(fault)
            while not between.fired:
                confirmed.append(f"entry {len(confirmed)}")
                append(store, confirmed[-1])
        assert violations(store, confirmed) == []


@pytest.mark.parametrize(("how", "there"), [("before", False), ("after", True)])
def test_whoever_lost_the_connection_at_the_commit_is_told_so(
    how: How, there: bool, proxy: tuple[Proxy, str]
) -> None:
    between, address = proxy
    with closing(open_postgres(address)) as store:
        between.arm(Fault(0, how))
        with pytest.raises(StoreFailed, match=UNKNOWN) as raised, store.writing(SESSION) as held:
            held.add(Entry(kind="about", key="a key"))
        assert "append the same again" in str(raised.value)
        assert (store.keyed(SESSION, "a key") is not None) == there


@pytest.mark.parametrize("stops", then_longer([2], [40]))
def test_no_entry_is_lost_when_the_server_crashes(
    stops: int, postgres_server: Server, postgres: str
) -> None:
    """A writer goes on while the server crashes and comes back."""
    confirmed: list[str] = []
    over = threading.Event()
    with closing(open_postgres(postgres)) as store:

        def write() -> None:
            for number in count():
                if over.is_set():
                    return
                append(store, f"entry {number}")
                confirmed.append(f"entry {number}")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(stops):
                enough = len(confirmed) + ENOUGH
                while len(confirmed) < enough and writer.is_alive():
                    over.wait(0.001)
                postgres_server.stop(immediate=True)
                postgres_server.start()
        finally:
            over.set()
            writer.join()
        assert violations(store, confirmed) == []


def test_processes_that_write_at_once_lose_nothing(postgres: str) -> None:
    """T-D7; BMAD-METHOD#2621: of 50 appends at once 17 to 24 survived elsewhere."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.store.postgres_writer", postgres, "8", "50"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    told = [line.split(" ", 1) for line in run.stdout.splitlines()]
    assert sorted(int(number) for number, _ in told) == list(range(3, 403))
    with closing(open_postgres(postgres)) as store:
        assert violations(store, ["parent 0", "parent 1", *(name for _, name in told)]) == []
