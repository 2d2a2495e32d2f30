"""Language models of the providers that pydantic-ai knows, and of servers that speak as they do."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from kedgeline.errors import BadSettings, MissingExtra, ModelFailed, UserError
from kedgeline.model import Ask, Ending, Reply, Usage
from kedgeline.model.ask import prompt_of
from kedgeline.models.command import LARGEST_REPLY, SECONDS, repeatable
from kedgeline.models.driving import NotAsked, in_thread
from kedgeline.settings import FAULTS

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient, Request
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings

# Where a model is asked, from its name.

_ADDRESS = re.compile(r"@(?=https?://)", re.IGNORECASE)
_MEANT_AS_ADDRESS = re.compile(r".@(?:localhost$|[^@]*[:/])", re.IGNORECASE)
"""Behind an `@`, what looks like an address without its scheme. As a part of a model's name, it
would send what is meant for one's own machine to the provider's."""
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class ModelPlace(NamedTuple):
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


def place_named(text: str) -> ModelPlace:
    """From `PROVIDER:MODEL` or `PROVIDER:MODEL@ADDRESS`."""
    provider, _, rest = text.partition(":")
    model, *behind = _ADDRESS.split(rest, maxsplit=1)
    address = behind[0] if behind else ""
    if address:
        # First of all, and without the text: what is refused here must stand in no message.
        _check_address(f"{provider}:{model}", address)
    if not model:
        raise BadSettings(f"model {text!r}", f"no model is named; write {provider}:MODEL")
    if _UNFIT.search(rest):
        raise BadSettings(f"model {text!r}", "a name has no spaces and no control characters in it")
    if not address and _MEANT_AS_ADDRESS.search(model):
        # what looks like an address may hold a password before its last `@`
        shown = text if text.count("@") < 2 else f"{text.partition('@')[0]}@…"
        problem = "an address begins with http:// or https://, as in openai:llama@http://HOST/v1"
        raise BadSettings(f"model {shown!r}", problem)
    return ModelPlace(provider, model, address)


def _check_address(short: str, address: str) -> None:
    form = f"write {short}@http://HOST:PORT/v1"
    problem = ""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        problem = f"its address is none; {form}"
    else:
        if "@" in parts.netloc or "?" in address or "#" in address:
            problem = (
                "its address has a user name, a password, a query or a fragment, and names stand "
                f"in reports; write it without them, and a key into the environment variable {KEY}"
            )
        elif not host:
            problem = f"its address has no host; {form}"
    if problem:
        raise BadSettings(f"model '{short}@…'", problem)


# The provider's own client, and what goes to an address of the user's own.

EXTRA = "models"
KEY = "KEDGELINE_MODEL_KEY"
"""The key for an address of one's own. The key of a provider is for the provider: it never goes
anywhere else."""
NO_KEY = "none"
"""What a client is given that insists on a key; it is taken off before anything is sent."""
COMPATIBLE = ("openai", "openai-chat", "openai-responses")
"""Words that stand for whatever speaks OpenAI's language, where an address is given."""
KEY_HEADERS = ("authorization", "x-api-key")
HEADERS = (
    "accept accept-encoding anthropic-beta anthropic-version connection content-length content-type"
    " host transfer-encoding user-agent"
)
"""All that goes to an address of one's own. The clients add more: organisations and headers from
the environment, which are for the provider, and what machine they run on."""


def _check_provider(place: ModelPlace) -> None:
    """Whether the provider's client is installed, and can be given an address."""
    accepted = signature(_provider_class(place).__init__).parameters
    if place.address and not {"base_url", "api_key", "http_client"} <= accepted.keys():
        problem = "this provider has no address of one's own; use openai:… or anthropic:…"
        raise BadSettings(f"model {str(place)!r}", problem)


def own_key() -> str:
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BadSettings(KEY, "the key has characters that are invalid in a header; set it again")
    return key


@asynccontextmanager
async def open_model(place: ModelPlace) -> AsyncIterator[Model]:
    """The model, with connections of its own that are closed in the end. They follow no redirect,
    and no proxy stands between two programs of one machine: what is sent is meant for one place."""
    from httpx2 import AsyncClient
    from pydantic_ai.models import infer_model

    hooks: dict[str, list[Any]] = {"request": [_only_what_is_needed]} if place.address else {}
    proxies = not place.on_this_machine
    async with AsyncClient(verify=_certificates(), event_hooks=hooks, trust_env=proxies) as client:
        provider = _provider(place, client)
        chat = place.address and place.provider == "openai"  # which all local servers know
        kind = "openai-chat" if chat else place.provider
        model = infer_model(f"{kind}:{place.model}", provider_factory=lambda _: provider)
        async with model:
            yield model


