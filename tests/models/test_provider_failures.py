"""Each way in which a provider fails has its kind, a next step, and nothing of the request."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Fallback
from kedgeline.models import provider as body
from kedgeline.models.driving import NotAsked
from kedgeline.models.provider import ProviderModel
from tests.models.server import (
    Breaks,
    Drips,
    Fails,
    Hangs,
    Kind,
    Line,
    Says,
    Sends,
    Server,
    serving,
)

ASK = Ask(role="summarise", system="Be brief.", prompt="What now?", most_tokens=99, seconds=20.0)
SHORT = Ask(role="summarise", system="", prompt="What now?", most_tokens=99, seconds=0.15)
EVENTS = "text/event-stream"
ONE_EVENT = b'event: message_start\ndata: {"type": "message_start", "message": 5, "choices": 7}\n\n'


def failed(server: Server, kind: Kind, *, stream: bool = True, ask: Ask = ASK) -> ModelFailed:
    model = replace(ProviderModel.named(server.name(kind)), stream=stream)
    with pytest.raises(ModelFailed) as caught:
        model(ask)
    assert caught.value.name == model.name
    assert caught.value.next_step
    return caught.value


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (Fails(429), "rate limited"),
        (Fails(500), "server error"),
        (Fails(503), "server error"),
        (Fails(529, type="overloaded_error"), "server error"),
        (Fails(500, midway=True), "server error"),
        (Fails(401), "not allowed"),
        (Fails(403), "not allowed"),
        (Fails(402, type="billing_error"), "not allowed"),
        (Fails(400), "bad request"),
        (Fails(404), "bad request"),
        (Fails(413), "bad request"),
        (Fails(422), "bad request"),
        (Fails(408), "timed out"),
        (Breaks(0), "disconnected"),
        (Breaks(0, how="reset"), "disconnected"),
        (Breaks(3), "disconnected"),
        (Breaks(3, how="reset"), "disconnected"),
        (Breaks(3, how="clean"), "disconnected"),
        (Sends(b"<html>Sign in</html>", "text/html; charset=utf-8"), "server error"),
        (Sends(b"<html>Bad gateway</html>", "text/html", status=502), "server error"),
        (Sends(b"<html>Nothing here</html>", "text/html", status=404), "bad request"),
        (Sends(b"plain words", "text/plain"), "server error"),
        (Sends(b'{"choices": [{"mess'), "server error"),
        (Sends(b'data: {"choices": [{"mess\n\n', EVENTS), "server error"),
        (Sends(b"{}"), "server error"),
        (Sends(b"[]"), "server error"),
        (Sends(b""), "server error"),
        (Sends(b"", EVENTS), "server error"),
        (Sends(b"\xff\xfe\xff"), "server error"),
        (Sends(b"[" * 100_000), "server error"),
        (Sends(b"data: 5\n\n", EVENTS), "server error"),
        (Sends(ONE_EVENT, EVENTS), "server error"),
        (Says("x" * 1_000_001, pieces=9), "too large"),
        (Says(reasoning="x" * 1_000_001, pieces=9), "too large"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_failure_has_its_kind(
    server: Server, shape: Kind, stream: bool, line: Line, kind: Fallback
) -> None:
    server.script(line)
    found = failed(server, shape, stream=stream)
    assert (found.kind, found.wait) == (kind, None), str(found)
    assert len(server.requests) == 1, "its client repeated the request"
    assert "What now?" not in str(found)
    assert len(str(found)) < 500


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("openai", "This model's maximum context length is 8192 tokens."),
        ("openai", "request (900 tokens) exceeds the available context size (512 tokens)"),
        ("anthropic", "prompt is too long: 9 tokens > 8 maximum"),
    ],
)
def test_a_request_that_is_too_large_names_the_setting(
    server: Server, shape: Kind, said: str
) -> None:
    server.script(Fails(400, message=said, type="invalid_request_error"))
    found = failed(server, shape)
    assert (found.kind, found.passes) == ("bad request", False)
    assert found.next_step == "set model_window to what the model takes"


def in_five_minutes() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)


@pytest.mark.parametrize(("shape", "status"), [("openai", 429), ("anthropic", 503)])
@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        (lambda: "3", 3, 3),
        (in_five_minutes, 290, 300),
        (lambda: "soon", None, None),
        (lambda: "-5", None, None),
        (lambda: "99999999", None, None),
    ],
)
def test_a_provider_says_how_long_to_wait(
    server: Server,
    shape: Kind,
    status: int,
    asked: Callable[[], str],
    least: float | None,
    most: float | None,
) -> None:
    server.script(Fails(status, headers={"Retry-After": asked()}))
    wait = failed(server, shape).wait
    if least is None or most is None:
        assert wait is None
    else:
        assert wait is not None
        assert least <= wait <= most


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("line", [Hangs(), Drips(every=0.01)], ids=["hangs", "drips"])
def test_the_time_is_for_the_whole_reply(
    server: Server, shape: Kind, line: Line, stream: bool
) -> None:
    server.script(line)
    begun = time.monotonic()
    found = failed(server, shape, stream=stream, ask=SHORT)
    assert found.kind == "timed out"
    assert found.why == "it took more than 0.15 seconds"
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_reply_that_grows_without_end_is_stopped(server: Server, shape: Kind) -> None:
    server.script(Drips(every=0, text="x" * 100_000))
    assert failed(server, shape).why == "its reply has more than 1,000,000 characters"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("content_type", ["application/json", EVENTS])
def test_no_answer_fills_the_memory(
    server: Server,
    shape: Kind,
    stream: bool,
    content_type: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also one that is no reply at all, of which no event ever comes."""
    monkeypatch.setattr(body, "LARGEST_BODY", 10_000)
    server.script(Sends(b": " + b"x" * 20_000, content_type))
    assert failed(server, shape, stream=stream).kind == "too large"


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_redirect_is_not_followed(server: Server, shape: Kind) -> None:
    """What is sent is meant for one place."""
    with serving() as elsewhere:
        server.script(Sends(b"", status=307, headers={"Location": elsewhere.address}))
        found = failed(server, shape)
    assert found.kind == "bad request"
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
