"""A model is anybody's code: whatever it does, the work it is asked for goes on without it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kedgeline.errors import MissingExtra, UserError
from kedgeline.model import Ask, Compaction, Reply
from kedgeline.models import HostModel, awaited, drive, drive_async
from kedgeline.pipeline.compact import compact, compact_async
from tests.models.guards import ask, telling
from tests.test_worded import ESTIMATE, TIGHT, session

SECRET = "wick9-harbour-4f9c1d27"


class Unforeseen(Exception):
    """As a client's own errors: none of Python's."""


def raising(error: Exception) -> Callable[[Ask], Any]:
    def lamp(_: Ask, /) -> Any:
        raise error

    return lamp


def giving(what: object) -> Callable[[Ask], Any]:
    def lamp(_: Ask, /) -> Any:
        return what

    return lamp


BROKEN = [
    (raising(ConnectionError(SECRET)), "it raised ConnectionError"),
    (raising(TimeoutError(SECRET)), "it raised TimeoutError"),
    (raising(ValueError(SECRET)), "it raised ValueError"),
    (raising(Unforeseen(SECRET)), "it raised Unforeseen"),
    (raising(StopIteration(SECRET)), "it raised "),
    (raising(EOFError()), "it raised EOFError"),
    (raising(MissingExtra("the lamp", "oil")), "run pip install 'kedgeline[oil]'"),
    (giving(None), "it gave back NoneType, and not a Reply with words"),
    (giving("words"), "it gave back str, and"),
    (giving(Reply(text=None, model="m")), "a reply with NoneType for its text"),  # type: ignore[arg-type]
    (giving(Reply(text=b"x", model="m")), "a reply with bytes for its text"),  # type: ignore[arg-type]
]


async def stopping(model: Any) -> Any:
    return drive(telling([ask()]), model, stop=threading.Event())


async def blocking(model: Any) -> Any:
    return drive(telling([ask()]), model)


async def awaiting(model: Any) -> Any:
    return await drive_async(telling([ask()]), awaited(model))


async def awaiting_itself(model: Any) -> Any:
    async def lamp(one: Ask, /) -> Any:
        return model(one)

    return await drive_async(telling([ask()]), lamp)


@pytest.mark.parametrize("run", [blocking, stopping, awaiting, awaiting_itself])
@pytest.mark.parametrize(("model", "why"), BROKEN)
def test_what_is_no_reply_is_a_failure_of_the_model(run: Any, model: Any, why: str) -> None:
    (told,) = asyncio.run(run(model))
    assert told.startswith("failed: ")
    assert why in told
    assert SECRET not in told


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_ends_a_program_or_a_task_is_no_failure(error: type[BaseException]) -> None:
    model: Any = raising(error())  # type: ignore[arg-type]
    with pytest.raises(error):
        drive(telling([ask()]), model)


def compacted(model: Any, *, wait: bool) -> Compaction:
    if wait:
        return asyncio.run(compact_async(session(), TIGHT, counter=ESTIMATE, model=model))
    return compact(session(), TIGHT, counter=ESTIMATE, model=model)


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("model", [BROKEN[0][0], BROKEN[4][0], BROKEN[7][0], BROKEN[9][0]])
def test_a_compaction_does_not_fail_because_a_model_does(model: Any, wait: bool) -> None:
    plain = compact(session(), TIGHT, counter=ESTIMATE)
    done = compacted(model, wait=wait)
    assert done.summary == plain.summary
    assert done.wording is not None
    assert (done.wording.model, done.wording.fallback) == ("lamp", "failed")
    assert [call.failure for call in done.wording.calls] == ["failed"]


# awaited where nobody can


async def sampled(system: str, prompt: str, tokens: int) -> str:
    raise AssertionError("it is not asked")


async def lamp(one: Ask, /) -> Reply:
    return Reply(text=one.prompt, model="lamp")


@pytest.mark.parametrize(
    ("model", "name"),
    [(HostModel(sampled), "host"), (lamp, "lamp"), (partial(lamp), "partial")],
)
def test_a_model_that_must_be_awaited_is_refused_where_nobody_can(model: Any, name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}' must be awaited; call compact_async"):
        compacted(model, wait=False)


def test_one_that_only_shows_it_when_it_is_called_is_refused_then() -> None:
    """Without a warning that it was never awaited, which would be an error here."""
    with pytest.raises(UserError, match="must be awaited"):
        drive(telling([ask()]), lambda one: lamp(one))  # type: ignore[arg-type,return-value]


def test_where_it_can_be_awaited_it_is() -> None:
    assert asyncio.run(awaiting(lambda one: lamp(one))) == ("What now?",)


@pytest.mark.parametrize("wait", [False, True])
def test_a_name_is_no_model(wait: bool) -> None:
    with pytest.raises(UserError, match=r"not a str; kedgeline\.models\.model_named makes one"):
        compacted("openai:gpt-5", wait=wait)