def _provider_class(place: ModelPlace) -> type[Provider[Any]]:
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


def _provider(place: ModelPlace, client: AsyncClient) -> Provider[Any]:
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
    provider = made(**arguments)
    if provider.name != "anthropic":
        return provider
    from pydantic_ai.providers.anthropic import AnthropicProvider

    # Without the traces that Anthropic's client writes of its own accord.
    return AnthropicProvider(anthropic_client=provider.client.with_options(open_telemetry=False))


async def _only_what_is_needed(request: Request) -> None:
    kept = {*HEADERS.split(), *(KEY_HEADERS if own_key() else ())}
    for header in set(request.headers.keys()) - kept:
        del request.headers[header]


@cache
def _certificates() -> SSLContext:
    """Read once: that takes longer than all else that a client is made of."""
    from httpx2 import create_ssl_context

    return create_ssl_context()


# One request.


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """Asks over the network, once: repeating is not its business.

    Keys come from the environment, as the provider has them. Each request has connections of its
    own, so it can be asked from any thread and any loop."""

    place: ModelPlace
    seconds: float = SECONDS
    """Where a request allows none of its own."""

    @classmethod
    def named(cls, text: str, /) -> ProviderModel:
        """From `PROVIDER:MODEL`, with `@http://HOST/…` behind it for an address of one's own."""
        place = place_named(text)
        _check_provider(place)
        return cls(place)

    @property
    def name(self) -> str:
        return str(self.place)

    def __call__(self, ask: Ask, /) -> Reply:
        """In a thread and a loop of its own: the caller may run one already, as in a notebook."""
        return in_thread(lambda: self._blocking(ask)).result()

    async def awaited(self, ask: Ask, /) -> Reply:
        """The same for those who await."""
        from asyncio import timeout

        seconds = ask.seconds or self.seconds
        try:
            _check_provider(self.place)  # without the libraries, nothing below works
            async with open_model(self.place) as model, timeout(seconds):
                return _reply_in(await _response(model, ask), name=self.name)
        except TimeoutError:
            why = f"it took more than {seconds:g} seconds"
            next_step = "use a faster model, or allow more (model_call_seconds)"
            raise ModelFailed(self.name, why, next_step=next_step, kind="timed out") from None
        except UserError as error:
            next_step = f"run {error.install}" if isinstance(error, MissingExtra) else CHECK
            raise NotAsked(self.name, str(error), next_step=next_step) from error
        except _raised() as error:
            # Without what was raised: its text may hold the request and its headers.
            raise _failure(self.place, error) from None

    def _blocking(self, ask: Ask) -> Reply:
        from asyncio import new_event_loop

        loop = new_event_loop()
        try:
            return loop.run_until_complete(self.awaited(ask))
        finally:
            loop.close()  # it does not wait for a lookup of a host's name that hangs


async def _response(model: Model, ask: Ask) -> ModelResponse:
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    native = bool(model.profile.get("supports_json_schema_output"))  # a schema is enforced
    parameters = ModelRequestParameters()
    if native and ask.schema is not None:
        shape = OutputObjectDefinition(json_schema=ask.schema, name="reply")
        parameters = ModelRequestParameters(output_mode="native", output_object=shape)
    parts = [UserPromptPart(_sendable(ask.prompt if native else prompt_of(ask)))]
    return await model_request(
        model,
        [ModelRequest(parts=parts, instructions=_sendable(ask.system) or None)],
        model_settings=_settings(model, ask),
        model_request_parameters=parameters,
        instrument=False,  # whatever the program around traces: this is nobody's but the user's
    )


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


ENDINGS: dict[str, Ending] = {
    "stop": "whole", "length": "cut off", "content_filter": "refused", "tool_call": "tool call",
}  # fmt: skip


def _reply_in(response: ModelResponse, *, name: str) -> Reply:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    details: dict[str, Any] = response.provider_details or {}
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    text = text or str(details.get("refusal") or "")
    if len(text) > LARGEST_REPLY:
        why = f"its reply has more than {LARGEST_REPLY:,} characters"
        next_step = "use a model that keeps to the length that is asked for"
        raise ModelFailed(name, why, next_step=next_step, kind="too large")
    ending = ENDINGS.get(response.finish_reason or "", "")
    if any(isinstance(part, ToolCallPart) for part in response.parts):
        ending = "tool call"
    thought = any(isinstance(part, ThinkingPart) for part in response.parts)
    used = response.usage
    read, written = max(0, used.cache_read_tokens), max(0, used.cache_write_tokens)
    usage = Usage(  # pydantic-ai counts what went through the cache as a part of the input
        input=max(0, used.input_tokens - read - written),
        output=max(0, used.output_tokens),
        cache_read=read,
        cache_write=written,
    )
    return Reply(
        text=_sendable(text),
        model=name,
        usage=None if usage == Usage() else usage,
        ending=ending,
        reasoned=thought or used.details.get("reasoning_tokens", 0) > 0,
    )


