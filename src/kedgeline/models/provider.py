"""Language models of the providers that pydantic-ai knows, and of servers that speak as they do."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from kedgeline.errors import BadSettings, MissingExtra, UserError
from kedgeline.model import Ask, Reply
from kedgeline.models.answers import (
    KEY,
    Size,
    checked_body,
    failure,
    not_usable,
    raised,
    reply_in,
    timed_out,
)
from kedgeline.models.command import SECONDS, prompt_of

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient, Request
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings

_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_MEANT_AS_ADDRESS = re.compile(r".@(?:localhost$|[^@]*[:/])", re.IGNORECASE)
"""Behind an `@`, what looks like an address without its scheme. As a part of a model's name, it
would send what is meant for one's own machine to the provider's."""
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Place(NamedTuple):
    """Where a model is asked."""

    provider: str
    """The word before the colon."""
    model: str
    address: str = ""
    """Of a server of the user's own; empty: the provider's."""

    @property
    def on_this_machine(self) -> bool:
        host = urlsplit(self.address).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" + (f"@{self.address}" if self.address else "")


def place_named(text: str) -> Place:
    """From `PROVIDER:MODEL` or `PROVIDER:MODEL@ADDRESS`."""
    provider, _, rest = text.partition(":")
    parts = _ADDRESS.split(rest, maxsplit=1)
    model, address = parts[0], (parts[1] if len(parts) > 1 else "")
    if address:
        # First of all, and without the text: what is refused here must stand in no message.
        _check_address(f"model '{provider}:{model}@…'", address, f"{provider}:{model}")
    if not model:
        raise BadSettings(f"model {text!r}", f"no model is named; write {provider}:MODEL")
    if _UNFIT.search(rest):
        raise BadSettings(f"model {text!r}", "a name has no spaces and no control characters in it")
    if not address and _MEANT_AS_ADDRESS.search(model):
        problem = "an address begins with http:// or https://, as in openai:llama@http://HOST/v1"
        # what looks like an address may hold a password before its last `@`
        shown = text if text.count("@") < 2 else f"{text.partition('@')[0]}@…"
        raise BadSettings(f"model {shown!r}", problem)
    return Place(provider, model, address)


def _check_address(where: str, address: str, short: str) -> None:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        problem = f"its address is none; write {short}@http://HOST:PORT/v1"
        raise BadSettings(where, problem) from None
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in address or "#" in address:
        problem = (
            "its address has a user name, a password, a query or a fragment, and names stand in "
            "reports; write the address without them, and a key into the environment variable "
            "KEDGELINE_MODEL_KEY"
        )
        raise BadSettings(where, problem)
    if not host:
        raise BadSettings(where, f"its address has no host; write {short}@http://HOST:PORT/v1")


T = TypeVar("T")

EXTRA = "models"
NO_KEY = "none"
"""What a client is given that insists on a key; it is taken off before anything is sent."""
COMPATIBLE = ("openai", "openai-chat", "openai-responses")
"""Words that stand for whatever speaks OpenAI's language, where an address is given."""
SPOKEN = {"openai": "openai-chat"}
"""What is spoken at an address of one's own: chat completions, which all local servers know."""
KEY_HEADERS = ("authorization", "x-api-key")
HEADERS = (
    "accept accept-encoding anthropic-beta anthropic-version connection content-length content-type"
    " host transfer-encoding user-agent"
)
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
        # pydantic-ai names the group that is missing; its name is mostly the provider's
        named = re.search(r"pydantic-ai-slim\[([^\]]*)", str(error))
        group = f"pydantic-ai-slim[{named[1] if named else place.provider}]"
        problem = f"its client is not installed; run pip install '{group}'"
        raise BadSettings(f"model {str(place)!r}", problem) from error


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
    kept = {*HEADERS.split(), *(KEY_HEADERS if own_key() else ())}
    for header in set(request.headers.keys()) - kept:
        del request.headers[header]


