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
from kedge.models.moving import Next, NotAsked, failed, replied, went_on
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
    patience: Patience | None = None,
) -> Step[T]:
    """A step whose requests have no secrets in them, are made again where the failure may pass, and
    stay within time and budget. What cannot be had within them fails, as a model does. Of replies
    and failures, too, nothing but what a model wrote comes in with a secret in it.

    `model` is the name that calls are written down with; `clean` takes secrets out; `chance` is
    between 0 and 1. Steps that are given one `patience` share its time."""
    name = clean(model)
    if patience is None:
        patience = Patience(terms, model=name, clock=clock, chance=chance)

    def once(ask: Ask) -> Step[Reply]:
        return meter.asked(ask, model=name, clock=clock)

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
                found = failed(step, _cleaned(failure, clean))
            else:
                found = replied(step, replace(reply, model=clean(reply.model)))
    return found.result


def _cleaned(failure: ModelFailed, clean: Callable[[str], str]) -> ModelFailed:
    """The same without secrets: a program or a provider may have complained with them."""
    kind = NotAsked if isinstance(failure, NotAsked) else ModelFailed
    return kind(
        clean(failure.name),
        clean(failure.why),
        next_step=clean(failure.next_step),
        kind=failure.kind,
        wait=failure.wait,
    )
