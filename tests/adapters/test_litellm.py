"""LiteLLM: the hooks of the SDK and of the proxy, against a server on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm")
os.environ.update(
    LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="CRITICAL", LITELLM_MASTER_KEY="sk-test"
)

import httpx
import litellm

from kedgeline.adapters.litellm import KedgelineLogger
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, output, together

pytestmark = pytest.mark.adapters
WAYS = ("plain", "stream", "sync", "sync-stream")


async def loop(ask: Any) -> list[Any]:
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
    ]
    while True:
        messages.append(await ask(messages))
        calls = messages[-1].get("tool_calls") or []
        if not calls:
            return messages
        for call in calls:
            number = json.loads(call["function"]["arguments"])["number"]
            told = {"role": "tool", "tool_call_id": call["id"], "content": output(number)}
            messages.append(told)


def base(server: Any, name: str = "played") -> dict[str, Any]:
    place = f"http://127.0.0.1:{server.server_port}/v1"
    return {"model": f"openai/{name}", "api_base": place, "api_key": "x"}


def asking(way: str, server: Any, logger: Any) -> Any:
    async def plain(messages: Any) -> Any:
        reply = await litellm.acompletion(messages=messages, **base(server))
        return reply.choices[0].message.model_dump(exclude_none=True)

    async def stream(messages: Any) -> Any:
        chunks = await litellm.acompletion(messages=messages, stream=True, **base(server))
        reply = litellm.stream_chunk_builder([chunk async for chunk in chunks])
        return reply.choices[0].message.model_dump(exclude_none=True)

    async def sync(messages: Any) -> Any:
        reply = logger.completion(messages=messages, **base(server))
        return reply.choices[0].message.model_dump(exclude_none=True)

    async def sync_stream(messages: Any) -> Any:
        chunks = logger.completion(messages=messages, stream=True, **base(server))
        reply = litellm.stream_chunk_builder(list(chunks))
        return reply.choices[0].message.model_dump(exclude_none=True)

    ways = {"plain": plain, "stream": stream, "sync": sync, "sync-stream": sync_stream}
    return ways[way]


@pytest.mark.parametrize("way", WAYS)
def test_the_callers_list_stays_whole_and_what_is_sent_fits(way: str, server: Any) -> None:
    server.seen["played"] = seen = Seen()
    logger = KedgelineLogger(window=WINDOW)
    litellm.callbacks = [logger]
    messages = asyncio.run(loop(asking(way, server, logger)))
    assert len(messages) == 3 + 2 * CALLS
    seen.holds(logger)


def test_the_proxy_fits_what_it_sends_on(server: Any, tmp_path: Path) -> None:
    from litellm.proxy import proxy_server

    server.seen["played"] = seen = Seen()
    logger = KedgelineLogger(window=WINDOW)
    config = tmp_path / "config.yaml"
    models = [{"model_name": "m", "litellm_params": base(server)}]
    config.write_text(json.dumps({"model_list": models}))

    async def asked() -> list[Any]:
        with contextlib.redirect_stdout(io.StringIO()):
            await proxy_server.initialize(config=str(config))
        litellm.callbacks = [logger]
        transport = httpx.ASGITransport(app=proxy_server.app)
        headers = {"authorization": "Bearer sk-test"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://proxy", headers=headers
        ) as client:

            async def ask(messages: Any) -> Any:
                body = {"model": "m", "messages": messages}
                reply = await client.post("/v1/chat/completions", json=body)
                assert reply.status_code == 200, reply.text
                return reply.json()["choices"][0]["message"]

            return await loop(ask)

    messages = asyncio.run(asked())
    assert len(messages) == 3 + 2 * CALLS
    seen.holds(logger)


def test_conversations_in_parallel_share_nothing(server: Any) -> None:
    names = [f"played-{number}" for number in range(3)]
    server.seen.update({name: Seen() for name in names})
    litellm.callbacks = [KedgelineLogger(window=WINDOW)]

    def asked(name: str) -> Any:
        async def ask(messages: Any) -> Any:
            reply = await litellm.acompletion(messages=messages, **base(server, name))
            return reply.choices[0].message.model_dump(exclude_none=True)

        return ask

    together(loop(asked(name)) for name in names)
    assert [len(server.seen[name].sizes) for name in names] == [CALLS + 1] * 3
    assert min(server.seen[name].breaks for name in names) >= 3


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_ours_does_not_end_the_run(way: str, server: Any, planted: Planted) -> None:
    server.seen["played"] = seen = Seen(window=10**9)
    logger = KedgelineLogger(window=WINDOW)
    litellm.callbacks = [logger]
    asyncio.run(loop(asking(way, server, logger)))
    assert len(seen.sizes) == CALLS + 1
    assert planted()
