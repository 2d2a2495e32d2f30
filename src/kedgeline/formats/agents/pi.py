"""pi: session files (JSON Lines)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from kedgeline.formats.content import (
    media_of,
    parsed_arguments,
    said_by_user,
    text_and_media,
    text_of,
    time_of,
    usage_in,
)
from kedgeline.formats.intake import (
    Head,
    Lines,
    Record,
    json_records,
    mapping,
    mappings,
    maybe_tokens,
    maybe_whole,
    misshapen,
    string,
)
from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler, Piece, Places
from kedgeline.model import (
    Note,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)

# What the entries of pi hold, as pieces and results.

_EXIT_CODE = re.compile(r"Command exited with code (-?\d{1,10})\s*\Z")
_STOPPED = re.compile(r"Command aborted\s*\Z")
_BLOCKED = "Tool execution was blocked"
"""How the client words a call that an extension of the user's did not let run."""


def heard(content: Any) -> list[Piece]:
    if isinstance(content, str):
        return list(said_by_user(content)) if content.strip() else []
    pieces: list[Piece] = []
    for block in mappings(content):
        if isinstance(text := block.get("text"), str):
            pieces.extend(said_by_user(text) if text.strip() else ())
        else:
            pieces.append(_other(block))
    return pieces


def said(content: Any) -> list[Piece]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    return [_spoken(block) for block in mappings(content)]


def _spoken(block: Record) -> Piece:
    kind = block.get("type")
    if kind == "text":
        return Text(text=string(block.get("text")))
    if kind == "thinking":
        return Thinking(
            text=string(block.get("thinking")), signature=string(block.get("thinkingSignature"))
        )
    if kind == "toolCall":
        return ToolCall(
            id=string(block.get("id")),
            tool=string(block.get("name")),
            parameters=parsed_arguments(block.get("arguments")),
        )
    return _other(block)


def _other(block: Record) -> Piece:
    media = media_of(block)
    return media if media is not None else Opaque(kind=str(block.get("type")), wire=block)


def injected(content: Any) -> list[Piece]:
    """What an extension put into the conversation under the user's role."""
    text = text_of(content)
    return [Note(kind="injected", text=text)] if text.strip() else []


def shell(message: Record) -> list[Piece]:
    """A shell command that the user ran by hand, and its output."""
    notes: list[Piece] = [Note(kind="shell", text=string(message.get("command")))]
    if output := string(message.get("output")):
        code = maybe_whole(message.get("exitCode"))
        wire = None if code is None else {"exitCode": code}
        notes.append(Note(kind="shell_output", text=output, wire=wire))
    return notes


def result_of(message: Record) -> ToolResult:
    """A tool's result; behind what it marks as an error the shell tool writes the exit code."""
    output, media = text_and_media(message.get("content"))
    failed = message.get("isError") is True
    shell = failed and message.get("toolName") == "bash"
    exited = _EXIT_CODE.search(output) if shell else None
    refused = failed and output.startswith(_BLOCKED)
    return ToolResult(
        call_id=string(message.get("toolCallId")),
        success=not failed,
        output=output,
        error=output if failed and not refused else None,
        exit_code=int(exited[1]) if exited else None,
        refused=refused,
        interrupted=shell and _STOPPED.search(output) is not None,
        media=media,
    )


def usage_of(counts: Any) -> Usage | None:
    return usage_in(counts, "input", "output", "cacheRead", "cacheWrite")


# Sessions of pi into turns: linear in the first version, and a tree since.

TYPES = (
    "session",
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
)
SILENT = ("thinking_level_change", "label")
"""Entries that say nothing of the conversation."""


class Pi:
    name = "pi"

    def sniff(self, head: Head) -> int:
        if any(_is_header(record) for record in head.records):
            return 3
        return 2 if any(_is_message(record) for record in head.records) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        session = SessionReader(log)
        for line, record in json_records(lines, log, known=_is_record):
            session.take(line, record)
            yield from session.main.ready()
        yield from session.main.finish()


FORMAT = Pi()


