"""What stands between a step and a model. It is a step itself: the same, however it is run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

from msgspec.structs import replace

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step, Wait
from kedge.models.metering import Meter
from kedge.models.moving import Next, failed, replied, went_on
from kedge.models.patience import Patience
from kedge.models.terms import Terms

T = TypeVar("T")


def guarded(
    step: Step[T],
    terms: Terms,
    *,
    model: str,
    clean: Callable[[str], str],
    meter: Meter,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> Step[T]:
    """A step whose requests have no secrets in them, are made again where the failure may pass, and
    stay within time and budget. What cannot be had within them fails, as a model does.

    `model` is the name that calls are written down with; `clean` takes secrets out; `chance` is
    between 0 and 1."""
    patience = Patience(terms, model=model, clock=clock, chance=chance)

    def once(ask: Ask) -> Step[Reply]:
        return meter.asked(ask, model=model, clock=clock)

    with closing(step):
        found: Next[T] = went_on(step)
        while isinstance(found, (Ask, Wait)):
            if isinstance(found, Wait):
                yield Wait(seconds=max(0.0, min(found.seconds, patience.left())))
                found = went_on(step)
                continue
            try:
                ask = replace(found, system=clean(found.system), prompt=clean(found.prompt))
                reply = yield from patience.asked(ask, once)
            except ModelFailed as failure:
                found = failed(step, failure)
            else:
                found = replied(step, reply)
    return found.result
