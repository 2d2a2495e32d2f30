"""What a provider's messages look like, how they are read, and how they are written as they were.

What a provider wrote that the values have no place for is kept as a wire. It names its provider
under `provider`; another provider's writer does not look at it. It holds:

on a part, a call or a result
    keys, fields   the keys of the block in their order, and those fields that the values alone do
                   not give (unknown ones, arguments as they were written, a list of contents)
    pieces, block  the whole block, where it was read as several parts; `joins` marks the others
    block          alone, in an Opaque: the block itself
    type, field    which of several shapes of a provider the part had
    made_id        the id was made while reading, because the provider wrote none
    files          where the files begin and end that a client put into a text
on a message
    item           its place in the list; what of one message went to two turns shares it
    places         where its parts stood among those of the message, when they went to two turns
    keys, fields   as above, for the message around its content
    shape          "string" or "list": how the content was written
on a transcript
    body           the rest of the request

Values come first: where a part was changed after it was read, it is written from its values, and of
the wire only the unknown fields are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import as_notes, said_by_user
from kedgeline.formats.providers.messages import (
    Conversation,
    Outputs,
    Unnamed,
    blocks_in,
    body_of,
    conversations,
    note_shape,
    sampled,
    types_in,
    unread_of,
)
from kedgeline.formats.records import Lines, Record, string
from kedgeline.formats.registry import FileHead, Unread
from kedgeline.formats.turns import Assembler, Piece
from kedgeline.model import (
    SUMMARY_TAG,
    Media,
    Note,
    Opaque,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Wire,
)


class Names(NamedTuple):
    """What names of tools, or ids of calls, may look like."""

    refused: str
    """The characters that become an underscore."""
    longest: int | None = None
    first: str = ""
    """What the first character has to be; a name that begins otherwise gets an underscore."""

    def nearest(self, name: str) -> str:
        """The name, if it is allowed; else one like it that is. No provider takes an empty one."""
        allowed = re.sub(self.refused, "_", name or "tool")
        if not re.match(self.first, allowed):
            allowed = f"_{allowed}"
        return allowed[: self.longest]


ANY = Names(r"(?!)")
OPENAI_NAMES = Names(r"[^a-zA-Z0-9_-]", longest=64)


class SaidMessage(NamedTuple):
    """One message before any provider's shape: its pieces, calls and results among them."""

    role: Role
    pieces: tuple[Piece, ...]
    wire: Wire
    """Empty when another format wrote it."""

    @property
    def item(self) -> int:
        """Its place in the list it was read from; -1 when it was not."""
        item: int = self.wire.get("item", -1)
        return item


class Ids(Protocol):
    """Gives calls and results their ids, by their tool and the id that was written, if any."""

    def called(self, tool: str, call_id: str = "") -> str: ...
    def answered(self, tool: str, call_id: str = "") -> str: ...


class KnownIds:
    """The ids of pieces that were read already, for reading them again."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._ids = (id_of(p) for p in pieces if isinstance(p, (ToolCall, ToolResult)))

    def called(self, tool: str, call_id: str = "") -> str:
        return next(self._ids, "")

    answered = called


class Sample(NamedTuple):
    """What stands at the beginning of a file, all of it messages of a provider's roles."""

    messages: Sequence[Record]
    blocks: list[Record]
    types: set[str]
    """Of the blocks."""
    body: Record
    """The request around the messages."""


P = TypeVar("P", bound=Piece)
Read = tuple[Sequence[Piece], Wire]
"""What a block reads as, and marks that are needed to write it again."""


