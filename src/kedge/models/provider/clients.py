"""The client of a provider, made for one request and closed behind it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

from kedge.errors import BadSettings, MissingExtra
from kedge.models.provider.body import checked_body
from kedge.models.provider.keys import KEY
from kedge.models.provider.naming import Place

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient, Request
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

EXTRA = "models"
NO_KEY = "none"
"""What a client is given that insists on a key; it is taken off before anything is sent."""
COMPATIBLE = ("openai", "openai-chat", "openai-responses")
"""Words that stand for whatever speaks OpenAI's language, where an address is given."""
SPOKEN = {"openai": "openai-chat"}
"""What is spoken at an address of one's own: chat completions, which all local servers know."""
KEY_HEADERS = ("authorization", "x-api-key")
HEADERS = {
    *KEY_HEADERS,
    "accept",
    "accept-encoding",
    "anthropic-beta",
    "anthropic-version",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
}
"""All that goes to an address of one's own. The clients add more: organisations and headers from
the environment, which are for the provider, and what machine they run on."""


def check_provider(place: Place) -> None:
    """Whether the provider's client is installed, and can be given an address."""
    accepted = signature(_provider_class(place).__init__).parameters
    if place.address and not {"base_url", "api_key", "http_client"} <= accepted.keys():
        problem = "this provider has no address of one's own; use openai:… or anthropic:…"
        raise BadSettings(f"model {str(place)!r}", problem)


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[Model]:
    """The model, with connections of its own that are closed in the end."""
    from pydantic_ai.models import infer_model

    async with _http_client(place) as client:
        kind = SPOKEN.get(place.provider, place.provider) if place.address else place.provider
        provider = _provider(place, client)
        model = infer_model(f"{kind}:{place.model}", provider_factory=lambda _: provider)
        async with model:
            yield model


def retries_itself(model: Model) -> bool:
    """Whether its client repeats requests unless it is told not to."""
    return hasattr(getattr(model.provider, "client", None), "max_retries")


def own_key() -> str:
    return os.environ.get(KEY, "").strip()


def _provider_class(place: Place) -> type[Provider[Any]]:
    try:
        from pydantic_ai.providers import infer_provider_class
    except ImportError as error:
        raise MissingExtra(f"the model {str(place)!r}", EXTRA) from error
    try:
        if place.address and place.provider in COMPATIBLE:
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            return OpenAICompatibleProvider
        return infer_provider_class(place.provider)
    except ImportError as error:
        if place.provider.partition("-")[0] in ("openai", "anthropic"):
            raise MissingExtra(f"the model {str(place)!r}", EXTRA) from error
        problem = "its client is not installed; run " + _install_line(str(error), place.provider)
        raise BadSettings(f"model {str(place)!r}", problem) from error


def _install_line(complaint: str, word: str) -> str:
    """pydantic-ai names the group that is missing; its name is mostly the provider's."""
    _, found, rest = complaint.partition("pydantic-ai-slim[")
    return f"pip install 'pydantic-ai-slim[{rest.partition(']')[0] if found else word}]'"


def _provider(place: Place, client: AsyncClient) -> Provider[Any]:
    made = _provider_class(place)
    arguments: dict[str, Any] = {}
    if "http_client" in signature(made.__init__).parameters:
        arguments["http_client"] = client
    if place.address:
        arguments |= {"base_url": place.address, "api_key": own_key() or NO_KEY}
    if place.address and place.provider in COMPATIBLE:
        from pydantic_ai.profiles.openai import OpenAIModelProfile

        # The older of two names for the length of a reply, which all servers know.
        profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
        arguments |= {"name": "compatible", "profile": profile}
    return _untraced(made(**arguments))


def _untraced(provider: Provider[Any]) -> Provider[Any]:
    """The same without the traces that Anthropic's client writes of its own accord."""
    if provider.name != "anthropic":
        return provider
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicProvider(anthropic_client=provider.client.with_options(open_telemetry=False))


def _http_client(place: Place) -> AsyncClient:
    """It follows no redirect, and no proxy stands between two programs of one machine: what is sent
    is meant for one place."""
    from httpx2 import AsyncClient

    hooks: dict[str, list[Any]] = {"response": [checked_body]}
    if place.address:
        hooks["request"] = [_only_what_is_needed]
    proxies = not place.on_this_machine
    return AsyncClient(verify=_certificates(), event_hooks=hooks, trust_env=proxies)


async def _only_what_is_needed(request: Request) -> None:
    kept = HEADERS if own_key() else HEADERS.difference(KEY_HEADERS)
    for header in set(request.headers.keys()) - kept:
        del request.headers[header]


@cache
def _certificates() -> SSLContext:
    """Read once: that takes longer than all else that a client is made of."""
    from httpx2 import create_ssl_context

    return create_ssl_context()
