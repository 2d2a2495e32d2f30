"""Language models of the providers that pydantic-ai knows, and of servers that speak as they do."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from kedgeline.errors import BadSettings, MissingExtra, ModelFailed, UserError
from kedgeline.model import Ask, Ending, Reply, Usage
from kedgeline.models.command import LARGEST_REPLY, SECONDS, prompt_of, repeatable
from kedgeline.models.driving import NotAsked
from kedgeline.settings import FAULTS

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient, Request, Response
    from pydantic_ai.exceptions import ModelAPIError
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage

KEY = "KEDGELINE_MODEL_KEY"
"""The key for an address of one's own. The key of a provider is for the provider: it never goes
anywhere else."""
_VARIABLES = {
    **dict.fromkeys(("azure", "azure-responses"), "AZURE_OPENAI_API_KEY"),
    **dict.fromkeys(("bedrock", "bedrock-mantle"), "AWS_BEARER_TOKEN_BEDROCK"),
    **dict.fromkeys(("openai-chat", "openai-responses"), "OPENAI_API_KEY"),
    "cohere": "CO_API_KEY",
    "google-cloud": "GOOGLE_API_KEY",
    "heroku": "HEROKU_INFERENCE_KEY",
    "huggingface": "HF_TOKEN",
    "snowflake": "SNOWFLAKE_TOKEN",
    "vercel": "VERCEL_AI_GATEWAY_API_KEY",
}
"""Of those that do not call it by their own name."""


def key_variable(provider: str, *, own_address: bool) -> str:
    if own_address:
        return KEY
    return _VARIABLES.get(provider, f"{provider.upper().replace('-', '_')}_API_KEY")


LARGEST_BODY = 32_000_000
"""Bytes of one answer. A stream wraps each few characters in some three hundred bytes: this is
space for a hundred thousand words, and no server can fill the memory."""
FIRST_REDIRECT, FIRST_ERROR = 300, 400


class Spoiled(Exception):
    """An answer that is no model's reply."""

    def __init__(self, kind: str, why: str, next_step: str) -> None:
        super().__init__(why)
        self.kind, self.why, self.next_step = kind, why, next_step


def too_large(unit: str, most: int) -> Spoiled:
    why = f"its reply has more than {most:,} {unit}"
    return Spoiled("too large", why, "use a model that keeps to the length that is asked for")


async def checked_body(response: Response) -> None:
    """Refuse a redirect, and a web page in the place of a reply; bound all others."""
    from httpx2 import AsyncByteStream

    class Bounded(AsyncByteStream):
        def __init__(self, stream: AsyncByteStream) -> None:
            self.stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in self.stream:
                size += len(part)
                if size > LARGEST_BODY:
                    raise too_large("bytes", LARGEST_BODY)
                yield part

        async def aclose(self) -> None:
            await self.stream.aclose()

    if FIRST_REDIRECT <= response.status_code < FIRST_ERROR:
        why = f"it redirects to somewhere else ({response.status_code})"
        raise Spoiled("bad request", why, "name the address where it is")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html" and response.status_code < FIRST_ERROR:
        why = "a web page came in the place of a reply"
        raise Spoiled("server error", why, "check the address, and what stands before the provider")
    assert isinstance(response.stream, AsyncByteStream)
    response.stream = Bounded(response.stream)


ENDINGS: dict[str, Ending] = {
    "stop": "whole", "length": "cut off", "content_filter": "refused", "tool_call": "tool call",
}  # fmt: skip
GROWING = ("part_start", "part_delta")
"""Events that bring something new; others repeat it."""
HOLDERS = ("content", "content_delta", "args", "args_delta")
"""Where text, reasoning and tool calls are, in an event's part or delta."""


class Size:
    """Of a reply while it comes."""

    def __init__(self) -> None:
        self.characters = 0

    def grow(self, event: ModelResponseStreamEvent) -> None:
        if event.event_kind in GROWING:
            self.add(getattr(event, "part", None) or getattr(event, "delta", None))

    def add(self, part: object) -> None:
        self.characters += sum(len(str(getattr(part, holder, None) or "")) for holder in HOLDERS)
        if self.characters > LARGEST_REPLY:
            raise too_large("characters", LARGEST_REPLY)


