"""What of a talk survives five compactions in a row, as compaction-conformance-kit measures it:
facts, preferences, rules and states planted among fillers, some of them given another value later.
The kit brings the sessions and the questions; kedgeline is plugged in as one of its compactors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from bench.corpus import Watch
from bench.tables import Table
from kedgeline.errors import MissingExtra
from kedgeline.model import Value
from kedgeline.pipeline.handoff import hand_on, summarize
from kedgeline.pipeline.read import read
from kedgeline.pipeline.view import wrapped

ROOMS = (0.10, 0.20, 0.30)
"""Of the characters of a session."""
SEEDS = tuple(range(1, 9))
ROUNDS = 5
"""Compactions in a row, each of nothing but what the one before it left."""
CHARACTERS = 4
"""Of a token: the kit measures rooms in characters."""
OURS = "kedgeline"

HEADER = (
    "Room",
    "Text",
    "Survives",
    "The same, other subjects",
    "Old value stands",
    "The same, update in other words",
    "Both of two alike stand",
    "Longest, of the room",
)


class Survived(Value, frozen=True):
    room: float
    """Share of the session's characters."""
    text: str
    """Who made it."""
    survived: float
    rotated: float
    """Share of what was planted that stands after the last round; `rotated` on sessions whose
    subjects and wording change with every seed."""
    stale: int
    updates: int
    reworded_stale: int
    reworded: int
    """Values that were given anew, and how many of the old ones stand, marked or not."""
    pairs: float
    """Share of pairs of similar statements of which both stand."""
    longest: float
    """Characters of the longest text, as a share of the room."""


class Conformance(Value, frozen=True):
    version: str
    kit: str
    seeds: tuple[int, ...]
    rounds: int
    found: tuple[Survived, ...]


def _ours(turns: Sequence[Any], tokens: int, again: bool) -> str:
    """After the first round it gets its own text back, as a session that goes on from a compaction
    does."""
    messages = [
        {"role": "user", "content": wrapped(turn.text)}
        if again
        else {"role": turn.role, "content": turn.text}
        for turn in turns
    ]
    summary = summarize(read(json.dumps(messages).encode()))
    return hand_on(summary, tokens, lambda told: -(-len(told) // CHARACTERS)).text


class Compactor:
    """A way to make a text of turns, in so many tokens, under the kit's protocol."""

    def __init__(
        self, text: Callable[[Sequence[Any], int, bool], str] = _ours, name: str = OURS
    ) -> None:
        self._text, self.name = text, name

    def compact(
        self, turns: Sequence[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> Any:
        room = (budget_chars or sum(len(turn.text) for turn in turns)) // CHARACTERS
        text = self._text(turns, room, round_num > 1)
        made = import_module("compaction_kit.compacted").CompactedContext
        return made(text=text, compactor_name=self.name, round_num=round_num)


def measure(
    *, watch: Watch, rooms: Sequence[float] = ROOMS, seeds: Sequence[int] = SEEDS
) -> Conformance:
    """For each room kedgeline and the best of the kit's own compactors."""
    try:
        others = import_module("compaction_kit.cli").COMPACTORS
    except ImportError as error:
        raise MissingExtra("measuring conformance", "conformance") from error
    found: list[Survived] = []
    for room in rooms:
        watch(f"{room:.0%} of the room")
        ours, *rest = scored({OURS: Compactor, **others}, room, seeds)
        best = max(rest, key=lambda one: (one.survived, -one.reworded_stale))
        found += (ours, best)
    return Conformance(
        version=version("kedgeline"),
        kit=version("compaction-conformance-kit"),
        seeds=tuple(seeds),
        rounds=ROUNDS,
        found=tuple(found),
    )


def scored(
    compactors: dict[str, Callable[[], Any]], room: float, seeds: Sequence[int]
) -> Iterator[Survived]:
    run = import_module("compaction_kit.benchmark").run_budget_benchmark
    entries = run(compactors, budgets=(room,), seeds=seeds, rounds=ROUNDS)["entries"]
    by_name = {entry["compactor"]: entry for entry in entries}
    for name, make in compactors.items():
        entry = by_name[name]
        updates, reworded = entry["randomized"]["supersession"], entry["semantic"]["conflicts"]
        yield Survived(
            room=room,
            text=name,
            survived=entry["randomized"]["overall_final_survival"],
            rotated=_rotated(make, room, seeds),
            stale=updates["stale"],
            updates=updates["n"],
            reworded_stale=reworded["stale"],
            reworded=reworded["n"],
            pairs=entry["semantic"]["distinct_pair_rate"],
            longest=entry["max_output_to_budget"],
        )


def _rotated(make: Callable[[], Any], room: float, seeds: Sequence[int]) -> float:
    build = import_module("compaction_kit.generated").build_generated_session
    run = import_module("compaction_kit.runner").run_conformance
    held: list[bool] = []
    for seed in seeds:
        session, canaries = build(seed)
        made = run(session, make(), rounds=ROUNDS, canaries=canaries, budget_fraction=room)
        held += made.rounds[-1].survived.values()
    return sum(held) / len(held)


def tables(found: Conformance) -> list[Table]:
    return [Table("conformance", HEADER, _rows(found))]


def _rows(found: Conformance) -> Iterator[tuple[str, ...]]:
    for one in found.found:
        yield (
            f"{one.room:.0%}",
            one.text,
            f"{one.survived:.0%}",
            f"{one.rotated:.0%}",
            f"{one.stale} of {one.updates}",
            f"{one.reworded_stale} of {one.reworded}",
            f"{one.pairs:.0%}",
            f"{one.longest:.2f}",
        )


def origin(found: Conformance) -> str:
    return (
        f"kedgeline {found.version}, compaction-conformance-kit {found.kit}, seeds "
        f"{found.seeds[0]} to "
        f"{found.seeds[-1]}, {found.rounds} rounds."
    )
