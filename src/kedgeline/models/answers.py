"""What a provider's client hands back or raises, as a reply or as one kind of failure."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from kedgeline.errors import MissingExtra, ModelFailed, UserError
from kedgeline.model import Ending, Reply, Usage
from kedgeline.models.command import LARGEST_REPLY, repeatable
from kedgeline.models.driving import NotAsked
from kedgeline.plugins import FAULTS

if TYPE_CHECKING:
    from httpx2 import Response
    from pydantic_ai.exceptions import ModelAPIError
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.usage import RequestUsage

    from kedgeline.models.provider import Place

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
