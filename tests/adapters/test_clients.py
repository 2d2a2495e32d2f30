"""The clients of openai and anthropic, against a server on loopback that plays the model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

import anthropic
import httpx2
import openai

from kedgeline.adapters.clients import Transport, wrap
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, output, together

pytestmark = pytest.mark.adapters
KINDS = ("openai", "anthropic")
WAYS = ("sync", "async", "stream")


def client(kind: str, way: str, how: str, server: Any) -> tuple[Any, Any]:
    """A client, and what has its runs."""
    later = way == "async"
    path = "/v1" if kind == "openai" else ""
    options: dict[str, Any] = {
        "base_url": f"http://127.0.0.1:{server.server_port}{path}",
        "api_key": "x",
    }
    classes = {
        "openai": (openai.OpenAI, openai.AsyncOpenAI),
        "anthropic": (anthropic.Anthropic, anthropic.AsyncAnthropic),
    }
    make: Any = classes[kind][later]
    if how == "wrap":
        made = wrap(make(**options), window=WINDOW)
        return made, made.kedgeline
    transport = Transport(window=WINDOW)
    http = (httpx2.AsyncClient if later else httpx2.Client)(transport=transport)
    return make(**options, http_client=http), transport._runs


async def loop(made: Any, kind: str, way: str, model: str) -> list[Any]:
    """A loop as one writes it by hand: what the client gives goes back into the list."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    if kind == "openai":
        messages.insert(0, {"role": "system", "content": SYSTEM})
    api = made.messages if kind == "anthropic" else made.chat.completions
    while True:
        asked: dict[str, Any] = {"model": model, "messages": messages}
        if kind == "anthropic":
            asked |= {"max_tokens": 9, "system": SYSTEM}
        if way == "stream":
            with api.stream(**asked) as stream:
                final = "get_final_message" if kind == "anthropic" else "get_final_completion"
                reply = getattr(stream, final)()
        else:
            reply = await api.create(**asked) if way == "async" else api.create(**asked)
        if kind == "anthropic":
            messages.append({"role": "assistant", "content": reply.content})
            calls = [(b.id, b.input["number"]) for b in reply.content if b.type == "tool_use"]
        else:
            messages.append(reply.choices[0].message)
            called = messages[-1].tool_calls or []
            calls = [(c.id, json.loads(c.function.arguments)["number"]) for c in called]
        if not calls:
            return messages
        for call_id, number in calls:
            if kind == "openai":
                told: Any = {"role": "tool", "tool_call_id": call_id, "content": output(number)}
            else:
                block = {"type": "tool_result", "tool_use_id": call_id, "content": output(number)}
                told = {"role": "user", "content": [block]}
            messages.append(told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["wrap", "transport"])
def test_the_callers_list_stays_whole_and_what_is_sent_fits(
    kind: str, way: str, how: str, server: Any
) -> None:
    server.seen["played"] = seen = Seen()
    made, runs = client(kind, way, how, server)
    messages = asyncio.run(loop(made, kind, way, "played"))
    assert len(messages) == 2 + 2 * CALLS + (kind == "openai")
    seen.holds(runs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["wrap", "transport"])
def test_an_error_of_ours_does_not_end_the_run(
    kind: str, how: str, server: Any, planted: Planted
) -> None:
    server.seen["played"] = seen = Seen(window=10**9)
    made, _ = client(kind, "sync", how, server)
    asyncio.run(loop(made, kind, "sync", "played"))
    assert len(seen.sizes) == CALLS + 1
    assert planted()


def test_conversations_of_one_client_share_nothing(server: Any) -> None:
    names = [f"played-{number}" for number in range(3)]
    server.seen.update({name: Seen() for name in names})
    made, _ = client("openai", "async", "wrap", server)

    together(loop(made, "openai", "async", name) for name in names)
    for name in names:
        assert len(server.seen[name].sizes) == CALLS + 1
        assert server.seen[name].breaks >= 3
