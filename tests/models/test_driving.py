"""Steps are written once and run in two ways; whatever a model does, the work goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kedgeline.errors import MissingExtra, ModelFailed, UserError
from kedgeline.model import Ask, Compaction, Reply, Step, Wait
from kedgeline.models import Scripted, awaited, drive, drive_async
from kedgeline.models.driving import NotAsked
from kedgeline.pipeline.compact import compact, compact_async
from tests.models.worlds import Run, ask, failure, never_ends, telling, ways
from tests.pipeline.test_words import ESTIMATE, TIGHT, session

SECRET = "wick9-harbour-4f9c1d27"


@ways
def test_a_step_gets_replies_and_failures_in_order_and_goes_on(run: Run) -> None:
    model = Scripted(["ein", failure("timed out"), "two"], name="translator")
    told = run(telling(ask("one"), ask("x"), ask("zwei")), model)
    assert told == ("ein", "timed out: it is timed out", "two")
    assert [one.prompt for one in model.asks] == ["one", "x", "zwei"]


@ways
def test_a_step_that_asks_without_a_model_is_told_so(run: Run) -> None:
    with pytest.raises(ModelFailed, match="no model was given; name one, as in command:PROGRAM"):
        run(never_ends([]), None)


@ways
def test_a_pause_is_made_and_the_step_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def pausing() -> Step[str]:
        yield Wait(seconds=0.02)
        reply = yield ask()
        yield Wait(seconds=0.03)
        return reply.text

    class Resting(Scripted):
        rested: list[float] = []  # noqa: RUF012

        def rest(self, seconds: float) -> None:
            self.rested.append(seconds)

        async def rest_async(self, seconds: float) -> None:
            self.rested.append(seconds)

    model = Resting(["x"])
    model.rested.clear()
    assert run(pausing(), model) == "x"
    assert model.rested == [0.02, 0.03]


# Awaited.


async def echo(one: Ask, /) -> Reply:
    return Reply(text=one.prompt, model="echo")


class Both:
    def __call__(self, one: Ask, /) -> Reply:
        raise AssertionError("it blocks")

    async def awaited(self, one: Ask, /) -> Reply:
        return await echo(one)


class Awaited:
    async def __call__(self, one: Ask, /) -> Reply:
        return await echo(one)


SCRIPTED = Scripted(lambda one: Reply(text=one.prompt, model="e"))


@pytest.mark.parametrize("model", [echo, Both(), Awaited(), SCRIPTED, lambda one: echo(one)])
def test_any_model_can_be_awaited(model: Any) -> None:
    assert asyncio.run(drive_async(telling(ask("one")), awaited(model))) == ("one",)


@pytest.mark.parametrize(("model", "name"), [(echo, "echo"), (partial(echo), "partial")])
def test_a_model_that_must_be_awaited_is_refused_where_nobody_can(model: Any, name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}' must be awaited; call compact_async"):
        compact(session(), TIGHT, counter=ESTIMATE, model=model)


def test_one_that_only_shows_it_when_it_is_called_is_refused_then() -> None:
    """Without a warning that it was never awaited, which would be an error here."""
    with pytest.raises(UserError, match="must be awaited"):
        drive(telling(ask()), lambda one: echo(one))  # type: ignore[arg-type,return-value]


# What a model raises or gives back.


class Unforeseen(Exception):
    """As a client's own errors: none of Python's."""


def raising(error: BaseException) -> Callable[[Ask], Any]:
    def lamp(_: Ask, /) -> Any:
        raise error

    return lamp


def giving(what: object) -> Callable[[Ask], Any]:
    def lamp(_: Ask, /) -> Any:
        return what

    return lamp


BROKEN = [
    (raising(ConnectionError(SECRET)), "it raised ConnectionError"),
    (raising(Unforeseen(SECRET)), "it raised Unforeseen"),
    (raising(StopIteration(SECRET)), "it raised "),
    (raising(MissingExtra("the lamp", "oil")), "run pip install 'kedgeline[oil]'"),
    (giving(None), "it gave back NoneType, and not a Reply with words"),
    (giving(Reply(text=b"x", model="m")), "it gave back Reply, and not"),  # type: ignore[arg-type]
]


async def stopping(model: Any) -> Any:
    return drive(telling(ask()), model, stop=threading.Event())


async def blocking(model: Any) -> Any:
    return drive(telling(ask()), model)


async def awaiting(model: Any) -> Any:
    return await drive_async(telling(ask()), awaited(model))


async def awaiting_itself(model: Any) -> Any:
    async def lamp(one: Ask, /) -> Any:
        return model(one)

    return await drive_async(telling(ask()), lamp)


@pytest.mark.parametrize("run", [blocking, stopping, awaiting, awaiting_itself])
@pytest.mark.parametrize(("model", "why"), BROKEN)
def test_what_is_no_reply_is_a_failure_of_the_model(run: Any, model: Any, why: str) -> None:
    (told,) = asyncio.run(run(model))
    assert told.startswith("failed: ")
    assert why in told
    assert SECRET not in told


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_ends_a_program_or_a_task_is_no_failure(error: type[BaseException]) -> None:
    with pytest.raises(error):
        drive(telling(ask()), raising(error()))


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("model", [BROKEN[0][0], BROKEN[2][0], BROKEN[4][0]])
def test_a_compaction_does_not_fail_because_a_model_does(model: Any, wait: bool) -> None:
    def compacted() -> Compaction:
        if wait:
            return asyncio.run(compact_async(session(), TIGHT, counter=ESTIMATE, model=model))
        return compact(session(), TIGHT, counter=ESTIMATE, model=model)

    plain, done = compact(session(), TIGHT, counter=ESTIMATE), compacted()
    assert done.summary == plain.summary
    assert done.wording is not None
    assert (done.wording.model, done.wording.fallback) == ("lamp", "failed")
    assert [call.failure for call in done.wording.calls] == ["failed"]


def test_a_name_is_no_model() -> None:
    with pytest.raises(UserError, match=r"not a str; kedgeline\.models\.model_named makes one"):
        compact(session(), TIGHT, counter=ESTIMATE, model="openai:gpt-5")  # type: ignore[arg-type]


# A request that is stopped or cancelled holds nobody up, and its late reply is not used.


class Slow:
    """Answers when it is let, and says whether it did."""

    name = "slow"

    def __init__(self) -> None:
        self.begun, self.let, self.answered = (threading.Event() for _ in range(3))
        self.asked = 0

    def __call__(self, one: Ask, /) -> Reply:
        self.asked += 1
        self.begun.set()
        self.let.wait(20)
        self.answered.set()
        return Reply(text="too late", model=self.name)


def test_a_request_under_way_is_abandoned_and_its_late_reply_is_thrown_away() -> None:
    model, stop, told = Slow(), threading.Event(), list[str]()

    def persistent() -> Step[str]:
        for _ in range(3):
            try:
                told.append((yield ask()).text)
            except ModelFailed as error:
                told.append(f"{error.kind}: {error.why}{isinstance(error, NotAsked)}")
            yield Wait(seconds=20)
        return "done"

    def stopping() -> None:
        model.begun.wait(20)
        stop.set()

    threading.Thread(target=stopping).start()
    began = time.monotonic()
    assert drive(persistent(), model, stop=stop) == "done"
    assert time.monotonic() - began < 10
    before = "cancelled: it was stopped beforeTrue"
    assert told == ["cancelled: it was stoppedFalse", before, before]
    assert not model.answered.is_set()
    model.let.set()
    assert model.answered.wait(20)
    assert (len(told), model.asked) == (3, 1)


def test_one_that_is_cancelled_closes_the_step_and_holds_up_nobody() -> None:
    """A pool of threads would be waited for at the end of the loop."""
    model, closed = Slow(), list[str]()

    async def cancelled() -> None:
        task = asyncio.create_task(drive_async(never_ends(closed), awaited(model)))
        await asyncio.sleep(0.01)
        assert model.begun.wait(20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 10
    assert closed == ["closed"]
    model.let.set()
    assert model.answered.wait(20)
