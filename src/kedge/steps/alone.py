"""A step that asks nobody."""

from __future__ import annotations

from typing import TypeVar

from kedge.model import Step

T = TypeVar("T")


def alone(step: Step[T]) -> T:
    """The result of a step that was given no model to ask, without any of the drivers."""
    try:
        asked = next(step)
    except StopIteration as done:
        result: T = done.value
        return result
    step.close()
    raise AssertionError(f"a step that has no model asked for one: {type(asked).__name__}")
