"""A world in which time passes only where it is said, and a model that follows a script in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from math import inf
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, ModelCall, Reply, Step, Usage
from kedgeline.models import Meter, Terms, drive, drive_async, guarded
from kedgeline.models.command import Line

NAME = "openai:gpt-5"
USED = Usage(input=100, output=20, cache_read=7, cache_write=3)


class Act(NamedTuple):
    """What a model does on one request."""

    seconds: float
    line: Line
    polite: bool = True
    """Whether it keeps to the time that it is given."""


class World:
    def __init__(self, *acts: Act, chance: float = 1.0) -> None:
        self.now = 1_000.0
        self.acts = acts
        self.asks: list[tuple[float, Ask]] = []
        """With the time of each."""
        self.waits: list[tuple[float, float]] = []
        self._chance = chance
        self._moments = count()

    def clock(self) -> float:
        return self.now

    def chance(self) -> float:
        return self._chance

    def moment(self) -> datetime:
        return datetime.fromtimestamp(next(self._moments), tz=UTC)

    def rest(self, seconds: float) -> None:
        self.waits.append((self.now, seconds))
        self.now += seconds

    async def rest_async(self, seconds: float) -> None:
        self.rest(seconds)

    def __call__(self, ask: Ask, /) -> Reply:
        self.asks.append((self.now, ask))
        if len(self.asks) > len(self.acts):
            raise ModelFailed("script", "it is over", next_step="write more")
        act = self.acts[len(self.asks) - 1]
        allowed = ask.seconds or inf
        if act.polite and act.seconds > allowed:
            self.now += allowed
            raise ModelFailed("script", "too slow", next_step="wait", kind="timed out")
        self.now += act.seconds
        if isinstance(act.line, ModelFailed):
            raise act.line
        return act.line if isinstance(act.line, Reply) else Reply(text=act.line, model=NAME)

    async def awaited(self, ask: Ask, /) -> Reply:
        return self(ask)


def words(text: str) -> int:
    return len(text.split())


def ask(prompt: str = "What now?", **fields: Any) -> Ask:
    given = {"role": "summarise", "system": "Be brief.", "most_tokens": 10, **fields}
    return Ask(prompt=prompt, **given)


def failure(kind: str, wait: float | None = None) -> ModelFailed:
    return ModelFailed("provider", f"it is {kind}", next_step="wait", kind=kind, wait=wait)


def telling(asks: Sequence[Ask]) -> Step[tuple[str, ...]]:
    """Asks all, and tells what came of each."""
    told = []
    for one in asks:
        try:
            told.append((yield one).text)
        except ModelFailed as error:
            told.append(f"{error.kind}: {error.why}")
    return tuple(told)


class Ran(NamedTuple):
    told: Any
    calls: tuple[ModelCall, ...]
    waits: list[tuple[float, float]]
    asks: list[tuple[float, Ask]]
    meter: Meter


Run = Callable[[Step[Any], World], Any]


def synchronously(step: Step[Any], world: World) -> Any:
    with patch.object(time, "sleep", world.rest):
        return drive(step, world)


def asynchronously(step: Step[Any], world: World) -> Any:
    async def run() -> Any:
        with patch.object(asyncio, "sleep", world.rest_async):
            return await drive_async(step, world.awaited)

    return asyncio.run(run())


ways = pytest.mark.parametrize("run", [synchronously, asynchronously])


def reported(usage: Any, text: str = "fine") -> Reply:
    return Reply(text=text, model=NAME, usage=usage)


def before(usage: Usage, *, model: str = NAME) -> ModelCall:
    return ModelCall(role="summarise", model=model, sent=usage.input, usage=usage)


def ran(
    world: World,
    *asks: Ask,
    terms: Terms,
    run: Run = synchronously,
    clean: Callable[[str], str] = str,
    step: Step[Any] | None = None,
    meter: Meter | None = None,
) -> Ran:
    if meter is None:
        meter = Meter(terms, count=words, now=world.moment)
    whole = guarded(
        telling(asks) if step is None else step,
        terms,
        model=NAME,
        clean=clean,
        meter=meter,
        clock=world.clock,
        chance=world.chance,
    )
    return Ran(run(whole, world), meter.calls, world.waits, world.asks, meter)
