"""Messages of pydantic-ai as its `ModelMessagesTypeAdapter` writes and reads them: requests with
prompts and what tools returned, responses with words, thinking and calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kedgeline.formats.content import (
    Kind,
    as_json,
    parsed_arguments,
    said_by_user,
    text_of,
    time_of,
    usage_in,
)
from kedgeline.formats.intake import Head, Lines, Record, mapping, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.providers.messages import ListReader, sampled, turns_of
from kedgeline.formats.providers.repair import OPENING, groups, laid_out
from kedgeline.formats.providers.wire import (
    OPENAI_NAMES,
    Dialect,
    Said,
    blocks_of,
    kept,
    own,
    restored,
    same_pieces,
    seal,
    sealed,
    text_of_result,
)
from kedgeline.formats.registry import Unread, Written
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Media,
    Note,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
    Usage,
    Wire,
)

PROVIDER = "pydantic-ai"
KINDS = ("request", "response")
TEXTS: dict[str, str] = {"system": "system-prompt", "assistant": "text"}
"""The part that holds the words of a role; all others speak in prompts of the user's."""
RETRIES = ("retry-prompt", "retry-feedback")
MEDIA: tuple[Kind, ...] = ("image", "audio", "video", "document")
URL_SAFE = str.maketrans("-_", "+/")


class PydanticAI:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        messages = sampled(head, ("messages",))
        return 3 if messages and not any(map(self.unread, messages)) else 0

    def unread(self, message: Record) -> Unread | None:
        kind, parts = message.get("kind"), message.get("parts")
        if kind not in KINDS:
            return Unread(".kind", f"a message of the kind {kind!r}", "use request or response")
        for number, part in enumerate(parts if isinstance(parts, list) else [None]):
            if not string(mapping(part).get("part_kind")):
                return Unread(f".parts[{number}]", "a part without a part_kind")
        return None

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, ("messages",))

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        said = layout.said if layout.as_read else [*layout.head, *_named(layout.said)]
        messages = [message_of(*group) for group in groups(said) if group.pieces or layout.as_read]
        spoken = (one for one in messages if one["kind"] == "response" or not _is_prompt(one))
        if not layout.as_read and next(spoken, {}).get("kind") == "response":
            place = next(n for n, one in enumerate(messages) if one["kind"] == "response")
            messages.insert(place, message_of("user", [OPENING], {}))
        return Written(messages, None, layout.left_out)


FORMAT = PydanticAI()


class MessageReader(ListReader):
    name = PROVIDER

    def take(self, line: Line, message: Record) -> None:
        pieces = pieces_of(message)
        self.report(line, pieces)
        role: Role = "assistant" if message.get("kind") == "response" else "user"
        wire = wire_of(role, message, pieces, self._item)
        self._item += 1
        if role == "assistant":
            self.assembler.assistant(
                line,
                pieces,
                message_id=string(message.get("provider_response_id")),
                model=string(message.get("model_name")),
                time=time_of(message.get("timestamp")),
                usage=_usage(message.get("usage")),
                wire=wire,
            )
        else:
            self._request(line, pieces, wire)

    def _request(self, line: Line, pieces: Sequence[Piece], wire: Wire) -> None:
        """A request divided: prompts of the system, what tools returned, the words of the user."""
        shares: dict[str, list[int]] = {}
        for number, piece in enumerate(pieces):
            prompt = own(piece.wire, PROVIDER).get("type") == TEXTS["system"]
            whose = "tool" if isinstance(piece, ToolResult) else "system" if prompt else "user"
            shares.setdefault(whose, []).append(number)
        for whose, numbers in shares.items() or [("user", [])]:
            here = {**wire, "places": numbers} if len(shares) > 1 else wire
            share = [pieces[number] for number in numbers]
            if whose == "system":
                self.assembler.system(line, share, wire=here)
            elif whose == "tool":
                results = [piece for piece in share if isinstance(piece, ToolResult)]
                self.assembler.results(line, results, wire=here, role="user")
            else:
                self.assembler.user(line, share, wire=here)

    def report(self, line: Line, pieces: Sequence[Piece]) -> None:
        super().report(line, pieces)
        for piece in pieces:
            if own(piece.wire, PROVIDER).get("type") == "compaction":
                text = piece.text if isinstance(piece, Note) else ""
                self.assembler.compacted(line, by=PROVIDER, summary=text)


def pieces_of(message: Record) -> tuple[Piece, ...]:
    parts = message.get("parts")
    return tuple(p for part in (parts if isinstance(parts, list) else ()) for p in _read(part))


def wire_of(role: Role, message: Record, pieces: Sequence[Piece], item: int) -> Wire:
    """What it takes to write the message again out of its pieces."""
    return seal(PROVIDER, message, _plain_message(role, pieces), item=item) or {}


