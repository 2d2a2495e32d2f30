"""Compactions whose prose the client's own model writes, by sampling.

Clients of the protocol of 2025 are asked while their call is under way. Those of 2026 get the
request as the answer to their call, and call again with what their model said: in between, the
compaction waits here, in its thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from secrets import token_urlsafe
from threading import Lock
from typing import Any

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import is_version_at_least

from kedgeline.errors import ModelFailed
from kedgeline.mcp.sessions import Abandoned, Check, Waited
from kedgeline.model import Ask, Compaction, Reply
from kedgeline.models import HostModel, Model
from kedgeline.models.command import Sample
from kedgeline.text.prose import foreign

NAME = "the client's model"
MOST_WAITING = 8
"""Compactions that wait for a client at the same time; others wait for one of them to end."""
LOOK_EVERY = 0.5
"""Seconds between two looks at whether the server is still there: a thread that waits for one that
is gone would keep the program from ending."""
KEY = "model"
"""Of the request and of its reply among those of a call."""
CALLS_AGAIN = "2026-07-28"
"""First protocol whose clients get requests as the answer to their call."""
NOT_OFFERED = "the client offers no model (sampling)"
ONE_WAY = "this connection cannot carry requests to the client"
TOO_LATE = "the client's reply came when the compaction was no longer waiting for it"

Work = Callable[[Model | None, Check], Compaction]
"""A compaction with a model, or without; it blocks. It writes nothing once the check raises."""


class Bridge:
    """The client's model for a thread that blocks: it is asked in the loop of the server."""

    name = NAME

    def __init__(self, sample: Sample, *, patient: bool) -> None:
        """`patient`: where no reply comes in time, somebody still waits for the compaction."""
        self._host = HostModel(sample, name=NAME)
        self._loop, self._patient = asyncio.get_running_loop(), patient
        self._lock, self.waited = Lock(), Waited()
        self._pending: Future[Reply] | None = None

    def __call__(self, ask: Ask, /) -> Reply:
        pending = self._begun(ask)
        while not wait({pending}, LOOK_EVERY).done:
            if self.waited.is_over or self._loop.is_closed():
                raise Abandoned
        try:
            return pending.result()
        except CancelledError as error:
            raise Abandoned from error
        except ModelFailed as failure:
            if failure.kind == "timed out" and not self._patient:
                raise Abandoned from failure
            raise

    def abandon(self) -> None:
        with self._lock:
            self.waited.end()
            if self._pending is not None:
                self._pending.cancel()

    def _begun(self, ask: Ask) -> Future[Reply]:
        """The request under way; nothing is begun once nobody waits."""
        with self._lock:
            self.waited.check()
            asking = self._host(ask)
            try:
                self._pending = asyncio.run_coroutine_threadsafe(asking, self._loop)
            except RuntimeError as error:  # the server is gone
                asking.close()
                raise Abandoned from error
            return self._pending


class Job:
    """A compaction under way whose client calls again with each reply."""

    def __init__(self, work: Work, limiter: anyio.CapacityLimiter) -> None:
        self.id = token_urlsafe(16)
        self.bridge = Bridge(self._sample, patient=False)
        self._questions: asyncio.Queue[CreateMessageRequest] = asyncio.Queue()
        self._answer: asyncio.Future[CreateMessageResult | None] | None = None
        self.task = asyncio.create_task(
            anyio.to_thread.run_sync(
                work, self.bridge, self.bridge.waited.check, limiter=limiter, abandon_on_cancel=True
            )
        )

    def answer(self, replies: dict[str, Any] | None) -> None:
        """What the client says to the last question."""
        given = (replies or {}).get(KEY)
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(given if isinstance(given, CreateMessageResult) else None)

    async def outcome(self) -> Compaction | CreateMessageRequest:
        """The next question, or what was done."""
        question = asyncio.create_task(self._questions.get())
        try:
            await asyncio.wait({question, self.task}, return_when=asyncio.FIRST_COMPLETED)
            return self.task.result() if self.task.done() else question.result()
        finally:
            question.cancel()

    async def _sample(self, system: str, prompt: str, most_tokens: int) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        self._questions.put_nowait(_request(system, prompt, most_tokens))
        return _text(await self._answer)


