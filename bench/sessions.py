"""What a kept session costs: appending, a session of a gigabyte, finding originals in it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.corpus import MEGABYTE, Watch, child, write_session
from bench.tables import Table
from kedgeline.model import ToolCall, ToolResult, Turn, Value
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.session.session import Session
from kedgeline.store import Durability
from kedgeline.store.protocol import open_store

APPENDED = 600
"""Messages appended one by one: some seconds, and enough for a percentile."""
WARM = 50
"""Messages before these: code is loaded, and the first pages of the file are made."""
BODY = "The pier decides first, then the length of the vessel. " * 18
"""About a kilobyte: what a message has, between an answer and an output."""
EARLY, LATE = 100, 100_000
"""Turns at which the cost of one more is compared."""
SAMPLE = 200
"""Messages appended at each of them; the median counts."""
FILLED = 1_000
"""Turns written at once to get there."""
QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("berth_17", {}),
    ("vessel", {}),
    ("assign vessel pier", {}),
    ('"the pier decides first"', {}),
    ("module_3.py", {}),
    ("berth_4*", {}),
    ("fair", {"who": "user"}),
    ("pier", {"files": ("src/berths/module_5.py",)}),
    ("", {"files": ("module_7.py",)}),
    ("assign", {"turns": range(1_000, 2_000)}),
)
"""Words that stand nearly everywhere and words that are rare, phrases, names, and every filter."""
ROUNDS = 5


class Appending(Value, frozen=True):
    durable: float
    """Messages a second, each on disk before the next."""
    durable_p99: float
    """Milliseconds."""
    fast: float
    synced: float
    """Writes of a kilobyte, each synced, that the disk does in a second: what `durable` could reach
    at the most."""
    early: float
    """Milliseconds of one more message at turn 100, on disk or not."""
    late: float
    """The same at turn 100,000."""


class Large(Value, frozen=True):
    megabytes: float
    turns: int
    stored: float
    """MB in the store, index included."""
    added: float
    """Seconds of `kedgeline add`."""
    added_memory: float
    """MB, peak of that process."""
    compacted: float
    compacted_memory: float
    recalled: float
    """Milliseconds of a query, the median over all kinds of them, in a process that is running."""
    recalled_most: float
    """The slowest kind, its median."""
    command: float
    """Seconds of `kedgeline recall`, start of the interpreter included."""
    command_memory: float


class Sessions(Value, frozen=True):
    version: str
    appending: Appending
    large: Large


def measure(*, large: int, turns: int = LATE, watch: Watch) -> Sessions:
    with tempfile.TemporaryDirectory() as folder:
        watch("appending")
        appending = _appending(Path(folder), turns, watch)
        watch(f"a session of {large / MEGABYTE:,.0f} MB")
        found = _large(Path(folder), large, watch)
    return Sessions(version=version("kedgeline"), appending=appending, large=found)


def _appending(folder: Path, turns: int, watch: Watch) -> Appending:
    durable, slowest = _rate(folder / "durable", "durable")
    fast, _ = _rate(folder / "fast", "fast")
    with Session.open("grows", folder / "grows", durability="fast") as session:
        _fill(session, EARLY)
        early = _cost(session, "early")
        watch(f"{turns:,} turns")
        _fill(session, turns)
        late = _cost(session, "late")
    return Appending(
        durable=durable,
        durable_p99=slowest,
        fast=fast,
        synced=_synced(folder / "synced"),
        early=early,
        late=late,
    )


def _rate(place: Path, durability: Durability) -> tuple[float, float]:
    """Messages a second, and the 99th percentile in milliseconds."""
    with Session.open("appended", place, durability=durability) as session:
        for one in _messages(WARM, "warm"):
            session.append(one)
        took = [_seconds(partial(session.append, one)) for one in _messages(APPENDED, "rate")]
    return len(took) / sum(took), 1_000 * quantiles(took, n=100)[98]


def _cost(session: Session, name: str) -> float:
    took = [_seconds(partial(session.append, one)) for one in _messages(SAMPLE, name)]
    return 1_000 * median(took)


def _fill(session: Session, turns: int) -> None:
    """Turns up to a number, many at once."""
    have = session.append([]).turns
    for first in range(have, turns, FILLED):
        last = min(first + FILLED, turns)
        session.append([_turn(number) for number in range(first, last)])


def _messages(count: int, name: str) -> Iterator[dict[str, Any]]:
    """Calls and their results by turns."""
    for number in range(count // 2):
        call = f"{name}-{number}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "make check"}}
        yield {"role": "assistant", "content": [{"type": "text", "text": BODY}, use]}
        result = {"type": "tool_result", "tool_use_id": call, "content": BODY}
        yield {"role": "user", "content": [result]}


def _turn(number: int) -> Turn:
    call = ToolCall(id=f"call-{number}", tool="Bash", parameters={"command": "make check"})
    output = f"{number} passed"
    return Turn(
        user_message=f"Now berth {number}" if number % 20 == 0 else "",
        assistant_response=f"Berth {number} is next.",
        tool_calls=(call,),
        tool_results=(ToolResult(call_id=call.id, output=output),),
    )


def _synced(path: Path) -> float:
    """Writes of a kilobyte that are synced, a second."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:

        def write() -> None:
            os.write(handle, BODY.encode())
            os.fsync(handle)

        took = [_seconds(write) for _ in range(APPENDED)]
    finally:
        os.close(handle)
    return len(took) / sum(took)


