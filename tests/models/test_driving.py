"""Steps are written once and run in two ways; a model's failure is the step's to handle."""

from __future__ import annotations

import asyncio
import time

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Reply, Step, Wait
from kedgeline.models import AsyncModel, Model, Scripted, awaited, drive_async
from tests.models.talks import TIMED_OUT, Run, ask, conversation, never_ends, ways


@ways
def test_a_step_gets_the_reply_to_each_of_its_requests_in_order(run: Run) -> None:
    model = Scripted(["ein", "two"], name="translator")
    assert run(conversation("one", "zwei"), model) == ["translator: ein", "translator: two"]
    assert [one.prompt for one in model.asks] == ["one", "zwei"]


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
