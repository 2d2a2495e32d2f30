"""What models use is counted, written down at once, and kept within a budget."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from kedgeline.errors import StoreBusy
from kedgeline.model import ModelCall, Reply, Usage
from kedgeline.models import TERMS, Meter, Terms, drive_async, guarded
from tests.models.guards import (
    NAME,
    USED,
    Act,
    Run,
    World,
    ask,
    before,
    failure,
    ran,
    reported,
    telling,
    ways,
    words,
)

# every try


@ways
def test_every_try_is_written_down_at_once(run: Run) -> None:
    acts = (Act(2, failure("rate limited")), Act(3, reported(USED)), Act(1, failure("not allowed")))
    world, told = World(*acts), list[int]()
    meter = Meter(count=words, now=world.moment, on_call=lambda call: told.append(len(world.asks)))
    asks = ask("a b c", prompt_hash="h", role="judge"), ask("d")
    found = ran(world, *asks, terms=TERMS, run=run, meter=meter)
    assert found.told == ("fine", "not allowed: it is not allowed")
    assert told == [1, 2, 3]
    expected = ModelCall(
        role="judge",
        model=NAME,
        sent=5,
        usage=USED,
        prompt_hash="h",
        at=datetime.fromtimestamp(1, tz=UTC),
        seconds=3.0,
    )
    assert found.calls[1] == expected
    assert [(one.failure, one.usage, one.estimated, one.seconds) for one in found.calls[::2]] == [
        ("rate limited", Usage(), True, 2.0),
        ("not allowed", Usage(), True, 1.0),
    ]
    assert meter.spent == USED
    assert meter.tokens == 130


NOT_REPORTED = [
    None,
    Usage(),
    Usage(input=-1, output=5),
    Usage(input=5, cache_read=-1),
    Usage(input=1.5),  # type: ignore[arg-type]
    Usage(input=5, output=True),
    Usage(input=10**18),
    Usage(input=5, output=2_000_000),
    Usage(input=5, cache_read=2_000_000),
    {"input": 5},
]


@pytest.mark.parametrize("usage", NOT_REPORTED, ids=str)
def test_what_nobody_reported_is_estimated(usage: Any) -> None:
    (call,) = ran(World(Act(1, reported(usage, "four words of reply"))), ask(), terms=TERMS).calls
    assert (call.usage, call.estimated) == (Usage(input=4, output=4), True)


@pytest.mark.parametrize("broken", [None, StoreBusy("somewhere", 5.0), OSError("disk full")])
def test_a_request_that_is_cancelled_was_made_and_is_written_down(broken: Exception | None) -> None:
    """What goes wrong with that does not take the place of the cancellation."""
    told = list[ModelCall]()

    def on_call(call: ModelCall) -> None:
        told.append(call)
        if broken is not None:
            raise broken

    meter = Meter(count=words, on_call=on_call)

    async def never(_: object) -> Reply:
        await asyncio.sleep(60)
        raise AssertionError

    async def cancelled() -> None:
        step = guarded(telling([ask()]), TERMS, model=NAME, clean=str, meter=meter)
        task = asyncio.create_task(drive_async(step, never))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [(call.failure, call.usage) for call in meter.calls] == [("cancelled", Usage())]
    assert tuple(told) == meter.calls


# tokens


@ways
def test_a_request_that_could_exceed_the_tokens_is_not_made(run: Run) -> None:
    """Four are sent and ten may be written."""
    terms = Terms(tokens=42)
    meter = Meter(terms, count=words, earlier=[before(Usage(input=9, output=1, cache_read=6))])
    acts = (Act(1, "one two"), Act(1, "one two three"), Act(1, "x"))
    found = ran(World(*acts), ask(), ask(), ask(), terms=terms, run=run, meter=meter)
    why = "over budget: the session has used 29 of 42 tokens, and this request may take 14"
    assert found.told == ("one two", "one two three", why)
    assert (meter.tokens, len(found.asks)) == (29, 2)
