"""A step moved on, to what it wants next or to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step, Wait

T = TypeVar("T")


class Done(NamedTuple, Generic[T]):
    result: T


Next = Ask | Wait | Done[T]


class NotAsked(ModelFailed):
    """No request was made: nothing was sent, and nothing is paid."""


def went_on(step: Step[T]) -> Next[T]:
    """A step begun, or after its pause."""
    return _moved(step.__next__)


def replied(step: Step[T], reply: Reply) -> Next[T]:
    return _moved(lambda: step.send(reply))


def failed(step: Step[T], failure: ModelFailed) -> Next[T]:
    return _moved(lambda: step.throw(failure))


def _moved(move: Callable[[], Ask | Wait]) -> Next[T]:
    """What a step wants next, or that it is done. No model is called in here: if it raised a
    StopIteration, that would look like the end of the step."""
    try:
        return move()
    except StopIteration as done:
        return Done(done.value)
