"""pi: session files (JSON Lines), linear in the first version, and a tree since."""

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
from kedgeline.formats.turns import Piece, SessionReader
from kedgeline.model import Note, Opaque, Text, Thinking, ToolCall, ToolResult, Turn, Usage

SILENT = ("thinking_level_change", "label")
"""Entries that say nothing of the conversation."""
TYPES = (
    *("session", "message", "model_change", "compaction", "branch_summary", "custom"),
    *("custom_message", "session_info", *SILENT),
)
_EXIT_CODE = re.compile(r"Command exited with code (-?\d{1,10})\s*\Z")
_STOPPED = re.compile(r"Command aborted\s*\Z")
_BLOCKED = "Tool execution was blocked"
"""How the client words a call that an extension of the user's did not let run."""


class Pi:
    name = "pi"

    def sniff(self, head: Head) -> int:
        if any(r.get("type") == "session" and "cwd" in r and "id" in r for r in head.records):
            return 3
        return 2 if any(_is_message(record) for record in head.records) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        session = Session(log)
        for line, record in json_records(lines, log, known=_is_record):
            session.take(line, record)
            yield from session.main.ready()
        yield from session.main.finish()


FORMAT = Pi()


def _is_message(record: Record) -> bool:
    spoken = isinstance(mapping(record.get("message")).get("role"), str)
    return record.get("type") == "message" and "timestamp" in record and spoken


def _is_record(record: Record) -> bool:
    return record.get("type") in TYPES and "timestamp" in record


class Session(SessionReader):
    """Takes the entries of one session in their order; the last one is the tip of what stands."""

    _tip: str | None = None

    def take(self, line: Line, record: Record) -> None:
        entry = string(record.get("id")) if record.get("type") != "session" else ""
        if not entry:
            self._take(line, record)
        elif self.places.seen(entry):
            self.log.broken("duplicate", line, f"entry {entry!r} occurs twice")
        else:
            parent = record.get("parentId", self._tip)
            if parent != self._tip and self._tip is not None:
                # An entry behind another than the tip begins a branch: what came behind its parent
                # no longer stands. Where the parent was lost, nothing says that this is a branch.
                self.places.go_back(None if parent is None else string(parent))
            self._take(line, record)
            self.places.remember(entry)
            self._tip = entry

    def _take(self, line: Line, record: Record) -> None:
        kind, time = record.get("type"), time_of(record.get("timestamp"))
        if kind == "message":
            message = record.get("message")
            if isinstance(message, dict):
                self._message(line, message, time or time_of(message.get("timestamp")))
            else:
                self.log.broken("shape", line, "a message record without a message")
        elif kind == "session":
            self.facts(id=record.get("id"), root=record.get("cwd"), model=record.get("modelId"))
        elif kind == "model_change":
            self.facts(model=record.get("modelId"))
        elif kind == "session_info":
            self.facts(title=record.get("name"))
        elif kind == "compaction":
            before, summary = maybe_tokens(record.get("tokensBefore")), record.get("summary")
            self.main.compacted(line, by="pi", tokens_before=before, summary=string(summary))
        elif kind == "custom_message":
            self.note(line, "injected", text_of(record.get("content")), time=time)
        elif kind not in SILENT:
            self.unknown(kind)

    def _message(self, line: Line, message: Record, time: datetime | None) -> None:
        role, content = message.get("role"), message.get("content")
        self.misshapen(line, f"message/{role}", misshapen(content))
        if role == "user":
            self.user(line, _heard(content), time=time)
        elif role == "assistant":
            self._assistant(line, message, time)
        elif role == "toolResult":
            self.main.results(line, [_result(message)])
        elif role == "bashExecution":
            self.user(line, _shell(message), time=time)
        elif role in ("custom", "hookMessage"):
            self.note(line, "injected", text_of(content), time=time)
        else:
            self.unknown("message", role)

    def _assistant(self, line: Line, message: Record, time: datetime | None) -> None:
        content = message.get("content")
        blocks = (
            [{"type": "text", "text": content}] if content and isinstance(content, str) else content
        )
        if pieces := [_spoken(block) for block in mappings(blocks)]:
            model, usage = string(message.get("model")), usage_of(message.get("usage"))
            self.answer(line, pieces, model=model, time=time, usage=usage)
        stopped = message.get("stopReason") == "aborted"
        error = string(message.get("errorMessage"))
        self.note(line, "interruption" if stopped else "failure", error, time=time)


def usage_of(counts: Any) -> Usage | None:
    return usage_in(counts, "input", "output", "cacheRead", "cacheWrite")


def _heard(content: Any) -> list[Piece]:
    blocks = [{"text": content}] if isinstance(content, str) else mappings(content)
    pieces: list[Piece] = []
    for block in blocks:
        if isinstance(text := block.get("text"), str):
            pieces.extend(said_by_user(text) if text.strip() else ())
        else:
            pieces.append(_other(block))
    return pieces


def _spoken(block: Record) -> Piece:
    kind = block.get("type")
    if kind == "text":
        return Text(text=string(block.get("text")))
    if kind == "thinking":
        text, signature = string(block.get("thinking")), string(block.get("thinkingSignature"))
        return Thinking(text=text, signature=signature)
    if kind == "toolCall":
        parameters = parsed_arguments(block.get("arguments"))
        tool = string(block.get("name"))
        return ToolCall(id=string(block.get("id")), tool=tool, parameters=parameters)
    return _other(block)


def _other(block: Record) -> Piece:
    media = media_of(block)
    return media if media is not None else Opaque(kind=str(block.get("type")), wire=block)


def _shell(message: Record) -> list[Piece]:
    """A shell command that the user ran by hand, and its output."""
    notes: list[Piece] = [Note(kind="shell", text=string(message.get("command")))]
    if output := string(message.get("output")):
        code = maybe_whole(message.get("exitCode"))
        wire = None if code is None else {"exitCode": code}
        notes.append(Note(kind="shell_output", text=output, wire=wire))
    return notes


def _result(message: Record) -> ToolResult:
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
