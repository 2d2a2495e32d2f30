"""T-D3: the power is cut, and the disk has all that was synced and any part of the rest."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import NamedTuple

from kedgeline.errors import KedgelineError
from kedgeline.session.session import Session
from kedgeline.store import Durability
from kedgeline.store.sqlite_files import DATABASE, Journal
from tests.store.opened import connection_of
from tests.torture.acts import act_of, do
from tests.torture.checking import Acknowledged, compare
from tests.torture.outcome import Outcome
from tests.torture.places import session_at, use_journal, warm_up
from tests.torture.recording import Event, Recorder, cut_off, lay_out

STATES = 100
"""Power cuts of one recorded session."""
LIVES, STEPS = 2, 12
"""How often the session is opened, each time by a newer schema, and the steps it then takes."""
PLANTED = {"unsynced": "OFF", "rarely": "NORMAL"}
LOG_PAGES = 30
"""Pages after which the log is written back: so few that it happens within a short session."""


class Recorded(NamedTuple):
    seed: int
    events: list[Event]
    done: list[Acknowledged]


def check(
    place: str,
    seed: int,
    cases: int,
    durability: Durability = "durable",
    journal: Journal = "wal",
    plant: str = "",
) -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    warm_up()
    use_journal(journal)
    while outcome.cases < cases:
        folder = Path(place, f"recorded-{outcome.cases}")
        recorded = _record(folder, random.randrange(1 << 30), durability, plant)
        for _ in range(min(STATES, cases - outcome.cases)):
            outcome.cases += 1
            outcome.acknowledged += _cut(Path(place), recorded, durability, random, outcome)
            if plant and outcome.violations:
                return outcome
        shutil.rmtree(folder)
    return outcome


def _record(folder: Path, seed: int, durability: Durability, plant: str) -> Recorded:
    """Let a session live a few times, and remember what came to the disk."""
    recorder = Recorder()
    done: list[Acknowledged] = []
    try:
        for life in range(LIVES):
            with session_at(str(folder), durability, planted_steps=life) as session:
                _prepare(session, plant)
                for _ in range(STEPS):
                    act = act_of(seed, len(done))
                    do(session, seed, act)
                    recorder.events.append(Event("acknowledged", offset=len(done)))
                    head = session.store.head(session.name)
                    done.append(Acknowledged(act, head.number, head.chain))
    finally:
        recorder.unregister()
    return Recorded(seed, recorder.events, done)


def _prepare(session: Session, plant: str) -> None:
    database = connection_of(session.store)  # type: ignore[arg-type]
    database.pragma("wal_autocheckpoint", LOG_PAGES)
    if plant:
        database.pragma("synchronous", PLANTED[plant])


def _cut(
    place: Path, recorded: Recorded, durability: Durability, random: Random, outcome: Outcome
) -> int:
    """Look at one disk; how much had been acknowledged."""
    moment = random.randrange(1, len(recorded.events) + 1)
    events = recorded.events[:moment]
    count = sum(event.what == "acknowledged" for event in events)
    folder = place / "cut"
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(cut_off(events, DATABASE, random), folder)
    wrong = _looked(folder, recorded, durability, count)
    outcome.wrong(*(f"session {recorded.seed}, event {moment}: {each}" for each in wrong))
    return count


def _looked(folder: Path, recorded: Recorded, durability: Durability, count: int) -> list[str]:
    """`durable`: all that was acknowledged is there. `fast`: a beginning of it."""
    done = recorded.done[:count]
    try:
        with session_at(str(folder), durability, planted_steps=LIVES - 1) as session:
            if durability == "fast":
                number = session.store.head(session.name).number
                done = [one for one in done if one.number <= number]
            act = act_of(recorded.seed, len(done))
            return compare(session, recorded.seed, done, act).wrong
    except KedgelineError as error:
        return [f"the store does not open: {error}"]
