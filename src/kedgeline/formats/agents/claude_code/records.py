"""The fields of Claude Code's records that kedgeline uses; all others are skipped undecoded.

More than half of a session file repeats tool output (`toolUseResult`) or reports progress. Typed
decoding passes over it without building it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from kedgeline.formats.content import (
    INTERRUPTED,
    REFUSALS,
    exit_code_in,
    media_of,
    reason_in,
    said_by_user,
    text_and_media,
    text_of,
    words_of_client,
)
from kedgeline.formats.intake import Record, recovered
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Piece
from kedgeline.model import Note, NoteKind, Opaque, Text, Thinking, ToolCall, ToolResult
from kedgeline.model.turn import MOST_TOKENS

TURN_TYPES = {"user", "assistant"}
OTHER_TYPES = (
    *("system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation"),
    *("last-prompt", "custom-title", "ai-title", "agent-name", "agent-color", "tag", "mode"),
    *("permission-mode", "pr-link", "worktree-state", "content-replacement"),
    *("attribution-snapshot", "file-history-delta", "task-summary", "bridge-session", "result"),
    *("stream_event", "rate_limit_event"),
)
MARKS = ("uuid", "leafUuid", "sessionId", "session_id", "messageId")
"""A record of Claude Code carries one of these; a JSON object that merely has a type does not."""


class Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None
    source: Any = None


Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]


class Counts(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class ApiMessage(msgspec.Struct, gc=False):
    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    usage: Counts | None = None


class Entry(msgspec.Struct, gc=False):
    """One record of a session file."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    slug: str | None = None
    version: str | None = None
    permissionMode: str | None = None
    mode: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    origin: dict[str, Any] | None = None
    promptSource: str | None = None
    agentId: str | None = None
    message: ApiMessage | None = None
    toolUseResult: msgspec.Raw = msgspec.Raw()
    toolDenialKind: str | None = None
    data: msgspec.Raw = msgspec.Raw()
    parentToolUseID: str | None = None
    parent_tool_use_id: str | None = None
    """In the output of the SDK: the call that started the sub-agent whose message this is."""
    planContent: Any = None
    operation: str | None = None
    reason: str | None = None
    content: Any = None
    summary: str | None = None
    customTitle: str | None = None
    aiTitle: str | None = None
    prUrl: str | None = None
    compactMetadata: dict[str, Any] | None = None
    microcompactMetadata: dict[str, Any] | None = None
    attachment: dict[str, Any] | None = None


class Progress(msgspec.Struct, gc=False):
    """The `data` of a progress record; only a sub-agent's has a message."""

    type: str = ""
    agentId: str | None = None
    message: Entry | None = None


class Extra(msgspec.Struct, gc=False):
    """The few fields of `toolUseResult` that say more than the result itself."""

    type: Any = None
    exitCode: Any = None
    interrupted: Any = None
    agentId: Any = None
    originalFile: msgspec.Raw = msgspec.Raw()
    oldString: Any = None


_decode_entry = msgspec.json.Decoder(Entry).decode
decode_progress = msgspec.json.Decoder(Progress).decode
decode_extra = msgspec.json.Decoder(Extra).decode


def decode_entry(data: bytes) -> Entry:
    """An entry; the fields that are passed over are looked at for broken bytes only."""
    if not data.isascii():
        data.decode()
    return _decode_entry(data)


def is_there(raw: msgspec.Raw) -> bool:
    """Whether an undecoded field was in the record at all."""
    return memoryview(raw).nbytes > 0


