"""What happens around a session: hooks, the queue, notifications, titles, compactions."""

from __future__ import annotations

from recorders.claude_code.journal import Record
from recorders.claude_code.session import Session
from recorders.claude_code.tools import Call


def title(session: Session, text: str) -> None:
    """A session title; `leafUuid` names the record it was made for."""
    leaf = session.journal.last or session.ids.uuid()
    session.journal.loose({"type": "summary", "summary": text, "leafUuid": leaf})


def hook(session: Session, event: str, name: str, command: str, call: Call | None = None) -> None:
    """A hook of the user's runs."""
    own = call.id if call else session.ids.uuid()
    data = {"type": "hook_progress", "hookEvent": event, "hookName": name, "command": command}
    session.journal.clock.tick(120)
    session.journal.progress(data, own)


def hooked(call: Call, command: str) -> Call:
    """The same call with a hook that runs behind it."""
    name = f"PostToolUse:{call.tool}"
    data = {
        "type": "hook_progress",
        "hookEvent": "PostToolUse",
        "hookName": name,
        "command": command,
    }
    call.progress.append((data, call.id))
    return call


def queued(session: Session, text: str) -> None:
    """The user types while the agent works."""
    _queue(session, "enqueue", content=text)


def heard(session: Session, text: str) -> None:
    """The agent is told in the middle of its run; the words stand in no other record."""
    session.journal.clock.tick(2_600)
    session.journal.meter.hears(text)
    _queue(session, "remove")


def notified(session: Session, task: str, output_file: str, about: str) -> None:
    """A background command has ended; the client queues a note and hands it over as a prompt."""
    text = (
        f"<task-notification>\n<task-id>{task}</task-id>\n<output-file>{output_file}</output-file>\n"
        f'<status>completed</status>\n<summary>Background command "{about}" completed (exit code'
        f" 0)</summary>\n</task-notification>\nRead the output file to retrieve the result:"
        f" {output_file}"
    )
    _queue(session, "enqueue", content=text)
    session.journal.clock.tick(40)
    _queue(session, "dequeue")
    session.journal.meter.hears(text)
    session.journal.user(text, {"permissionMode": session.mode})


def failed_request(session: Session, text: str) -> None:
    """The client writes an answer of its own because the provider gave none."""
    journal = session.journal
    journal.clock.tick(61_000)
    zero = {"input_tokens": 0, "output_tokens": 0}
    message: Record = {
        "id": session.ids.uuid(),
        "model": "<synthetic>",
        "role": "assistant",
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "type": "message",
        "usage": zero | {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
        "content": [{"type": "text", "text": text}],
    }
    journal.add({"type": "assistant", "message": message}, {"isApiErrorMessage": True})


def compacted(session: Session, summary: str, *, trigger: str, left: int) -> None:
    """The client compacts: a boundary that hangs on nothing, and its summary."""
    journal = session.journal
    journal.clock.tick(48_000)
    before = {"trigger": trigger, "preTokens": journal.meter.context}
    journal.add(
        {
            "logicalParentUuid": journal.last,
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": before,
        },
        parent=None,
    )
    journal.user(summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)
    journal.meter.forgets(left)


def outputs_cleared(session: Session, calls: list[str], *, saved: int) -> None:
    """The client forgets old outputs; they are still in the file."""
    journal = session.journal
    data = {
        "trigger": "auto",
        "preTokens": journal.meter.context,
        "tokensSaved": saved,
        "compactedToolIds": calls,
        "clearedAttachmentUUIDs": [],
    }
    journal.system(
        "microcompact_boundary",
        content="Context microcompacted",
        isMeta=False,
        level="info",
        microcompactMetadata=data,
    )
    journal.meter.forgets(journal.meter.context - saved)


def _queue(session: Session, operation: str, **more: str) -> None:
    session.journal.clock.tick(400)
    session.journal.loose(
        {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": session.journal.clock.iso(),
            "sessionId": session.journal.session_id,
            **more,
        }
    )
