"""Between a step and a model: no secrets, tries, pauses, a deadline and a limit of tokens; every
request is written down."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from kedgeline.errors import ModelFailed, StoreBusy
from kedgeline.model import Ask, ModelCall, Reply, Step, Usage, Wait
from kedgeline.models import (
    TERMS,
    CommandModel,
    Meter,
    Model,
    Scripted,
    Terms,
    drive,
    drive_async,
    guarded_step,
)
from kedgeline.models.driving import LONGEST_WAIT, NotAsked
from kedgeline.redact import REDACTOR
from kedgeline.session.session import Session
from tests.living.sessions import folder, steps
from tests.models.worlds import (
    NAME,
    USED,
    Act,
    Run,
    World,
    ask,
    failure,
    never_ends,
    ran,
    telling,
    ways,
    words,
)
from tests.redact.seeds import PREFIXED

# Patience.


@ways
def test_a_failure_that_may_pass_is_tried_again_with_longer_pauses(run: Run) -> None:
    acts = [Act(1, failure(kind)) for kind in ("rate limited", "server error", "disconnected")]
    found = ran(World(*acts, Act(1, "at last")), ask(), terms=replace(TERMS, tries=4), run=run)
    assert found.told == ("at last",)
    assert found.world.waits == [1.0, 2.0, 4.0]


STAYS = ("not allowed", "bad request", "cancelled", "over budget", "failed", "too large", "empty")


@pytest.mark.parametrize("kind", STAYS)
def test_a_failure_that_stays_is_not_tried_again(kind: str) -> None:
    found = ran(World(Act(1, failure(kind)), Act(1, "x")), ask(), terms=TERMS)
    assert found.told == (f"{kind}: it is {kind}",)
    assert (len(found.asks), found.world.waits) == (1, [])


def test_a_provider_is_given_the_time_that_it_asks_for() -> None:
    found = ran(World(Act(1, failure("rate limited", 30)), Act(1, "x")), ask(), terms=TERMS)
    assert (found.told, found.world.waits) == (("x",), [30])


@pytest.mark.parametrize(
    ("terms", "wait"),
    [(Terms(seconds=20), 20), (Terms(seconds=20), inf), (Terms(seconds=0), LONGEST_WAIT + 1)],
)
def test_where_it_asks_for_too_much_nobody_waits(terms: Terms, wait: float) -> None:
    found = ran(
        World(Act(1, failure("rate limited", wait)), Act(1, "x")), ask(), ask(), terms=terms
    )
    assert found.told == ("rate limited: it is rate limited", "x")
    assert found.world.waits == []


def test_each_request_gets_what_is_left_of_the_time_and_no_more_than_one_may_take() -> None:
    acts = (Act(50, "one"), Act(55, "two"), Act(10, "three"))
    terms = Terms(call_seconds=60, seconds=120)
    found = ran(World(*acts), ask(), ask(), ask(), terms=terms)
    assert [one.seconds for one in found.asks] == [60, 60, 15]
    assert found.told == ("one", "two", "three")


@ways
def test_when_the_time_is_over_nothing_more_is_asked(run: Run) -> None:
    acts = (Act(40, "one"), Act(99, "two"), Act(1, "three"))
    found = ran(World(*acts), ask(), ask(), ask(), terms=Terms(seconds=100, tries=1), run=run)
    late = "timed out: all requests together took more than 100 seconds"
    assert found.told == ("one", "timed out: too slow", late)
    assert len(found.asks) == 2


def test_the_time_begins_with_the_first_request_and_ends_pauses_of_the_step() -> None:
    def slow() -> Step[str]:
        yield Wait(seconds=500)
        yield ask()
        yield Wait(seconds=500)
        yield Wait(seconds=500)
        return "done"

    world = World(Act(40, "x"))
    assert ran(world, terms=Terms(seconds=100), step=slow()).told == "done"
    assert world.waits == [500, 60, 0]


def test_a_guard_that_is_closed_closes_the_step() -> None:
    closed: list[str] = []
    outer = guarded_step(never_ends(closed), TERMS, model="m", clean=str, meter=Meter(count=words))
    next(outer)
    outer.close()
    assert closed == ["closed"]


# Every try is written down, and counts.


def call(**fields: Any) -> ModelCall:
    given = {"role": "judge", "model": NAME, "sent": 5, "usage": Usage(), "prompt_hash": "h"}
    return ModelCall(**{**given, "seconds": 1.0, **fields})  # type: ignore[arg-type]


def replace_at(one: ModelCall) -> ModelCall:
    assert one.at is not None
    return msgspec.structs.replace(one, at=None)


@ways
def test_every_try_is_written_down_at_once(run: Run) -> None:
    used = Reply(text="fine", model=NAME, usage=USED)
    acts = (Act(2, failure("rate limited")), Act(3, used), Act(1, failure("not allowed")))
    world, told = World(*acts), list[int]()
    meter = Meter(count=words, on_call=lambda call: told.append(len(world.asks)))
    asks = ask("a b c", prompt_hash="h", role="judge"), ask("d")
    found = ran(world, *asks, terms=TERMS, run=run, meter=meter)
    assert found.told == ("fine", "not allowed: it is not allowed")
    assert told == [1, 2, 3]
    assert [replace_at(one) for one in found.calls] == [
        call(failure="rate limited", estimated=True, seconds=2.0),
        call(usage=USED, seconds=3.0),
        call(role="summarise", sent=3, prompt_hash="", failure="not allowed", estimated=True),
    ]
    assert meter.tokens == 130


@pytest.mark.parametrize("usage", [None, Usage()])
def test_what_nobody_reported_is_estimated(usage: Usage | None) -> None:
    reply = Reply(text="four words of reply", model=NAME, usage=usage)
    (call,) = ran(World(Act(1, reply)), ask(), terms=TERMS).calls
    assert (call.usage, call.estimated) == (Usage(input=4, output=4), True)


@pytest.mark.parametrize("broken", [None, StoreBusy("somewhere", 5.0), OSError("disk full")])
def test_a_request_that_is_cancelled_was_made_and_is_written_down(broken: Exception | None) -> None:
    """What goes wrong with that does not take the place of the cancellation."""

    def on_call(call: ModelCall) -> None:
        if broken is not None:
            raise broken

    meter = Meter(count=words, on_call=on_call)

    async def never(_: object) -> Reply:
        await asyncio.sleep(60)
        raise AssertionError

    async def cancelled() -> None:
        step = guarded_step(telling(ask()), TERMS, model=NAME, clean=str, meter=meter)
        task = asyncio.create_task(drive_async(step, never))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [(call.failure, call.usage) for call in meter.calls] == [("cancelled", Usage())]


@ways
def test_a_request_that_could_exceed_the_tokens_is_not_made(run: Run) -> None:
    """Four are sent and ten may be written."""
    terms = Terms(tokens=42)
    before = Usage(input=9, output=1, cache_read=6)
    earlier = [ModelCall(role="summarise", model=NAME, sent=9, usage=before)]
    acts = (Act(1, "one two"), Act(1, "one two three"), Act(1, "x"))
    meter = Meter(terms, count=words, earlier=earlier)
    found = ran(World(*acts), ask(), ask(), ask(), terms=terms, run=run, meter=meter)
    why = "over budget: the session has used 29 of 42 tokens, and this request may take 14"
    assert found.told == ("one two", "one two three", why)
    assert (meter.tokens, len(found.asks)) == (29, 2)


# No secrets in what is sent, nor in records and failures.

KEY = PREFIXED["github"](Random(1))


@ways
def test_nothing_secret_leaves(run: Run) -> None:
    world = World(Act(1, failure("rate limited")), Act(1, "fine"))
    told = ask(f"the key is {KEY}", system=f"{KEY}!", prompt_hash="h", schema={"title": "x"})
    found = ran(world, told, terms=TERMS, run=run, clean=lambda text: text.replace(KEY, "[key]"))
    assert found.told == ("fine",)
    for sent in found.asks:
        assert (sent.system, sent.prompt) == ("[key]!", "the key is [key]")
        assert (sent.prompt_hash, sent.schema, sent.most_tokens) == ("h", {"title": "x"}, 10)


def with_arguments() -> Model:
    return CommandModel((sys.executable, "-c", "print('{}')", "--key", KEY))


def named() -> Model:
    """A name that nobody but its owner has made."""

    def lamp(one: Ask, /) -> Reply:
        return Reply(text="{}", model=f"lamp {KEY}")

    lamp.name = f"lamp {KEY}"  # type: ignore[attr-defined]
    return lamp


def complaining() -> Model:
    code = f"import sys; sys.exit('Authorization: Bearer {KEY} is refused')"
    return CommandModel((sys.executable, "-c", code))


def failing() -> Model:
    broken = ModelFailed(KEY, f"{KEY} is refused", next_step=f"renew {KEY}", kind="not allowed")
    return Scripted(lambda one: broken, name="lamp")


@pytest.mark.parametrize("make", [with_arguments, named, complaining, failing])
def test_no_record_and_no_store_has_a_key_in_it(make: Callable[[], Model], tmp_path: Path) -> None:
    with closing(folder(tmp_path / "state")("")) as store:
        found = Session("s", store, window=2_000)
        found.append(steps(60))
        done = found.compact(model=make())
        calls = list(found._journal().calls())
    assert done.wording is not None
    assert calls == list(done.wording.calls) != []
    assert KEY not in f"{calls}{msgspec.json.encode(done).decode()}"
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


@pytest.mark.parametrize("kind", [ModelFailed, NotAsked])
def test_a_failure_behind_the_guard_is_clean_and_the_same_in_all_else(
    kind: type[ModelFailed],
) -> None:
    """One that was not asked stays one, and is not written down."""
    made = kind(KEY, f"said {KEY}", next_step=KEY, kind="rate limited", wait=9e9)

    def once() -> Step[Reply]:
        return (yield ask())

    meter = Meter(count=words)
    step = guarded_step(once(), TERMS, model=KEY, clean=REDACTOR.clean, meter=meter)
    with pytest.raises(ModelFailed) as caught:
        drive(step, Scripted(lambda _: made))
    found = caught.value
    assert (found.kind, found.wait, type(found)) == ("rate limited", 9e9, kind)
    made_calls = [] if kind is NotAsked else ["[secret: GitHub token]"]
    assert [call.model for call in meter.calls] == made_calls
    assert "[secret: GitHub token]" in found.why
    assert KEY not in "".join(traceback.format_exception(found))
