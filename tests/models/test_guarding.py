"""Between a step and a model: no secrets, tries, pauses and a deadline, the same in both ways."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Step, Wait
from kedgeline.models import TERMS, Meter, Terms, guarded
from kedgeline.models.metering import LONGEST_WAIT
from tests.models.guards import (
    Act,
    Run,
    World,
    ask,
    failure,
    ran,
    ways,
    words,
)

BUSY = failure("rate limited")
SECRET = "sk-harbour-12345"


# redaction


@ways
def test_nothing_secret_leaves(run: Run) -> None:
    world = World(Act(1, BUSY), Act(1, "fine"))
    told = ask(f"the key is {SECRET}", system=f"{SECRET}!", prompt_hash="h", schema={"title": "x"})
    found = ran(world, told, terms=TERMS, run=run, clean=lambda text: text.replace(SECRET, "[key]"))
    assert found.told == ("fine",)
    assert len(world.asks) == 2
    for _, sent in world.asks:
        assert (sent.system, sent.prompt) == ("[key]!", "the key is [key]")
        assert (sent.prompt_hash, sent.schema, sent.most_tokens) == ("h", {"title": "x"}, 10)


# patience


@ways
def test_a_failure_that_may_pass_is_tried_again_with_longer_pauses(run: Run) -> None:
    acts = [Act(1, failure(kind)) for kind in ("rate limited", "server error", "disconnected")]
    found = ran(World(*acts, Act(1, "at last")), ask(), terms=replace(TERMS, tries=4), run=run)
    assert found.told == ("at last",)
    assert [seconds for _, seconds in found.waits] == [1.0, 2.0, 4.0]


STAYS = ("not allowed", "bad request", "cancelled", "over budget", "failed", "too large", "empty")


@pytest.mark.parametrize("kind", STAYS)
def test_a_failure_that_stays_is_not_tried_again(kind: str) -> None:
    found = ran(World(Act(1, failure(kind)), Act(1, "x")), ask(), terms=TERMS)
    assert found.told == (f"{kind}: it is {kind}",)
    assert (len(found.asks), found.waits) == (1, [])


@ways
def test_a_provider_is_given_the_time_that_it_asks_for(run: Run) -> None:
    found = ran(
        World(Act(1, failure("rate limited", 30)), Act(1, "x")), ask(), terms=TERMS, run=run
    )
    assert found.told == ("x",)
    assert [seconds for _, seconds in found.waits] == [30]


@pytest.mark.parametrize(
    ("terms", "wait"),
    [(Terms(seconds=20), 20), (Terms(seconds=20), inf), (Terms(seconds=0), LONGEST_WAIT + 1)],
)
def test_where_it_asks_for_too_much_nobody_waits(terms: Terms, wait: float) -> None:
    acts = (Act(1, failure("rate limited", wait)), Act(1, "x"))
    found = ran(World(*acts), ask(), ask(), terms=terms)
    assert found.told == ("rate limited: it is rate limited", "x")
    assert found.waits == []


@ways
def test_each_request_gets_what_is_left_of_the_time_and_no_more_than_one_may_take(run: Run) -> None:
    acts = (Act(50, "one"), Act(55, "two"), Act(10, "three"))
    terms = Terms(call_seconds=60, seconds=120)
    found = ran(World(*acts), ask(), ask(), ask(), terms=terms, run=run)
    assert [one.seconds for _, one in found.asks] == [60, 60, 15]
    assert found.told == ("one", "two", "three")


TOO_LATE = "timed out: all requests together took more than 100 seconds"


@ways
def test_when_the_time_is_over_nothing_more_is_asked(run: Run) -> None:
    acts = (Act(40, "one"), Act(99, "two"), Act(1, "three"))
    terms = Terms(seconds=100, tries=1)
    found = ran(World(*acts), ask(), ask(), ask(), terms=terms, run=run)
    assert found.told == ("one", "timed out: too slow", TOO_LATE)
    assert len(found.asks) == 2


def test_the_time_begins_with_the_first_request() -> None:
    def late() -> Step[str]:
        yield Wait(seconds=500)
        return (yield ask()).text

    world = World(Act(1, "x"))
    assert ran(world, terms=Terms(seconds=100), step=late()).told == "x"
    assert world.waits == [(1_000.0, 500)]


def test_pauses_of_the_step_itself_end_with_the_time() -> None:
    def slow() -> Step[str]:
        yield ask()
        yield Wait(seconds=500)
        yield Wait(seconds=500)
        return "done"

    world = World(Act(40, "x"))
    assert ran(world, terms=Terms(seconds=100), step=slow()).told == "done"
    assert [seconds for _, seconds in world.waits] == [60, 0]


@ways
def test_what_the_step_does_not_handle_is_raised_and_the_step_is_closed(run: Run) -> None:
    closed: list[str] = []

    def careless() -> Step[str]:
        try:
            return (yield ask()).text
        finally:
            closed.append("closed")

    with pytest.raises(ModelFailed, match="it is bad request"):
        ran(World(Act(1, failure("bad request"))), terms=TERMS, run=run, step=careless())
    assert closed == ["closed"]


def test_a_guard_that_is_closed_closes_the_step() -> None:
    closed: list[str] = []

    def endless() -> Step[None]:
        try:
            while True:
                yield ask()
        finally:
            closed.append("closed")

    inner = endless()
    meter = Meter(count=words)
    outer = guarded(inner, TERMS, model="m", clean=str, meter=meter)
    next(outer)
    outer.close()
    assert closed == ["closed"]
