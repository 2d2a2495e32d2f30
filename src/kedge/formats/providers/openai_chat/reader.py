"""Lists of chat messages and whole requests into turns, and transcripts into such lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kedge.formats.intake.fields import string
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.providers.layout import laid_out
from kedge.formats.providers.messages import (
    Unnamed,
    blocks_in,
    body_of,
    note_summaries,
    sampled,
    turns_of,
    types_in,
)
from kedge.formats.providers.names import OPENAI_NAMES
from kedge.formats.providers.openai_chat.content import (
    PROVIDER,
    REASONING,
    ROLES,
    is_made,
    message_of,
    pieces_of,
    plain_media,
    result_message,
    result_of,
    wire_of,
)
from kedge.formats.providers.said import Dialect, Said
from kedge.formats.registry import Written
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Opaque, ToolCall, ToolResult, Transcript, Turn

OWN_ROLES = {"tool", "developer", "function"}
OWN_FIELDS = {"tool_calls", "tool_call_id", "function_call", *REASONING}
SAID = ("content", "tool_calls", "function_call", "refusal", "audio")
"""Fields of which a message must have one; with none of them it is refused."""
OWN_PARTS = {"image_url", "input_audio", "file", "refusal"}


class OpenAIChat:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        messages = sampled(head, ("messages",))
        if not messages or any(message.get("role") not in ROLES for message in messages):
            return 0
        if any(m.keys() & OWN_FIELDS or m.get("role") in OWN_ROLES for m in messages):
            return 3
        types = types_in(blocks_in(messages))
        if types & OWN_PARTS:
            return 3
        spoken = all("content" in message for message in messages)
        return 2 if spoken and not types and {"model", "messages"} <= body_of(head).keys() else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, ("messages",))

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        said = [*layout.head, *layout.said]
        messages = [message for one in said for message in _messages(one, layout.as_read)]
        return Written(messages, None, layout.left_out)


FORMAT = OpenAIChat()


class MessageReader:
    name = PROVIDER

    def __init__(self, log: Log, session: int) -> None:
        self.assembler = Assembler(log, session=session)
        self._log = log
        self._item = 0
        self._calls = Unnamed()

    def begin(self, body: Record) -> Record:
        self._log.fact("model", body.get("model"), turn=0)
        return body

    def take(self, line: Line, message: Record) -> None:
        role = string(message.get("role"))
        if role in ("tool", "function"):
            tool = string(message.get("name")) or string(message.get("tool_name"))
            call_id = self._calls.answered(tool, string(message.get("tool_call_id")))
            result = result_of(message, call_id)
            wire = {"provider": PROVIDER, "item": self._item}
            self.assembler.results(line, [result], wire=wire)
        elif role == "assistant":
            self._assistant(line, message)
        else:
            pieces = pieces_of(message, self._calls.called)
            self._report(line, pieces)
            wire = wire_of(message, pieces, self._item)
            if role in ("system", "developer"):
                self.assembler.system(line, pieces, wire=wire)
            else:
                self.assembler.user(line, pieces, wire=wire)
        self._item += 1

    def _assistant(self, line: Line, message: Record) -> None:
        self._calls.forget()
        pieces = pieces_of(message, self._calls.called)
        for piece in pieces:
            if isinstance(piece, ToolCall) and not is_made(piece):
                self._calls.called(piece.tool, piece.id)
        self._report(line, pieces)
        wire = wire_of(message, pieces, self._item)
        self.assembler.assistant(line, pieces, message_id=string(message.get("id")), wire=wire)

    def _report(self, line: Line, pieces: Sequence[Piece]) -> None:
        note_summaries(self._log, self.assembler, line, pieces)
        for piece in pieces:
            if isinstance(piece, Opaque):
                self._log.ignored[f"part/{piece.kind}"] += 1


def _messages(said: Said, as_read: bool) -> Iterator[Record]:
    results = [piece for piece in said.pieces if isinstance(piece, ToolResult)]
    for result in results:
        yield result_message(result)
    if results:
        return
    message = message_of(said.role, said.pieces, said.wire)
    if as_read or _says_something(message):
        yield message


def _says_something(message: Record) -> Any:
    return any(message.get(key) for key in SAID)


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: (
        not isinstance(piece, Media) or (role == "user" and plain_media(piece) is not None)
    ),
    system_inside=True,
    names=OPENAI_NAMES,
)
