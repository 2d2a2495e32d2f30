"""Lists of messages, wherever a file keeps them, and what all their readers do with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

from kedge.formats.intake.documents import document, first_lines, is_document
from kedge.formats.intake.fields import mapping, mislisted, misshapen
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record, json_records
from kedge.formats.intake.log import Log
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import SUMMARY_TAG, EarlierCompaction, Note, Source, Text, ToolResult, Turn, Wire

KEYS = ("messages", "input", "output", "contents", "items")
"""Where a document may keep its messages."""
SPOKEN = ("content", "parts", "tool_calls")
"""Fields of a message that hold blocks."""
SPOKEN_BY = {"tool": (), "reasoning": ("summary",)}
"""The same, for items of which others are known."""
OTHER_DOCUMENTS: tuple[frozenset[str], ...] = (
    frozenset({"loglines"}),
    frozenset({"trajectory"}),
    frozenset({"history"}),
    frozenset({"traj"}),
    frozenset({"info", "messages"}),
    frozenset({"trajectory_format"}),
    frozenset({"sessionId", "projectHash"}),
)
"""Keys of documents that hold messages in a format of their own."""
SUMMARIES = (
    (f"<{SUMMARY_TAG}>", "kedge"),
    ("This session is being continued from a previous conversation", "claude-code"),
    ("<state_snapshot>", "gemini-cli"),
    ("Another language model started to solve this problem", "codex"),
)
"""How a client begins the summary that replaces what it compacted, and which client it is."""


class Conversation(NamedTuple):
    session: int
    body: Record
    """What the document holds beside its messages."""
    messages: Iterator[tuple[Line, Record]]


class Reader(Protocol):
    """Takes the messages of one conversation."""

    assembler: Assembler

    def begin(self, body: Record) -> Record:
        """Read what stands beside the messages; the part to be kept for writing is returned."""

    def take(self, line: Line, message: Record) -> None: ...


class ReaderClass(Protocol):
    name: str

    def __call__(self, log: Log, session: int) -> Reader: ...


def turns_of(
    lines: Lines, log: Log, reader: ReaderClass, keys: Sequence[str] = KEYS
) -> Iterator[Turn]:
    """The turns of every conversation in a file."""
    for number, conversation in enumerate(conversations(lines, log, keys)):
        log.session = conversation.session
        current = reader(log, conversation.session)
        body = current.begin(conversation.body)
        # A body belongs to one conversation; a file of many has none that is true of all.
        log.wire = {"provider": reader.name, "body": body} if body and not number else None
        for line, message in conversation.messages:
            _note_shape(log, line, message)
            current.take(line, message)
            yield from current.assembler.ready()
        yield from current.assembler.finish()


def conversations(lines: Lines, log: Log, keys: Sequence[str] = KEYS) -> Iterator[Conversation]:
    """The conversations of a file: one in a list, a document or all lines; or one on each line."""
    taken, rest = first_lines(lines)
    if is_document(taken):
        yield from _documented(document(chain(taken, rest), log), log, keys)
        return
    records = json_records(chain(taken, rest), log, known=lambda r: _is_message(r, keys))
    several = False
    for line, record in records:
        body, listed = _divided(record, keys)
        if listed is not None:
            several = True
            yield Conversation(line.number, body, _items(listed, log, line._replace(data=b"")))
        elif several:
            log.broken("shape", line, "a line without messages")
        else:
            yield Conversation(0, {}, chain([(line, record)], records))
            return


def _documented(value: Any, log: Log, keys: Sequence[str]) -> Iterator[Conversation]:
    """A list of messages, an object that holds one, a list of such objects, or a single message."""
    several = value if isinstance(value, list) else [value]
    first = next((one for one in several if isinstance(one, dict)), {})
    if _divided(first, keys)[1] is None:
        single = isinstance(value, dict) and _is_message(value, keys)
        yield Conversation(0, {}, _items([value] if single else value, log))
        return
    for number, one in enumerate(several):
        body, listed = _divided(one, keys) if isinstance(one, dict) else ({}, None)
        if listed is None:
            log.broken("shape", Line(number), "an item without messages")
        else:
            place = Line(number) if len(several) > 1 else None
            yield Conversation(number, body, _items(listed, log, place))


def sampled(head: Head, keys: Sequence[str] = KEYS) -> tuple[Record, ...]:
    """Messages from the beginning of a file; none where it is a document of another format."""
    value = head.document if head.document is not None else list(head.lines)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        if any(mark <= first.keys() for mark in OTHER_DOCUMENTS):
            return ()
        listed = _divided(first, keys)[1]
        value = listed if listed is not None else value if isinstance(value, list) else [first]
    return tuple(item for item in value if isinstance(item, dict)) if value else ()


def body_of(head: Head) -> Record:
    """The document, or the first line, of a file that is not a bare list."""
    if isinstance(head.document, dict):
        return head.document
    return head.lines[0] if head.lines else {}


def blocks_in(messages: Sequence[Record], key: str = "content") -> list[Record]:
    """The blocks of messages whose content is a list."""
    return [
        block
        for message in messages
        if isinstance(message.get(key), list)
        for block in message[key]
        if isinstance(block, dict)
    ]


def types_in(blocks: Sequence[Record]) -> set[str]:
    """The types that blocks or items have."""
    return {kind for block in blocks if isinstance(kind := block.get("type"), str)}


def hand_over(assembler: Assembler, line: Line, pieces: Sequence[Piece], wire: Wire) -> None:
    """A user message: results to the turns they answer, everything else to the next turn."""
    answers = [n for n, piece in enumerate(pieces) if isinstance(piece, ToolResult)]
    words = [n for n, piece in enumerate(pieces) if not isinstance(piece, ToolResult)]
    split = bool(answers and words)
    if answers:
        results = [piece for piece in pieces if isinstance(piece, ToolResult)]
        wire_here = {**wire, "places": answers} if split else wire
        assembler.results(line, results, wire=wire_here, role="user")
    if words or not answers:
        wire_here = {**wire, "places": words} if split else wire
        assembler.user(line, [pieces[n] for n in words], wire=wire_here)


def note_summaries(log: Log, assembler: Assembler, line: Line, pieces: Sequence[Piece]) -> None:
    """Report the compactions that other systems made and whose summaries stand among the notes."""
    for piece in pieces:
        if not isinstance(piece, Note):
            continue
        for opening, client in SUMMARIES:
            ours = client == "kedge"  # ours leads a conversation: further on somebody imitates it
            if piece.text.lstrip().startswith(opening) and not (ours and assembler.next_turn):
                compacted(log, assembler, line, by=client, summary=piece.text)


def compacted(log: Log, assembler: Assembler, line: Line, *, by: str, summary: str = "") -> None:
    source = Source(first=line.number, last=line.number, start=line.start, end=line.end)
    log.compactions.append(
        EarlierCompaction(
            turn=assembler.next_turn,
            by=by,
            summary=summary,
            source=source,
            session=assembler.session,
        )
    )


def as_notes(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Words under a role that is neither the user's nor the model's."""
    return tuple(
        Note(kind="injected", text=piece.text, wire=piece.wire)
        if isinstance(piece, Text)
        else piece
        for piece in pieces
    )


