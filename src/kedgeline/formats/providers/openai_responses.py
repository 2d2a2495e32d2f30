"""OpenAI's Responses API: lists of items, requests and responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from kedgeline.formats.content import (
    as_json,
    media_from_url,
    media_of,
    parsed_arguments,
    said_by_user,
    text_and_media,
    usage_in,
)
from kedgeline.formats.intake import Head, Lines, Record, mapping, mappings, maybe_whole, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.providers.messages import (
    ListReader,
    as_notes,
    blocks_in,
    body_of,
    sampled,
    turns_of,
    types_in,
    unread_of,
)
from kedgeline.formats.providers.repair import laid_out, text_of_head
from kedgeline.formats.providers.wire import (
    OPENAI_NAMES,
    Dialect,
    Said,
    block_of,
    blocks_of,
    kept,
    own,
    restored,
    same_pieces,
    seal,
    sealed,
    sealed_one,
    shaped,
    text_of_result,
)
from kedgeline.formats.registry import Unread, Written
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Media,
    Note,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
    Usage,
    Verb,
    Wire,
)

# Message items of the Responses API as pieces, and pieces as message items.

PROVIDER = "openai-responses"
ROLES = ("user", "assistant", "system", "developer")
TEXTS = ("input_text", "output_text", "text")


def is_message(item: Record) -> bool:
    """A message item, or an easy message without a type."""
    return item.get("type") == "message" or ("type" not in item and "role" in item)


def pieces_of(item: Record) -> tuple[Piece, ...]:
    """What a message holds."""
    role, content = string(item.get("role")), item.get("content")
    if isinstance(content, str):
        content = [{"type": _text_type(role), "text": content}]
    if not isinstance(content, list):
        return ()
    pieces = tuple(piece for part in content for piece in _read(role, part))
    return pieces if role in ROLES else as_notes(pieces)


def wire_of(item: Record, pieces: Sequence[Piece], number: int) -> Wire:
    """What it takes to write the message again out of its pieces."""
    marks: Wire = {"item": number}
    if isinstance(item.get("content"), list):
        marks["shape"] = "list"
    role = turn_role(string(item.get("role")))
    return seal(PROVIDER, item, _plain_message(role, pieces, marks), **marks) or {}


def message_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One message, as it was read where the wire says how."""
    return restored(
        wire,
        _plain_message(role, pieces, wire),
        lambda item: same_pieces(pieces_of(item), pieces),
    )


def turn_role(role: str) -> Role:
    """The role of a message in its turn."""
    if role in ("system", "developer"):
        return "system"
    return "assistant" if role == "assistant" else "user"


def thought_of(item: Record) -> Thinking:
    """A reasoning item; its seal is what the provider wants back."""
    texts = [
        text
        for name in ("summary", "content")
        for part in mappings(item.get(name))
        if (text := string(part.get("text")))
    ]
    return Thinking(text="\n\n".join(texts), signature=string(item.get("encrypted_content")))


def plain_thought(piece: Piece) -> Record | None:
    if not isinstance(piece, Thinking):
        return None
    summary = [{"type": "summary_text", "text": piece.text}] if piece.text else []
    item: Record = {"type": "reasoning", "summary": summary}
    return {**item, "encrypted_content": piece.signature} if piece.signature else item


def plain_media(media: Media) -> Record | None:
    url = f"data:{media.mime};base64,{media.data}" if media.data else media.url
    if not url or media.kind in ("audio", "video"):
        return None
    if media.kind == "image":
        return {"type": "input_image", "image_url": url}
    if not media.data:
        return {"type": "input_file", "file_url": url}
    name = f"file.{media.mime.rpartition('/')[2] or 'bin'}"
    return {"type": "input_file", "filename": name, "file_data": url}


