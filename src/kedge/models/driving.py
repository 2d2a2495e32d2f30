"""Running a step: what it asks is handed to a model, and the reply back to the step."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from contextlib import closing, suppress
from inspect import isawaitable
from typing import Protocol, TypeVar, cast

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step, Wait
from kedge.models.calling import (
    Faults,
    is_awaited,
    name_of,
    refuse_awaited,
    refuse_uncallable,
    reply_of,
)
from kedge.models.moving import Next, NotAsked, failed, replied, went_on
from kedge.models.requests import UnderWay

T = TypeVar("T")

LOOK_EVERY = 0.05
"""Seconds between two looks at whether a request is to be abandoned: a person notices none, and a
reply is not held up by it."""


class Model(Protocol):
    """Answers one request at a time; raises `ModelFailed` when it cannot. Whatever else it raises
    counts as `failed`. It keeps to the time that the request allows."""

    def __call__(self, ask: Ask, /) -> Reply: ...


class AsyncModel(Protocol):
    """The same, awaited."""

    def __call__(self, ask: Ask, /) -> Awaitable[Reply]: ...


class Stop(Protocol):
    """Is set when nobody wants to wait any longer, as a `threading.Event`."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float, /) -> object: ...


def drive(step: Step[T], model: Model | None, *, stop: Stop | None = None) -> T:
    """Run a step to its end. A failure of the model is the step's to handle; it is raised here
    where the step does not. Without a model, a step that asks for one is told that there is none.
    One that must be awaited is refused.

    Once `stop` is set, the request under way is abandoned, its late reply is thrown away, and the
    step is told so, also whenever it asks again."""
    with closing(step):
        if model is not None:
            refuse_awaited(model)
        found: Next[T] = went_on(step)
        while isinstance(found, (Ask, Wait)):
            if isinstance(found, Wait):
                _rest(found.seconds, stop)
                found = went_on(step)
                continue
            try:
                reply = _asked(_given(model), found, stop)
            except ModelFailed as failure:
                found = failed(step, failure)
            else:
                found = replied(step, reply)
    return found.result


async def drive_async(step: Step[T], model: AsyncModel | None) -> T:
    """The same for a model that is awaited; a step that is cancelled is closed."""
    with closing(step):
        found: Next[T] = went_on(step)
        while isinstance(found, (Ask, Wait)):
            if isinstance(found, Wait):
                await _rest_async(found.seconds)
                found = went_on(step)
                continue
            try:
                reply = await _awaited(_given(model), found)
            except ModelFailed as failure:
                found = failed(step, failure)
            else:
                found = replied(step, reply)
    return found.result


def threaded(model: Model) -> AsyncModel:
    """A model that blocks, for those who await: each request waits in a thread of its own. One
    that is cancelled ends in its own time, and holds up nobody."""

    async def asked(ask: Ask, /) -> Reply:
        from asyncio import get_running_loop  # heavy, and only for those who have loaded it anyway

        loop = get_running_loop()
        ended = loop.create_future()

        def tell() -> None:
            if not ended.done():
                ended.set_result(None)

        def then() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(tell)

        request = UnderWay(model, ask, then)
        await ended
        return request.result()

    asked.__name__ = name_of(model)
    return asked


def awaited(model: Model | AsyncModel) -> AsyncModel:
    """A model for those who await: by its own method `awaited`, as it is where it is awaited
    anyway, else in threads."""
    refuse_uncallable(model)
    own = getattr(model, "awaited", None)
    if own is not None:
        return cast(AsyncModel, own)
    if is_awaited(model):
        return cast(AsyncModel, model)
    return threaded(cast(Model, model))


def _asked(model: Model, ask: Ask, stop: Stop | None) -> Reply:
    with Faults(model):
        given = model(ask) if stop is None else _unless_stopped(model, ask, stop)
    refuse_awaited(model, given)
    return reply_of(model, given)


async def _awaited(model: AsyncModel, ask: Ask) -> Reply:
    with Faults(model):
        given = await model(ask)
        if isawaitable(given):  # of a function that blocks nobody and looks as if it did
            given = await given
    return reply_of(model, given)


def _unless_stopped(model: Model, ask: Ask, stop: Stop) -> Reply:
    name = name_of(model)
    if stop.is_set():
        raise NotAsked(name, "it was stopped before", next_step="ask again", kind="cancelled")
    request = UnderWay(model, ask)
    while not stop.is_set():
        if request.ended(LOOK_EVERY) and not stop.is_set():
            return request.result()
    raise ModelFailed(name, "it was stopped", next_step="ask again", kind="cancelled")


def _rest(seconds: float, stop: Stop | None) -> None:
    if stop is None:
        time.sleep(seconds)
    else:
        stop.wait(seconds)


async def _rest_async(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


M = TypeVar("M")


def _given(model: M | None) -> M:
    if model is None:
        raise NotAsked("none", "no model was given", next_step="name one, as in command:PROGRAM")
    return model
