"""Steps that talk with a model, the two ways to run them, and a world in which time passes only
where it is said."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, ModelCall, Reply, Step, Usage
from kedgeline.models import Meter, Terms, awaited, drive, drive_async, guarded_step
from kedgeline.models.command import Line

NAME = "openai:gpt-5"
USED = Usage(input=100, output=20, cache_read=7, cache_write=3)


def ask(prompt: str = "What now?", **fields: Any) -> Ask:
    given = {"role": "summarise", "system": "Be brief.", "most_tokens": 10, **fields}
    return Ask(prompt=prompt, **given)


def failure(kind: str, wait: float | None = None) -> ModelFailed:
    return ModelFailed("provider", f"it is {kind}", next_step="wait", kind=kind, wait=wait)


def telling(*asks: Ask) -> Step[tuple[str, ...]]:
    """Asks all, and tells what came of each."""
    told = []
    for one in asks:
        try:
            told.append((yield one).text)
        except ModelFailed as error:
            told.append(f"{error.kind}: {error.why}")
    return tuple(told)


def never_ends(closed: list[str]) -> Step[None]:
    try:
        while True:
            yield ask()
    finally:
        closed.append("closed")


class Act(NamedTuple):
    """What a model does on one request."""

    seconds: float
    line: Line


class World:
    def __init__(self, *acts: Act) -> None:
        self.now = 1_000.0
        self.acts = acts
        self.asks: list[tuple[float, Ask]] = []
        """With the time of each."""
        self.waits: list[float] = []

    def clock(self) -> float:
        return self.now

    def rest(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    async def rest_async(self, seconds: float) -> None:
        self.rest(seconds)

    def __call__(self, one: Ask, /) -> Reply:
        self.asks.append((self.now, one))
        act = self.acts[len(self.asks) - 1]
        allowed = one.seconds or inf
        if act.seconds > allowed:
            self.now += allowed
            raise ModelFailed("script", "too slow", next_step="wait", kind="timed out")
        self.now += act.seconds
        if isinstance(act.line, ModelFailed):
            raise act.line
        return act.line if isinstance(act.line, Reply) else Reply(text=act.line, model=NAME)


Run = Callable[[Step[Any], Any], Any]


def synchronously(step: Step[Any], model: Any) -> Any:
    with patch.object(time, "sleep", getattr(model, "rest", time.sleep)):
        return drive(step, model)


def asynchronously(step: Step[Any], model: Any) -> Any:
    async def run() -> Any:
        with patch.object(asyncio, "sleep", getattr(model, "rest_async", asyncio.sleep)):
            return await drive_async(step, None if model is None else awaited(model))

    return asyncio.run(run())


ways = pytest.mark.parametrize("run", [synchronously, asynchronously])


class Ran(NamedTuple):
    told: Any
    calls: tuple[ModelCall, ...]
    world: World

    @property
    def asks(self) -> Sequence[Ask]:
        return [one for _, one in self.world.asks]


def words(text: str) -> int:
    return len(text.split())


def ran(
    world: World,
    *asks: Ask,
    terms: Terms,
    run: Run = synchronously,
    clean: Callable[[str], str] = str,
    step: Step[Any] | None = None,
    meter: Meter | None = None,
) -> Ran:
    """A guarded step in a world; pauses have their full length."""
    meter = meter or Meter(terms, count=words)
    step = telling(*asks) if step is None else step
    whole = guarded_step(step, terms, model=NAME, clean=clean, meter=meter, clock=world.clock)
    with patch.object(random, "uniform", lambda low, high: high):
        return Ran(run(whole, world), meter.calls, world)
