"""The records of a rollout, `{timestamp, type, payload}`, and bare items of the first versions."""

from __future__ import annotations

from typing import NamedTuple

from kedge.formats.intake.lines import Record

TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
BARE_ITEMS = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
)
"""Item types of the first versions, which wrote items without a record around them."""
KNOWN_EVENTS = (
    "agent_reasoning_section_break",
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "context_compacted",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "entered_review_mode",
    "exited_review_mode",
    "guardian_assessment",
    "image_generation_end",
    "item_completed",
    "task_complete",
    "task_started",
    "turn_complete",
    "turn_started",
    "view_image_tool_call",
    "web_search_end",
)
"""Events that only repeat what items say."""


class Content(NamedTuple):
    type: str
    payload: Record


def is_record(record: Record) -> bool:
    return record.get("type") in TYPES and isinstance(record.get("payload"), dict)


def is_state(record: Record) -> bool:
    """The marker that the first versions wrote between their bare items."""
    return record.get("record_type") == "state"


def content_of(record: Record) -> Content | None:
    """What a record holds; None when it holds nothing that can be read."""
    kind, payload = record.get("type"), record.get("payload")
    if isinstance(payload, dict):
        return Content(str(kind), payload)
    if kind in BARE_ITEMS:
        return Content("response_item", record)
    if kind is None and "instructions" in record and "id" in record:
        return Content("session_meta", record)
    return None


def is_message(record: Record) -> bool:
    """Whether this is a message as the model saw it, and not an event that tells of one."""
    content = content_of(record)
    return (
        content is not None
        and content.type == "response_item"
        and content.payload.get("type") == "message"
    )