def message_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One message, as it was read where the wire says how."""
    plain = _plain_message(role, pieces)
    return restored(wire, plain, lambda one: same_pieces(pieces_of(one), pieces))


def _read(part: Any) -> tuple[Piece, ...]:
    block = mapping(part)
    kind = string(block.get("part_kind"))
    pieces = _pieces(kind, block)
    if not pieces:
        return (kept(PROVIDER, kind or type(part).__name__, part),)
    marks: Wire = {"type": kind}
    if isinstance(pieces[0], ToolResult):
        marks["name"] = string(block.get("tool_name"))
    return sealed(PROVIDER, block, pieces, lambda piece: _plain("user", piece), **marks)


def _pieces(kind: str, part: Record) -> tuple[Piece, ...]:
    content = part.get("content")
    if kind == "user-prompt":
        return _prompt(content)
    if kind == "tool-call":
        arguments = parsed_arguments(part.get("args"))
        tool, call_id = string(part.get("tool_name")), string(part.get("tool_call_id"))
        return (ToolCall(id=call_id, tool=tool, parameters=arguments),)
    if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
        return (_result(kind, part),)
    if kind in RETRIES:
        text = content if isinstance(content, str) else as_json(content)
        return (Note(kind="injected", text=text),)
    if not isinstance(content, str):
        return ()
    if kind in TEXTS.values():
        return (Text(text=content),)
    if kind == "thinking":
        return (Thinking(text=content, signature=string(part.get("signature"))),)
    return (Note(kind="summary", text=content),) if kind == "compaction" else ()


def _prompt(content: Any) -> tuple[Piece, ...]:
    """The words and media of a prompt; what is neither stays with the part alone."""
    pieces: list[Piece] = []
    for one in content if isinstance(content, list) else [content]:
        media = _media(one)
        if isinstance(one, str):
            pieces.extend(said_by_user(one))
        elif media is not None:
            pieces.append(media)
        elif isinstance(text := mapping(one).get("content"), str):  # a text with data beside it
            pieces.extend(said_by_user(text))
    return tuple(pieces)


def _result(kind: str, part: Record) -> ToolResult:
    content = part.get("content")
    several = content if isinstance(content, list) else [content]
    media = tuple(found for one in several if (found := _media(one)) is not None)
    words = [one for one in several if _media(one) is None]
    output = text_of(words if isinstance(content, list) or not words else words[0])
    outcome = string(part.get("outcome")) or "success"
    failed = kind == "retry-prompt" or outcome in ("failed", "retried")
    return ToolResult(
        call_id=string(part.get("tool_call_id")),
        success=not failed and outcome == "success",
        output=output,
        error=output if failed else None,
        refused=outcome == "denied",
        interrupted=outcome == "interrupted",
        media=media,
    )


def _media(value: Any) -> Media | None:
    block = mapping(value)
    kind, mime = string(block.get("kind")), string(block.get("media_type"))
    found: Kind = next(
        (one for one in MEDIA if kind.startswith(one) or mime.startswith(one)), "file"
    )
    if kind == "binary" and isinstance(data := block.get("data"), str):
        return Media(kind=found, mime=mime, data=data.translate(URL_SAFE))
    if kind.endswith("-url") and isinstance(url := block.get("url"), str):
        return Media(kind=found, mime=mime, url=url)
    return None


def _plain(role: Role, piece: Piece) -> Record | None:
    """A part written from the values of a piece. Where it was read from another kind than the role
    speaks in, it stays of that kind."""
    wire = own(piece.wire, PROVIDER)
    if isinstance(piece, (Text, Note)):
        kind = wire.get("type") or TEXTS.get(role, "user-prompt")
        return {"content": piece.text, "part_kind": kind}
    if isinstance(piece, Thinking):
        signed = {"signature": piece.signature} if piece.signature else {}
        return {"content": piece.text, **signed, "part_kind": "thinking"}
    if isinstance(piece, Media):
        media = _plain_media(piece)
        return {"content": [media], "part_kind": "user-prompt"} if media else None
    if isinstance(piece, ToolCall):
        named = {"tool_name": piece.tool, "args": piece.parameters, "tool_call_id": piece.id}
        return {**named, "part_kind": "tool-call"}
    return _plain_result(piece, wire) if isinstance(piece, ToolResult) else None


def _plain_result(result: ToolResult, wire: Wire) -> Record:
    text = text_of_result(result)
    media = [block for one in result.media if (block := _plain_media(one)) is not None]
    part: Record = {
        "tool_name": wire.get("name", ""),
        "content": [*([text] if text else ()), *media] if media else text,
        "tool_call_id": result.call_id,
    }
    outcome = "denied" if result.refused else "interrupted" if result.interrupted else "failed"
    part |= {} if result.success else {"outcome": outcome}
    return {**part, "part_kind": "tool-return"}


def _plain_media(media: Media) -> Record | None:
    if media.data:
        return {"data": media.data, "media_type": media.mime, "kind": "binary"}
    kind = "document" if media.kind == "file" else media.kind
    return {"url": media.url, "kind": f"{kind}-url"} if media.url else None


def _plain_message(role: Role, pieces: Sequence[Piece]) -> Record:
    parts = blocks_of(PROVIDER, pieces, lambda one: _plain(role, one), lambda part, _: _read(part))
    return {"parts": parts, "kind": "response" if role == "assistant" else "request"}


def _is_prompt(message: Record) -> bool:
    """Whether a request says nothing but what the system does."""
    return all(part.get("part_kind") == TEXTS["system"] for part in message["parts"])


def _named(said: Sequence[Said]) -> list[Said]:
    """Results with the names of their tools, which other providers do not write."""
    names = {p.id: p.tool for one in said for p in one.pieces if isinstance(p, ToolCall)}

    def named(piece: Piece) -> Piece:
        if not isinstance(piece, ToolResult) or own(piece.wire, PROVIDER).get("name"):
            return piece
        return replace(piece, wire={"provider": PROVIDER, "name": names.get(piece.call_id, "")})

    return [one._replace(pieces=tuple(map(named, one.pieces))) for one in said]


def _usage(counts: Any) -> Usage | None:
    """What was counted; where nothing was, all numbers are 0."""
    cache = ("cache_read_tokens", "cache_write_tokens")
    found = usage_in(counts, "input_tokens", "output_tokens", *cache, within=True)
    return None if found == Usage() else found


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: (
        not isinstance(piece, Media) or (role != "assistant" and _plain_media(piece) is not None)
    ),
    signed_by=(PROVIDER,),
    system_inside=True,
    names=OPENAI_NAMES,
)