class Jobs:
    """Compactions of all clients of a server that wait for a reply."""

    def __init__(self) -> None:
        self._waiting: dict[str, Job] = {}
        self._limiter: anyio.CapacityLimiter | None = None

    async def compacted(
        self, work: Work, context: Context[Any, Any]
    ) -> Compaction | InputRequiredResult | None:
        """What was done, or what the client is asked first; nothing where nobody waits any longer.
        The client must offer sampling."""
        if not calls_again(context):
            return await _at_once(work, context, self._limit())
        job = Job(work, self._limit())
        job.task.add_done_callback(lambda _: self._ended(job))
        self._waiting[job.id] = job
        return await self._next(job)

    async def resumed(self, context: Context[Any, Any]) -> Compaction | InputRequiredResult | None:
        """The same for a client that calls again; nothing where the compaction did not wait."""
        job = self._waiting.get(context.request_state or "")
        if job is None or job.task.done():
            return None
        job.answer(dict(context.input_responses or {}))
        return await self._next(job)

    def close(self) -> None:
        """End what waits; nothing of it is written."""
        for job in list(self._waiting.values()):
            job.bridge.abandon()

    async def _next(self, job: Job) -> Compaction | InputRequiredResult | None:
        try:
            found = await job.outcome()
        except asyncio.CancelledError:
            job.bridge.abandon()
            raise
        except Abandoned:  # its time was over at the very moment when the reply came
            return None
        if isinstance(found, Compaction):
            return found
        return InputRequiredResult(input_requests={KEY: found}, request_state=job.id)

    def _ended(self, job: Job) -> None:
        self._waiting.pop(job.id, None)
        if not job.task.cancelled():
            job.task.exception()  # it was looked at: whoever waits gets it, and nobody may

    def _limit(self) -> anyio.CapacityLimiter:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MOST_WAITING)
        return self._limiter


async def _at_once(
    work: Work, context: Context[Any, Any], limiter: anyio.CapacityLimiter
) -> Compaction:
    """With a client that is asked while its call is under way."""

    async def sample(system: str, prompt: str, most_tokens: int) -> str:
        try:
            result = await context.session.send_request(
                _request(system, prompt, most_tokens),
                CreateMessageResult,
                metadata=ServerMessageMetadata(related_request_id=context.request_id),
            )
        except MCPError as error:
            why = f"the client says: {foreign(error.error.message)[:200]}"
            raise ModelFailed(NAME, why, next_step="allow it there", kind="not allowed") from error
        return _text(result)

    bridge = Bridge(sample, patient=True)
    try:
        return await anyio.to_thread.run_sync(
            work, bridge, bridge.waited.check, limiter=limiter, abandon_on_cancel=True
        )
    finally:
        bridge.abandon()


def lacking(context: Context[Any, Any]) -> str:
    """Why the client's model cannot be asked; empty where it can."""
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        return NOT_OFFERED
    if not calls_again(context) and not context.session.can_send_request:
        return ONE_WAY
    return ""


def calls_again(context: Context[Any, Any]) -> bool:
    """Whether the client gets requests as the answer to its call."""
    version = context.protocol_version
    return version is not None and is_version_at_least(version, CALLS_AGAIN)


def _request(system: str, prompt: str, most_tokens: int) -> CreateMessageRequest:
    said = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    params = CreateMessageRequestParams(
        messages=[said], system_prompt=system, max_tokens=most_tokens
    )
    return CreateMessageRequest(params=params)


def _text(result: CreateMessageResult | None) -> str:
    """The words of a reply; one without words is none."""
    if result is None:
        raise ModelFailed(NAME, "the client gave no reply", next_step="allow it there")
    return result.content.text if isinstance(result.content, TextContent) else ""
