"""A large output made shorter as it comes in: the whole of it is kept, and what stands in its place
says where. Only hosts whose user asked for it call for this."""

from __future__ import annotations

from typing import Any

from kedge.integrations.hooks.events import Event

LARGE = 24_000
"""Characters from which on an output is looked at: some 6,000 tokens. Nothing heavy is loaded for
less."""
LEFT = 1_500
"""Tokens that are left of it: head, tail and the lines that tell of errors."""
FIELDS = ("stdout", "output", "llmContent")
"""Where hosts have the text of an output."""


def reduced(event: Event) -> Any:
    """What the host is to show the model in the place of an output, in the same shape; None where
    it stays as it is."""
    told, call_id = event.fields.get("tool_response"), event.fields.get("tool_use_id")
    if not isinstance(call_id, str) or not call_id:
        return None
    if isinstance(told, str):
        return _shorter(told, event, call_id) if len(told) >= LARGE else None
    if not isinstance(told, dict):
        return None
    for name in FIELDS:
        text = told.get(name)
        if isinstance(text, str) and len(text) >= LARGE:
            return {**told, name: _shorter(text, event, call_id)}
    return None


def _shorter(text: str, event: Event, call_id: str) -> str:
    from kedge.integrations.hooks.work import opened_session
    from kedge.model import ToolCall
    from kedge.shortening import shortened

    given = event.fields.get("tool_input")
    call = ToolCall(
        id=call_id,
        tool=str(event.fields.get("tool_name") or ""),
        parameters=given if isinstance(given, dict) else {},
    )
    with opened_session(event.session) as session:
        mark = session.keep_output(call, text)
        count = session.keeping.counter.count
        left = shortened(text, room=LEFT, count=count)
        return (
            f"{left}\n[kedge left out a part of this output, and kept all of it: "
            f"kedge show {event.session} {mark}]"
        )
