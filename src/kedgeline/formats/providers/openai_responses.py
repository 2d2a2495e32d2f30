"""OpenAI's Responses API: lists of items, requests and responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from kedgeline.formats import pieces as made
from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import as_json, media_of
from kedgeline.formats.providers.messages import FOREIGN_CALLS, Outputs, blocks_in, types_in
from kedgeline.formats.providers.repair import laid_out, text_of_head
from kedgeline.formats.providers.shape import (
    OPENAI_NAMES,
    Ids,
    KnownIds,
    ProviderShape,
    Read,
    Reader,
    SaidMessage,
    Sample,
    shaped,
    text_in,
    text_of_result,
)
from kedgeline.formats.records import Record, mapping, mappings, maybe_whole, string
from kedgeline.formats.registry import Unread, Written
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Media,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
    Verb,
    Wire,
)

TEXTS = ("input_text", "output_text", "text")
CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
}
"""Items that call a tool the client runs, and where their parameters stand."""
OUTPUTS = {f"{kind}_output": kind for kind in CALLS}
NAMED = ("function_call", "custom_tool_call")
"""Items that name their tool; the others are one tool each."""
OPERATIONS: dict[str, tuple[Verb, Literal["create", "update", "delete"]]] = {
    "create_file": ("write", "create"),
    "update_file": ("edit", "update"),
    "delete_file": ("delete", "delete"),
}
"""What an operation of `apply_patch_call` is, and what it does to the file when it succeeds."""
HANDED_THROUGH = (
    *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
    *("mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    *("item_reference", "tool_search_call", "tool_search_output"),
    *("program", "additional_tools", "configuration_update", "compaction_trigger"),
)
"""Items of tools that the provider runs itself: kept as they are, and not worth reporting."""
COMPACTIONS = ("compaction", "compaction_summary")
OWN_ITEMS = {*CALLS, *OUTPUTS, *HANDED_THROUGH, *COMPACTIONS, "reasoning"}
LATER_ITEMS = ("_call", "_output")
"""How the types of most items end, of those too that the API has got since."""
OTHER_RECORDS = {"payload", "record_type", "message"}
"""Fields of clients' records, which hold items, or messages of other providers."""


class OpenAIResponses(ProviderShape):
    name, signed_by = "openai-responses", ("openai-responses", "codex")
    keys = ("input", "output", "items", "data")
    roles = ("user", "assistant", "system", "developer")
    system_inside = True
    names = OPENAI_NAMES
    outputs = Outputs("", tuple(f"{kind}_output" for kind in NAMED), "call_id", "output")

    def knows(self, message: Record) -> bool:
        return not message.keys() & OTHER_RECORDS

    def sure(self, seen: Sample) -> int:
        if types_in(seen.messages) & OWN_ITEMS:
            return 3
        said = [
            item for item in seen.messages if _is_message(item) and item.get("role") in self.roles
        ]
        if types_in(blocks_in(said)) & {"input_text", "output_text"}:
            return 3
        return 3 if said and isinstance(seen.body.get("input"), (str, list)) else 0

    def unread(self, item: Record) -> Unread | None:
        if _is_message(item):
            return super().unread(item)
        kind = string(item.get("type"))
        own = kind in OWN_ITEMS or (kind.endswith(LATER_ITEMS) and kind not in FOREIGN_CALLS)
        if own and not item.keys() & {*OTHER_RECORDS, "data"}:
            return None
        what = f"an item of the type {kind!r}" if kind else "what has neither a role nor a type"
        return Unread("", what)

    def reader(self, log: Log, session: int) -> Reader:
        return _ItemReader(log, session, self)

    def text_type(self, role: str) -> str:
        return "output_text" if role == "assistant" else "input_text"

    def read_block(self, role: str, block: Record, ids: Ids) -> Read | None:
        """A part of a message, or an item of its own."""
        kind = string(block.get("type"))
        if kind in CALLS:
            return (_call(block),), _mark(kind)
        if kind in OUTPUTS:
            return (_result(block, None),), _mark(OUTPUTS[kind])
        if kind == "reasoning":
            return made.reasoning(block) or (Thinking(),), {}
        if kind in TEXTS and isinstance(block.get("text"), str):
            return self.read_text(role, block["text"])
        if kind == "refusal" and isinstance(block.get("refusal"), str):
            return (Text(text=block["refusal"]),), {"type": "refusal"}
        media = media_of(block)
        return None if media is None else ((media,), {})

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        if (text := text_in(piece)) is not None:
            if self.own(piece).get("type") == "refusal":
                return {"type": "refusal", "refusal": text}
            return {"type": self.text_type(role), "text": text}
        if isinstance(piece, Media):
            return _plain_media(piece)
        if isinstance(piece, Thinking):
            summary = [{"type": "summary_text", "text": piece.text}] if piece.text else []
            signed = {"encrypted_content": piece.signature} if piece.signature else {}
            return {"type": "reasoning", "summary": summary, **signed}
        kind = string(self.own(piece).get("type")) or "function_call"
        if isinstance(piece, ToolCall):
            return _plain_call(piece, kind)
        return _plain_result(piece, kind) if isinstance(piece, ToolResult) else None

    def shape_of(self, content: Any) -> Wire:
        return {"shape": "list"} if isinstance(content, list) else {}

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        return {"role": role, "content": shaped(role, self.written(role, pieces), wire, empty="")}

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, self)
        prompt = text_of_head([said for said in layout.head if said.item < 0])
        said = [*(said for said in layout.head if said.item >= 0), *layout.said]
        items = [item for one in said for item in self._items(one)]
        if layout.as_read:
            return Written(items, prompt or None, layout.left_out)
        kept = _followed(items)
        alone = len(items) - len(kept)
        left = (f"thinking that nothing follows: {alone}",) if alone else ()
        return Written(kept, prompt or None, (*layout.left_out, *left))

    def _items(self, said: SaidMessage) -> Iterator[Record]:
        """A message as it was, or as items: what was said together in one, all else in one each."""
        if said.wire and said.wire.get("shape") != "item":
            yield self.message_of(said.role, said.pieces, said.wire)
            return
        words: list[Piece] = []
        for piece in said.pieces:
            item = None
            if isinstance(piece, (ToolCall, ToolResult, Thinking, Opaque)):
                item = self.written_one(said.role, piece)
            if item is None:
                words.append(piece)
                continue
            if words:
                yield self.message_of(said.role, words, {})
                words = []
            yield item
        if words:
            yield self.message_of(said.role, words, {})


