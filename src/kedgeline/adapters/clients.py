"""The clients of openai and anthropic, and programs that build on them.

    client = wrap(OpenAI())                                      # or AsyncOpenAI, Anthropic, …
    client = OpenAI(http_client=httpx2.Client(transport=Transport()))

`wrap` changes the messages of `create`, `stream` and `parse` on this client; a client made of it by
`with_options` is another one. The transport changes the body of every request that has messages,
whoever sends it. The caller's list stays as it is in both."""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs
from kedgeline.errors import MissingExtra, UserError
from kedgeline.session.loop import Beside

try:
    import httpx2 as httpx
except ImportError:
    try:
        import httpx  # type: ignore[no-redef]
    except ImportError as error:
        raise MissingExtra(
            "the adapter for the clients of openai and anthropic", "clients"
        ) from error

METHODS = ("create", "stream", "parse")
LISTS = {"chat.completions": "messages", "messages": "messages", "responses": "input"}
"""What of a client is asked, and the field that has the list; its path ends with the same words."""


def wrap(client: Any, **options: Unpack[AdapterOptions]) -> Any:
    """The same client, changed in place. What came of the newest request is in
    `client.kedgeline.last`."""
    runs = Runs(**options)
    found = ((_part(client, path), field) for path, field in LISTS.items())
    parts = [(part, field) for part, field in found if part is not None]
    if not parts:
        raise UserError(f"{type(client).__name__} is not a client of openai or anthropic")
    for part, field in parts:
        for name in METHODS:
            if callable(method := getattr(part, name, None)):
                setattr(part, name, _wrapped(method, field, runs))
    client.kedgeline = runs
    return client


def _part(client: Any, path: str) -> Any:
    for name in path.split("."):
        client = getattr(client, name, None)
    return client


def _wrapped(method: Callable[..., Any], field: str, runs: Runs) -> Callable[..., Any]:
    def fitted(arguments: dict[str, Any]) -> dict[str, Any]:
        if not _is_whole(arguments, field) or runs.has_given(arguments[field]):
            return arguments
        return {**arguments, field: runs.step_list(arguments[field], **_known(arguments))}

    async def awaited(*args: Any, **arguments: Any) -> Any:
        if _is_whole(arguments, field) and not runs.has_given(arguments[field]):
            sent = await runs.astep_list(arguments[field], **_known(arguments))
            arguments = {**arguments, field: sent}
        return await method(*args, **arguments)

    if iscoroutinefunction(getattr(method, "__wrapped__", method)):
        return awaited
    return lambda *args, **arguments: method(*args, **fitted(arguments))


def _is_whole(body: dict[str, Any], field: str) -> bool:
    """Whether the list is all that the model sees: the server may have what comes before."""
    continued = body.get("previous_response_id") or body.get("conversation")
    return isinstance(body.get(field), list) and not (
        isinstance(continued, (str, dict)) and continued
    )


def _known(body: dict[str, Any]) -> Beside:
    return {
        "beside": [
            body.get(name) for name in ("system", "instructions", "tools") if body.get(name)
        ],
        "model_name": str(body.get("model") or ""),
    }


class Transport(Adapter, httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Between a client and the network. `inner` is the transport that sends, the usual one where
    none is given."""

    def __init__(self, inner: Any = None, **options: Unpack[AdapterOptions]) -> None:
        self._runs, self._inner = Runs(**options), inner

    def handle_request(self, request: Any) -> Any:
        self._inner = self._inner or httpx.HTTPTransport()
        body, field = _body(request)
        if field:
            body[field] = self._runs.step_list(body[field], **_known(body))
        return self._inner.handle_request(_sent(request, body) if field else request)

    async def handle_async_request(self, request: Any) -> Any:
        self._inner = self._inner or httpx.AsyncHTTPTransport()
        body, field = _body(request)
        if field:
            body[field] = await self._runs.astep_list(body[field], **_known(body))
        return await self._inner.handle_async_request(_sent(request, body) if field else request)

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


def _body(request: Any) -> tuple[dict[str, Any], str]:
    """The body and the field that has the list; an empty one where there is none."""
    path = request.url.path.replace("/", ".")
    field = next((field for end, field in LISTS.items() if path.endswith(f".{end}")), "")
    try:
        body = json.loads(request.content) if field else {}
    except (ValueError, httpx.RequestNotRead):
        return {}, ""
    whole = isinstance(body, dict) and _is_whole(body, field)
    return (body, field) if whole else ({}, "")


def _sent(request: Any, body: dict[str, Any]) -> Any:
    headers = [(k, v) for k, v in request.headers.raw if k.lower() != b"content-length"]
    return httpx.Request(
        request.method, request.url, headers=headers, json=body, extensions=request.extensions
    )
