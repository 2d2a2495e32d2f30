"""What the entries of pi hold, as pieces and results."""

from __future__ import annotations

import re
from typing import Any

from kedge.formats.content.blocks import media_of, parsed_arguments, text_and_media, text_of
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.fields import mappings, maybe_tokens, maybe_whole, string, tokens_in
from kedge.formats.intake.lines import Line, Record
from kedge.formats.turns.draft import Piece
from kedge.model import (
    EarlierCompaction,
    Note,
    Opaque,
    Source,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

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
    found = tokens_in(counts, "input", "output", "cacheRead", "cacheWrite")
    if not found:
        return None
    return Usage(
        input=found["input"],
        output=found["output"],
        cache_read=found["cacheRead"],
        cache_write=found["cacheWrite"],
    )


def compaction_of(line: Line, record: Record, turn: int) -> EarlierCompaction:
    return EarlierCompaction(
        turn=turn,
        by="pi",
        tokens_before=maybe_tokens(record.get("tokensBefore")),
        summary=string(record.get("summary")),
        source=Source(first=line.number, last=line.number, start=line.start, end=line.end),
    )
