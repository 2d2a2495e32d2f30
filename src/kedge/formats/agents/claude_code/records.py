"""The fields of Claude Code's records that kedge uses; all others are skipped undecoded.

More than half of a session file repeats tool output (`toolUseResult`) or reports progress. Typed
decoding passes over it without building it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec

from kedge.formats.intake.lines import Line, Record, recovered
from kedge.formats.intake.log import Log
from kedge.model.turn import MOST_TOKENS

TURN_TYPES = {"user", "assistant"}
OTHER_TYPES = {
    "system",
    "summary",
    "progress",
    "attachment",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "custom-title",
    "ai-title",
    "agent-name",
    "agent-color",
    "tag",
    "mode",
    "permission-mode",
    "pr-link",
    "worktree-state",
    "content-replacement",
    "attribution-snapshot",
    "file-history-delta",
    "task-summary",
    "bridge-session",
    "result",
    "stream_event",
    "rate_limit_event",
}
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
        record = next(recovered(line._replace(data=bytes(raw)), log, is_record), None)
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