def _read(role: str, part: Any) -> tuple[Piece, ...]:
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__

    def plain(piece: Piece) -> Record | None:
        return _plain(role, piece)

    if kind in TEXTS and isinstance(part.get("text"), str):
        said = said_by_user(part["text"]) if role == "user" else (Text(text=part["text"]),)
        return sealed(PROVIDER, part, said, plain)
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return sealed(PROVIDER, part, (Text(text=part["refusal"]),), plain, type="refusal")
    if isinstance(part, dict) and (media := media_of(part)) is not None:
        return sealed(PROVIDER, part, (media,), plain)
    return (kept(PROVIDER, kind, part),)


def _plain(role: str, piece: Piece) -> Record | None:
    if isinstance(piece, (Text, Note)):
        if own(piece.wire, PROVIDER).get("type") == "refusal":
            return {"type": "refusal", "refusal": piece.text}
        return {"type": _text_type(role), "text": piece.text}
    return plain_media(piece) if isinstance(piece, Media) else None


def _text_type(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def _plain_message(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    parts = blocks_of(
        PROVIDER, pieces, lambda piece: _plain(role, piece), lambda part, _: _read(role, part)
    )
    return {"role": role, "content": shaped(role, parts, wire, empty="")}


# Items that call a tool or give its output, as calls and results and back.

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


def call_id_of(item: Record) -> str:
    """The id of a call; the output of a local shell keeps it in `id`."""
    return string(item.get("call_id")) or string(item.get("id"))


def call_of(item: Record) -> ToolCall:
    kind = string(item.get("type"))
    place = item.get(CALLS[kind])
    if kind == "function_call":
        parameters = parsed_arguments(place)
    elif kind == "custom_tool_call":
        parameters = {"input": place}
    else:
        actions = item.get("actions")
        parameters = {"actions": actions} if place is None and actions else mapping(place)
    call = ToolCall(
        id=call_id_of(item),
        tool=string(item.get("name")) if kind in NAMED else kind.removesuffix("_call"),
        parameters=parameters,
        verb=_operation(parameters)[0] if kind == "apply_patch_call" else "other",
    )
    return sealed_one(PROVIDER, item, call, plain_call, **_mark(kind))


def result_of(item: Record, call: ToolCall | None) -> ToolResult:
    kind = OUTPUTS[string(item.get("type"))]
    call_id = call_id_of(item)
    if kind == "shell_call":
        result = _shell_result(call_id, item)
    elif kind == "apply_patch_call":
        result = _patch_result(call_id, item, call)
    elif kind == "computer_call":
        screen = media_from_url(string(mapping(item.get("output")).get("image_url")), "image")
        result = ToolResult(call_id=call_id, media=(screen,) if screen.url or screen.data else ())
    else:
        output, media = text_and_media(item.get("output"))
        result = ToolResult(call_id=call_id, output=output, media=media)
    return sealed_one(PROVIDER, item, result, plain_result, **_mark(kind))


def kind_of(piece: ToolCall | ToolResult) -> str:
    """The type of item a call is, or a result answers."""
    return string(own(piece.wire, PROVIDER).get("type")) or "function_call"


def plain_call(piece: Piece) -> Record | None:
    if not isinstance(piece, ToolCall):
        return None
    kind = kind_of(piece)
    item = {"type": kind, "call_id": piece.id}
    if kind == "function_call":
        return {**item, "name": piece.tool, "arguments": as_json(piece.parameters)}
    if kind == "custom_tool_call":
        return {**item, "name": piece.tool, "input": piece.parameters.get("input")}
    if kind == "computer_call" and "actions" in piece.parameters:
        return {**item, "actions": piece.parameters["actions"]}
    return {**item, CALLS[kind]: piece.parameters}


def plain_result(piece: Piece) -> Record | None:
    if not isinstance(piece, ToolResult):
        return None
    kind = kind_of(piece)
    item: Record = {"type": f"{kind}_output", "call_id": piece.call_id}
    text = text_of_result(piece)
    if kind == "local_shell_call":
        return {"type": f"{kind}_output", "id": piece.call_id, "output": text}
    if kind == "shell_call":
        ending: Record = {"type": "exit", "exit_code": piece.exit_code or 0}
        outcome = {"type": "timeout"} if piece.interrupted else ending
        return {**item, "output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
    if kind == "apply_patch_call":
        return {**item, "status": "completed" if piece.success else "failed", "output": text}
    media = [part for one in piece.media if (part := plain_media(one)) is not None]
    if kind == "computer_call":
        # Only a picture can stand here; without one, what was read stays.
        screens = [{"type": "computer_screenshot", "image_url": m["image_url"]} for m in media]
        return {**item, "output": screens[0]} if screens else item
    if not media:
        return {**item, "output": text}
    texts = [{"type": "input_text", "text": text}] if text.strip() else []
    return {**item, "output": [*texts, *media]}


def _shell_result(call_id: str, item: Record) -> ToolResult:
    runs = mappings(item.get("output"))
    texts = (string(run.get(stream)) for run in runs for stream in ("stdout", "stderr"))
    output = "\n".join(text for text in texts if text)
    outcomes = [mapping(run.get("outcome")) for run in runs]
    codes = [maybe_whole(outcome.get("exit_code")) for outcome in outcomes]
    code = next((code for code in codes if code), codes[-1] if codes else None)
    timed_out = any(outcome.get("type") == "timeout" for outcome in outcomes)
    success = not timed_out and not code
    return ToolResult(
        call_id=call_id,
        success=success,
        output=output,
        error=None if success else output,
        exit_code=code,
        interrupted=timed_out,
    )


def _patch_result(call_id: str, item: Record, call: ToolCall | None) -> ToolResult:
    output, success = string(item.get("output")), item.get("status") != "failed"
    return ToolResult(
        call_id=call_id,
        success=success,
        output=output,
        error=None if success else output,
        change=_operation(call.parameters)[1] if call and success else "",
    )


def _operation(
    parameters: Record,
) -> tuple[Verb, Literal["", "create", "update", "delete"]]:
    return OPERATIONS.get(string(parameters.get("type")), ("edit", ""))


def _mark(kind: str) -> dict[str, Any]:
    return {} if kind == "function_call" else {"type": kind}


# Items of the Responses API into turns, and transcripts into items.

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

    def unread(self, item: Record) -> Unread | None:
        if is_message(item):
            return unread_of(item, ROLES, ("content",))
        if string(item.get("type")) and not item.keys() & {*OTHER_RECORDS, "data"}:
            return None
        return Unread("", "what is neither a message nor an item of the Responses API")

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


class ItemReader(ListReader):
    name = PROVIDER

    def __init__(self, log: Log, session: int) -> None:
        super().__init__(log, session)
        self._item = -1
        self._open: dict[str, ToolCall] = {}
        """Calls that have no output yet."""
        self._usage: Usage | None = None

    def begin(self, body: Record) -> Record:
        super().begin(body)
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
            self._open[call.id] = call
            self._said(line, call)
        elif kind in OUTPUTS:
            result = result_of(item, self._open.pop(call_id_of(item), None))
            self.assembler.results(line, [result], wire=self._wire())
        elif kind == "reasoning":
            self._said(line, *sealed(PROVIDER, item, (thought_of(item),), plain_thought))
        elif kind in COMPACTIONS:
            self.assembler.compacted(line, by="openai")
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
        self.report(line, pieces)
        wire = wire_of(item, pieces, self._item)
        role = item.get("role")
        if role == "assistant":
            self.assembler.assistant(line, pieces, joins=True, usage=self._usage, wire=wire)
        elif role in ("system", "developer"):
            self.assembler.system(line, pieces, wire=wire)
        else:
            self.assembler.user(line, pieces, wire=wire)


def _usage(counts: Any) -> Usage | None:
    every = {**mapping(counts), **mapping(mapping(counts).get("input_tokens_details"))}
    return usage_in(every, "input_tokens", "output_tokens", "cached_tokens", within=True)


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