def _is_header(record: Record) -> bool:
    return record.get("type") == "session" and "cwd" in record and "id" in record


def _is_message(record: Record) -> bool:
    return (
        record.get("type") == "message"
        and "timestamp" in record
        and isinstance(mapping(record.get("message")).get("role"), str)
    )


def _is_record(record: Record) -> bool:
    return record.get("type") in TYPES and "timestamp" in record


class SessionReader:
    """Takes the entries of one session in their order; the last one is the tip of what stands."""

    def __init__(self, log: Log) -> None:
        self.main = Assembler(log)
        self._log = log
        self._places = Places(log, self.main)
        self._tip: str | None = None

    def take(self, line: Line, record: Record) -> None:
        entry = string(record.get("id")) if record.get("type") != "session" else ""
        if not entry:
            self._take(line, record)
        elif self._places.seen(entry):
            self._log.broken("duplicate", line, f"entry {entry!r} occurs twice")
        else:
            self._follow(record.get("parentId", self._tip))
            self._take(line, record)
            self._places.remember(entry)
            self._tip = entry

    def _follow(self, parent: Any) -> None:
        """An entry behind another than the tip begins a branch: what came behind its parent no
        longer stands. Where the parent was lost, nothing says that this is a branch."""
        if parent != self._tip and self._tip is not None:
            self._places.go_back(None if parent is None else string(parent))

    def _take(self, line: Line, record: Record) -> None:
        kind, log, turn = record.get("type"), self._log, self.main.next_turn
        if kind == "message":
            message = record.get("message")
            if isinstance(message, dict):
                self._message(line, message, _time(record, message))
            else:
                log.broken("shape", line, "a message record without a message")
        elif kind == "session":
            log.fact("id", record.get("id"), turn=turn)
            log.fact("root", record.get("cwd"), turn=turn)
            log.fact("model", record.get("modelId"), turn=turn)
        elif kind == "model_change":
            log.fact("model", record.get("modelId"), turn=turn)
        elif kind == "session_info":
            log.fact("title", record.get("name"), turn=turn)
        elif kind == "compaction":
            before = maybe_tokens(record.get("tokensBefore"))
            summary = string(record.get("summary"))
            self.main.compacted(line, by=FORMAT.name, tokens_before=before, summary=summary)
        elif kind == "custom_message":
            self._user(line, injected(record.get("content")), time_of(record.get("timestamp")))
        elif kind not in SILENT:
            log.ignored[str(kind or "(no type)")] += 1

    def _message(self, line: Line, message: Record, time: datetime | None) -> None:
        role = message.get("role")
        if wrong := misshapen(message.get("content")):
            self._log.broken("shape", line, f"message/{role}: {wrong}")
        if role == "user":
            self._user(line, heard(message.get("content")), time)
        elif role == "assistant":
            self._assistant(line, message, time)
        elif role == "toolResult":
            self.main.results(line, [result_of(message)])
        elif role == "bashExecution":
            self._user(line, shell(message), time)
        elif role in ("custom", "hookMessage"):
            self._user(line, injected(message.get("content")), time)
        else:
            self._log.ignored[f"message/{role}"] += 1

    def _user(self, line: Line, pieces: list[Piece], time: datetime | None) -> None:
        if pieces:
            self._places.user(line, pieces, time=time)

    def _assistant(self, line: Line, message: Record, time: datetime | None) -> None:
        pieces = said(message.get("content"))
        model = string(message.get("model"))
        if pieces:
            self._places.answered()
            self._log.fact("model", model, turn=self.main.next_turn)
            self.main.assistant(
                line, pieces, time=time, model=model, usage=usage_of(message.get("usage"))
            )
        if error := string(message.get("errorMessage")):
            stopped = message.get("stopReason") == "aborted"
            note = Note(kind="interruption" if stopped else "failure", text=error)
            self._user(line, [note], time)


def _time(record: Record, message: Record) -> datetime | None:
    return time_of(record.get("timestamp")) or time_of(message.get("timestamp"))
