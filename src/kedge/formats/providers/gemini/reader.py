"""Lists of Gemini's contents and whole requests into turns, and transcripts into such lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.providers.alternating import alternating
from kedge.formats.providers.gemini.parts import (
    PROVIDER,
    SNAKE,
    content_of,
    pieces_of,
    plain_media,
    turn_role,
    under_id,
    wire_of,
)
from kedge.formats.providers.layout import Layout, laid_out, text_of_head
from kedge.formats.providers.messages import (
    Unnamed,
    blocks_in,
    body_of,
    hand_over,
    note_summaries,
    sampled,
    turns_of,
)
from kedge.formats.providers.names import GEMINI_NAMES
from kedge.formats.providers.said import Dialect, Said
from kedge.formats.providers.wire import own
from kedge.formats.registry import Written
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Opaque, Text, ToolCall, ToolResult, Transcript, Turn

SYSTEM_KEYS = ("systemInstruction", "system_instruction")
OWN_PARTS = {"text", "executableCode", "codeExecutionResult", *SNAKE, *SNAKE.values()}
HANDED_THROUGH = {
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
}
"""Parts of the code that the provider runs itself: kept as they are, and not worth reporting."""


class Gemini:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        contents = sampled(head, ("contents",))
        if not contents or any("parts" not in content for content in contents):
            return 0
        if any(content.get("role") in ("assistant", "agent") for content in contents):
            return 0
        parts = blocks_in(contents, "parts")
        if not parts or any("type" in p or "kind" in p or not p.keys() & OWN_PARTS for p in parts):
            return 0
        spoken = any(content.get("role") == "model" for content in contents)
        return 3 if spoken or "contents" in body_of(head) else 2

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, ContentReader, ("contents",))

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        if not layout.as_read:
            layout = layout._replace(said=_named(layout.said))
        contents = alternating(layout, "parts", content_of)
        return Written(contents, _system(layout), layout.left_out)


FORMAT = Gemini()


class ContentReader:
    name = PROVIDER

    def __init__(self, log: Log, session: int) -> None:
        self.assembler = Assembler(log, session=session)
        self._log = log
        self._item = 0
        self._calls = Unnamed()

    def begin(self, body: Record) -> Record:
        self._log.fact("model", body.get("model"), turn=0)
        for key in SYSTEM_KEYS:
            system = body.get(key)
            if isinstance(system, str):
                wire = {"provider": PROVIDER, "shape": "string"}
                self.assembler.system(Line(0), [Text(text=system)], wire=wire)
            elif isinstance(system, dict) and isinstance(system.get("parts"), list):
                as_content = {**system, "role": "system"}
                pieces = pieces_of(as_content, self._calls.called, self._calls.answered)
                role = {"role": system["role"]} if "role" in system else {}
                self.assembler.system(Line(0), pieces, wire=wire_of(as_content, pieces, **role))
            else:
                continue
            return {name: value for name, value in body.items() if name != key}
        return body

    def take(self, line: Line, content: Record) -> None:
        role = turn_role(content.get("role"))
        if role == "assistant":
            self._calls.forget()
        pieces = pieces_of(content, self._calls.called, self._calls.answered)
        note_summaries(self._log, self.assembler, line, pieces)
        for piece in pieces:
            if isinstance(piece, Opaque) and piece.kind not in HANDED_THROUGH:
                self._log.ignored[f"part/{piece.kind}"] += 1
        wire = wire_of(content, pieces, item=self._item)
        self._item += 1
        if role == "assistant":
            self.assembler.assistant(line, pieces, wire=wire)
        elif role == "system":
            self.assembler.system(line, pieces, wire=wire)
        else:
            hand_over(self.assembler, line, pieces, wire)


def _named(said: Sequence[Said]) -> list[Said]:
    """Results with the names of their tools, which other providers do not write; and calls and
    results under the ids they have now, where one occurred twice."""
    calls = {piece.id: piece for one in said for piece in one.pieces if isinstance(piece, ToolCall)}

    def named(piece: Piece) -> Piece:
        if isinstance(piece, ToolCall):
            wire = own(piece.wire, PROVIDER)
            return replace(piece, wire=under_id(wire, piece.id, piece.tool)) if wire else piece
        if not isinstance(piece, ToolResult) or (call := calls.get(piece.call_id)) is None:
            return piece
        wire = own(piece.wire, PROVIDER) or {"provider": PROVIDER}
        # Without an id where its call has none.
        made = own(call.wire, PROVIDER).get("made_id", False)
        wire = {**under_id(wire, piece.call_id, call.tool), "name": call.tool, "made_id": made}
        return replace(piece, wire=wire)

    return [one._replace(pieces=tuple(map(named, one.pieces))) for one in said]


def _system(layout: Layout) -> Any:
    """The system instruction as it was read, where it stands alone; else the text of all."""
    if len(layout.head) == 1 and layout.head[0].wire and layout.head[0].item < 0:
        [head] = layout.head
        if head.wire.get("shape") == "string":
            return text_of_head(layout.head)
        # Its own role says nothing, and most leave it out.
        content = content_of("system", head.pieces, head.wire) | {"role": head.wire.get("role")}
        return {k: v for k, v in content.items() if k != "role" or "role" in head.wire}
    text = text_of_head(layout.head)
    return {"parts": [{"text": text}]} if text else None


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda _, piece: not isinstance(piece, Media) or plain_media(piece) is not None,
    signed_by=(PROVIDER,),
    names=GEMINI_NAMES,
)