Decoded = TypeVar("Decoded", Entry, Progress)
_PATH = re.compile(r"at `\$(.*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
WRONG_FIELDS = 32
"""A record with more fields of a wrong type than this is given up."""


def is_record(record: Record) -> bool:
    kind = record.get("type")
    known = isinstance(kind, str) and (kind in TURN_TYPES or kind in OTHER_TYPES)
    return known and any(mark in record for mark in MARKS) and not _has_parts(record)


def _has_parts(record: Record) -> bool:
    """Whether the message is in Google's shape: descendants of Gemini CLI write such records."""
    message = record.get("message")
    return isinstance(message, dict) and "parts" in message and "content" not in message


def stands_alone(record: Record) -> bool:
    """Whether this is a record of the file, and not a sub-agent's message inside one."""
    return is_record(record) and (record.get("type") not in TURN_TYPES or "sessionId" in record)


def entry_from(record: Record, line: Line, log: Log) -> Entry:
    """An entry out of a plain object, fields of a wrong type left out and reported."""
    return _fitted(record, decode_entry, line, log) or Entry()


def progress_from(raw: msgspec.Raw, line: Line, log: Log) -> Progress:
    """What a progress record holds, fields of a wrong type left out and reported."""
    try:
        return decode_progress(raw)
    except (ValueError, RecursionError):
        record = next(recovered(bytes(raw), line, log, is_record), None)
    return _fitted(record, decode_progress, line, log) or Progress()


def _fitted(
    record: Record | None, decode: Callable[[bytes], Decoded], line: Line, log: Log
) -> Decoded | None:
    for _ in range(WRONG_FIELDS):
        try:
            return decode(msgspec.json.encode(record))
        except RecursionError:
            log.broken("too_deep", line, "nested deeper than can be read")
            break
        except ValueError as error:
            log.broken("shape", line, str(error))
            found = _PATH.search(str(error))
            if found is None or not _drop(record, found[1]):
                break
    return None


def _drop(value: Any, path: str) -> bool:
    """Remove what stands at a path such as `.message.content[0].text`, if anything does."""
    steps = [name or number for name, number in _STEP.findall(path)]
    for step in steps[:-1]:
        value = value[int(step)] if isinstance(value, list) else value.get(step)
        if not isinstance(value, (list, dict)):
            return False
    if not steps:
        return False
    if isinstance(value, list):
        value.pop(int(steps[-1]))
        return True
    return value.pop(steps[-1], value) is not value


# The content of Claude Code's messages as pieces.

Content = str | list[Block] | None


def said(content: Content) -> tuple[Piece, ...]:
    """What an assistant message holds."""
    if not isinstance(content, list):
        return (Text(text=content),) if content else ()
    return tuple(_spoken(block) for block in content)


def heard(
    content: Content, *, meta: bool, result: Callable[[Block], ToolResult]
) -> tuple[list[Piece], list[ToolResult]]:
    """What a user message holds: words and notes, and results of tools."""
    if not isinstance(content, list):
        return list(_words(content or "", meta)), []
    pieces: list[Piece] = []
    results: list[ToolResult] = []
    for block in content:
        if block.type == "tool_result":
            results.append(result(block))
        elif block.type == "text":
            pieces.extend(_words(block.text or "", meta))
        else:
            pieces.append(_other(block))
    return pieces, results


def _words(text: str, meta: bool) -> tuple[Piece, ...]:
    if not text.strip():
        return ()
    pieces = said_by_user(text)
    if not meta:
        return pieces
    return tuple(Note(kind="injected", text=p.text) if isinstance(p, Text) else p for p in pieces)


def _spoken(block: Block) -> Piece:
    if block.type == "text":
        return Text(text=block.text or "")
    if block.type == "thinking":
        return Thinking(text=block.thinking or "", signature=block.signature or "")
    if block.type == "redacted_thinking":
        return Thinking(signature=block.data or "", wire={"type": "redacted_thinking"})
    if block.type == "tool_use":
        parameters = block.input if isinstance(block.input, dict) else {}
        return ToolCall(id=block.id or "", tool=block.name or "", parameters=parameters)
    return _other(block)


def _other(block: Block) -> Piece:
    media = media_of({"type": block.type, "source": block.source})
    if media is not None:
        return media
    fields = ("type", "id", "name", "input", "tool_use_id", "content")
    wire = {name: value for name in fields if (value := getattr(block, name)) is not None}
    return Opaque(kind=block.type, wire=wire)


# Tool results of Claude Code: success, refusal and the user's reason, exit codes, changes.

INTERRUPTIONS = {"interrupted", "cancelled"}
"""Denials that nobody decided: the user stopped the agent, or a sibling call ended it."""
BY_USER = "user"
"""How the client's word for a denial begins where the user decided it, and no rule or check."""
_USES_EXTRA = {"write", "edit", "run", "delegate"}
"""Verbs whose `toolUseResult` says something the result does not; for the others it is not decoded.
"""
AGENT_WITHIN = 1_000
"""Characters at the end of a result in which the sub-agent is named."""
_AGENT = re.compile(r"^agentId: ([\w-]{4,80})\b", re.MULTILINE)


def result_of(
    block: Block, call: ToolCall | None, *, raw: msgspec.Raw, denial: str | None = None
) -> ToolResult:
    """One result; `raw` is what the record says beside it, `denial` the client's own word for why a
    call did not run, if it has one."""
    output, media = text_and_media(block.content)
    failed = bool(block.is_error)
    stopped = denial in INTERRUPTIONS
    denied = denial is not None and not stopped
    words = words_of_client(output, call, _string(raw)) if failed else ""
    by_user = denial.startswith(BY_USER) if denial else words.startswith(REFUSALS)
    refused = failed and not stopped and (denied or by_user)
    extra = _extra(raw) if call is not None and call.verb in _USES_EXTRA else None
    code = _exit_code(output, extra, failed)
    reported = extra is not None and extra.interrupted is True
    interrupted = stopped or reported or words.startswith(INTERRUPTED)
    success = not failed and not interrupted and code in (None, 0)
    return ToolResult(
        call_id=block.tool_use_id or "",
        success=success,
        output=output,
        error=output if not success and not refused else None,
        exit_code=code,
        refused=refused,
        reason=reason_in(output) if refused and by_user else "",
        interrupted=interrupted,
        change=_change(call, extra) if success else "",
        media=media,
    )


def agent_of(raw: msgspec.Raw, result: ToolResult) -> str:
    """The sub-agent a delegating call reports to have run. In the file of a sub-agent that called
    another one, the client says it only in words, behind all that the other one said."""
    extra = _extra(raw)
    if extra is not None and isinstance(extra.agentId, str):
        return extra.agentId
    named = _AGENT.findall(result.output[-AGENT_WITHIN:]) if result.success else ()
    return named[-1] if named else ""


def _extra(raw: msgspec.Raw) -> Extra | None:
    if not is_there(raw):
        return None
    try:
        return decode_extra(raw)
    except (ValueError, RecursionError):
        return None  # a plain string or a list: the result says all of it


def _string(raw: msgspec.Raw) -> str | None:
    try:
        return msgspec.json.decode(raw, type=str)
    except ValueError:
        return None


def _exit_code(output: str, extra: Extra | None, failed: bool) -> int | None:
    if failed and (code := exit_code_in(output)) is not None:
        return code
    if extra is not None and isinstance(extra.exitCode, int):
        return extra.exitCode
    return None


def _change(call: ToolCall | None, extra: Extra | None) -> Literal["", "create", "update"]:
    if call is None or extra is None or call.verb not in ("write", "edit"):
        return ""
    if extra.type in ("create", "update"):
        return "create" if extra.type == "create" else "update"
    if not is_there(extra.originalFile):
        return ""
    was_empty = bytes(extra.originalFile) in (b"null", b'""')
    return "create" if was_empty and not extra.oldString else "update"


# Words the user queues while the agent works.

_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|$)")
"""A command of the client, which does not come as a prompt."""
HEARD = (None, "absorbed_mid_turn")
"""Reasons for a removal that mean the agent was told."""


