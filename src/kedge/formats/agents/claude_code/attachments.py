"""What clients attach to the conversation: queued words, rules files, edits outside, reminders."""

from __future__ import annotations

from typing import Any

from kedge.formats.agents.claude_code.queue import Queue
from kedge.formats.content.blocks import text_of
from kedge.formats.intake.log import Log
from kedge.formats.turns.draft import Piece
from kedge.model import Note, NoteKind

NOTES: dict[str, NoteKind] = {
    "nested_memory": "instructions",
    "instructions": "instructions",
    "edited_text_file": "edited",
    "hook_additional_context": "hook",
    "hook_system_message": "hook",
}
"""Attachments whose text matters later."""
PASSED_OVER = {
    "agent_listing_delta",
    "auto_mode",
    "command_permissions",
    "compact_file_reference",
    "date",
    "date_change",
    "deferred_tools_delta",
    "deferred_tools_record",
    "diagnostics",
    "environment",
    "file",
    "hook_cancelled",
    "hook_non_blocking_error",
    "hook_success",
    "invoked_skills",
    "mcp_instructions_delta",
    "model",
    "plan_mode",
    "prompt_snapshot",
    "read_truncation_notice",
    "remote_session_change",
    "session_context",
    "silent_turn_reminder",
    "skill_listing",
    "structured_output",
    "task_reminder",
    "todo_reminder",
    "total_tokens_reminder",
}
"""Reminders and listings that the client repeats as it needs them."""


def attached(attachment: dict[str, Any], queue: Queue, log: Log) -> list[Piece]:
    """What an attachment adds to the conversation."""
    kind = str(attachment.get("type"))
    if kind == "queued_command":
        text = text_of(attachment.get("prompt"))
        typed = attachment.get("commandMode") in (None, "prompt") and not attachment.get("isMeta")
        if typed and by_a_person(attachment.get("origin")):
            return queue.attached(text)
        return [Note(kind="notification", text=text)]
    if kind in NOTES:
        body = attachment.get("content", attachment.get("snippet"))
        where = attachment.get("path", attachment.get("filename"))
        lines = [where if isinstance(where, str) else "", text_of(body)]
        return [Note(kind=NOTES[kind], text="\n".join(filter(None, lines)))]
    if kind not in PASSED_OVER:
        log.ignored[f"attachment/{kind}"] += 1
    return []


def by_a_person(origin: Any) -> bool:
    """Whether a prompt was typed by a person. Older versions do not say; newer ones name what
    another session, a coordinator or a background task has sent in the user's place."""
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human")