# Why there is no reply: with a kind and a next step, and nothing of the request.

SHOWN = 200
"""Characters of what a provider said that a message repeats: its first sentence or two."""
READ = 20_000
"""Characters of it that are searched for secrets."""
LONGEST_WAIT = 86_400.0
"""Seconds that a provider may ask for: who asks for more than a day has made a mistake."""
_OVERFLOW = re.compile(r"(?i)exceed\w* [^.]{0,40}context (?:size|length|window)")
"""How local servers say that a request is too large for them."""
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
LATER = "try again later"
CHECK = "check the model's name, its key and the address"
SMALLER = "set model_window to what the model takes"
FAILURES = {
    "UserError": ("bad request", "its provider takes no such request", CHECK),
    "ModelAuthenticationError": ("not allowed", "it does not take the key, or wants one", ""),
    "ModelQuotaExceededError": ("not allowed", "its account may spend no more", "raise its limit"),
    "ModelRateLimitError": ("rate limited", "too many requests", LATER),
    "ModelTimeoutError": ("timed out", "it took too long", LATER),
    "ModelRequestTimeout": ("timed out", "it took too long", LATER),
    "ModelConnectionError": ("disconnected", "the connection broke off", LATER),
    "ModelContextWindowExceededError": ("bad request", "the request is too large", SMALLER),
    "ModelRequestRejectedError": ("bad request", "it refused the request", CHECK),
    "ModelAPIError": ("server error", "it failed", LATER),
}
"""By the error of pydantic-ai, the first that it is: the kind of the failure, why, and what then.
"""


def _raised() -> tuple[type[Exception], ...]:
    """All that the libraries may raise for one request. What they do not foresee, as an answer of
    another shape, ends in Python's own errors; a warning is one where the user says so."""
    import sys

    import httpx2

    clients = (("openai", "OpenAIError"), ("anthropic", "AnthropicError"))
    roots = [
        getattr(sys.modules[module], name) for module, name in clients if module in sys.modules
    ]
    return (*FAULTS, Warning, httpx2.HTTPError, httpx2.InvalidURL, *roots)


def _failure(place: ModelPlace, error: Exception) -> ModelFailed:
    import httpx2
    from pydantic_ai import exceptions

    status, message = getattr(error, "status_code", 0), _message(getattr(error, "body", None))
    found = (
        told for name, told in FAILURES.items() if isinstance(error, getattr(exceptions, name))
    )
    # Of an answer that nobody foresees, each library complains in its own way.
    why = f"its answer is not a model's reply ({type(error).__name__})"
    kind, why, then = next(found, ("server error", why, CHECK))
    if isinstance(error, (httpx2.TransportError, ConnectionError)):
        kind, why, then = FAILURES["ModelConnectionError"]
    elif status == 408:
        kind, why, then = FAILURES["ModelTimeoutError"]
    elif _OVERFLOW.search(message):
        kind, why, then = FAILURES["ModelContextWindowExceededError"]
    elif 300 <= status < 500 and kind == "server error":
        kind, why, then = FAILURES["ModelRequestRejectedError"]
    if not then:
        key = KEY if place.address else f"that {place.provider} looks for"
        then = f"put one that may use {place.model} into the environment variable {key}"
    why += f" ({status})" if status else ""
    why += _said(message) if kind != "not allowed" else ""
    if isinstance(error, exceptions.UserError):
        # What is missing before anything is sent, mostly a key; it names the variable.
        named = list(dict.fromkeys(_VARIABLE.findall(str(error))))
        kind = "not allowed" if named else kind
        why = f"{' or '.join(named)} is not set in the environment" if named else why
        return NotAsked(str(place), why, next_step=then, kind=kind)
    wait = getattr(error, "retry_after", None)
    passes = then == LATER and wait is not None and 0 <= wait <= LONGEST_WAIT
    return ModelFailed(str(place), why, next_step=then, kind=kind, wait=wait if passes else None)


def _said(message: str) -> str:
    """The first words of what a provider answered: plain, short, and without secrets."""
    words = " ".join(re.sub(r"[^\w\s!-~…–—‘’“”]", " ", message[:READ]).split())
    if not words or words.startswith("<"):  # a page of markup tells nobody anything
        return ""
    words = repeatable(words)
    return f" and said {words[:SHOWN]!r}{'…' if len(words) > SHOWN else ''}"


def _message(body: object) -> str:
    for _ in range(4):
        if not isinstance(body, dict):
            break
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), "")
    return body if isinstance(body, str) else ""
