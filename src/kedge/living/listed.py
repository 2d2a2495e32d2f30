"""What a file holds that is added: messages of a model API, or an agent's whole session."""

from __future__ import annotations

from typing import Any, NamedTuple

from kedge.errors import SeveralSessions
from kedge.formats import Log, provider_names
from kedge.formats.providers.messages import conversations
from kedge.opening import Readable, open_source
from kedge.reading import stream


class Listed(NamedTuple):
    format: str
    messages: list[dict[str, Any]] | None = None
    """The messages, or the one request that holds them; None for an agent's session."""


def listed(source: Readable, format: str | None = None, *, session: int | None = None) -> Listed:
    """What is in a source that can be opened twice."""
    name = stream(source, format=format).format
    if name not in (*provider_names(), "langchain", "plain"):
        return Listed(name)
    given = open_source(source)
    found = list(conversations(given.lines, Log()))
    if not found:
        return Listed(name, [])
    if (session is None and len(found) > 1) or (session or 0) >= len(found):
        raise SeveralSessions(given.name, count=len(found), chosen=session)
    chosen = found[session or 0]
    messages = [message for _, message in chosen.messages]
    return Listed(name, [{**chosen.body, "messages": messages}] if chosen.body else messages)