def reply_in(response: ModelResponse, *, name: str, streamed: bool) -> Reply:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    details: dict[str, Any] = response.provider_details or {}
    usage = _usage(response.usage)
    size = Size()
    for part in response.parts:
        size.add(part)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    text = text or str(details.get("refusal") or "")
    ending = _ending(response, details)
    # some servers never say why a reply ended; but their usage comes last
    whole = response.state != "incomplete" and response.finish_reason is not None and usage
    if streamed and not ending and not whole and "finish_reason" not in details:
        raise Spoiled("disconnected", "its reply broke off", "try again later")
    if any(isinstance(part, ToolCallPart) for part in response.parts):
        ending = "tool call"
    thought = any(isinstance(part, ThinkingPart) for part in response.parts)
    return Reply(
        text=text.encode(errors="replace").decode(),
        model=name,
        usage=usage,
        ending=ending,
        reasoned=thought or response.usage.details.get("reasoning_tokens", 0) > 0,
    )


def _ending(response: ModelResponse, details: dict[str, Any]) -> Ending:
    """As the provider says, and not as pydantic-ai supposes where it does not."""
    if response.finish_reason == "error":
        raise Spoiled("server error", "it broke off with an error", "try again later")
    said = "finish_reason" in details or "refusal" in details
    return ENDINGS.get(response.finish_reason or "", "") if said else ""


def _usage(usage: RequestUsage) -> Usage | None:
    """pydantic-ai counts what went through the cache as a part of the input."""
    read, written = max(0, usage.cache_read_tokens), max(0, usage.cache_write_tokens)
    found = Usage(
        input=max(0, usage.input_tokens - read - written),
        output=max(0, usage.output_tokens),
        cache_read=read,
        cache_write=written,
    )
    return None if found == Usage() else found


SHOWN = 200
"""Characters of what a provider said that a message repeats: its first sentence or two."""
READ = 20_000
"""Characters of it that are searched for secrets."""
LONGEST_WAIT = 86_400.0
"""Seconds that a provider may ask for: who asks for more than a day has made a mistake."""
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
_OVERFLOW = re.compile(r"(?i)exceed\w* [^.]{0,40}context (?:size|length|window)")
"""How local servers say that a request is too large for them."""
NO_REPLY = "its answer is no model's reply"
LATER = "try again later"
CHECK = "check the model's name and the address"
NO_CREDIT, RAISE = "its account may not spend more", "raise the account's limit"
SMALLER = "set model_window to what the model takes"


def raised() -> tuple[type[Exception], ...]:
    """All that the libraries may raise for one request. What they do not foresee, as an event of
    another shape, ends in Python's own errors; a warning is one where the user says so."""
    import httpx2

    return (*FAULTS, Warning, Spoiled, httpx2.HTTPError, httpx2.InvalidURL, *_roots())


def _roots() -> list[type[Exception]]:
    """What all errors of a client are; the clients raise it itself where they have no key."""
    names = (("openai", "OpenAIError"), ("anthropic", "AnthropicError"))
    return [getattr(sys.modules[module], name) for module, name in names if module in sys.modules]


def failure(place: Place, error: Exception) -> ModelFailed:
    """It holds nothing of the request: no key, no header, none of what was asked."""
    import httpx2
    from pydantic_ai import exceptions

    for cause in _causes(error):
        if isinstance(cause, Spoiled):
            return ModelFailed(str(place), cause.why, next_step=cause.next_step, kind=cause.kind)
        if isinstance(cause, (httpx2.LocalProtocolError, UnicodeEncodeError)):
            why = "its key has characters that no header can hold"
            return _not_allowed(place, why, NotAsked)
    if type(error) in _roots():
        return _not_allowed(place, "it was given no key", NotAsked)
    if isinstance(error, exceptions.UserError):
        return _not_configured(place, error.message)
    if isinstance(error, exceptions.ModelAPIError):
        return _api_failure(place, error)
    if isinstance(error, httpx2.TimeoutException):
        return ModelFailed(str(place), "it took too long", next_step=LATER, kind="timed out")
    if isinstance(error, (httpx2.TransportError, ConnectionError)):
        return _disconnected(place, error)
    if isinstance(error, (ImportError, Warning)):
        why = f"its client cannot be used: {type(error).__name__}{_said(str(error))}"
        failed = NotAsked if isinstance(error, ImportError) else ModelFailed
        return failed(str(place), why, next_step="install it again, or use another model")
    # Of an answer that nobody foresees, each library complains in its own way.
    why = f"{NO_REPLY} ({type(error).__name__})"
    return ModelFailed(str(place), why, next_step=CHECK, kind="server error")


