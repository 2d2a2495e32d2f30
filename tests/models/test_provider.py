"""A provider's model, with the real clients against a real server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kedgeline.errors import BadSettings, MissingExtra, ModelFailed
from kedgeline.model import Ask, Ending, Fallback, Reply, Usage
from kedgeline.models import model_named
from kedgeline.models.driving import NotAsked
from kedgeline.models.provider import ModelPlace, ProviderModel, open_model, place_named
from kedgeline.settings import registered
from tests.models.server import (
    Breaks,
    Fails,
    Hangs,
    Kind,
    Line,
    Says,
    Sends,
    Server,
    serving,
)

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
SHORT = Ask(role="summarise", system="", prompt="What now?", most_tokens=99, seconds=0.15)
STRUCTURED = Ask(
    role="judge", system="", prompt="What now?", most_tokens=9, schema=SCHEMA, seconds=20
)
KINDS: tuple[Kind, ...] = ("openai", "anthropic")
kinds = pytest.mark.parametrize("kind", KINDS)
USAGE = Usage(input=11, output=7)


def named(server: Server, kind: Kind) -> ProviderModel:
    return ProviderModel.named(server.name(kind))


# What it is asked and says.


@kinds
@pytest.mark.parametrize(
    ("says", "text", "ending", "reasoned", "usage"),
    [
        (Says("Go on."), "Go on.", "whole", False, USAGE),
        (Says("Go on.", reasoning="Hm. Well."), "Go on.", "whole", True, USAGE),
        (Says(reasoning="Hm. Well."), "", "whole", True, USAGE),
        (Says("I see.", tool='{"at": 1}', ending="tool call"), "I see.", "tool call", False, USAGE),
        (Says(refusal="I will not.", ending="refused"), "I will not.", "refused", False, USAGE),
        (Says("Go o", ending="cut off"), "Go o", "cut off", False, USAGE),
        (Says("Go on.", usage=None), "Go on.", "whole", False, None),
        (Says("a\x00b\ud800c"), "a\x00b?c", "whole", False, USAGE),
    ],
)
def test_a_reply_is_the_same_called_and_awaited(
    server: Server,
    kind: Kind,
    says: Says,
    text: str,
    ending: Ending,
    reasoned: bool,
    usage: Usage | None,
) -> None:
    server.script(says)
    model = named(server, kind)
    expected = Reply(text=text, model=model.name, usage=usage, ending=ending, reasoned=reasoned)
    assert expected == model(ASK)
    assert expected == asyncio.run(model.awaited(ASK))


@pytest.mark.parametrize(
    ("kind", "usage"),
    [
        ("openai", Usage(input=5, output=3, cache_read=70)),
        ("anthropic", Usage(input=5, output=3, cache_read=70, cache_write=9)),
    ],
)
def test_what_came_from_the_cache_is_no_input(server: Server, kind: Kind, usage: Usage) -> None:
    server.script(Says("Go on.", usage=usage))
    assert named(server, kind)(ASK).usage == usage


def test_the_request_says_what_is_asked(server: Server) -> None:
    for kind in KINDS:
        named(server, kind)(ASK)
    chat, messages = (request.body for request in server.requests)
    assert [request.path for request in server.requests] == ["/v1/chat/completions", "/v1/messages"]
    assert chat["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What now?"},
    ]
    assert messages["system"][0]["text"] == "Be brief."
    assert messages["messages"][0]["content"][0]["text"] == "What now?"
    assert (chat["max_tokens"], messages["max_tokens"]) == (99, 99)
    assert (chat["model"], messages["model"]) == ("test-model", "claude-sonnet-5-5")
    assert "response_format" not in chat
    assert "output_config" not in messages


def test_a_schema_is_enforced_where_the_model_can_and_told_in_words_where_not(
    server: Server,
) -> None:
    for kind in KINDS:
        named(server, kind)(STRUCTURED)
    ProviderModel.named(f"anthropic:claude-3-haiku@{server.address}")(STRUCTURED)
    chat, messages, words = (request.body for request in server.requests)
    shape = chat["response_format"]["json_schema"]["schema"]
    assert shape["properties"]["text"]["maxLength"] == 20
    assert chat["messages"][-1]["content"] == "What now?"
    assert messages["output_config"]["format"]["type"] == "json_schema"
    text = words["messages"][0]["content"][0]["text"]
    assert text.startswith("What now?\n\nReply with one JSON object of this JSON Schema")
    assert "output_config" not in words


def test_a_model_is_asked_to_reason_as_little_as_it_can(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reasoning counts as a part of the reply, and would leave nothing of so short a one."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    ProviderModel.named("openai-chat:gpt-5")(ASK)
    named(server, "openai")(ASK)
    efforts = [request.body.get("reasoning_effort") for request in server.requests]
    assert efforts == ["minimal", None]


def test_one_that_is_cancelled_ends_at_once_and_leaves_nothing(server: Server) -> None:
    server.script(Hangs())
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


# Each way in which it fails has its kind, a next step, and nothing of the request.


def failed(server: Server, kind: Kind, ask: Ask = ASK) -> ModelFailed:
    model = named(server, kind)
    with pytest.raises(ModelFailed) as caught:
        model(ask)
    assert caught.value.name == model.name
    assert caught.value.next_step
    return caught.value


@kinds
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (Fails(429), "rate limited"),
        (Fails(500), "server error"),
        (Fails(529, type="overloaded_error"), "server error"),
        (Fails(401), "not allowed"),
        (Fails(403), "not allowed"),
        (Fails(402, type="billing_error"), "not allowed"),
        (Fails(400), "bad request"),
        (Fails(404), "bad request"),
        (Fails(422), "bad request"),
        (Fails(408), "timed out"),
        (Breaks(), "disconnected"),
        (Breaks(how="reset"), "disconnected"),
        (Sends(b"<html>Sign in</html>", "text/html; charset=utf-8"), "server error"),
        (Sends(b"<html>Bad gateway</html>", "text/html", status=502), "server error"),
        (Sends(b"plain words", "text/plain"), "server error"),
        (Sends(b'{"choices": [{"mess'), "server error"),
        (Sends(b"{}"), "server error"),
        (Sends(b"[]"), "server error"),
        (Sends(b""), "server error"),
        (Sends(b"\xff\xfe\xff"), "server error"),
        (Sends(b"[" * 100_000), "server error"),
        (Says("x" * 1_000_001), "too large"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_failure_has_its_kind(server: Server, kind: Kind, line: Line, expected: Fallback) -> None:
    server.script(line)
    found = failed(server, kind)
    assert (found.kind, found.wait) == (expected, None), str(found)
    assert len(server.requests) == 1, "its client repeated the request"
    assert "What now?" not in str(found)
    assert len(str(found)) < 500


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("openai", "This model's maximum context length is 8192 tokens."),
        ("openai", "request (900 tokens) exceeds the available context size (512 tokens)"),
        ("anthropic", "prompt is too long: 9 tokens > 8 maximum"),
    ],
)
def test_a_request_that_is_too_large_names_the_setting(
    server: Server, kind: Kind, said: str
) -> None:
    server.script(Fails(400, message=said, type="invalid_request_error"))
    found = failed(server, kind)
    assert (found.kind, found.passes) == ("bad request", False)
    assert found.next_step == "set model_window to what the model takes"


IN_FIVE_MINUTES = format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)


@pytest.mark.parametrize(("kind", "status"), [("openai", 429), ("anthropic", 503)])
@pytest.mark.parametrize(
    ("asked", "most"),
    [("3", 3.0), (IN_FIVE_MINUTES, 300.0), ("soon", None), ("-5", None), ("99999999", None)],
    ids=["seconds", "date", "word", "past", "too long"],
)
def test_a_provider_says_how_long_to_wait(
    server: Server, kind: Kind, status: int, asked: str, most: float | None
) -> None:
    server.script(Fails(status, headers={"Retry-After": asked}))
    wait = failed(server, kind).wait
    assert wait is None if most is None else wait is not None and 0 < wait <= most


@kinds
def test_the_time_is_for_the_whole_reply(server: Server, kind: Kind) -> None:
    server.script(Hangs())
    begun = time.monotonic()
    found = failed(server, kind, SHORT)
    assert (found.kind, found.why) == ("timed out", "it took more than 0.15 seconds")
    assert time.monotonic() - begun < 5


@kinds
def test_a_redirect_is_not_followed(server: Server, kind: Kind) -> None:
    """What is sent is meant for one place."""
    with serving() as elsewhere:
        server.script(Sends(b"", status=307, headers={"Location": elsewhere.address}))
        failed(server, kind)
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY"),
        ("openrouter:some/model", "OPENROUTER_API_KEY"),
        ("ollama:llama", "OLLAMA_BASE_URL"),
    ],
)
def test_a_missing_key_is_named(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for unset in (variable, "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(unset, raising=False)
    with pytest.raises(ModelFailed, match=f"{variable} is not set in the environment") as caught:
        ProviderModel.named(name)(ASK)
    assert caught.value.kind == "not allowed"
    assert isinstance(caught.value, NotAsked), "nothing was sent, so nothing is counted"


# A key goes to whom it belongs, and into no message.

OWN = "own-4f9c1d27ab63"
THEIRS = "theirs-77b0e1c59d24"
VARIABLES = (
    *("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, THEIRS)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-ours: {THEIRS}")
    monkeypatch.delenv("KEDGELINE_MODEL_KEY", raising=False)


def told(failure: BaseException) -> str:
    """All that anybody could print of it."""
    return "".join(traceback.format_exception(failure)) + repr(failure)


@kinds
def test_the_providers_key_stays_away_from_ones_own_address(
    server: Server, kind: Kind, keys: None
) -> None:
    named(server, kind)(ASK)
    (request,) = server.requests
    assert THEIRS not in request.everything
    assert not {"authorization", "x-api-key"} & request.headers.keys()
    assert not [header for header in request.headers if header.startswith(("x-", "openai-"))]


@kinds
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_an_address_of_ones_own_has_a_key_of_its_own_which_is_not_repeated(
    server: Server, kind: Kind, status: int, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_MODEL_KEY", OWN)
    model = named(server, kind)
    if status == 200:
        assert OWN not in f"{model} {model.name} {model(ASK)}"
    else:
        server.script(Fails(status, message=f"bad key {OWN}, see {OWN}"))
        with pytest.raises(ModelFailed) as caught:
            model(ASK)
        assert OWN[:8] not in told(caught.value)
    assert server.requests[0].headers["authorization"] == f"Bearer {OWN}"


@kinds
def test_a_key_that_cannot_be_sent_is_not_shown(
    server: Server, kind: Kind, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries complain of it with the whole header."""
    monkeypatch.setenv("KEDGELINE_MODEL_KEY", f"{OWN}\nx")
    with pytest.raises(ModelFailed, match="KEDGELINE_MODEL_KEY") as caught:
        named(server, kind)(ASK)
    assert OWN not in told(caught.value)


