"""A request that is stopped or cancelled holds nobody up, and its late reply is not used."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from typing import Any

import pytest

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step, Wait
from kedge.models import Scripted, drive, drive_async, threaded
from kedge.models.moving import NotAsked
from tests.models.talks import TIMED_OUT, Run, ask, asynchronously, conversation, never_ends


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


class InThatMoment:
    """Is set while the reply is on its way."""

    looks = 0

    def is_set(self) -> bool:
        self.looks += 1
        return self.looks > 2

    def wait(self, timeout: float, /) -> None:
        pass


def test_a_reply_that_comes_together_with_the_stop_is_not_used() -> None:
    told: list[str] = []
    drive(persistent(told), Scripted(["a", "b", "c"]), stop=InThatMoment())
    assert told[0] == "cancelled: it was stoppedFalse"


def test_a_stop_that_is_never_set_changes_nothing() -> None:
    stop = threading.Event()
    model = Scripted([TIMED_OUT, "late"])
    assert drive(conversation("one"), model, stop=stop) == ["scripted: late"]
    with pytest.raises(ModelFailed, match="3 seconds; use a faster one"):
        drive(conversation("one"), Scripted([TIMED_OUT, TIMED_OUT]), stop=stop)


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


SPAN: ContextVar[str] = ContextVar("span", default="")


def stoppable(step: Step[Any], model: Scripted | None) -> Any:
    return drive(step, model, stop=threading.Event())


@pytest.mark.parametrize("run", [asynchronously, stoppable])
def test_a_request_in_a_thread_belongs_to_what_it_was_made_in(run: Run) -> None:
    token = SPAN.set("compaction")
    assert run(conversation("one"), Scripted(lambda _: SPAN.get())) == ["scripted: compaction"]
    SPAN.reset(token)
