"""What the libraries raise for a request, as one kind of failure with a next step."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kedge.errors import MissingExtra, ModelFailed, UserError
from kedge.models.moving import NotAsked
from kedge.models.phrasing import repeatable
from kedge.models.provider.body import Spoiled
from kedge.models.provider.keys import key_variable
from kedge.models.provider.naming import Place
from kedge.plugins import FAULTS

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError

SHOWN = 200
"""Characters of what a provider said that a message repeats: its first sentence or two."""
READ = 20_000
"""Characters of it that are looked at: a secret that is taken out brings nearer what stood behind.
"""
DEEPEST = 4
"""Objects within each other in which a provider may have put its words."""
LONGEST_WAIT = 86_400.0
"""Seconds that a provider may ask for: who asks for more than a day has made a mistake."""
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
_OVERFLOW = re.compile(r"(?i)exceed\w* [^.]{0,40}context (?:size|length|window)")
"""How local servers say that a request is too large for them."""
NO_REPLY = "its answer is no model's reply"
LATER = "try again later"
CHECK = "check the model's name and the address"


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
    from pydantic_ai import exceptions

    name, status = str(place), getattr(error, "status_code", 0)
    wait = error.retry_after
    if wait is not None and not 0 <= wait <= LONGEST_WAIT:
        wait = None
    if isinstance(error, exceptions.ModelQuotaExceededError):
        why = "its account may not spend more" + _said(error.body)
        return ModelFailed(name, why, next_step="raise the account's limit", kind="not allowed")
    if isinstance(error, exceptions.ModelRateLimitError):
        why = f"too many requests{_said(error.body)}"
        return ModelFailed(name, why, next_step=LATER, kind="rate limited", wait=wait)
    if isinstance(error, exceptions.ModelAuthenticationError):
        return _not_allowed(place, f"it does not take the key, or wants one{_code(status)}")
    if status == 408 or isinstance(
        error, (exceptions.ModelTimeoutError, exceptions.ModelRequestTimeout)
    ):
        return ModelFailed(name, "it took too long", next_step=LATER, kind="timed out", wait=wait)
    if isinstance(error, exceptions.ModelConnectionError):
        return _disconnected(place, error)
    return _refused(place, error, status, wait)


def _refused(place: Place, error: ModelAPIError, status: int, wait: float | None) -> ModelFailed:
    from pydantic_ai import exceptions

    name = str(place)
    if isinstance(error, exceptions.ModelContextWindowExceededError) or _OVERFLOW.search(
        _message(error.body)
    ):
        next_step = "set model_window to what the model takes"
        why = "the request is larger than its window" + _said(error.body)
        return ModelFailed(name, why, next_step=next_step, kind="bad request")
    if isinstance(error, exceptions.ModelRequestRejectedError) or 300 <= status < 500:
        why = f"it refused the request{_code(status)}{_said(error.body)}"
        return ModelFailed(name, why, next_step=CHECK, kind="bad request")
    why = f"it failed{_code(status)}{_said(error.body)}" if status or error.body else NO_REPLY
    return ModelFailed(name, why, next_step=LATER, kind="server error", wait=wait)


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
    phase = getattr(error, "phase", None)
    if phase == "connect":
        why, next_step = "nobody answers there", "check that it runs, and the network"
    else:
        why, next_step = "the connection broke off", LATER
    return ModelFailed(str(place), why, next_step=next_step, kind="disconnected")


def _code(status: int) -> str:
    return f" ({status})" if status else ""


def _said(body: object) -> str:
    """The first words of what a provider answered: plain, short, and without secrets."""
    words = " ".join(re.sub(r"[^\w\s!-~…–—‘’“”]", " ", _message(body)[:READ]).split())
    if not words or words.startswith("<"):  # a page of markup tells nobody anything
        return ""
    words = repeatable(words)
    return f" and said {words[:SHOWN]!r}{'…' if len(words) > SHOWN else ''}"


def _message(body: object) -> str:
    for _ in range(DEEPEST):
        if not isinstance(body, dict):
            break
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), "")
    return body if isinstance(body, str) else ""
