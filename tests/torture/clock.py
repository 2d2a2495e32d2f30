"""T-D8: clocks that go backwards, stand still, jump, or are far off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from kedgeline.errors import KedgelineError
from kedgeline.session.journal import Clock
from kedgeline.session.session import Session
from kedgeline.store import Entry, Store
from kedgeline.store.protocol import open_store
from tests.torture.acts import Act, act_of, do
from tests.torture.checking import Acknowledged, compare
from tests.torture.outcome import Outcome
from tests.torture.places import NAME

SECOND = 1_000_000
DAY = 86_400 * SECOND
NOON = 1_700_000_000 * SECOND
"""Some time that is neither near 1970 nor near 2038."""
STEPS = 24
WINDOW = 6_000
"""Tokens: so few that the session wants to be compacted by itself."""
MOST = 12
"""Compactions by itself in so few steps, however the clock goes."""


def _ticking(random: Random) -> Iterator[int]:
    now = NOON
    while True:
        now += random.randint(1, 5 * SECOND)
        yield now


def _backwards(random: Random) -> Iterator[int]:
    now = NOON
    while True:
        now -= random.randint(1, 3_600 * SECOND)
        yield now


def _frozen(random: Random) -> Iterator[int]:
    while True:
        yield NOON


def _jumping(random: Random) -> Iterator[int]:
    while True:
        yield NOON + random.randint(-3 * DAY, 3 * DAY)


def _rolling_over(random: Random) -> Iterator[int]:
    """The end of 31 bits of seconds, in January 2038."""
    now = (2**31 - 20) * SECOND
    while True:
        now += SECOND
        yield now


def _far_off(random: Random) -> Iterator[int]:
    while True:
        yield random.choice((0, -DAY, NOON, 2**41 * 1_000, 2**52))


CLOCKS: dict[str, Callable[[Random], Iterator[int]]] = {
    "backwards": _backwards,
    "frozen": _frozen,
    "jumping": _jumping,
    "rolling over": _rolling_over,
    "far off": _far_off,
}


def check(seed: int, cases: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    happened = 0
    while outcome.cases < cases:
        at = random.randrange(1 << 30)
        steady, _ = _lived(at, _ticking(Random(at)), plant)
        happened += steady
        for name, clock in CLOCKS.items():
            outcome.cases += 1
            outcome.acknowledged += STEPS
            compactions, wrong = _lived(at, clock(Random(at)), plant)
            if compactions != steady or compactions > MOST:
                wrong.append(f"{compactions} compactions, with a steady clock {steady}")
            outcome.wrong(*(f"{name}, session {at}: {each}" for each in wrong))
    if not happened:
        outcome.wrong("void: no session was compacted")
    outcome.measured = {"compactions": happened}
    return outcome


def _lived(seed: int, times: Iterator[int], plant: str) -> tuple[int, list[str]]:
    """How often a session was compacted by itself, and what is wrong with it."""
    store = open_store("memory:")
    if plant == "by time":
        order_by_time(store)
    compactions = 0
    done: list[Acknowledged] = []
    with Session(NAME, store, window=WINDOW) as session:
        clock: Clock = lambda: next(times)  # noqa: E731
        session.keeping = replace(session.keeping, clock=clock)
        for number in range(STEPS):
            act = act_of(seed, number)
            if act.kind in ("compact", "undo"):
                act = Act(number, "large")
            do(session, seed, act)
            head = store.head(NAME)
            done.append(Acknowledged(act, head.number, head.chain))
            if session.should_compact().compacts:
                try:
                    compactions += session.compact().count > 0
                except KedgelineError as error:
                    return compactions, [str(error)]
        numbers = [event.number for event in session.history()]
        wrong = [] if numbers == sorted(numbers) else [f"the history is out of order: {numbers}"]
        return compactions, wrong + compare(session, seed, done).wrong


def order_by_time(store: Store) -> None:
    """A planted bug: entries by their time instead of their number."""
    whole = store.entries

    def entries(session: str, *, newest_first: bool = False, **wanted: object) -> Iterator[Entry]:
        found = whole(session, **wanted)  # type: ignore[arg-type]
        return iter(sorted(found, key=lambda entry: entry.at, reverse=newest_first))

    store.entries = entries  # type: ignore[method-assign]
