"""A key goes to whom it belongs, and into no message."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask
from kedgeline.models.provider import Place, ProviderModel, opened
from tests.models.server import Fails, Kind, Server

ASK = Ask(role="summarise", system="Be brief.", prompt="What now?", most_tokens=99, seconds=20.0)
KINDS: tuple[Kind, ...] = ("openai", "anthropic")
OWN = "own-4f9c1d27ab63"
THEIRS = "theirs-77b0e1c59d24"
VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_ADMIN_KEY",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, THEIRS)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-ours: {THEIRS}")
    monkeypatch.delenv("KEDGELINE_MODEL_KEY", raising=False)


def told(failure: BaseException) -> str:
    """All that anybody could print of it."""
    return "".join(traceback.format_exception(failure)) + repr(failure)


@pytest.mark.parametrize("kind", KINDS)
def test_the_providers_key_stays_away_from_ones_own_address(server: Server, kind: Kind) -> None:
    ProviderModel.named(server.name(kind))(ASK)
    (request,) = server.requests
    assert THEIRS not in request.everything
    assert not {"authorization", "x-api-key"} & request.headers.keys()
    assert not [header for header in request.headers if header.startswith(("x-", "openai-"))]


@pytest.mark.parametrize("kind", KINDS)
def test_an_address_of_ones_own_has_a_key_of_its_own(
    server: Server, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_MODEL_KEY", OWN)
    model = ProviderModel.named(server.name(kind))
    reply = model(ASK)
    assert server.requests[0].headers["authorization"] == f"Bearer {OWN}"
    assert OWN not in f"{model} {model.name} {reply}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_that_is_repeated_to_us_is_not_repeated(
    server: Server, kind: Kind, status: int, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_MODEL_KEY", OWN)
    server.script(Fails(status, message=f"bad key {OWN}, see {OWN}"))
    with pytest.raises(ModelFailed) as caught:
        ProviderModel(ProviderModel.named(server.name(kind)).place, stream=stream)(ASK)
    assert OWN in server.requests[0].everything
    assert OWN not in told(caught.value)
    assert OWN[:8] not in told(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", [f"{OWN}\nx", f"{OWN}\x00"])
def test_a_key_that_cannot_be_sent_is_not_shown(
    server: Server, kind: Kind, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries complain of it with the whole header."""
    if "\x00" in key:  # no variable can hold it
        monkeypatch.setattr("kedgeline.models.provider.own_key", lambda: key)
    else:
        monkeypatch.setenv("KEDGELINE_MODEL_KEY", key)
    with pytest.raises(ModelFailed) as caught:
        ProviderModel.named(server.name(kind))(ASK)
    assert OWN not in told(caught.value)
    assert caught.value.kind == "not allowed"
    assert "KEDGELINE_MODEL_KEY" in caught.value.next_step


def test_a_key_that_is_not_taken_is_named_by_its_variable(server: Server) -> None:
    server.script(Fails(401))
    with pytest.raises(ModelFailed, match=r"the key, or wants one .401.; .* KEDGELINE_MODEL_KEY"):
        ProviderModel.named(server.name("openai"))(ASK)


def test_a_provider_has_its_own_key_and_is_asked_to_keep_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an address, `openai:` is what pydantic-ai makes of it: OpenAI's responses."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
    server.script(Fails(401, message=f"bad key {THEIRS}"))
    with pytest.raises(ModelFailed, match="environment variable OPENAI_API_KEY") as caught:
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
        assert ProviderModel.named(server.name(kind))(ASK).text == "hello"


def test_nobody_traces_what_is_sent(server: Server) -> None:
    async def traced() -> object:
        async with opened(Place("anthropic", "some-model", server.address)) as model:
            assert model.provider is not None
            return model.provider.client.open_telemetry["traces"]["enabled"]

    assert asyncio.run(traced()) is False
