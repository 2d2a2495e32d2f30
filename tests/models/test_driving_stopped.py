"""A request that is stopped or cancelled holds nobody up, and its late reply is not used."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Reply, Step, Wait
from kedgeline.models import Scripted, drive, drive_async, threaded
from kedgeline.models.driving import NotAsked
from tests.models.talks import ask, never_ends


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


def persistent(told: list[str]) -> Step[str]:
    """Asks three times, whatever happens."""
    for number in range(3):
        try:
            reply = yield ask(str(number))
        except ModelFailed as failure:
            told.append(f"{failure.kind}: {failure.why}{isinstance(failure, NotAsked)}")
        else:
            told.append(reply.text)
        yield Wait(seconds=20)
    return "done"


def test_a_request_under_way_is_abandoned_and_its_late_reply_is_thrown_away() -> None:
    model, stop, told = Slow(), threading.Event(), list[str]()

    def stopping() -> None:
        model.begun.wait(20)
        stop.set()

    threading.Thread(target=stopping).start()
    began = time.monotonic()
    assert drive(persistent(told), model, stop=stop) == "done"
    assert time.monotonic() - began < 10
    before = "cancelled: it was stopped beforeTrue"
    assert told == ["cancelled: it was stoppedFalse", before, before]
    assert not model.answered.is_set()
    model.let.set()
    assert model.answered.wait(20)
    assert (len(told), model.asked) == (3, 1)


def test_what_a_model_raises_in_its_thread_is_its_failure_here() -> None:
    def broken(_: Ask) -> str:
        raise ZeroDivisionError("broken")

    closed: list[str] = []
    with pytest.raises(ModelFailed, match="it raised ZeroDivisionError"):
        drive(never_ends(closed), Scripted(broken), stop=threading.Event())
    assert closed == ["closed"]


def test_a_model_that_blocks_does_not_hold_up_those_who_cancelled_it() -> None:
    """A pool of threads would be waited for at the end of the loop."""
    model, closed = Slow(), list[str]()

    async def cancelled() -> None:
        task = asyncio.create_task(drive_async(never_ends(closed), threaded(model)))
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
