"""Whether the ledger is right: its totals against a count that knows nothing of our readers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.corpus import (
    MEGABYTE,
    Origin,
    Watch,
    child,
    files_below,
    fingerprint,
    write_session,
)
from kedgeline.economy.counting import LedgerBuilder, count_reading
from kedgeline.errors import NotATranscript, SourceUnreadable
from kedgeline.model import Usage, Value
from kedgeline.pipeline.read import Reading, stream

FORMAT = "claude-code"
"""The sessions whose every message has an id and usage of its own."""
KINDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
"""Our names, and those in the files."""
PROVIDERS_ID = 16
"""Characters: ids of providers are longer, and those that somebody wrote by hand into a sample are
shorter and come again in the next one."""
HEADER = ("Claude Code sessions", "counted from the raw lines", "ledger", "if every record counted")


class Sum(Value, frozen=True):
    messages: int
    tokens: Usage


class Compared(Value, frozen=True):
    """One folder of sessions."""

    name: str
    files: int
    independent: Sum
    """Of the raw lines: the last record of a message id stands."""
    ledger: Sum
    """Without what it estimates."""
    per_record: Sum
    """What adding up every record would come to: clients repeat usage with each block they
    write."""
    estimated: int
    """Messages of the ledger without reported usage."""

    @property
    def is_equal(self) -> bool:
        return self.independent == self.ledger


class LedgerCheck(Value, frozen=True):
    folders: tuple[Compared, ...]
    """The last is all of them together."""
    large_megabytes: float
    large_turns: int
    large_memory: float
    large_seconds: float
    origin: Origin


def measure(folder: Path, *, large: int, watch: Watch) -> LedgerCheck:
    paths = [path for path in files_below(folder) if _is_session(path)]
    groups: dict[str, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.relative_to(folder).parts[0], []).append(path)
    found = [compared(name, group, watch) for name, group in sorted(groups.items())]
    found.append(compared("together", paths, watch))
    with TemporaryDirectory() as scratch:
        watch(f"a session of {large / MEGABYTE:,.0f} MB")
        target = Path(scratch) / "large.jsonl"
        turns = write_session(target, large) if large else 0
        memory, seconds = (
            child(["-m", "kedgeline", "cost", str(target), "--json"]) if large else (0, 0)
        )
    return LedgerCheck(
        folders=tuple(found),
        large_megabytes=large / MEGABYTE,
        large_turns=turns,
        large_memory=memory,
        large_seconds=seconds,
        origin=Origin(
            version=version("kedgeline"),
            fingerprint=fingerprint(folder, paths),
            files=len(paths),
            sessions=None,
            seed=None,
            resamples=0,
        ),
    )


def compared(name: str, paths: Sequence[Path], watch: Watch = lambda what: None) -> Compared:
    """Both counts of some files."""
    builder = LedgerBuilder()
    for path in paths:
        watch(path.name)
        count_reading(builder, stream(path), source=str(path))
    spent = builder.ledger().total
    tokens = {k: getattr(spent.tokens, k) - getattr(spent.estimated, k) for k in KINDS}
    once, every = independent(paths)
    return Compared(
        name=name,
        files=len(paths),
        independent=once,
        ledger=Sum(messages=spent.messages - spent.estimated_messages, tokens=Usage(**tokens)),
        per_record=every,
        estimated=spent.estimated_messages,
    )


def independent(paths: Sequence[Path]) -> tuple[Sum, Sum]:
    """Usage by message id from plain lines of JSON, without our readers, and by record. In a file
    the last record of an id stands; of several files the one with most output. An id that is too
    short to be the provider's tells a message only together with all that the message says. What a
    client writes in the model's place has no tokens at all, and is no message."""
    found: dict[str, tuple[int, ...]] = {}
    every: list[tuple[int, ...]] = []
    for path in paths:
        here: dict[str, tuple[str, tuple[int, ...]]] = {}
        for message in _messages(path):
            counts = tuple(int(message["usage"].get(name) or 0) for name in KINDS.values())
            if any(counts):
                own = len(message["id"]) >= PROVIDERS_ID
                here[message["id"]] = (message["id"] if own else json.dumps(message), counts)
                every.append(counts)
        for key, counts in here.values():
            if key not in found or counts[1] > found[key][1]:
                found[key] = counts
    return _sum(list(found.values())), _sum(every)


def _messages(path: Path) -> Iterator[dict[str, Any]]:
    """Every object with an id and usage, wherever it stands in a record."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                left = [json.loads(line)]
            except ValueError:  # a torn line; readers save what can be saved of it
                continue
            while left:
                value = left.pop(0)
                if isinstance(value, dict):
                    usage = value.get("usage")
                    if isinstance(usage, dict) and isinstance(value.get("id"), str):
                        yield value
                    left[:0] = [inner for key, inner in value.items() if key != "usage"]
                elif isinstance(value, list):
                    left[:0] = value


def _sum(rows: list[tuple[int, ...]]) -> Sum:
    totals = [sum(column) for column in zip(*rows, strict=True)] or [0] * len(KINDS)
    return Sum(messages=len(rows), tokens=Usage(**dict(zip(KINDS, totals, strict=True))))


def _is_session(path: Path) -> bool:
    try:
        reading: Reading = stream(path)
    except (NotATranscript, SourceUnreadable):
        return False
    return reading.format == FORMAT


def rows(found: LedgerCheck) -> list[tuple[str, ...]]:
    listed: list[tuple[str, ...]] = []
    for one in found.folders:
        sums = (one.independent, one.ledger, one.per_record)
        about = f"{one.name}, {one.files:,} files: messages"
        listed.append((about, *(f"{each.messages:,}" for each in sums)))
        for kind in KINDS:
            numbers = (f"{getattr(each.tokens, kind):,}" for each in sums)
            listed.append((f"{one.name}: {kind.replace('_', ' ')} tokens", *numbers))
    return listed


def remarks(found: LedgerCheck) -> str:
    """What stands below the table."""
    equal = all(one.is_equal for one in found.folders)
    said = "Both counts are equal." if equal else "THE COUNTS DIFFER."
    estimated = found.folders[-1].estimated
    said += f" {estimated:,} messages have no usage; the ledger estimates them and says so."
    if found.large_turns:
        said += (
            f" `kedgeline cost` on one session of {found.large_megabytes:,.0f} MB "
            f"({found.large_turns:,} turns): {found.large_memory:,.0f} MB of memory at the most "
            f"(goal: 256), {found.large_seconds:,.0f} seconds."
        )
    return said