class _Open(NamedTuple):
    tool: str
    id: str
    made: bool


class Unnamed:
    """Ids for calls where a provider leaves them out; results are paired by the order of names."""

    def __init__(self) -> None:
        self._made = 0
        self._open: list[_Open] = []

    def called(self, tool: str, call_id: str = "") -> str:
        """Note a call; without an id it gets one."""
        call = _Open(tool, call_id or self._make(), made=not call_id)
        self._open.append(call)
        return call.id

    def answered(self, tool: str, call_id: str = "") -> str:
        """The id of the call a result answers; a new one when no open call has its name.

        A result that names neither answers the first. One that has an id answers no call that has
        another.
        """
        by_id = [call for call in self._open if call.id == call_id]
        by_name = [
            call for call in self._open if tool in ("", call.tool) and (call.made or not call_id)
        ]
        found = next(iter(by_id or by_name), None)
        if found is None:
            return call_id or self._make()
        self._open.remove(found)
        return found.id

    def forget(self) -> None:
        """A new answer begins; results that come now are for its calls."""
        self._open.clear()

    def _make(self) -> str:
        self._made += 1
        return f"call-{self._made}"


def _note_shape(log: Log, line: Line, message: Record) -> None:
    """Report fields of a wrong type; a tool may give back any value."""
    role = message.get("role", message.get("type"))
    if not isinstance(role, (str, type(None))):
        log.broken("shape", line, f"a {type(role).__name__} in place of a role")
    inner = mapping(message.get("data", message.get("kwargs")))
    for key in SPOKEN_BY.get(role, SPOKEN) if isinstance(role, str) else SPOKEN:
        content = message.get(key, inner.get(key))
        wrong = misshapen(content, texts=True) if key == "content" else mislisted(content)
        if wrong:
            log.broken("shape", line, f"{key}: {wrong}")


def _divided(record: Record, keys: Sequence[str]) -> tuple[Record, Any]:
    """What stands beside the messages of a document, and the messages; None where it holds none."""
    if "role" in record:
        return record, None
    for key in keys:
        listed = record.get(key)
        if key in ("input", "output") and record.keys() & {"type", "call_id"}:
            continue  # the item of a call or its output, and no request or response
        if key == "input" and isinstance(listed, str):
            listed = [{"role": "user", "content": listed}]
        if isinstance(listed, list):
            return {name: value for name, value in record.items() if name != key}, listed
    return record, None


def _is_message(record: Record, keys: Sequence[str]) -> bool:
    return "role" in record or "type" in record or any(key in record for key in keys)


def _items(value: Any, log: Log, place: Line | None = None) -> Iterator[tuple[Line, Record]]:
    if not isinstance(value, list):
        if value is not None:
            detail = f"a {type(value).__name__}, not a list of messages"
            log.broken("shape", place or Line(0), detail)
        return
    for number, item in enumerate(value):
        line = place or Line(number)
        if isinstance(item, dict):
            yield line, item
        else:
            log.broken("shape", line, f"a {type(item).__name__}, not a message")