class ProviderShape:
    """What all providers have in common; each says how a block is read and written."""

    name: ClassVar[str]
    keys: ClassVar[tuple[str, ...]] = ("messages",)
    """Where a document keeps its messages."""
    field: ClassVar[str] = "content"
    """Where a message keeps its blocks."""
    roles: ClassVar[tuple[str, ...]]
    part: ClassVar[str] = "part"
    """What the provider calls a block."""
    handed_through: ClassVar[Collection[str]] = ()
    """Kinds of blocks that are kept as they are, and not worth reporting."""
    signed_by: ClassVar[tuple[str, ...]] = ()
    """Formats whose thinking carries this provider's signature."""
    system_inside: ClassVar[bool] = False
    """Whether system messages may stand between the others."""
    said: ClassVar[Collection[str]] = ("content",)
    """Fields of which a message must have one to say anything."""
    foreign: ClassVar[Collection[str]] = ()
    """Types of blocks that only other providers read, and that must not pass for no words."""
    outputs: ClassVar[Outputs]
    results_role: ClassVar[Role] = "user"
    """Whose messages give results."""
    names: ClassVar[Names] = ANY
    ids: ClassVar[Names] = ANY

    def sniff(self, head: FileHead) -> int:
        messages = sampled(head, self.keys, self.foreign)
        if not messages or not all(map(self.knows, messages)):
            return 0
        blocks = blocks_in(messages, self.field)
        return self.sure(Sample(messages, blocks, types_in(blocks), body_of(head)))

    def knows(self, message: Record) -> bool:
        """Whether it is a message of this provider, or could be."""
        return message.get("role") in self.roles

    def sure(self, seen: Sample) -> int:
        """How sure messages make us that are all known."""
        raise NotImplementedError

    def unread(self, message: Record) -> Unread | None:
        return unread_of(message, self.roles, self.said, self.foreign)

    def read_block(self, role: str, block: Record, ids: Ids) -> Read | None:
        """What a block says; None when it is only handed through."""
        raise NotImplementedError

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        """A piece as a block written from its values; None when there is no place for it."""
        raise NotImplementedError

    def takes(self, role: Role, piece: Piece) -> bool:
        """Whether there is a place for a piece of another format in a message of this role."""
        if not isinstance(piece, Media):
            return True
        return role != "assistant" and self.write_block(role, piece) is not None

    def begin(self, reader: Reader, body: Record) -> Record:
        """Read what stands beside the messages; the part to be kept for writing is returned."""
        return body

    def about(self, message: Record) -> dict[str, Any]:
        """What an answer says of itself: its id, its model, what it took."""
        return {}

    def reader(self, log: Log, session: int) -> Reader:
        return Reader(log, session, self)

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_in(conversations(lines, log, self.keys), log, self.reader)

    def turn_role(self, message: Record) -> Role:
        """The role of a message in its turn."""
        role = message.get("role")
        if role in ("system", "developer"):
            return "system"
        return "assistant" if role in ("assistant", "model") else "user"

    def pieces_of(self, message: Record, ids: Ids) -> tuple[Piece, ...]:
        """What a message holds."""
        role = string(message.get("role"))
        pieces = self.blocks_of(role, message.get(self.field), ids)
        return pieces if role in self.roles else as_notes(pieces)

    def blocks_of(self, role: str, content: Any, ids: Ids) -> tuple[Piece, ...]:
        if isinstance(content, str):
            content = [{"type": self.text_type(role), "text": content}]
        blocks = content if isinstance(content, list) else ()
        return tuple(piece for block in blocks for piece in self.pieces_in(role, block, ids))

    def text_type(self, role: str) -> str:
        return "text"

    def pieces_in(self, role: str, block: Any, ids: Ids) -> tuple[Piece, ...]:
        """What one block holds, with what is needed to write it again."""
        found = self.read_block(role, block, ids) if isinstance(block, dict) else None
        if found is None:
            kind = self.kind_of(block) if isinstance(block, dict) else type(block).__name__
            return (Opaque(kind=kind, wire={"provider": self.name, "block": block}),)
        pieces, marks = found
        return self.sealed(self.turn_role({"role": role}), block, pieces, marks)

    def kind_of(self, block: Record) -> str:
        return str(block.get("type"))

    def read_text(self, role: str, text: str) -> Read:
        return (said_by_user(text) if role == "user" else (Text(text=text),)), {}

    def sealed(
        self, role: Role, block: Record, pieces: Sequence[Piece], marks: Wire
    ) -> tuple[Piece, ...]:
        """The pieces read from one block, with what is needed to write it again."""
        if len(pieces) == 1:
            return (self.sealed_one(role, block, pieces[0], **marks),)
        first = {"provider": self.name, "pieces": len(pieces), "block": block, **marks}
        further = {"provider": self.name, "joins": True}
        return tuple(with_wire(p, further if n else first) for n, p in enumerate(pieces))

    def sealed_one(self, role: Role, block: Record, piece: P, **marks: Any) -> P:
        marked = with_wire(piece, {"provider": self.name, **marks} if marks else None)
        plain = self.write_block(role, marked)
        return with_wire(piece, seal(self.name, block, plain, **marks))

    def own(self, piece: Piece) -> Wire:
        """The wire of a piece if it is this provider's, else nothing."""
        return own(piece.wire, self.name)

    def is_made(self, piece: Piece) -> bool:
        """Whether the id of a call or result was made while reading."""
        return bool(self.own(piece).get("made_id"))

    def unsealed(self, piece: P) -> P:
        """The piece without what was written of its values, such as another id; unknown fields
        stay."""
        wire, plain = self.own(piece), self.write_block("assistant", piece) or {}
        if "fields" not in wire:
            return piece
        unknown = {key: value for key, value in wire["fields"].items() if key not in plain}
        return with_wire(piece, {**wire, "fields": unknown})

    def wire_of(self, message: Record, pieces: Sequence[Piece], **marks: Any) -> Wire:
        """What it takes to write the message again out of its pieces."""
        marks |= self.shape_of(message.get(self.field))
        plain = self.plain_message(self.turn_role(message), pieces, marks)
        return seal(self.name, message, plain, **marks) or {}

    def shape_of(self, content: Any) -> Wire:
        """How the content was written, where that can differ."""
        return {}

    def message_of(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        """One message, as it was read where the wire says how."""

        def holds(message: Record) -> bool:
            return same_pieces(self.pieces_of(message, KnownIds(pieces)), pieces)

        return _restored(wire, self.plain_message(role, pieces, wire), holds)

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        return {"role": role, self.field: self.written(role, pieces)}

    def written(self, role: Role, pieces: Sequence[Piece]) -> list[Any]:
        """Pieces as blocks, as they were read where they still are what was read."""
        blocks: list[Any] = []
        position = 0
        while position < len(pieces):
            piece = pieces[position]
            wire = self.own(piece)
            group = pieces[position : position + wire.get("pieces", 1)]
            if len(group) > 1 and same_pieces(self.reread(role, wire["block"], piece), group):
                blocks.append(wire["block"])
                position += len(group)
                continue
            position += 1
            if (block := self.written_one(role, piece)) is not None:
                blocks.append(block)
        return blocks

    def written_one(self, role: Role, piece: Piece) -> Any:
        """One piece as a block; None when the provider has no place for it."""
        wire = self.own(piece)
        if isinstance(piece, Opaque):
            return wire.get("block")
        plain = self.write_block(role, piece)
        if plain is None:
            return None if "keys" not in wire else _restored(wire, {}, lambda block: True)
        return _restored(
            wire, plain, lambda block: same_pieces(self.reread(role, block, piece), (piece,))
        )

    def reread(self, role: Role, block: Any, piece: Piece) -> Sequence[Piece]:
        """What a block reads as that was read as this (first) piece before."""
        return self.pieces_in(role, block, KnownIds((piece,)))


SUMMARIES = (
    (f"<{SUMMARY_TAG}>", "kedgeline"),
    ("This session is being continued from a previous conversation", "claude-code"),
    ("<state_snapshot>", "gemini-cli"),
    ("Another language model started to solve this problem", "codex"),
)
"""How a client begins the summary that replaces what it compacted, and which client it is."""


class Reader:
    """Takes the messages of one conversation in a provider's shape."""

    def __init__(self, log: Log, session: int, shape: ProviderShape) -> None:
        self.assembler = Assembler(log, session=session)
        self.log, self.shape, self.name = log, shape, shape.name
        self.item = 0
        """The place of the next message in the list."""
        self.calls = Unnamed()

    def begin(self, body: Record) -> Record:
        """Read what stands beside the messages; the part to be kept for writing is returned."""
        self.log.fact("model", body.get("model"), turn=0)
        return self.shape.begin(self, body)

    def take(self, line: Line, message: Record) -> None:
        shape, role = self.shape, self.shape.turn_role(message)
        if role == "assistant":
            self.calls.forget()
        pieces = shape.pieces_of(message, self.calls)
        self.report(line, pieces)
        wire = shape.wire_of(message, pieces, item=self.item)
        self.item += 1
        if role == "assistant":
            self.answer(line, pieces, wire, shape.about(message))
        elif role == "system":
            self.assembler.system(line, pieces, wire=wire)
        else:
            self.hand_over(line, pieces, wire, shape.results_role)

    def report(self, line: Line, pieces: Sequence[Piece]) -> None:
        """Note compactions that others made, and blocks that nobody knows."""
        for piece in pieces:
            if isinstance(piece, Opaque):
                if piece.kind not in self.shape.handed_through:
                    self.log.ignored[f"{self.shape.part}/{piece.kind}"] += 1
                if piece.kind == "compaction":
                    summary = string(piece.wire["block"].get("content"))
                    self.assembler.compacted(line, by=self.name, summary=summary)
            elif isinstance(piece, Note):
                if self.shape.own(piece).get("type") == "compaction":
                    self.assembler.compacted(line, by=self.name, summary=piece.text)
                for opening, client in SUMMARIES:
                    # Ours leads a conversation: further on somebody imitates it.
                    leads = client != "kedgeline" or not self.assembler.next_turn
                    if leads and piece.text.lstrip().startswith(opening):
                        self.assembler.compacted(line, by=client, summary=piece.text)

    def answer(
        self, line: Line, pieces: Sequence[Piece], wire: Wire, about: dict[str, Any]
    ) -> None:
        self.assembler.assistant(line, pieces, wire=wire, **about)

    def hand_over(self, line: Line, pieces: Sequence[Piece], wire: Wire, role: Role) -> None:
        """What did not come from the model: prompts of the system, results to the turns they
        answer, all else to the next turn."""
        shares: dict[str, list[int]] = {}
        for number, piece in enumerate(pieces):
            prompt = self.shape.own(piece).get("type") == "system-prompt"
            whose = "tool" if isinstance(piece, ToolResult) else "system" if prompt else "user"
            shares.setdefault(whose, []).append(number)
        for whose, numbers in shares.items() or [("user", [])]:
            here = {**wire, "places": numbers} if len(shares) > 1 else wire
            share = [pieces[number] for number in numbers]
            if whose == "tool":
                results = [piece for piece in share if isinstance(piece, ToolResult)]
                self.assembler.results(line, results, wire=here, role=role)
            elif whose == "system":
                self.assembler.system(line, share, wire=here)
            else:
                self.assembler.user(line, share, wire=here)


def turns_in(
    found: Iterable[Conversation], log: Log, reader: Callable[[Log, int], Reader]
) -> Iterator[Turn]:
    """The turns of every conversation in a file."""
    for number, conversation in enumerate(found):
        log.session = conversation.session
        current = reader(log, conversation.session)
        body = current.begin(conversation.body)
        # A body belongs to one conversation; a file of many has none that is true of all.
        log.wire = {"provider": current.name, "body": body} if body and not number else None
        for line, message in conversation.messages:
            note_shape(log, line, message)
            current.take(line, message)
            yield from current.assembler.ready()
        yield from current.assembler.finish()


# Wires: what makes of a block written from values the one that was read.


def own(wire: Any, provider: str) -> Wire:
    """The wire if it is this provider's, else nothing."""
    return wire if isinstance(wire, dict) and wire.get("provider") == provider else {}


def seal(provider: str, block: Record, plain: Record | None, **marks: Any) -> Wire | None:
    """The wire that makes of the plain block the one that was read; None when they are the same."""
    plain = plain or {}
    fields = {k: v for k, v in block.items() if k not in plain or not _same(plain[k], v)}
    if fields or list(block) != list(plain):
        marks |= {"keys": list(block), "fields": fields}
    return {"provider": provider, **marks} if marks else None


def _restored(wire: Wire, plain: Record, holds: Callable[[Record], bool]) -> Record:
    """The block as it was read, if it still says what the values say; else the plain one."""
    if "keys" not in wire:
        return plain
    fields: Record = wire["fields"]
    both = {**plain, **fields}
    block = {key: both[key] for key in wire["keys"] if key in both}
    return block if holds(block) else {**fields, **plain}


def shaped(role: Role, parts: list[Any], wire: Wire, *, empty: str | None) -> Any:
    """Content for OpenAI: a list where it was one, or where the user's side holds several things;
    else one text."""
    if wire.get("shape") == "list":
        return parts
    texts = [part["text"] for part in parts if list(part) == ["type", "text"]]
    if len(texts) < len(parts) or (role == "user" and len(parts) > 1):
        return parts
    return "\n\n".join(texts) if texts else empty


def named_results(said: Sequence[SaidMessage], shape: ProviderShape) -> list[SaidMessage]:
    """Results with the names of their tools, which other providers do not write."""
    calls = {p.id: p for one in said for p in one.pieces if isinstance(p, ToolCall)}

    def named(piece: Piece) -> Piece:
        if not isinstance(piece, ToolResult) or (call := calls.get(piece.call_id)) is None:
            return piece
        wire = shape.own(piece)
        told = {"name": call.tool, "made_id": shape.is_made(call)}
        if (wire.get("name"), shape.is_made(piece)) != tuple(told.values()):
            wire = shape.own(shape.unsealed(piece))
        return replace(piece, wire={"provider": shape.name, **wire, **told})

    return [one._replace(pieces=tuple(map(named, one.pieces))) for one in said]


def reminder(text: str) -> str:
    """Text that nobody typed, marked as such where only the user's role is left for it."""
    inner = text.replace("</system-reminder>", "</system_reminder>")
    return f"<system-reminder>\n{inner}\n</system-reminder>"


def text_of_result(result: ToolResult) -> str:
    return result.output or result.error or ""


def id_of(piece: ToolCall | ToolResult) -> str:
    return piece.id if isinstance(piece, ToolCall) else piece.call_id


def text_in(piece: Piece) -> str | None:
    """What is said in words or in a note."""
    return piece.text if isinstance(piece, (Text, Note)) else None


def same_pieces(one: Iterable[Piece], other: Iterable[Piece]) -> bool:
    """Whether pieces say the same, whatever their wires and what was looked up elsewhere."""
    first, second = tuple(one), tuple(other)
    return len(first) == len(second) and all(
        type(a) is type(b) and (a == b if isinstance(a, Opaque) else _bare(a) == _bare(b))
        for a, b in zip(first, second, strict=True)
    )


def _bare(piece: Piece) -> Piece:
    if isinstance(piece, ToolResult):
        return replace(piece, wire=None, reason="", change="")
    return with_wire(piece, None)


def with_wire(piece: P, wire: Wire | None) -> P:
    return piece if piece.wire is wire else replace(piece, wire=wire)


def _same(one: Any, other: Any) -> bool:
    """The same on the wire: `1` is not `true`, and keys stand in one order."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
