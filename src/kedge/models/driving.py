"""Running a step: what it asks is handed to a model, and the reply back to the step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Generic, NamedTuple, Protocol, TypeVar

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step

T = TypeVar("T")


class Model(Protocol):
    """Answers one request at a time; raises `ModelFailed`, and nothing else, when it cannot."""

    def __call__(self, ask: Ask, /) -> Reply: ...


class AsyncModel(Protocol):
    """The same, awaited."""

    def __call__(self, ask: Ask, /) -> Awaitable[Reply]: ...


class _Done(NamedTuple, Generic[T]):
    result: T


def drive(step: Step[T], model: Model | None) -> T:
    """Run a step to its end. A failure of the model is the step's to handle; it is raised here
    where the step does not. Without a model, a step that asks for one is told that there is none.
    """
    with closing(step):
        found: Ask | _Done[T] = _moved(step.__next__)
        while isinstance(found, Ask):
            try:
                reply = _given(model)(found)
            except ModelFailed as failure:
                found = _failed(step, failure)
            else:
                found = _replied(step, reply)
    return found.result


async def drive_async(step: Step[T], model: AsyncModel | None) -> T:
    """The same for a model that is awaited; a step that is cancelled is closed."""
    with closing(step):
        found: Ask | _Done[T] = _moved(step.__next__)
        while isinstance(found, Ask):
            try:
                reply = await _given(model)(found)
            except ModelFailed as failure:
                found = _failed(step, failure)
            else:
                found = _replied(step, reply)
    return found.result


def threaded(model: Model) -> AsyncModel:
    """A model that blocks, for those who await: each request waits in a thread of its own."""

    async def asked(ask: Ask, /) -> Reply:
        from asyncio import to_thread  # heavy, and only for those who have loaded it anyway

        return await to_thread(blocked, ask)

    def blocked(ask: Ask) -> Reply:
        try:
            return model(ask)
        except StopIteration as error:  # no future can hold one: whoever awaits would wait forever
            raise RuntimeError("the model raised a StopIteration") from error

    return asked


def _replied(step: Step[T], reply: Reply) -> Ask | _Done[T]:
    return _moved(lambda: step.send(reply))


def _failed(step: Step[T], failure: ModelFailed) -> Ask | _Done[T]:
    return _moved(lambda: step.throw(failure))


def _moved(move: Callable[[], Ask]) -> Ask | _Done[T]:
    """What a step asks next, or that it is done. The model is never called in here: if it raised
    a StopIteration, that would look like the end of the step."""
    try:
        return move()
    except StopIteration as done:
        return _Done(done.value)


M = TypeVar("M")


def _given(model: M | None) -> M:
    if model is None:
        raise ModelFailed("none", "no model was given", next_step="name one, as in command:PROGRAM")
    return model