@cache
def _certificates() -> SSLContext:
    """Read once: that takes longer than all else that a client is made of."""
    from httpx2 import create_ssl_context

    return create_ssl_context()


def blocked(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end in a thread and a loop of its own: the caller may run a loop already, as in
    a notebook. Where waiting is interrupted, the work is cancelled."""
    import asyncio
    from threading import Thread

    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> None:
        try:
            loop.run_until_complete(asyncio.wait({task}))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            # It does not wait for a lookup of a host's name that hangs: that has no limit.
            loop.close()

    thread = Thread(target=run, name="kedgeline model", daemon=True)
    thread.start()
    try:
        thread.join()
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
    return task.result()


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """Asks over the network, once: repeating is not its business.

    Keys come from the environment, as the provider has them. Each request has connections of its
    own, so it can be asked from any thread and any loop."""

    place: Place
    seconds: float = SECONDS
    """Where a request allows none of its own."""
    stream: bool = True
    """Whether a reply comes piece by piece: then one that grows too large is stopped early."""

    @classmethod
    def named(cls, text: str, /) -> ProviderModel:
        """From `PROVIDER:MODEL`, with `@http://HOST/…` behind it for an address of one's own."""
        place = place_named(text)
        check_provider(place)
        return cls(place)

    @property
    def name(self) -> str:
        return str(self.place)

    def __call__(self, ask: Ask, /) -> Reply:
        return blocked(self.awaited(ask))

    async def awaited(self, ask: Ask, /) -> Reply:
        """The same for those who await."""
        from asyncio import timeout

        try:  # before all else: without the libraries, nothing below works
            check_provider(self.place)
        except UserError as error:
            raise not_usable(self.place, error) from error
        seconds = ask.seconds or self.seconds
        try:
            async with opened(self.place) as model, timeout(seconds):
                response = await _response(model, ask, stream=self.stream)
            return reply_in(response, name=self.name, streamed=self.stream)
        except TimeoutError:
            raise timed_out(self.place, seconds) from None
        except raised() as error:
            # Without what was raised: its text may hold the request and its headers.
            raise failure(self.place, error) from None


async def _response(model: Model, ask: Ask, *, stream: bool) -> ModelResponse:
    from pydantic_ai.direct import model_request, model_request_stream
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    native = bool(model.profile.get("supports_json_schema_output"))  # a schema is enforced
    parameters = ModelRequestParameters()
    if native and ask.schema is not None:
        shape = OutputObjectDefinition(json_schema=ask.schema, name="reply")
        parameters = ModelRequestParameters(output_mode="native", output_object=shape)
    parts = [UserPromptPart(_sendable(ask.prompt if native else prompt_of(ask)))]
    messages = [ModelRequest(parts=parts, instructions=_sendable(ask.system) or None)]
    arguments: dict[str, Any] = {
        "model_settings": _settings(model, ask),
        "model_request_parameters": parameters,
        "instrument": False,  # whatever the program around traces: this is nobody's but the user's
    }
    if not stream:
        return await model_request(model, messages, **arguments)
    size = Size()
    async with model_request_stream(model, messages, **arguments) as events:
        async for event in events:
            size.grow(event)
    return events.get()


def _settings(model: Model, ask: Ask) -> ModelSettings:
    # Reasoning counts as a part of the reply: of so short a one, it would leave nothing.
    settings: dict[str, Any] = {"max_tokens": ask.most_tokens, "thinking": False}
    if hasattr(getattr(model.provider, "client", None), "max_retries"):
        settings["max_retries"] = 0  # it repeats requests unless it is told not to
    if model.provider is not None and model.provider.name == "openai":
        settings["openai_store"] = False  # it keeps what it is sent unless it is told not to
    return cast("ModelSettings", settings)


def _sendable(text: str) -> str:
    """Without halves of characters, which nothing that is sent can hold."""
    return text.encode(errors="replace").decode()
