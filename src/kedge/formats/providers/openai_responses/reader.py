"""Items of the Responses API into turns, and transcripts into items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kedge.formats.intake.fields import mapping, string, tokens_in
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.providers.layout import laid_out, text_of_head
from kedge.formats.providers.messages import (
    blocks_in,
    body_of,
    compacted,
    note_summaries,
    sampled,
    turns_of,
    types_in,
)
from kedge.formats.providers.names import OPENAI_NAMES
from kedge.formats.providers.openai_responses.calls import (
    CALLS,
    OUTPUTS,
    call_id_of,
    call_of,
    plain_call,
    plain_result,
    result_of,
)
from kedge.formats.providers.openai_responses.parts import (
    PROVIDER,
    ROLES,
    is_message,
    message_of,
    pieces_of,
    plain_media,
    plain_thought,
    thought_of,
    wire_of,
)
from kedge.formats.providers.said import Dialect, Said
from kedge.formats.providers.wire import block_of, kept, own, sealed
from kedge.formats.registry import Written
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Opaque, Text, Thinking, ToolCall, ToolResult, Transcript, Turn, Usage

KEYS = ("input", "output", "items", "data")
HANDED_THROUGH = {
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "item_reference",
    "tool_search_call",
    "tool_search_output",
}
"""Items of tools that the provider runs itself: kept as they are, and not worth reporting."""
COMPACTIONS = {"compaction", "compaction_summary"}
OWN_ITEMS = {*CALLS, *OUTPUTS, *HANDED_THROUGH, *COMPACTIONS, "reasoning"}

OTHER_RECORDS = {"payload", "record_type", "message"}
"""Fields of clients' records, which hold items, or messages of other providers."""


class OpenAIResponses:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        items = sampled(head, KEYS)
        if not items or any(item.keys() & OTHER_RECORDS for item in items):
            return 0
        if types_in(items) & OWN_ITEMS:
            return 3
        messages = [item for item in items if is_message(item) and item.get("role") in ROLES]
        if types_in(blocks_in(messages)) & {"input_text", "output_text"}:
            return 3
        return 3 if messages and isinstance(body_of(head).get("input"), (str, list)) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, ItemReader, KEYS)

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        prompt = text_of_head([said for said in layout.head if said.item < 0])
        said = [*(said for said in layout.head if said.item >= 0), *layout.said]
        items = list(_items(said))
        if layout.as_read:
            return Written(items, prompt or None, layout.left_out)
        kept = _followed(items)
        alone = len(items) - len(kept)
        left = (f"thinking that nothing follows: {alone}",) if alone else ()
        return Written(kept, prompt or None, (*layout.left_out, *left))


FORMAT = OpenAIResponses()


class ItemReader:
    name = PROVIDER

    def __init__(self, log: Log, session: int) -> None:
        self.assembler = Assembler(log, session=session)
        self._log = log
        self._item = -1
        self._calls: dict[str, ToolCall] = {}
        """Calls that have no output yet."""
        self._usage: Usage | None = None

    def begin(self, body: Record) -> Record:
        self._log.fact("model", body.get("model"), turn=0)
        self._usage = _usage(body.get("usage"))
        prompt = body.get("instructions")
        if not isinstance(prompt, str):
            return body
        self.assembler.system(Line(0), [Text(text=prompt)], wire={"provider": PROVIDER})
        return {name: value for name, value in body.items() if name != "instructions"}

    def take(self, line: Line, item: Record) -> None:
        self._item += 1
        kind = string(item.get("type"))
        if is_message(item):
            self._message(line, item)
        elif kind in CALLS:
            call = call_of(item)
            self._calls[call.id] = call
            self._said(line, call)
        elif kind in OUTPUTS:
            result = result_of(item, self._calls.pop(call_id_of(item), None))
            self.assembler.results(line, [result], wire=self._wire())
        elif kind == "reasoning":
            self._said(line, *sealed(PROVIDER, item, (thought_of(item),), plain_thought))
        elif kind in COMPACTIONS:
            compacted(self._log, self.assembler, line, by="openai")
            self.assembler.user(line, [kept(PROVIDER, kind, item)], wire=self._wire())
        else:
            if kind not in HANDED_THROUGH:
                self._log.ignored[f"item/{kind}"] += 1
            self._said(line, kept(PROVIDER, kind, item))

    def _said(self, line: Line, piece: Piece) -> None:
        self.assembler.assistant(line, [piece], joins=True, usage=self._usage, wire=self._wire())

    def _wire(self) -> dict[str, Any]:
        return {"provider": PROVIDER, "item": self._item, "shape": "item"}

    def _message(self, line: Line, item: Record) -> None:
        pieces = pieces_of(item)
        note_summaries(self._log, self.assembler, line, pieces)
        for piece in pieces:
            if isinstance(piece, Opaque):
                self._log.ignored[f"part/{piece.kind}"] += 1
        wire = wire_of(item, pieces, self._item)
        role = item.get("role")
        if role == "assistant":
            self.assembler.assistant(line, pieces, joins=True, usage=self._usage, wire=wire)
        elif role in ("system", "developer"):
            self.assembler.system(line, pieces, wire=wire)
        else:
            self.assembler.user(line, pieces, wire=wire)


def _usage(counts: Any) -> Usage | None:
    found = tokens_in(counts, "input_tokens", "output_tokens")
    found.update(tokens_in(mapping(counts).get("input_tokens_details"), "cached_tokens"))
    if not found:
        return None
    return Usage(
        input=max(found["input_tokens"] - found["cached_tokens"], 0),
        output=found["output_tokens"],
        cache_read=found["cached_tokens"],
    )


def _items(said: Sequence[Said]) -> Iterator[Record]:
    for one in said:
        if one.wire and one.wire.get("shape") != "item":
            yield message_of(one.role, one.pieces, one.wire)
        else:
            yield from _items_of(one)


def _followed(items: Sequence[Record]) -> list[Record]:
    """The items without thinking behind which the assistant neither said nor did anything."""
    kept: list[Record] = []
    goes_on = False
    for item in reversed(items):
        if item.get("type") != "reasoning":
            goes_on = item.get("role", "assistant") == "assistant"
        elif not goes_on:
            continue
        kept.append(item)
    return kept[::-1]


def _items_of(said: Said) -> Iterator[Record]:
    """A message as items: what was said together in one, all else in one each."""
    words: list[Piece] = []
    for piece in said.pieces:
        item = _item(piece)
        if item is None:
            words.append(piece)
            continue
        if words:
            yield message_of(said.role, words, {})
            words = []
        yield item
    if words:
        yield message_of(said.role, words, {})


def _item(piece: Piece) -> Record | None:
    """A piece that is an item of its own."""
    item: Record | None = None
    if isinstance(piece, ToolCall):
        item = block_of(PROVIDER, piece, plain_call, lambda block, _: (call_of(block),))
    elif isinstance(piece, ToolResult):
        item = block_of(PROVIDER, piece, plain_result, lambda block, _: (result_of(block, None),))
    elif isinstance(piece, Thinking):
        item = block_of(PROVIDER, piece, plain_thought, lambda block, _: (thought_of(block),))
    elif isinstance(piece, Opaque):
        item = own(piece.wire, PROVIDER).get("block")
    return item


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: (
        not isinstance(piece, Media) or (role != "assistant" and plain_media(piece) is not None)
    ),
    signed_by=(PROVIDER, "codex"),
    system_inside=True,
    names=OPENAI_NAMES,
)
