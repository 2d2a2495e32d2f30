"""Lists of Anthropic's messages and whole requests into turns, and transcripts into such lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kedge.formats.content.refusals import is_own_tool
from kedge.formats.intake.fields import string, tokens_in
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.providers.alternating import alternating
from kedge.formats.providers.anthropic.content import (
    PROVIDER,
    ROLES,
    message_of,
    pieces_of,
    plain_media,
    plain_message,
    shape_of,
    wire_of,
)
from kedge.formats.providers.anthropic.halves import without_halves
from kedge.formats.providers.layout import Layout, laid_out, text_of_head
from kedge.formats.providers.messages import (
    blocks_in,
    body_of,
    compacted,
    hand_over,
    note_summaries,
    sampled,
    turns_of,
    types_in,
)
from kedge.formats.providers.names import ANTHROPIC_IDS, ANTHROPIC_NAMES
from kedge.formats.providers.said import Dialect
from kedge.formats.registry import Written
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Opaque, ToolCall, ToolResult, Transcript, Turn, Usage

OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
"""Block types no other provider has."""
HANDED_THROUGH = {
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "search_result",
    "compaction",
}
"""Blocks of tools that the provider runs itself: kept as they are, and not worth reporting."""


class Anthropic:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        messages = sampled(head, ("messages",))
        if not messages or any(message.get("role") not in ROLES for message in messages):
            return 0
        blocks = blocks_in(messages)
        types = types_in(blocks)
        if types & OWN_BLOCKS or any("source" in block for block in blocks):
            return 3
        if {"system", "max_tokens"} <= body_of(head).keys():
            return 3
        return 2 if types == {"text"} or "system" in body_of(head) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, ("messages",))

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        if not layout.as_read:
            layout = without_halves(layout)
        messages = alternating(layout, "content", message_of)
        return Written(messages, _system(layout), layout.left_out)


FORMAT = Anthropic()


class MessageReader:
    name = PROVIDER

    def __init__(self, log: Log, session: int) -> None:
        self.assembler = Assembler(log, session=session)
        self._log = log
        self._item = 0
        self._calls: dict[str, ToolCall] = {}
        """Calls of the last answer."""

    def begin(self, body: Record) -> Record:
        self._log.fact("model", body.get("model"), turn=0)
        system = body.get("system")
        if isinstance(system, (str, list)):
            pieces = pieces_of("system", system)
            self.assembler.system(Line(0), pieces, wire={"provider": PROVIDER, **shape_of(system)})
        return {name: value for name, value in body.items() if name != "system"}

    def take(self, line: Line, message: Record) -> None:
        role = string(message.get("role"))
        pieces = self._told(pieces_of(role, message.get("content")))
        self._report(line, pieces)
        wire = wire_of(message, pieces, self._item)
        self._item += 1
        if role == "assistant":
            self._calls = {piece.id: piece for piece in pieces if isinstance(piece, ToolCall)}
            self.assembler.assistant(
                line,
                pieces,
                message_id=string(message.get("id")),
                model=string(message.get("model")),
                usage=_usage(message.get("usage")),
                wire=wire,
            )
        elif role == "system":
            self.assembler.system(line, pieces, wire=wire)
        else:
            hand_over(self.assembler, line, pieces, wire)

    def _told(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Only where the client words a tool's refusals itself are the words in them the user's."""
        return [
            replace(piece, reason="")
            if isinstance(piece, ToolResult) and not is_own_tool(self._calls.get(piece.call_id))
            else piece
            for piece in pieces
        ]

    def _report(self, line: Line, pieces: Sequence[Piece]) -> None:
        note_summaries(self._log, self.assembler, line, pieces)
        for piece in pieces:
            if not isinstance(piece, Opaque):
                continue
            if piece.kind == "compaction":
                summary = string(piece.wire["block"].get("content"))
                compacted(self._log, self.assembler, line, by=PROVIDER, summary=summary)
            elif piece.kind not in HANDED_THROUGH:
                self._log.ignored[f"block/{piece.kind}"] += 1


def _usage(counts: Any) -> Usage | None:
    read, written = "cache_read_input_tokens", "cache_creation_input_tokens"
    found = tokens_in(counts, "input_tokens", "output_tokens", read, written)
    if not found:
        return None
    return Usage(
        input=found["input_tokens"],
        output=found["output_tokens"],
        cache_read=found[read],
        cache_write=found[written],
    )


def _system(layout: Layout) -> Any:
    """The system prompt as it was read, where it stands alone; else the text of all."""
    if len(layout.head) == 1 and layout.head[0].wire and layout.head[0].item < 0:
        [head] = layout.head
        return plain_message("system", head.pieces, head.wire)["content"]
    return text_of_head(layout.head) or None


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: (
        not isinstance(piece, Media) or (role != "assistant" and plain_media(piece) is not None)
    ),
    signed_by=(PROVIDER, "claude-code"),
    names=ANTHROPIC_NAMES,
    ids=ANTHROPIC_IDS,
)