FORMAT = OpenAIResponses()


class _ItemReader(Reader):
    _usage: Usage | None = None

    def begin(self, body: Record) -> Record:
        super().begin(body)
        counts = mapping(body.get("usage"))
        counts = {**counts, **mapping(counts.get("input_tokens_details"))}
        names = ("input_tokens", "output_tokens", "cached_tokens")
        self._usage = made.usage_in(counts, *names, within=True)
        prompt = body.get("instructions")
        if not isinstance(prompt, str):
            return body
        self.assembler.system(Line(0), [Text(text=prompt)], wire={"provider": self.name})
        return {name: value for name, value in body.items() if name != "instructions"}

    def take(self, line: Line, item: Record) -> None:
        if _is_message(item):
            super().take(line, item)
            return
        kind = string(item.get("type"))
        wire: Wire = {"provider": self.name, "item": self.item, "shape": "item"}
        self.item += 1
        if kind in OUTPUTS:
            found = _result(item, self.assembler.call(_call_id(item)))
            result = FORMAT.sealed_one("tool", item, found, **_mark(OUTPUTS[kind]))
            self.assembler.results(line, [result], wire=wire)
            return
        pieces = FORMAT.pieces_in("assistant", item, KnownIds(()))
        if kind in COMPACTIONS:
            self.assembler.compacted(line, by="openai")
            self.assembler.user(line, pieces, wire=wire)
            return
        if isinstance(pieces[0], Opaque) and kind not in HANDED_THROUGH:
            self.log.ignored[f"item/{kind}"] += 1
        elif kind not in OWN_ITEMS:
            # Its message would say who spoke.
            self.log.broken("shape", line, f"{kind!r} is a part of a message, not an item")
            pieces = (Opaque(kind=kind, wire={"provider": self.name, "block": item}),)
        self.answer(line, pieces, wire, {})

    def answer(
        self, line: Line, pieces: Sequence[Piece], wire: Wire, about: dict[str, Any]
    ) -> None:
        """An answer comes in several items, and what it took stands beside them all."""
        self.assembler.assistant(line, pieces, joins=True, usage=self._usage, wire=wire)


