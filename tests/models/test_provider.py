"""A provider's model, with the real clients against a real server: what it is asked and says."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from kedgeline.model import Ask, Ending, Reply, Usage
from kedgeline.models.provider import ProviderModel
from tests.models.server import Drips, Hangs, Kind, Says, Server

SCHEMA = {
    "$ref": "#/$defs/Note",
    "$defs": {
        "Note": {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 20}},
            "required": ["text"],
        }
    },
}
ASK = Ask(role="summarise", system="Be brief.", prompt="What now?", most_tokens=99, seconds=20.0)
KINDS: tuple[Kind, ...] = ("openai", "anthropic")
USAGE = Usage(input=11, output=7)


def named(server: Server, kind: Kind, *, stream: bool = True) -> ProviderModel:
    return replace(ProviderModel.named(server.name(kind)), stream=stream)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("says", "text", "ending", "reasoned", "usage"),
    [
        (Says("Go on."), "Go on.", "whole", False, USAGE),
        (Says("Go on.", reasoning="Hm. Well."), "Go on.", "whole", True, USAGE),
        (Says(reasoning="Hm. Well."), "", "whole", True, USAGE),
        (Says(tool='{"at": 1}', ending="tool call"), "", "tool call", False, USAGE),
        (Says("I see.", tool='{"at": 1}', ending="tool call"), "I see.", "tool call", False, USAGE),
        (Says(refusal="I will not.", ending="refused"), "I will not.", "refused", False, USAGE),
        (Says("Go o", ending="cut off"), "Go o", "cut off", False, USAGE),
        (Says(), "", "whole", False, USAGE),
        (Says("Go on.", usage=None), "Go on.", "whole", False, None),
        (Says("a\x00b\ud800c"), "a\x00b?c", "whole", False, USAGE),
        (Says("Sí, ça va 好 🙂", pieces=9), "Sí, ça va 好 🙂", "whole", False, USAGE),
    ],
)
def test_a_reply_is_the_same_whichever_way_it_comes(
    server: Server,
    kind: Kind,
    says: Says,
    text: str,
    ending: Ending,
    reasoned: bool,
    usage: Usage | None,
) -> None:
    server.script(says)
    name = server.name(kind)
    expected = Reply(text=text, model=name, usage=usage, ending=ending, reasoned=reasoned)
    for stream in (True, False):
        model = named(server, kind, stream=stream)
        assert expected == model(ASK)
        assert expected == asyncio.run(model.awaited(ASK))
    assert [request.body.get("stream", False) for request in server.requests] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("kind", "usage"),
    [
        ("openai", Usage(input=5, output=3, cache_read=70)),
        ("anthropic", Usage(input=5, output=3, cache_read=70, cache_write=9)),
    ],
)
def test_what_came_from_the_cache_is_no_input(
    server: Server, kind: Kind, usage: Usage, stream: bool
) -> None:
    server.script(Says("Go on.", usage=usage))
    assert named(server, kind, stream=stream)(ASK).usage == usage


def test_the_request_says_what_is_asked(server: Server) -> None:
    for kind in KINDS:
        named(server, kind)(ASK)
    chat, messages = (request.body for request in server.requests)
    assert [request.path for request in server.requests] == ["/v1/chat/completions", "/v1/messages"]
    assert chat["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What now?"},
    ]
    assert (messages["system"][0]["text"], messages["messages"][0]["content"][0]["text"]) == (
        "Be brief.",
        "What now?",
    )
    assert (chat["max_tokens"], messages["max_tokens"]) == (99, 99)
    assert (chat["model"], messages["model"]) == ("test-model", "claude-sonnet-5-5")
    assert "response_format" not in chat
    assert "output_config" not in messages


def test_a_schema_is_enforced_where_the_model_can(server: Server) -> None:
    ask = Ask(role="judge", system="", prompt="What now?", most_tokens=9, schema=SCHEMA, seconds=20)
    for kind in KINDS:
        named(server, kind)(ask)
    chat, messages = (request.body for request in server.requests)
    shape = chat["response_format"]["json_schema"]["schema"]
    assert shape["properties"]["text"]["maxLength"] == 20
    assert messages["output_config"]["format"]["type"] == "json_schema"
    assert [body["messages"][-1]["content"] for body in (chat,)] == ["What now?"]


def test_a_schema_is_told_in_words_where_it_cannot(server: Server) -> None:
    ask = Ask(role="judge", system="", prompt="What now?", most_tokens=9, schema=SCHEMA, seconds=20)
    ProviderModel.named(f"anthropic:claude-3-haiku@{server.address}")(ask)
    (request,) = server.requests
    text = request.body["messages"][0]["content"][0]["text"]
    assert text.startswith("What now?\n\nReply with one JSON object of this JSON Schema")
    assert "output_config" not in request.body


def test_a_model_is_asked_to_reason_as_little_as_it_can(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reasoning counts as a part of the reply, and would leave nothing of so short a one."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    ProviderModel.named("openai-chat:gpt-5")(ASK)
    named(server, "openai")(ASK)
    assert [request.body.get("reasoning_effort") for request in server.requests] == [
        "minimal",
        None,
    ]


@pytest.mark.parametrize("line", [Hangs(), Drips()])
def test_one_that_is_cancelled_ends_at_once_and_leaves_nothing(
    server: Server, line: Hangs | Drips
) -> None:
    server.script(line)
    model = named(server, "anthropic")

    async def impatient() -> set[asyncio.Task[object]]:
        task = asyncio.create_task(model.awaited(ASK))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asyncio.all_tasks() - {asyncio.current_task()}

    begun = time.monotonic()
    assert asyncio.run(impatient()) == set()
    assert time.monotonic() - begun < 10


def test_naming_kinds_of_models_loads_none_of_their_clients() -> None:
    heavy = {"pydantic_ai", "pydantic", "httpx", "httpx2", "openai", "anthropic", "asyncio", "ssl"}
    code = (
        "import sys, kedgeline.models, kedgeline.models.provider, kedgeline.models.command as r\n"
        "r.names('kedgeline.models')\n"
        f"print({heavy!r} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
