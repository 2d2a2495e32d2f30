"""The power is cut, and the disk has all that was synced and any part of the rest."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import NamedTuple

from kedge.bank.files import disk
from tests.bank.torture.acts import do, kind_of, prepared, wrong_in
from tests.bank.torture.plants import PLANTS
from tests.bank.torture.recording import Event, Recorder, cut_off, lay_out
from tests.torture.outcome import Outcome

STATES = 100
"""Power cuts of one recorded life."""
STEPS, PREPARED = 12, 12


class Recorded(NamedTuple):
    seed: int
    recorder: Recorder
    expected: list[str]


def check(place: str, seed: int, cases: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    PLANTS[plant]()
    while outcome.cases < cases:
        recorded = _record(Path(place, f"recorded-{outcome.cases}"), random.randrange(1 << 30))
        for _ in range(min(STATES, cases - outcome.cases)):
            outcome.cases += 1
            outcome.acknowledged += _cut(Path(place), recorded, random, outcome)
            if plant and outcome.violations:
                return outcome
    return outcome


def _record(bank: Path, seed: int) -> Recorded:
    """Let a bank live for some steps, and remember what came to the disk."""
    expected = prepared(bank, PREPARED)
    recorder = Recorder(bank)
    system = disk.os  # type: ignore[attr-defined]
    disk.os = recorder  # type: ignore[attr-defined]
    try:
        for number in range(STEPS):
            do(bank, kind_of(seed, number), f"entry-{number}")
            recorder.events.append(Event("acknowledged"))
    finally:
        disk.os = system  # type: ignore[attr-defined]
    return Recorded(seed, recorder, expected)


def _cut(place: Path, recorded: Recorded, random: Random, outcome: Outcome) -> int:
    """Look at one disk; how much had been acknowledged. Half of the cuts come just before a sync,
    where most is unsure."""
    all_events = recorded.recorder.events
    syncs = [n for n, event in enumerate(all_events) if event.what == "sync folder" and n]
    moment = random.randrange(1, len(all_events) + 1)
    if syncs and random.random() < 0.5:
        moment = random.choice(syncs)
    events = all_events[:moment]
    done = sum(event.what == "acknowledged" for event in events)
    added = [n for n in range(STEPS) if kind_of(recorded.seed, n) == "append"]
    expected = [*recorded.expected, *(f"entry-{n}" for n in added if n < done)]
    under_way = f"entry-{done}" if done in added else ""
    bank = place / "cut"
    shutil.rmtree(bank, ignore_errors=True)
    lay_out(cut_off(recorded.recorder.start, events, random), bank)
    wrong, _ = wrong_in(bank, expected, under_way)
    outcome.wrong(*(f"life {recorded.seed}, event {moment}: {each}" for each in wrong))
    return len(expected)
