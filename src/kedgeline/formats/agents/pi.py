"""pi: session files (JSON Lines), linear in the first version, and a tree since."""

from __future__ import annotations

import re
from typing import Any

from kedgeline.formats import pieces
from kedgeline.formats.log import Line
from kedgeline.formats.records import Record, mapping, maybe_tokens, maybe_whole, string
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import LinesFormat, SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Note, ToolResult

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


class _Session(SessionReader):
    """The last entry is the tip of what stands."""

    _tip: str | None = None

    def take(self, line: Line, record: Record) -> None:
        entry = string(record.get("id")) if record.get("type") != "session" else ""
        if not entry:
            self._entry(line, record)
        elif self.seen(entry):
            self.log.broken("duplicate", line, f"entry {entry!r} occurs twice")
        else:
            parent = record.get("parentId", self._tip)
            if parent != self._tip and self._tip is not None:
                # An entry behind another than the tip begins a branch: what came behind its parent
                # no longer stands. Where the parent was lost, nothing says that this is a branch.
                self.go_back(None if parent is None else string(parent))
            self._entry(line, record)
            self.remember(entry)
            self._tip = entry

    def _entry(self, line: Line, record: Record) -> None:
        kind, time = record.get("type"), record.get("timestamp")
        if kind == "message":
            if isinstance(message := record.get("message"), dict):
                self._message(line, message, time or message.get("timestamp"))
            else:
                self.log.broken("shape", line, "a message record without a message")
        elif kind == "session":
            self.facts(id=record.get("id"), root=record.get("cwd"), model=record.get("modelId"))
        elif kind == "model_change":
            self.facts(model=record.get("modelId"))
        elif kind == "session_info":
            self.facts(title=record.get("name"))
        elif kind == "compaction":
            before, summary = (
                maybe_tokens(record.get("tokensBefore")),
                string(record.get("summary")),
            )
            self.main.compacted(line, by="pi", tokens_before=before, summary=summary)
        elif kind == "custom_message":
            self.note(line, "injected", pieces.plain_words(record.get("content")), time=time)
        elif kind not in SILENT:
            self.unknown(kind)

    def _message(self, line: Line, message: Record, time: Any) -> None:
        role, content = message.get("role"), message.get("content")
        self.check(line, f"message/{role}", content)
        if role == "user":
            self.user(line, pieces.heard(content), time=time)
        elif role == "assistant":
            if said := pieces.said_by_agent(content):
                names = ("input", "output", "cacheRead", "cacheWrite")
                usage = pieces.usage_in(message.get("usage"), *names)
                self.facts(model=message.get("model"))
                self.answer(line, said, model=message.get("model"), time=time, usage=usage)
            stopped = message.get("stopReason") == "aborted"
            error = message.get("errorMessage")
            self.note(line, "interruption" if stopped else "failure", error, time=time)
        elif role == "toolResult":
            self.main.results(line, [_result(message)])
        elif role == "bashExecution":
            self.user(line, _shell(message), time=time)
        elif role in ("custom", "hookMessage"):
            self.note(line, "injected", pieces.plain_words(content), time=time)
        else:
            self.unknown("message", role)


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
    output, media = pieces.text_and_media(message.get("content"))
    failed = message.get("isError") is True
    shell = failed and message.get("toolName") == "bash"
    exited = _EXIT_CODE.search(output) if shell else None
    return pieces.result(
        message.get("toolCallId"),
        output,
        failed=failed,
        exit_code=int(exited[1]) if exited else None,
        refused=failed and output.startswith(_BLOCKED),
        interrupted=shell and _STOPPED.search(output) is not None,
        media=media,
    )


class _Pi(LinesFormat):
    name, reader = "pi", _Session

    def sniff(self, head: FileHead) -> int:
        if any(r.get("type") == "session" and "cwd" in r and "id" in r for r in head.records):
            return 3
        return 2 if any(map(_is_message, head.records)) else 0

    def known(self, record: Record) -> bool:
        return record.get("type") in TYPES and "timestamp" in record


FORMAT = _Pi()


def _is_message(record: Record) -> bool:
    spoken = isinstance(mapping(record.get("message")).get("role"), str)
    return record.get("type") == "message" and "timestamp" in record and spoken