def timed_out(place: Place, seconds: float) -> ModelFailed:
    why = f"it took more than {seconds:g} seconds"
    next_step = "use a faster model, or allow more (model_call_seconds)"
    return ModelFailed(str(place), why, next_step=next_step, kind="timed out")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _api_failure(place: Place, error: ModelAPIError) -> ModelFailed:
    from pydantic_ai import exceptions as of

    status, body = getattr(error, "status_code", 0), error.body
    code = f" ({status})" if status else ""
    late = status == 408 or isinstance(error, (of.ModelTimeoutError, of.ModelRequestTimeout))
    if isinstance(error, of.ModelAuthenticationError):
        return _not_allowed(place, f"it does not take the key, or wants one{code}")
    if isinstance(error, of.ModelConnectionError) and not late:
        return _disconnected(place, error)
    overflow = isinstance(error, of.ModelContextWindowExceededError)
    overflow = overflow or bool(_OVERFLOW.search(_message(body)))
    refused = isinstance(error, of.ModelRequestRejectedError) or 300 <= status < 500
    broken = f"it failed{code}" if status or body else NO_REPLY
    cases = (
        (isinstance(error, of.ModelQuotaExceededError), "not allowed", NO_CREDIT, RAISE),
        (isinstance(error, of.ModelRateLimitError), "rate limited", "too many requests", LATER),
        (late, "timed out", "it took too long", LATER),
        (overflow, "bad request", "the request is larger than its window", SMALLER),
        (refused, "bad request", f"it refused the request{code}", CHECK),
        (True, "server error", broken, LATER),
    )
    kind, why, then = next(told for holds, *told in cases if holds)
    why += "" if kind == "timed out" else _said(body)
    wait = error.retry_after
    passes = then == LATER and wait is not None and 0 <= wait <= LONGEST_WAIT
    return ModelFailed(str(place), why, next_step=then, kind=kind, wait=wait if passes else None)


def _not_configured(place: Place, message: str) -> NotAsked:
    """What is missing before anything is sent, mostly a key."""
    if variables := list(dict.fromkeys(_VARIABLE.findall(message))):
        why = f"{' or '.join(variables)} is not set in the environment"
        next_step = f"put the key or address for {place.provider} there"
        return NotAsked(str(place), why, next_step=next_step, kind="not allowed")
    why = "its provider takes no such request" + _said(message)
    return NotAsked(str(place), why, next_step=CHECK, kind="bad request")


def not_usable(place: Place, error: UserError) -> NotAsked:
    """What is missing even before that: a package, or an address that the provider takes."""
    next_step = f"run {error.install}" if isinstance(error, MissingExtra) else CHECK
    return NotAsked(str(place), str(error), next_step=next_step)


def _not_allowed(place: Place, why: str, failed: type[ModelFailed] = ModelFailed) -> ModelFailed:
    """Without what the provider said of it: some repeat a part of the key."""
    variable = key_variable(place.provider, own_address=bool(place.address))
    next_step = f"put one that may use {place.model} into the environment variable {variable}"
    return failed(str(place), why, next_step=next_step, kind="not allowed")


def _disconnected(place: Place, error: Exception) -> ModelFailed:
    why, next_step = "the connection broke off", LATER
    if getattr(error, "phase", None) == "connect":
        why, next_step = "nobody answers there", "check that it runs, and the network"
    return ModelFailed(str(place), why, next_step=next_step, kind="disconnected")


def _said(body: object) -> str:
    """The first words of what a provider answered: plain, short, and without secrets."""
    words = " ".join(re.sub(r"[^\w\s!-~…–—‘’“”]", " ", _message(body)[:READ]).split())
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
