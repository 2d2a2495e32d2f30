"""Steps that talk with a model, and the two ways to run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Step
from kedgeline.models import Scripted, drive, drive_async, threaded

TIMED_OUT = ModelFailed("slow", "it took more than 3 seconds", next_step="use a faster one")


def ask(prompt: str) -> Ask:
    return Ask(role="answer", system="Be brief.", prompt=prompt, most_tokens=10)


def conversation(*prompts: str) -> Step[list[str]]:
    """Asks one thing after the other, and asks again where there is no reply."""
    said = []
    for prompt in prompts:
        try:
            reply = yield ask(prompt)
        except ModelFailed:
            reply = yield ask(f"{prompt}, again")
        said.append(f"{reply.model}: {reply.text}")
    return said


def synchronously(step: Step[Any], model: Scripted | None) -> Any:
    return drive(step, model)


def asynchronously(step: Step[Any], model: Scripted | None) -> Any:
    return asyncio.run(drive_async(step, None if model is None else threaded(model)))


ways = pytest.mark.parametrize("run", [synchronously, asynchronously])
Run = Callable[[Step[Any], Scripted | None], Any]


def never_ends(closed: list[str]) -> Step[None]:
    try:
        while True:
            yield ask("more")
    finally:
        closed.append("closed")
