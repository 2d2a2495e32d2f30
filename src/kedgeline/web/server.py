"""The viewer's server: this machine only, for whoever has the token."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from hmac import compare_digest, new
from secrets import token_urlsafe
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from kedgeline.errors import KedgelineError, UserError
from kedgeline.web.pages import (
    LEAST_WINDOW,
    compaction_page,
    session_page,
    static,
    turns_page,
    turns_with,
)
from kedgeline.web.session import Page, Sessions, without_markup

HOST = "127.0.0.1"
ACTION = "x-kedgeline-action"
"""Header with the token that a page needs to change something."""
CHUNK = 60
"""Turns in one answer at the most."""
MOST_WINDOW = 100_000_000
"""Tokens: no model has a larger one."""
TYPES = {"viewer.js": "text/javascript", "viewer.css": "text/css", "index.html": "text/html"}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Of every answer."""
Endpoint = Callable[[Request], Awaitable[Response]]


def app_for(sessions: Sessions, token: str, port: int) -> Starlette:
    """The application; `port` is the one that browsers name."""
    pages = Pages(sessions, token, port)
    get: dict[str, Endpoint] = {
        "/": pages.start,
        "/static/{name}": pages.file,
        "/api/sessions": pages.sessions,
        "/api/search": pages.search,
        "/api/session": pages.session,
        "/api/seen": pages.seen,
        "/api/find": pages.find,
        "/api/turns": pages.turns,
        "/api/compaction": pages.compaction,
    }
    post: dict[str, Endpoint] = {"/api/undo": pages.undo, "/api/pin": pages.pin}
    return Starlette(
        routes=[
            *(Route(path, endpoint, methods=["GET"]) for path, endpoint in get.items()),
            *(Route(path, endpoint, methods=["POST"]) for path, endpoint in post.items()),
        ],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=pages.guarded),
            Middleware(GZipMiddleware, minimum_size=2_000, compresslevel=4),
        ],
        exception_handlers={KedgelineError: _failed, ValueError: _failed},
    )


async def _failed(request: Request, error: Exception) -> Response:
    """What went wrong, in a sentence for the page."""
    if isinstance(error, KedgelineError):
        return JSONResponse({"error": without_markup(str(error))}, 400)
    return JSONResponse({"error": "the request is not one that a page of ours sends"}, 400)


class Pages:
    """Answers to requests that may be answered."""

    def __init__(self, sessions: Sessions, token: str, port: int) -> None:
        self._sessions, self._token = sessions, token
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._cookie = f"kedgeline-{port}"  # browsers send cookies to all ports of a host
        self._action = new(token.encode(), b"action", "sha256").hexdigest()

    async def guarded(self, request: Request, answer: RequestResponseEndpoint) -> Response:
        """Every request is looked at before anything else sees it, every answer has the headers."""
        refused = self._refused(request)
        found = PlainTextResponse(refused[1], refused[0]) if refused else await answer(request)
        found.headers.update(HEADERS)
        return found

    def _refused(self, request: Request) -> tuple[int, str] | None:
        """Why a request gets no answer: what it is sent to, where it comes from, what it knows."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server answers to its own address alone"
        if any(origin not in self._origins for origin in origins):
            return 403, "pages of other origins are not answered"
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site") and (
            request.method != "GET" or request.url.path != "/"
        ):
            return 403, "pages of other origins are not answered"
        if request.url.path == "/" and "token" in request.query_params:
            return None  # looked at by `start`
        if not _equal(request.cookies.get(self._cookie, ""), self._token):
            return 401, "open the address that `kedgeline web` has printed, with its token"
        told = bool(origins) and _equal(request.headers.get(ACTION, ""), self._action)
        if request.method not in ("GET", "HEAD") and not told:
            return (
                403,
                "a request that changes something needs the token of its page; reload the page",
            )
        return None

    async def start(self, request: Request) -> Response:
        """The page. The token in the address becomes a cookie, so that no history keeps it."""
        given = request.query_params.get("token")
        if given is None:
            return Response(static("index.html"), media_type="text/html")
        if not _equal(given, self._token):
            return PlainTextResponse("this is not the token of this server", 401)
        found = RedirectResponse("/", 303)
        found.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
        return found

    async def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in TYPES:
            return PlainTextResponse("there is no such file", 404)
        return Response(static(name), media_type=TYPES[name])

    async def sessions(self, request: Request) -> Response:
        rows = await run_in_threadpool(self._sessions.page)
        return JSONResponse({"sessions": rows, "action": self._action})

    async def search(self, request: Request) -> Response:
        words = request.query_params.get("q", "")[:500]
        hits = await run_in_threadpool(self._sessions.search, words) if words.strip() else []
        return JSONResponse({"hits": hits})

    async def session(self, request: Request) -> Response:
        return await self._of_session(request, session_page)

    async def seen(self, request: Request) -> Response:
        id = request.query_params.get("id", "")
        return JSONResponse({"seen": await run_in_threadpool(self._sessions.seen, id)})

    async def find(self, request: Request) -> Response:
        words = request.query_params.get("q", "")[:500].split()
        return await self._of_session(request, lambda one: {"turns": turns_with(one, words)})

    async def turns(self, request: Request) -> Response:
        asked = request.query_params
        first, last = int(asked.get("first", "0")), int(asked.get("last", "0"))
        last, agent = min(last, first + CHUNK - 1), asked.get("agent", "")
        return await self._of_session(request, lambda one: turns_page(one, first, last, agent))

    async def compaction(self, request: Request) -> Response:
        which = request.query_params.get("which", "")
        return await self._of_session(request, lambda one: compaction_page(one, which))

    async def undo(self, request: Request) -> Response:
        given = await _body(request)
        kept = self._sessions.kept(str(given.get("id", "")))
        undone = await run_in_threadpool(kept.undo)
        return JSONResponse({"undone": undone.count})

    async def pin(self, request: Request) -> Response:
        """Pin a turn or words; with `off`, take the pin back."""
        given = await _body(request)
        kept, what = self._sessions.kept(str(given.get("id", ""))), given.get("what")
        if not isinstance(what, (int, str)):
            raise UserError("a pin is a turn or words")
        change = kept.unpin if given.get("off") else kept.pin
        pin = await run_in_threadpool(change, what)
        return JSONResponse({"turn": pin.turn, "text": without_markup(pin.text)})

    async def _of_session(self, request: Request, page: Callable[[Any], Any]) -> Response:
        id = request.query_params.get("id", "")
        window = int(request.query_params.get("window") or 0)
        if window and not LEAST_WINDOW <= window <= MOST_WINDOW:
            raise ValueError(window)

        def made() -> Any:
            return page(self._sessions.open(id, window=window))

        return JSONResponse(await run_in_threadpool(made))


async def _body(request: Request) -> Page:
    found = await request.json()
    if not isinstance(found, dict):
        raise UserError("the request has no fields")
    return found


def _equal(given: str, expected: str) -> bool:
    return compare_digest(given.encode("utf-8", "replace"), expected.encode())


def new_token() -> str:
    return token_urlsafe(32)


def web_socket(port: int) -> socket.socket:
    """An open port of this machine alone; 0 takes any that is free."""
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(f"cannot listen on {HOST}:{port}: {why}; choose another --port") from error


def serve_viewer(sessions: Sessions, token: str, opened: socket.socket) -> None:
    """Until it is interrupted."""
    config = uvicorn.Config(
        app_for(sessions, token, opened.getsockname()[1]),
        log_level="warning",
        access_log=False,  # the first address has the token in it
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[opened])