class Queue:
    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._announced: list[str] = []
        """Dequeued, and expected as a prompt of their own."""
        self._removed: list[str] = []
        """Told to the agent by a removal; an attachment may repeat them."""
        self._attached: list[str] = []
        """Told to the agent by an attachment; a removal may repeat them."""

    def operate(self, entry: Entry) -> list[Piece]:
        """One queue operation; what the agent hears or the user takes back through it."""
        text = text_of(entry.content)
        if entry.operation == "enqueue" and text:
            self._waiting.append(text)
        elif entry.operation == "dequeue" and self._waiting:
            self._announced.append(self._waiting.pop(0))
        elif entry.operation == "remove" and (removed := self._take(text)):
            return self._leaves(removed, entry.reason)
        elif entry.operation == "popAll":
            taken, self._waiting = self._waiting, []
            return [Note(kind="withdrawn", text=words) for words in taken]
        return []

    def arrived(self, text: str) -> None:
        """A prompt came: what it holds is no longer expected. Several may come as one."""
        lines = f"\n{text.strip()}\n"
        self._announced = [t for t in self._announced if f"\n{t.strip()}\n" not in lines]

    def attached(self, text: str) -> list[Piece]:
        """An attachment with queued words; they count once."""
        if text in self._removed:
            self._removed.remove(text)
            return []
        self._attached.append(text)
        return queued(text)

    def missed(self) -> list[Piece]:
        """What was announced and has not come although the agent goes on."""
        words, self._announced = self._announced, []
        return [p for text in words if text not in self._attached for p in _unheard(text)]

    def left(self) -> list[Piece]:
        """What was announced and never came, and what still waits: the user's words too."""
        waiting, self._waiting = self._waiting, []
        unheard = [text for text in waiting if text not in self._attached]
        return [*self.missed(), *(piece for text in unheard for piece in queued(text))]

    def _leaves(self, text: str, reason: str | None) -> list[Piece]:
        if text in self._attached:
            self._attached.remove(text)
            return []
        if reason not in HEARD:
            return [Note(kind="withdrawn", text=text)]
        self._removed.append(text)
        return queued(text)

    def _take(self, text: str) -> str:
        if text in self._waiting:
            self._waiting.remove(text)
            return text
        return self._waiting.pop(0) if self._waiting else ""


def _unheard(text: str) -> list[Piece]:
    return [Note(kind="command", text=text)] if _COMMAND.match(text) else queued(text)


def queued(text: str) -> list[Piece]:
    return [
        Text(text=piece.text, queued=True) if isinstance(piece, Text) else piece
        for piece in said_by_user(text)
    ]


# What clients attach to the conversation: queued words, rules files, edits outside, reminders.

NOTES: dict[str, NoteKind] = {
    "nested_memory": "instructions",
    "instructions": "instructions",
    "edited_text_file": "edited",
    "hook_additional_context": "hook",
    "hook_system_message": "hook",
}
"""Attachments whose text matters later."""
PASSED_OVER = (
    *("agent_listing_delta", "auto_mode", "command_permissions", "compact_file_reference"),
    *("date", "date_change", "deferred_tools_delta", "deferred_tools_record", "diagnostics"),
    *("environment", "file", "hook_cancelled", "hook_non_blocking_error", "hook_success"),
    *("invoked_skills", "mcp_instructions_delta", "model", "plan_mode", "prompt_snapshot"),
    *("read_truncation_notice", "remote_session_change", "session_context"),
    *("silent_turn_reminder", "skill_listing", "structured_output", "task_reminder"),
    *("todo_reminder", "total_tokens_reminder"),
)
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
