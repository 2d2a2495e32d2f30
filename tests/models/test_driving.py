"""Steps are written once and run in two ways; a model's failure is the step's to handle."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step, Wait
from kedge.models import AsyncModel, Model, Scripted, awaited, drive, drive_async, threaded
from kedge.models.moving import NotAsked

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


@ways
def test_a_step_gets_the_reply_to_each_of_its_requests_in_order(run: Run) -> None:
    model = Scripted(["ein", "two"], name="translator")
    assert run(conversation("one", "zwei"), model) == ["translator: ein", "translator: two"]
    assert [one.prompt for one in model.asks] == ["one", "zwei"]


@ways
def test_a_step_that_asks_nothing_needs_no_model(run: Run) -> None:
    assert run(conversation(), None) == []


@ways
def test_a_step_that_asks_without_a_model_is_told_so(run: Run) -> None:
    with pytest.raises(ModelFailed, match="no model was given; name one, as in command:PROGRAM"):
        run(conversation("one"), None)


@ways
def test_a_failure_is_thrown_into_the_step_and_may_be_handled_there(run: Run) -> None:
    model = Scripted([TIMED_OUT, "late"])
    assert run(conversation("one"), model) == ["scripted: late"]
    assert model.asks[-1].prompt == "one, again"


@ways
def test_a_failure_that_the_step_does_not_handle_is_raised(run: Run) -> None:
    with pytest.raises(ModelFailed, match="3 seconds; use a faster one"):
        run(conversation("one"), Scripted([TIMED_OUT, TIMED_OUT]))


def never_ends(closed: list[str]) -> Step[None]:
    try:
        while True:
            yield ask("more")
    finally:
        closed.append("closed")


@ways
def test_a_broken_model_cannot_end_a_step_as_if_it_were_done(run: Run) -> None:
    """A StopIteration from within the model would look like the end of the generator."""

    def broken(_: Ask) -> str:
        raise StopIteration("nothing")

    closed: list[str] = []
    with pytest.raises(ModelFailed, match=r"'scripted' gave no reply: it raised \w+; call it by"):
        run(never_ends(closed), Scripted(broken))
    assert closed == ["closed"]


def test_a_step_that_is_cancelled_is_closed() -> None:
    closed: list[str] = []

    async def waits(_: Ask) -> Reply:
        await asyncio.sleep(60)
        raise AssertionError

    async def cancelled() -> None:
        task = asyncio.create_task(drive_async(never_ends(closed), waits))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert closed == ["closed"]


def pausing() -> Step[str]:
    yield Wait(seconds=0.02)
    reply = yield ask("one")
    yield Wait(seconds=0.03)
    return reply.text


@ways
def test_a_pause_is_made_and_the_step_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[float] = []

    async def slept(seconds: float) -> None:
        rested.append(seconds)

    monkeypatch.setattr(time, "sleep", rested.append)
    monkeypatch.setattr(asyncio, "sleep", slept)
    assert run(pausing(), Scripted(["x"])) == "x"
    assert rested == [0.02, 0.03]


# stopped


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


# awaited


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


@pytest.mark.parametrize(
    "model", [echo, Both(), Awaited(), Scripted(lambda one: Reply(text=one.prompt, model="echo"))]
)
def test_any_model_can_be_awaited(model: Model | AsyncModel) -> None:
    found = asyncio.run(drive_async(conversation("one"), awaited(model)))
    assert found == ["echo: one"]


def test_a_scripted_model_replies_by_rule() -> None:
    model = Scripted(lambda one: one.prompt.upper())
    assert drive(conversation("a", "b"), model) == ["scripted: A", "scripted: B"]


def test_a_script_may_hold_whole_replies() -> None:
    assert Scripted([Reply(text="x", model="other")])(ask("a")).model == "other"


def test_a_script_that_is_too_short_says_so() -> None:
    model = Scripted(["one"])
    model(ask("a"))
    with pytest.raises(ModelFailed, match="1 replies, and this is request 2; write a longer"):
        model(ask("b"))
