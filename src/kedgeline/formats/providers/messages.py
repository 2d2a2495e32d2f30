"""Lists of messages, wherever a file keeps them, and what all their readers do with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kedgeline.formats.log import Line, Log
from kedgeline.formats.records import (
    Lines,
    Record,
    at,
    document,
    documented,
    json_records,
    mapping,
    mappings,
    mislisted,
    misshapen,
    numbered_items,
    string,
)
from kedgeline.formats.registry import FileHead, Unread, keys_of

KEYS = ("messages", "input", "output", "contents", "items")
"""Where a document may keep its messages."""
SPOKEN = ("content", "parts", "tool_calls")
"""Fields of a message that hold blocks."""
SPOKEN_BY = {"tool": (), "reasoning": ("summary",)}
"""The same, for items of which others are known."""
OTHER_DOCUMENTS = (
    *({"loglines"}, {"trajectory"}, {"history"}, {"traj"}, {"info", "messages"}),
    *({"trajectory_format"}, {"sessionId", "projectHash"}),
)
"""Keys of documents that hold messages in a format of their own."""
FOREIGN_FIELDS = {"contents": "Microsoft's Agent Framework", "blocks": "LlamaIndex"}
"""Fields in which frameworks keep what a message of theirs says, calls among it."""
FOREIGN_CALLS = (
    *("tool-call", "tool-result", "tool-error", "tool_call", "tool_call_result"),
    *("toolCall", "toolUse", "toolResult", "functionCall", "functionResponse"),
    *("function_call", "function_result"),
)
"""Types under which frameworks keep calls and results among the blocks of a message."""
CALL_BLOCKS = ("tool_use", "tool_result")
"""The same as only Anthropic's reader knows them."""


class Conversation(NamedTuple):
    session: int
    body: Record
    """What the document holds beside its messages."""
    messages: Iterator[tuple[Line, Record]]


def conversations(lines: Lines, log: Log, keys: Sequence[str] = KEYS) -> Iterator[Conversation]:
    """The conversations of a file: one in a list, a document or all lines; or one on each line."""
    whole, every = documented(lines)
    if whole:
        yield from _documented(document(every, log), log, keys)
        return
    records = json_records(every, log, known=lambda r: _is_message(r, keys))
    several = False
    for line, record in records:
        body, listed = _divided(record, keys)
        if listed is not None:
            several = True
            yield Conversation(line.number, body, _items(listed, log, line))
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


def sampled(head: FileHead, keys: Sequence[str], also: Collection[str] = ()) -> tuple[Record, ...]:
    """Messages from the beginning of a file; none where it is a document of another format, or of
    a framework whose calls would not be seen."""
    messages = first_messages(head, keys)
    return () if any(unread_framework(message, also) for message in messages) else messages


def foreign_in(head: FileHead) -> str:
    """What stands in the messages of a file that is a framework's own, with its place."""
    for number, message in enumerate(first_messages(head, KEYS)):
        if (found := unread_framework(message)) is not None:
            return f"{found.what} (messages[{number}]{found.place})"
    return ""


def unread_framework(message: Record, also: Collection[str] = ()) -> Unread | None:
    """What a message holds in the shape of a framework, or in blocks of these types `also`: it
    would pass for a message without calls."""
    if "role" not in message:
        return None
    for field, whose in FOREIGN_FIELDS.items():
        if isinstance(message.get(field), list):
            return Unread(f".{field}", f"`{field}`, as {whose} writes them")
    content = message.get("content")
    for number, block in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(block, dict):
            continue
        kind = block.get("type", "")
        if not kind:
            first = next(iter(block), "")
            what = f"a block {first!r} without a type, as Bedrock Converse and Haystack write them"
            return Unread(f".content[{number}]", what)
        if isinstance(kind, str) and kind in (*FOREIGN_CALLS, *also):
            return Unread(f".content[{number}]", f"a block of the type {kind!r}")
    return None


def unread_of(
    message: Record,
    roles: Collection[str],
    said: Collection[str],
    also: Collection[str] = (),
) -> Unread | None:
    """What of a message is lost on who knows these roles, and these fields that say something."""
    role = message.get("role")
    if role is None:
        return Unread("", f"a message without a role (its keys: {keys_of(message)})")
    if role not in tuple(roles):
        return Unread(".role", f"the role {role!r}", f"use one of {', '.join(roles)}")
    content = message.get("content")
    if not (content is None or isinstance(content, (str, list))):
        return Unread(".content", f"a content of the type {type(content).__name__}")
    if (found := unread_framework(message, also)) is not None or message.keys() & set(said):
        return found
    return Unread("", f"a message of {role!r} that says nothing (its keys: {keys_of(message)})")


def first_messages(head: FileHead, keys: Sequence[str]) -> tuple[Record, ...]:
    """Messages from the beginning of a file, whosever they are; none of another document."""
    value = head.document if head.document is not None else list(head.lines)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        if any(mark <= first.keys() for mark in OTHER_DOCUMENTS):
            return ()
        listed = _divided(first, keys)[1]
        value = listed if listed is not None else value if isinstance(value, list) else [first]
    return tuple(mappings(value))


def body_of(head: FileHead) -> Record:
    """The document, or the first line, of a file that is not a bare list."""
    if isinstance(head.document, dict):
        return head.document
    return head.lines[0] if head.lines else {}


def blocks_in(messages: Sequence[Record], key: str = "content") -> list[Record]:
    """The blocks of messages whose content is a list."""
    return [block for message in messages for block in mappings(message.get(key))]


def types_in(blocks: Sequence[Record]) -> set[str]:
    """The types that blocks or items have."""
    return {kind for block in blocks if isinstance(kind := block.get("type"), str)}


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


def note_shape(log: Log, line: Line, message: Record) -> None:
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
    if value is not None and not isinstance(value, list):
        detail = f"a {type(value).__name__}, not a list of messages"
        log.broken("shape", place or Line(0), detail)
    return numbered_items(value, log, what="a message", place=place)


# What a list in a program is given back with: messages made, and outputs changed.


@runtime_checkable
class Speaks(Protocol):
    """A format that is only read, and of which single messages can be made all the same."""

    def spoken(self, text: str) -> Record:
        """A message in the user's voice."""


class Outputs(NamedTuple):
    """Where the messages of a format hold what tools gave back."""

    blocks: str
    """The field of a message that holds its blocks; empty where a result is a message."""
    kinds: Collection[str]
    """The type of such a block or role of such a message, or the key under which it stands."""
    call_id: str
    field: str
    value: Callable[[str], object] = str
    """What a text is in that field."""
    repeated: str = ""
    """A field that says the same once more."""

    def of(self, message: Record) -> Iterator[tuple[str, Record]]:
        """The results of a message: of which call each is, and what holds it."""
        inner = mapping(message.get("data", message.get("kwargs"))) or message
        for block in mappings(message.get(self.blocks)) if self.blocks else [inner]:
            told = (
                block.get("type"),
                block.get("part_kind"),
                block.get("role"),
                message.get("type"),
            )
            under = (block[key] for key in self.kinds if isinstance(block.get(key), dict))
            held = block if any(kind in self.kinds for kind in told) else next(under, None)
            if held is not None:
                yield string(at(held, self.call_id)), held
