"""What the tests of all adapters watch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.adapters.runs import AgentRun, Runs
from tests.adapters.contract import CALLS, RECORDED, Grown, Planted, Seen, milliseconds
from tests.adapters.played_server import server

__all__ = ["server"]


@pytest.fixture(autouse=True)
def requests_are_written_down(request: pytest.FixtureRequest) -> Iterator[None]:
    """For the table in docs/frameworks.md, where a file for it is named."""
    Seen.every.clear()
    Grown.every.clear()
    yield
    for grown in Grown.every.values():
        grown.holds()
    if not (place := os.environ.get("KEDGELINE_ADAPTER_RESULTS")):
        return
    with Path(place).open("a") as file:
        for seen in Seen.every:
            if len(seen.sizes) == CALLS + 1:
                told: dict[str, Any] = {"test": request.node.nodeid, "sizes": seen.sizes}
                told |= {"breaks": seen.breaks, "recorded": bool(RECORDED)}
                told |= {"most": max((one.most for one in Grown.every.values()), default=0)}
                if "error_of_ours" in request.node.name and not RECORDED:
                    told |= {"milliseconds": milliseconds(list(Grown.every.values())[-1])}
                file.write(json.dumps(told) + "\n")


class Odd(Exception):
    """An error that no library knows."""


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Planted:
    met: list[Odd] = []

    def broken(*_: object, **__: object) -> None:
        met.append(Odd("planted"))
        raise met[-1]

    monkeypatch.setattr("kedgeline.session.loop.read", broken)
    return lambda: bool(met)


@pytest.fixture(autouse=True)
def messages_that_stay_are_the_same_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    step, astep, of_list = AgentRun.step, AgentRun.astep, Runs.of_list

    def listed(self: Runs, messages: list[Any]) -> AgentRun:
        run = of_list(self, messages)
        Grown.of(run).listed = True
        return run

    def watched(self: AgentRun, messages: list[Any], **known: Any) -> list[Any]:
        given = list(messages)
        sent = look(self, messages, given, step(self, messages, **known))
        return Grown.of(self).step(given, sent, known)

    async def awatched(self: AgentRun, messages: list[Any], **known: Any) -> list[Any]:
        given = list(messages)
        sent = look(self, messages, given, await astep(self, messages, **known))
        return Grown.of(self).step(given, sent, known)

    monkeypatch.setattr(Runs, "of_list", listed)
    monkeypatch.setattr(AgentRun, "step", watched)
    monkeypatch.setattr(AgentRun, "astep", awatched)


def look(run: AgentRun, messages: list[Any], given: list[Any], sent: list[Any]) -> list[Any]:
    assert list(map(id, messages)) == list(map(id, given)), "the list was changed"
    own = {id(one) for one in given}
    made = [one for one in sent if id(one) not in own]
    record = run.last.compaction if run.last else None
    assert len(made) <= (1 + len(record.plan.masked) if record else 0)
    assert run.fold is not None or sent is messages or run.rewrites
    return sent