def test_a_key_that_is_not_taken_is_named_by_its_variable(server: Server) -> None:
    server.script(Fails(401))
    found = failed(server, "openai")
    assert found.next_step.endswith("into the environment variable KEDGELINE_MODEL_KEY")


def test_a_provider_has_its_own_key_and_is_asked_to_keep_nothing(
    server: Server, keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an address, `openai:` is what pydantic-ai makes of it: OpenAI's responses."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
    server.script(Fails(401, message=f"bad key {THEIRS}"))
    with pytest.raises(ModelFailed) as caught:
        ProviderModel.named("openai:gpt-5")(ASK)
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == (
        "/v1/responses",
        f"Bearer {THEIRS}",
    )
    assert request.body["store"] is False
    assert THEIRS not in told(caught.value)


def test_no_proxy_stands_between_two_programs_of_one_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for kind in KINDS:
        assert named(server, kind)(ASK).text == "hello"


def test_nobody_traces_what_is_sent(server: Server) -> None:
    async def traced() -> object:
        async with open_model(ModelPlace("anthropic", "some-model", server.address)) as model:
            assert model.provider is not None
            return model.provider.client.open_telemetry["traces"]["enabled"]

    assert asyncio.run(traced()) is False


# What stands behind a name, and which names are refused.


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("openai:gpt-5", ModelPlace("openai", "gpt-5")),
        ("openrouter:meta/llama-3:free", ModelPlace("openrouter", "meta/llama-3:free")),
        (
            "google-cloud:claude-opus-4@20250514",
            ModelPlace("google-cloud", "claude-opus-4@20250514"),
        ),
        ("openai:@cf/meta/llama", ModelPlace("openai", "@cf/meta/llama")),
        (
            "openai:llama@http://127.0.0.1:8080/v1",
            ModelPlace("openai", "llama", "http://127.0.0.1:8080/v1"),
        ),
        ("anthropic:x@HTTPS://host/a", ModelPlace("anthropic", "x", "HTTPS://host/a")),
        ("openai:a@b@http://[::1]:80", ModelPlace("openai", "a@b", "http://[::1]:80")),
    ],
)
def test_a_name_is_taken_apart_and_put_together(text: str, place: ModelPlace) -> None:
    assert place_named(text) == place
    assert str(place) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("openai:", "no model is named; write openai:MODEL"),
        ("openai:@http://host/v1", "no model is named"),
        ("openai:two words", "no spaces"),
        ("openai:llama@http://ho st/v1", "no spaces"),
        ("openai:llama@localhost", "an address begins with http://"),
        ("openai:llama@localhost:8080/v1", "an address begins with http://"),
        ("openai:llama@ftp://host", "an address begins with http://"),
        ("openai:llama@http:///v1", "has no host"),
        ("openai:llama@http://host:port", "its address is none"),
        ("openai:llama@http://[::1", "its address is none"),
    ],
)
def test_a_name_that_means_nothing_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadSettings, match=problem):
        ProviderModel.named(text)


@pytest.mark.parametrize(
    "address",
    [
        "http://me:hunter2@host/v1",
        "http://hunter2@host/v1",
        "http://host/v1?key=hunter2",
        "http://host/v1#hunter2",
        "http://me:hunter2@ho:st/v1",
        "me:hunter2@host/v1",
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(BadSettings) as caught:
        model_named(f"openai:llama@{address}")
    assert "hunter2" not in str(caught.value)
    assert "openai:llama@" in str(caught.value)


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.providers", None)
    with pytest.raises(MissingExtra, match=r"run pip install 'kedgeline\[models\]'"):
        model_named("openai:gpt-5")


def test_every_word_is_one_that_pydantic_ai_knows() -> None:
    from pydantic_ai.providers import infer_provider_class

    entries = registered("kedgeline.models").items()
    words = [name for name, entry in entries if "provider:" in entry.value]
    assert len(words) > 30
    for word in words:
        try:
            infer_provider_class(word)
        except ImportError:
            continue  # its client is not installed
