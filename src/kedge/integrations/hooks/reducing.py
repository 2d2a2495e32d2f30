"""A large output made shorter as it comes in: the whole of it is kept, and what stands in its place
says where. Only hosts whose user asked for it call for this."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from kedge.integrations.hooks import places
from kedge.integrations.hooks.answers import REPLACING
from kedge.integrations.hooks.events import Event

LARGE = 24_000
"""Characters from which on an output is looked at: some 6,000 tokens. Nothing heavy is loaded for
less."""
LEFT = 1_500
"""Tokens that are left of it: head, tail and the lines that tell of errors."""
FIELDS = ("stdout", "output", "llmContent")
"""Where hosts have the text of an output."""
ERRORS = "stderr"
"""Where hosts have what a program told of errors, beside its output."""
ENCODED = "data:"
"""What begins so is an image or the like: a part of it is nothing."""

_PLAIN = re.compile(r"[A-Za-z0-9._:-]{1,200}")
"""An id that may stand in a line for a shell; any other is known by its hash."""


def reduced(event: Event) -> Any:
    """What the host is to show the model in the place of an output, in the same shape; None where
    it stays as it is."""
    told, call_id = event.fields.get("tool_response"), event.fields.get("tool_use_id")
    if event.host not in REPLACING or not isinstance(call_id, str) or not call_id:
        return None
    if not _PLAIN.fullmatch(call_id):
        call_id = "call-" + sha256(call_id.encode("utf-8", "replace")).hexdigest()[:32]
    if isinstance(told, str):
        return _shorter(told, event, call_id) if _is_large(told) else None
    if not isinstance(told, dict) or told.get("isImage") is True:
        return None
    changed = {}
    if name := next((name for name in FIELDS if _is_large(told.get(name))), ""):
        changed[name] = _shorter(told[name], event, call_id)
    if _is_large(told.get(ERRORS)):  # kept apart: an id has one text
        changed[ERRORS] = _shorter(told[ERRORS], event, f"{call_id}-{ERRORS}")
    return {**told, **changed} if changed else None


def _is_large(text: object) -> bool:
    return isinstance(text, str) and len(text) >= LARGE and not text.startswith(ENCODED)


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
        shorter = (
            f"{left}\n[kedge left out a part of this output, and kept all of it: "
            f"kedge show {event.session} {mark}]"
        )
        line = f"{count(text)} {count(shorter)}"
    places.add_line(places.folder_of(event.session), places.REDUCED, line)
    return shorter
