"""The body of an answer, looked at before the provider's client reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Response

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
