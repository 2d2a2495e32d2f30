"""Whatever a model says or fails to say: nothing is lost, nothing is worse, and it is named.

Each kind of failure is served by a real server and asked for with the real clients."""

from __future__ import annotations

import asyncio
import re
import threading
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import Compaction, Worded
from kedgeline.models.provider import ProviderModel
from kedgeline.pipeline import words as accepting
from kedgeline.pipeline import words as worded
from kedgeline.prose.material import Checked, Packet, Prose, Sources, units_of
from kedgeline.prose.writing import write
from kedgeline.summary import items_of, render
from tests.models.server import Line, Request, Says, serving
from tests.wording.failure_report import rows, table
from tests.wording.histories import NAMES, histories, living
from tests.wording.kinds import KINDS, Kind, Variant
from tests.wording.trial import WAYS, Trial, Way, plain, text_of, tried

BY_NAME = {kind.name: kind for kind in KINDS}
WANTED = (
    *("429", "5xx", "time-out", "disconnect", "empty", "reasoning only", "tool call", "refusal"),
    *("cut at max tokens", "invalid JSON", "error text as summary", "larger than input"),
    *("another session's text", "fabricated quote", "fabricated path", "dropped instruction"),
    *("secret", "surrogate or NUL", "10 MB", "HTML", "injected instruction", "wrong language"),
    *("duplicate", "late success after cancel", "slow drip"),
)


def case(number: int, place: int) -> tuple[Variant, Way, bool]:
    """What is tried of a kind with a history in the normal run, and whether it is awaited."""
    kind = KINDS[number]
    variant = kind.variants[place // 2 % len(kind.variants)]
    way = WAYS[(place + place // 4 + number) % len(WAYS)]
    return variant, way, not kind.stopped and (number + place) % 3 == 0


def test_the_histories_are_what_they_are_there_for() -> None:
    found = histories()
    assert len({one.shape for one in found.values()}) == 5
    assert found["ferry"].waiting
    assert found["library"].compacted_after
    assert found["apiary"].pins
    assert found["vault"].secret
    assert not any(one.did for one in found["choir"].said)
    for one in found.values():
        done = plain(one.name)
        assert done.plan.folded
        assert done.verdict is not None
        assert done.verdict.accepted


HEAVY = ("10 MB",)
CASES = [
    (kind, history)
    for (number, kind), (place, history) in product(enumerate(WANTED), enumerate(NAMES))
    if (number + place) % 2 and (kind not in HEAVY or place < 4)
]
"""Every other history: one is much like another. `failure_report` tries them all."""


@pytest.mark.parametrize(("kind", "history"), CASES)
def test_whatever_a_model_does_the_session_is_whole_and_the_report_says_so(
    kind: str, history: str
) -> None:
    variant, way, awaited = case(WANTED.index(kind), NAMES.index(history))
    found = tried(histories()[history], BY_NAME[kind], variant, way, awaited=awaited)
    assert found.problems == []


# --- called or awaited


def told(found: Trial) -> str:
    """All of a record but its times and the address of the server."""
    done = found.done
    assert done.wording is not None
    calls = tuple(replace(one, at=None, seconds=0.0) for one in done.wording.calls)
    untimed = replace(done, at=None, wording=replace(done.wording, calls=calls))
    return re.sub(r"127\.0\.0\.1:\d+", "", text_of(untimed))


AWAITED = [one for one in KINDS if not one.stopped]


@pytest.mark.parametrize("kind", AWAITED[::5], ids=lambda one: one.name)
def test_waiting_and_calling_come_to_the_same(kind: Kind) -> None:
    history = histories()["lantern"]
    way = WAYS[KINDS.index(kind) % len(WAYS)]
    called, awaited = (
        tried(history, kind, kind.variants[0], way, awaited=one) for one in (False, True)
    )
    assert told(called) == told(awaited)
    assert len(called.requests) == len(awaited.requests)


def test_a_task_that_is_cancelled_leaves_nothing_when_the_reply_comes_late(tmp_path: Path) -> None:
    history = histories()["lantern"]
    came, late = threading.Event(), threading.Event()

    def rule(request: Request) -> Line:
        came.set()
        late.wait(10)
        return Says("{}")

    async def cancelled(session: Any, model: Any) -> None:
        task = asyncio.create_task(session.compact_async(model=model))
        await asyncio.to_thread(came.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        late.set()

    with serving(rule=rule) as server, living(history, tmp_path) as session:
        before = list(session.store.entries(session.name))
        model = ProviderModel.named(server.name("openai"))
        asyncio.run(cancelled(session, model))
        after = list(session.store.entries(session.name))
        assert after[: len(before)] == before
        assert {entry.kind for entry in after[len(before) :]} <= {"call"}
        assert session.compact().summary == plain("lantern").summary


# --- tests of the test


def unchecked(prose: Prose, packet: Packet, sources: Sources, facts: Any, **_: Any) -> Checked:
    """Takes every word."""
    units = [one for one in units_of(prose, packet) if one.text.strip()]
    return Checked(
        tuple(
            Worded(turn=packet.last, first=packet.first, about=one.about, text=one.text)
            for one in units
        )
    )


UNCHECKED = (
    *("error text as summary", "another session's text", "fabricated quote", "fabricated path"),
    *("dropped instruction", "secret", "injected instruction", "wrong language", "duplicate"),
    *("surrogate or NUL", "larger than input", "HTML"),
)


@pytest.mark.parametrize("kind", UNCHECKED)
def test_the_table_fails_where_claims_are_not_checked(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worded, "write", partial(write, check=unchecked))
    variant = next(one for one in BY_NAME[kind].variants if one.why or one.bad)
    found = tried(histories()["lantern"], BY_NAME[kind], variant, Way("openai", True))
    assert found.problems


def only_words(job: Any, draft: Any, state: Any) -> Any:
    """A summary that says nothing but the model's words."""
    items = [item for item in items_of(state) if "In short" in item.text]
    return draft.told._replace(text=render(items), items=tuple(items))


def test_the_table_fails_where_worse_summaries_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = BY_NAME["dropped instruction"]

    def problems() -> list[str]:
        return tried(histories()["lantern"], kind, kind.variants[1], WAYS[0]).problems

    monkeypatch.setattr(accepting, "_added", only_words)
    monkeypatch.setattr(accepting, "_in_place", only_words)
    assert any("'probes'" in one for one in problems())
    monkeypatch.setattr(accepting, "_worse", lambda now, before: "")
    assert any(one.startswith("a probe fails") for one in problems())


def test_the_table_fails_where_turns_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from kedgeline.session.session import Session

    whole = Session.compact

    def losing(self: Session, **options: Any) -> Compaction:
        done = whole(self, **options)
        self.append({"role": "user", "content": "a late thought"}, format="openai-chat")
        return done

    monkeypatch.setattr(Session, "compact", losing)
    found = tried(histories()["lantern"], KINDS[0], KINDS[0].variants[0], WAYS[0])
    assert any(one.startswith("the originals changed") for one in found.problems)


def test_the_report_counts_how_each_kind_ended() -> None:
    found = list(rows([BY_NAME["fabricated path"]], [histories()["lantern"]], WAYS[:1]))
    spoiled = found[0]._replace(violations=1)
    lines = table([*found, spoiled]).splitlines()
    ended = (
        "unsupported (1), words taken (1) | "
        "a path that is not in the turns (2), not about these turns (1)"
    )
    assert lines[2:] == [
        f"| fabricated path | 2 | {ended} | 0 |",
        f"| fabricated path | 2 | {ended} | 1 |",
        "| all | 4 | | | 1 |",
    ]
