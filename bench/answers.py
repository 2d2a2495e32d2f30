"""How long Claude Code waits for a context in the place of its own compaction: where the hooks'
worker has followed the session, and where nothing is known of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any

from bench.corpus import MEGABYTE, Watch, write_session
from bench.replaced import Row, rows_of
from bench.tables import Table
from kedgeline.model import Value

SIZES = (1, 10, 100)
"""MB of the session."""
WINDOW = 10 * MEGABYTE
"""Bytes of the file between two compactions: of an invented session a million tokens, the largest
window that there is."""
FOLLOWED = 0.95
"""Of what came since the last compaction, what the worker has seen: it looks every 15 seconds."""
ROUNDS = 20
"""How many answers there are at least: the slowest but one is the 95th percentile."""
GOALS = {10: "≤ 300 ms", 100: "≤ 1,000 ms"}
WORKER = ("-P", "-m", "kedgeline.hosts.worker")
Line = dict[str, Any]


class Waited(Value, frozen=True):
    megabytes: int
    followed: bool
    usual: float
    """Milliseconds from the start of the interpreter to its end, the median."""
    slow: float
    """The 95th percentile."""
    usual_processor: float
    slow_processor: float
    """The same of the processor's time."""


class Answers(Value, frozen=True):
    version: str
    waited: tuple[Waited, ...]


def measure(*, watch: Watch, sizes: tuple[int, ...] = SIZES, rounds: int = ROUNDS) -> Answers:
    found = []
    for size in sizes:
        for followed in (True, False):
            watch(f"{size} MB, {'followed' if followed else 'never seen'}")
            found.append(_waited(size, followed, rounds))
    return Answers(version=version("kedgeline"), waited=tuple(found))


def _waited(size: int, followed: bool, rounds: int) -> Waited:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_session(home / "session.jsonl", size * MEGABYTE)
        lines = (home / "session.jsonl").read_bytes().splitlines(keepends=True)
        module = home / "claude" / "skills" / "kedgeline" / "hooks" / "register.js"
        module.parent.mkdir(parents=True)
        module.touch()  # the worker looks whether compactions are asked for
        times: list[tuple[float, float]] = []
        while len(times) < rounds:
            times += _answered(home, f"bench-{len(times)}", lines, followed)
    clock, processor = (sorted(each) for each in zip(*times, strict=True))
    slow = max(0, round(0.95 * len(times)) - 1)
    return Waited(
        megabytes=size,
        followed=followed,
        usual=median(clock),
        slow=clock[slow],
        usual_processor=median(processor),
        slow_processor=processor[slow],
    )


def _answered(
    home: Path, session: str, lines: list[bytes], followed: bool
) -> Iterator[tuple[float, float]]:
    """A session compacted whenever its window is full; milliseconds of the clock and of the
    processor for each answer."""
    path = home / "claude" / "projects" / "bench" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    hooks = home / "kedgeline" / "hooks" / session
    environment = {
        **{name: value for name, value in os.environ.items() if "BYTECODE" not in name},
        "XDG_STATE_HOME": str(home),
        "KEDGELINE_STORE": str(home / "store"),
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
    }
    given: list[Row] = []
    for number, window in enumerate(_windows(lines)):
        seen = int(FOLLOWED * len(window))
        _add(path, window[:seen])
        if followed:
            hooks.mkdir(mode=0o700, parents=True, exist_ok=True)
            words = [sys.executable, *WORKER, session, "claude-code", str(path), str(hooks)]
            subprocess.run(words, env=environment, check=True)
        _add(path, window[seen:])
        rows = [*given, *rows_of([json.loads(line) for line in window])]
        asked = json.dumps({"messages": rows, "session": session}).encode()
        before, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "kedgeline", "host-compact", "claude-code"],
            input=asked,
            capture_output=True,
            env=environment,
            check=True,
        )
        spent, after = time.perf_counter() - began, getrusage(RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        yield 1_000 * spent, 1_000 * used
        records = [*_records(json.loads(done.stdout)["messages"], session, number)]
        _add(path, [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in records])
        given = rows_of(records)


def _windows(lines: list[bytes]) -> Iterator[list[bytes]]:
    found, size = list[bytes](), 0
    for line in lines:
        if size > WINDOW and b'"role":"user","content":"' in line:
            yield found
            found, size = [], 0
        found.append(line)
        size += len(line)
    yield found


def _add(path: Path, lines: list[bytes]) -> None:
    with path.open("ab") as file:
        file.writelines(lines)


def _records(rows: list[Row], session: str, number: int) -> Iterator[Line]:
    """What Claude Code writes of a context that it was given."""
    about = {"sessionId": session, "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": False}
    id = f"boundary-{number}"
    yield {**about, "type": "system", "subtype": "compact_boundary", "uuid": id, "parentUuid": None}
    for place, row in enumerate(rows):
        blocks: list[Line] = [{"type": "text", "text": row["text"]}] if row["text"] else []
        blocks += [
            {"type": "tool_result", "tool_use_id": one["tool_use_id"], "content": one["text"]}
            for one in row.get("toolResults", ())
        ]
        blocks += [
            {
                "type": "tool_use",
                "id": one["tool_use_id"],
                "name": one["tool"],
                "input": one["input"],
            }
            for one in row["toolUses"]
        ]
        parent, id = id, f"given-{number}-{place}"
        message = {"id": id, "role": row["role"], "content": blocks}
        yield {**about, "type": row["role"], "uuid": id, "parentUuid": parent, "message": message}


HEADER = (
    *("session", "followed before", "usual", "95 of 100 within"),
    *("processor, usual", "95 of 100", "goal"),
)


def tables(found: Answers) -> list[Table]:
    rows = [
        (
            f"{one.megabytes} MB",
            "yes" if one.followed else "no",
            f"{one.usual:.0f} ms",
            f"{one.slow:.0f} ms",
            f"{one.usual_processor:.0f} ms",
            f"{one.slow_processor:.0f} ms",
            GOALS.get(one.megabytes, "") if one.followed else "",
        )
        for one in found.waited
    ]
    return [Table("answers", HEADER, rows)]


def origin(found: Answers) -> str:
    return f"kedgeline {found.version}; a window is full at 10 MB of the file."