def _large(folder: Path, size: int, watch: Watch) -> Large:
    path, store = folder / "large.jsonl", str(folder / "large")
    turns = write_session(path, size)
    megabytes = path.stat().st_size / MEGABYTE
    watch("kedgeline add")
    added_memory, added = child(["-m", "kedgeline", "add", "large", str(path), "--store", store])
    path.unlink()
    watch("kedgeline compact")
    compact = ["-m", "kedgeline", "compact", "large", "--window", "200k", "--store", store]
    compacted_memory, compacted = child(compact)
    watch("kedgeline recall")
    command_memory, command = child(["-m", "kedgeline", "recall", "berth_17", "--store", store])
    kinds = _recalled(store)
    return Large(
        megabytes=megabytes,
        turns=turns,
        stored=sum(one.stat().st_size for one in Path(store).iterdir()) / MEGABYTE,
        added=added,
        added_memory=added_memory,
        compacted=compacted,
        compacted_memory=compacted_memory,
        recalled=median(kinds),
        recalled_most=max(kinds),
        command=command,
        command_memory=command_memory,
    )


def _recalled(place: str) -> list[float]:
    """Milliseconds of each kind of query, the median of several."""
    store = open_store(place)
    try:
        return [
            1_000 * median(_seconds(partial(recall, store, query)) for _ in range(ROUNDS))
            for query in (query_of(text, **more) for text, more in QUERIES)
        ]
    finally:
        store.close()


def _seconds(run: Callable[[], object]) -> float:
    """Time on the clock: waiting for the disk is what is measured."""
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def tables(found: Sessions) -> list[Table]:
    one, large = found.appending, found.large
    rows = [
        ("messages of 1 KB appended one by one, `durable`", f"{one.durable:,.0f}/s", "≥ 500/s"),
        ("the same, 99th percentile", f"{one.durable_p99:.1f} ms", "≤ 10 ms"),
        ("writes of 1 KB with fsync, alone", f"{one.synced:,.0f}/s", ""),
        ("the same messages, `fast`", f"{one.fast:,.0f}/s", ""),
        (
            f"one more message at turn {LATE:,}, against turn {EARLY:,} ({one.early:.2f} ms)",
            f"{one.late / one.early:.2f} ×",
            "1",
        ),
        (
            f"`kedgeline add` of one session of {large.megabytes:,.0f} MB ({large.turns:,} turns)",
            f"{large.added:,.0f} s, {large.added_memory:,.0f} MB of memory",
            "≤ 256 MB",
        ),
        (
            "`kedgeline compact` of it into 200k",
            f"{large.compacted:,.0f} s, {large.compacted_memory:,.0f} MB of memory",
            "≤ 256 MB",
        ),
        ("its store, index included", f"{large.stored:,.0f} MB", ""),
        (
            f"recall in it, {len(QUERIES)} kinds of queries: median, slowest kind",
            f"{large.recalled:.0f} ms, {large.recalled_most:.0f} ms",
            "≤ 50 ms",
        ),
        (
            "`kedgeline recall`, start of the interpreter included",
            f"{1_000 * large.command:,.0f} ms, {large.command_memory:,.0f} MB of memory",
            "≤ 256 MB",
        ),
    ]
    return [Table("sessions", ("measure", "value", "goal"), rows)]


def origin(found: Sessions) -> str:
    return f"kedgeline {found.version}, sessions invented for measuring."
