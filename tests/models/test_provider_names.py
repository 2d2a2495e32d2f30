"""What stands behind a model's name, and which names are refused."""

from __future__ import annotations

import sys

import pytest

from kedgeline.errors import BadSettings, MissingExtra
from kedgeline.models import model_named
from kedgeline.models.provider import Place, ProviderModel, place_named
from kedgeline.settings import registered

WORDS = sorted(
    name for name, entry in registered("kedgeline.models").items() if "provider:" in entry.value
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("openai:gpt-5", Place("openai", "gpt-5")),
        ("openrouter:meta/llama-3:free", Place("openrouter", "meta/llama-3:free")),
        ("google-cloud:claude-opus-4@20250514", Place("google-cloud", "claude-opus-4@20250514")),
        ("openai:@cf/meta/llama", Place("openai", "@cf/meta/llama")),
        (
            "openai:llama@http://127.0.0.1:8080/v1",
            Place("openai", "llama", "http://127.0.0.1:8080/v1"),
        ),
        ("anthropic:x@HTTPS://host/a", Place("anthropic", "x", "HTTPS://host/a")),
        ("openai:a@b@http://[::1]:80", Place("openai", "a@b", "http://[::1]:80")),
    ],
)
def test_a_name_is_taken_apart_and_put_together(text: str, place: Place) -> None:
    assert place_named(text) == place
    assert str(place) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("openai:", "no model is named; write openai:MODEL"),
        ("openai:@http://host/v1", "no model is named"),
        ("openai:two words", "no spaces"),
        ("openai:line\nbreak", "no spaces"),
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
        "http://:hunter2@host/v1",
        "http://host/v1?key=hunter2",
        "http://host/v1#hunter2",
        "http://me:hunter2@host/v1 ",
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

    assert len(WORDS) > 30
    for word in WORDS:
        try:
            infer_provider_class(word)
        except ImportError:
            continue  # its client is not installed
