"""Compactions with the client's own model: asked while the call is under way (legacy), or by
calling again (the protocol of 2026)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, ErrorData, TextContent
from msgspec.structs import replace

from kedgeline.mcp.sampling import NAME, NOT_OFFERED, TOO_LATE
from kedgeline.session.session import Session
from kedgeline.store import Store
from tests.integrations.mcp.serving import (
    SECRET,
    SETTINGS,
    called,
    given,
    harbor,
    keep,
    memory,
    serving,
    talk,
)
from tests.turns import bash, turn

INTENT = "Correct the tide table so that the pier tests pass."
REPLY = {
    "intent": INTENT,
    "changes": [],
    "reasons": [],
    "state": "",
    "next_steps": [],
    "questions": [],
}
MODES = ("auto", "legacy")


def long_store(turns: int = 30, words: int = 1) -> Store:
    store = memory()
    lit = [
        turn(
            n,
            bash(f"make lamp{n}", f"lamp {n} is lit"),
            says=" ".join(f"The wick of lamp {n} burns {place} hours." for place in range(words)),
            tokens=300,
        )
        for n in range(5, turns)
    ]
    keep(store, "harbor", [*harbor(), *lit])
    return store


class Scripted:
    """A client's model that remembers what it was asked."""

    def __init__(self, reply: Any = REPLY, *, seconds: float = 0.0) -> None:
        self._reply, self._seconds = reply, seconds
        self.asked: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> CreateMessageResult | ErrorData:
        self.asked.append(params)
        await asyncio.sleep(self._seconds)
        if isinstance(self._reply, ErrorData):
            return self._reply
        text = self._reply if isinstance(self._reply, str) else json.dumps(self._reply)
        content = TextContent(type="text", text=text)
        return CreateMessageResult(role="assistant", model="scripted", content=content)


def compactions(store: Store) -> int:
    return len(Session("harbor", store).history())


@pytest.mark.parametrize("mode", MODES)
def test_what_the_clients_model_writes_is_taken(mode: str) -> None:
    model, store = Scripted(), long_store(60)
    with serving(store) as server:
        client = {"mode": mode, "sampling_callback": model}
        done = given(server, "compact", client, window=8_000)
        summary = Session("harbor", store).history()[-1].what.compaction.summary  # type: ignore[union-attr]
    assert (done["model"], done["words"], done["why"]) == (NAME, "taken", "")
    assert done["folded_turns"] > 0
    assert INTENT in summary
    (asked,) = model.asked
    assert asked.max_tokens > 0
    assert "lamp" in asked.messages[0].content.text
    assert "data" in asked.system_prompt


@pytest.mark.parametrize("mode", MODES)
def test_nonsense_is_not_taken_and_the_compaction_stands(mode: str) -> None:
    with serving(long_store()) as server:
        model = Scripted("I am a teapot.")
        done = given(server, "compact", {"mode": mode, "sampling_callback": model})
    assert (done["words"], done["model"]) == ("not taken", NAME)
    assert done["why"]
    assert done["folded_turns"] > 0
    assert len(model.asked) == 2  # it is asked once more


def test_a_refusal_is_told_and_the_compaction_made_without_a_model() -> None:
    refusal = Scripted(ErrorData(code=-1, message="The user said no."))
    with serving(long_store()) as server:
        client = {"mode": "legacy", "sampling_callback": refusal}
        done = given(server, "compact", client)
    assert (done["words"], done["folded_turns"] > 0) == ("not taken", True)
    assert "The user said no." in done["why"]


def test_a_refusal_that_ends_the_call_changes_nothing() -> None:
    """A client of 2026 that refuses does not call again: nobody hears of a compaction."""
    store = long_store()
    refusal = Scripted(ErrorData(code=-1, message="no"))

    async def asked(client: Client) -> str:
        try:
            await client.call_tool("compact", {})
        except MCPError as error:
            return str(error)
        return "not refused"

    with serving(store) as server:
        assert talk(server, asked, sampling_callback=refusal) == "no"
        assert compactions(store) == 0
        assert given(server, "compact")["folded_turns"] > 0


@pytest.mark.parametrize("mode", MODES)
def test_a_client_without_a_model_gets_a_compaction_that_says_so(mode: str) -> None:
    with serving(long_store()) as server:
        done = given(server, "compact", {"mode": mode})
        again = given(server, "compact", {"mode": mode})
    assert (done["model"], done["words"], done["why"]) == ("", "not asked for", NOT_OFFERED)
    assert done["done"].endswith("your own context is as it was")
    assert (again["folded_turns"], again["done"].split(":")[0]) == (0, "nothing was folded")


def test_a_reply_that_comes_too_late_makes_a_compaction_without_it() -> None:
    store = long_store()
    slow = Scripted(seconds=0.3)
    settings = replace(SETTINGS, model_call_seconds=0.05)
    with serving(store, settings=settings) as server:
        done = given(server, "compact", {"sampling_callback": slow})
        assert compactions(store) == 1
    assert (done["words"], done["why"]) == ("not asked for", TOO_LATE)
    assert done["folded_turns"] > 0


@pytest.mark.parametrize("mode", MODES)
def test_two_compactions_at_once_do_not_mix(mode: str) -> None:
    store = long_store()
    keep(store, "other", [turn(n, bash(f"make buoy{n}", "up"), tokens=300) for n in range(30)])
    model = Scripted(seconds=0.05)

    async def both(client: Client) -> Any:
        calls = (client.call_tool("compact", {"session": name}) for name in ("harbor", "other"))
        return await asyncio.gather(*calls)

    with serving(store) as server:
        found = talk(server, both, mode=mode, sampling_callback=model)
    assert [one.structured_content["session"] for one in found] == ["harbor", "other"]
    asked = [one.messages[0].content.text for one in model.asked]
    assert sorted(("buoy" in one, "lamp" in one) for one in asked) == [(False, True), (True, False)]


def test_the_clients_model_is_sent_no_secret() -> None:
    store = memory()
    lit = [turn(n, bash(f"make lamp{n}", f"key {SECRET}"), tokens=300) for n in range(30)]
    keep(store, "harbor", lit)
    model = Scripted()
    with serving(store) as server:
        given(server, "compact", {"sampling_callback": model})
    assert model.asked
    assert all(SECRET not in one.messages[0].content.text for one in model.asked)


def test_a_state_that_somebody_made_up_is_refused() -> None:
    async def forged(client: Client) -> Any:
        try:
            return await client.session.call_tool("compact", {}, request_state="made-up")
        except MCPError as error:
            return error

    store = long_store()
    with serving(store) as server:
        talk(server, forged, sampling_callback=Scripted())
        assert compactions(store) == 0
    with serving() as server:
        assert called(server, "compact").is_error is False
