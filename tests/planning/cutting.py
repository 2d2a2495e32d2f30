"""Cutting message lists in tests: what is written at a cut, and what it lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from kedgeline.formats import Written
from kedgeline.model import Message, Text, Transcript, Turn
from kedgeline.planning.rules import Rule, forbidden, rules_for
from tests.providers import NAMES, transcript_of, written
from tests.validity import problems

Messages = list[dict[str, Any]]

PIXEL = "iVBORw0KGgo="
GO = {"role": "user", "content": "go"}


LEAD = Turn(user_message="summary", messages=(Message(role="user", parts=(Text(text="summary"),)),))
"""What stands for the turns before the cut."""


def turns_of(transcript: Transcript) -> list[Turn]:
    """The turns, and the words that nobody has answered as the last one."""
    return [*transcript.turns, *([transcript.pending] if transcript.pending else ())]


def allowed_cuts(turns: Sequence[Turn], rules: Iterable[Rule]) -> list[int]:
    """The cuts that no rule forbids; before the first turn and behind the last always."""
    refused = forbidden(turns, rules)
    return [cut for cut in range(len(turns) + 1) if cut not in refused]


def cut_at(transcript: Transcript, cut: int) -> Transcript:
    return replace(transcript, turns=(LEAD, *transcript.turns[cut:]))


def left_out(back: Written) -> Counter[str]:
    parts = [sentence.rpartition(": ") for sentence in back.left_out]
    return Counter({what: int(count) for what, _, count in parts})


def faults(transcript: Transcript, to: str, rules: Sequence[Rule] | None = None) -> list[str]:
    """What a provider would refuse at the cuts that are allowed, and what is lost there that is
    not lost when all is kept."""
    rules = rules_for(to) if rules is None else rules
    whole = left_out(written(cut_at(transcript, 0), to))
    found: list[str] = []
    for cut in allowed_cuts(turns_of(transcript), rules):
        if cut > len(transcript.turns):
            continue  # behind the words that wait for an answer
        back = written(cut_at(transcript, cut), to)
        found += [f"{to}, cut {cut}: {what}" for what in problems(to, back.messages)]
        found += [f"{to}, cut {cut}: lost {what}" for what in left_out(back) - whole]
    return found


def all_faults(provider: str, messages: Messages) -> list[str]:
    """The faults of a list that is read from one provider and written to each."""
    transcript = transcript_of(provider, messages)
    return [fault for to in NAMES for fault in faults(transcript, to)]


def refused(provider: str, messages: Messages, rule: Rule) -> list[int]:
    """The cuts that a rule forbids in a list."""
    return list(forbidden(turns_of(transcript_of(provider, messages)), [rule]))


def said_at(provider: str, messages: Messages, cut: int) -> str:
    """What the provider would be sent at a cut, whether it is allowed or not."""
    return json.dumps(written(cut_at(transcript_of(provider, messages), cut), provider).messages)


# Messages, briefly.


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks), **fields}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "lookup", "input": {}}


def result(call_id: str, output: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": output}


def chat_call(call_id: str) -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "run", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def chat_result(call_id: str, output: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": output}


def gemini(*parts: dict[str, Any], role: str = "model") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


GEMINI_GO = gemini({"text": "go"}, role="user")