def _is_message(item: Record) -> bool:
    """A message item, or an easy message without a type."""
    return item.get("type") == "message" or ("type" not in item and "role" in item)


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


def _mark(kind: str) -> Wire:
    return {} if kind == "function_call" else {"type": kind}


def _call_id(item: Record) -> str:
    """The id of a call; the output of a local shell keeps it in `id`."""
    return string(item.get("call_id")) or string(item.get("id"))


def _call(item: Record) -> ToolCall:
    kind = string(item.get("type"))
    place = item.get(CALLS[kind])
    if kind == "function_call":
        parameters = made.parsed_arguments(place)
    elif kind == "custom_tool_call":
        parameters = {"input": place}
    else:
        actions = item.get("actions")
        parameters = {"actions": actions} if place is None and actions else mapping(place)
    return ToolCall(
        id=_call_id(item),
        tool=string(item.get("name")) if kind in NAMED else kind.removesuffix("_call"),
        parameters=parameters,
        verb=_operation(parameters)[0] if kind == "apply_patch_call" else "other",
    )


def _plain_call(call: ToolCall, kind: str) -> Record:
    item = {"type": kind, "call_id": call.id}
    if kind in NAMED:
        item["name"] = call.tool
    if kind == "function_call":
        return {**item, "arguments": as_json(call.parameters)}
    if kind == "custom_tool_call":
        return {**item, "input": call.parameters.get("input")}
    if kind == "computer_call" and "actions" in call.parameters:
        return {**item, "actions": call.parameters["actions"]}
    return {**item, CALLS[kind]: call.parameters}


def _result(item: Record, call: ToolCall | None) -> ToolResult:
    kind, call_id, output = OUTPUTS[string(item.get("type"))], _call_id(item), item.get("output")
    if kind == "shell_call":
        return _shell_result(call_id, mappings(output))
    if kind == "computer_call":
        screen = made.media_from_url(string(mapping(output).get("image_url")), "image")
        return made.result(call_id, "", media=[screen] if screen.url or screen.data else ())
    if kind != "apply_patch_call":
        return made.result(call_id, output)
    text, failed = string(output), item.get("status") == "failed"
    change = _operation(call.parameters)[1] if call else ""
    return made.result(call_id, text, failed=failed, change=change)


def _shell_result(call_id: str, runs: list[Record]) -> ToolResult:
    texts = (string(run.get(stream)) for run in runs for stream in ("stdout", "stderr"))
    outcomes = [mapping(run.get("outcome")) for run in runs]
    codes = [maybe_whole(outcome.get("exit_code")) for outcome in outcomes]
    return made.result(
        call_id,
        "\n".join(filter(None, texts)),
        exit_code=next(filter(None, codes), codes[-1] if codes else None),
        interrupted=any(outcome.get("type") == "timeout" for outcome in outcomes),
    )


def _plain_result(result: ToolResult, kind: str) -> Record:
    text = text_of_result(result)
    item: Record = {"type": f"{kind}_output", "call_id": result.call_id}
    if kind == "local_shell_call":
        return {"type": f"{kind}_output", "id": result.call_id, "output": text}
    if kind == "shell_call":
        ending: Record = {"type": "exit", "exit_code": result.exit_code or 0}
        outcome = {"type": "timeout"} if result.interrupted else ending
        return {**item, "output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
    if kind == "apply_patch_call":
        return {**item, "status": "completed" if result.success else "failed", "output": text}
    media = [part for one in result.media if (part := _plain_media(one)) is not None]
    if kind == "computer_call":
        # Only a picture can stand here; without one, what was read stays.
        screens = [{"type": "computer_screenshot", "image_url": m["image_url"]} for m in media]
        return {**item, "output": screens[0]} if screens else item
    texts = [{"type": "input_text", "text": text}] if text.strip() else []
    return {**item, "output": [*texts, *media] if media else text}


def _plain_media(media: Media) -> Record | None:
    url = media.address
    if not url or media.kind in ("audio", "video"):
        return None
    if media.kind == "image":
        return {"type": "input_image", "image_url": url}
    if not media.data:
        return {"type": "input_file", "file_url": url}
    name = f"file.{media.mime.rpartition('/')[2] or 'bin'}"
    return {"type": "input_file", "filename": name, "file_data": url}


def _operation(parameters: Record) -> tuple[Verb, Literal["", "create", "update", "delete"]]:
    return OPERATIONS.get(string(parameters.get("type")), ("edit", ""))
