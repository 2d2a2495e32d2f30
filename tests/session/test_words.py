"""A model writes for a living session: every request is written down, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Reply, Transcript, Usage
from kedgeline.models import Scripted, Terms
from kedgeline.session.session import Session
from tests.living.sessions import memory, opened, steps
from tests.validity import problems

WINDOW = 3_000
EMPTY: dict[str, Any] = {
    "intent": "",
    "changes": [],
    "reasons": [],
    "state": "",
    "next_steps": [],
    "questions": [],
}
USED = Usage(input=900, output=40)


def wordy(ask: Ask) -> Reply:
    return Reply(text=json.dumps(EMPTY), model="lamplighter", usage=USED)


TURNS = steps(30)


def filled(name: str = "evening") -> Session:
    found = Session(name, memory()(""), window=WINDOW, redactor=None)
    found.append(TURNS)
    return found


def sendable(found: Session) -> bool:
    return not problems("anthropic", found.view("anthropic").messages)


def test_every_request_is_an_entry_of_the_session_with_its_usage() -> None:
    found = filled()
    found.compact(model=Scripted(wordy, name="lamplighter"))
    calls = list(found._journal().calls())
    assert [(call.model, call.usage, call.failure) for call in calls] == [("lamplighter", USED, "")]


def test_a_failed_request_is_written_down_too_and_the_session_is_compacted() -> None:
    found = filled()
    failure = ModelFailed("lamplighter", "no such key", next_step="x", kind="not allowed")
    done = found.compact(model=Scripted(lambda ask: failure, name="lamplighter"))
    assert done.count == 1
    assert done.wording is not None
    assert done.wording.fallback == "not allowed"
    assert [call.failure for call in found._journal().calls()] == ["not allowed"]
    assert sendable(found)


def test_what_was_used_before_counts_towards_the_budget() -> None:
    found = filled()
    terms = Terms(tokens=USED.input + USED.output + 100)
    found.compact(model=Scripted(wordy, name="lamplighter"), terms=Terms())
    found.append(steps(60))
    model = Scripted(wordy, name="lamplighter")
    done = found.compact(model=model, terms=terms)
    assert done.wording is not None
    assert done.wording.fallback == "over budget"
    assert model.asks == []
    assert done.plan.folded


def test_what_would_be_sent_is_known_without_a_trace() -> None:
    found = filled()
    before = found.store.head(found.name).number
    asks = found.requests_to_compact()
    assert asks
    assert found.store.head(found.name).number == before
    model = Scripted(wordy)
    found.compact(model=model)
    assert [one.prompt for one in model.asks] == [one.prompt for one in asks]


def test_awaiting_writes_the_same_record() -> None:
    one, other = filled(), filled()
    called = one.compact(model=Scripted(wordy))
    awaited = asyncio.run(other.compact_async(model=Scripted(wordy)))
    assert (called.summary, called.plan) == (awaited.summary, awaited.plan)
    assert one.view("anthropic").messages == other.view("anthropic").messages


def test_one_that_is_stopped_is_compacted_without_the_model_and_a_late_reply_is_not_used() -> None:
    found = filled()
    stop, late = threading.Event(), threading.Event()

    def slow(ask: Ask) -> Reply:
        stop.set()
        late.wait(5)
        return wordy(ask)

    done = found.compact(model=Scripted(slow, name="slow"), stop=stop)
    before = found.store.head(found.name).number
    late.set()
    assert done.wording is not None
    assert done.wording.fallback == "cancelled"
    assert found.store.head(found.name).number == before
    assert sendable(found)


def test_a_cancelled_task_leaves_no_record_but_of_the_request_that_was_made() -> None:
    found = filled()
    before = [entry.kind for entry in found.store.entries(found.name)]

    async def never(ask: Ask) -> Reply:
        await asyncio.sleep(30)
        return wordy(ask)

    async def cancelled() -> None:
        task = asyncio.create_task(found.compact_async(model=never))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert [entry.kind for entry in found.store.entries(found.name)] == [*before, "call"]
    assert [call.failure for call in found._journal().calls()] == ["cancelled"]
    assert found.compact().count == 1


@pytest.mark.parametrize("given", [None, Reply(text=None, model="m")])  # type: ignore[arg-type]
def test_a_model_that_gives_no_reply_leaves_the_session_compacted(given: Any) -> None:
    found = filled()
    done = found.compact(model=lambda ask: given)
    assert (done.count, done.wording and done.wording.fallback) == (1, "failed")
    assert [call.failure for call in found._journal().calls()] == ["failed"]
    assert sendable(found)


def test_a_compaction_that_begins_again_has_no_new_time() -> None:
    """What was folded is taken back meanwhile, and the model is asked once more."""
    opening = memory()
    found = Session("evening", opening(""), window=WINDOW, redactor=None)
    other = Session("evening", opening(""), window=WINDOW, redactor=None)
    found.append(TURNS)
    asks: list[Ask] = []

    def taken_back(ask: Ask) -> Reply:
        asks.append(ask)
        if len(asks) == 1:
            time.sleep(0.1)
            changed = (*TURNS[:1], *steps(30, first=1, words=" again"))
            other.append(Transcript(format="kedgeline", turns=changed))
        return wordy(ask)

    done = found.compact(model=taken_back, terms=Terms(seconds=100.0, call_seconds=0.0))
    assert done.wording is not None
    first, second = (ask.seconds for ask in asks)
    assert 99 < first <= 100
    assert second < first - 0.09


def test_an_undo_takes_the_words_back() -> None:
    with opened(memory(), window=WINDOW) as found:
        found.append(steps(30))
        before = found.view("anthropic").messages
        found.compact(model=Scripted(wordy))
        found.undo()
        assert found.view("anthropic").messages == before
