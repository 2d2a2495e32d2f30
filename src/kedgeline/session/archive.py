"""The archive: originals as bytes, large strings apart by hash, found by passages and by marks."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import msgspec

from kedgeline.errors import NoSuchSession, StoreDamaged, UserError
from kedgeline.model import ToolCall, ToolResult, Turn, Value
from kedgeline.store import Entry, Passage, Store
from kedgeline.store.protocol import Who

# A text cut into pieces of about one size, each with the place where it begins.

SIZE = 2_000
"""Characters of a piece: about a screen. What must stand together to be found stands on one, and a
hit in a long output leads to its place."""
OVERLAP = 160
"""Characters that a piece repeats at most of the one before, from the beginning of a word on, so
that words on both sides of a cut are still found as a phrase. Costs a twelfth of the index."""
LEAST_DATA = 512
"""Characters without a break from which on a run in a long line is data (a picture in base64):
nobody looks for it, and it would fill the index."""

_DATA = re.compile(rf"[A-Za-z0-9+/=_-]{{{LEAST_DATA},}}")
_BLANK = re.compile(r"\s")


def text_pieces(text: str) -> Iterator[tuple[int, str]]:
    """Pieces with their places, cut at line ends; long lines at blanks, or where they must be."""
    at = floor = 0
    while at < len(text):
        end, behind = _end(text, at)
        begin = _back(text, at, floor)
        if end > at and not text[at:end].isspace():
            yield begin, text[begin:end]
        if behind > end:
            floor = behind
        at = behind


def _end(text: str, at: int) -> tuple[int, int]:
    """Where the piece ends whose new part begins here, and where the next one goes on."""
    most = at + SIZE - OVERLAP
    if most >= len(text):
        most = len(text)
    elif line_end := text.rfind("\n", at, most) + 1:
        return line_end, line_end
    if text.find("\n", at, most) == -1 and (run := _DATA.search(text, at, most)) is not None:
        whole = _DATA.match(text, run.start())
        return run.start(), whole.end() if whole else run.end()
    if most < len(text) and (blank := text.rfind(" ", at, most) + 1):
        return blank, blank
    return most, most


def _back(text: str, at: int, floor: int) -> int:
    """Where a piece begins that repeats the end of the one before, at the beginning of a word."""
    begin = max(floor, at - OVERLAP)
    if begin == floor:
        return begin
    blank = _BLANK.search(text, begin, at)
    return blank.end() if blank else begin


# What of a turn is searched: each of its texts in passages, and each text by its name.

OUTPUT = "output:"
"""How the mark, and the key, of an output begins that was kept apart from its turn."""
REPEATED = 1_000
"""Characters of a call's files, and of its command, on all passages of a text but the first, which
has them whole: a patch may name a thousand files, and its output have a thousand passages."""

Clean = Callable[[str], str]


def as_it_is(text: str) -> str:
    return text


def passages_of(turn: Turn, clean: Clean = as_it_is) -> Iterator[Passage]:
    """Every text of a turn that a person could look for, in passages of about one size.

    `clean` takes out what must not stand in an index. It is shown each text whole, as what it looks
    for may be longer than a passage; `start` counts in what it leaves."""
    for text in _texts(turn):
        files, command = clean(text.files), clean(text.command)
        for place, piece in text_pieces(clean(text.text)):
            yield Passage(
                text=piece,
                who=text.who,
                field=text.field,
                start=place,
                files=files,
                command=command,
                error=text.error,
            )
            files, command = _first_lines(files), command[:REPEATED]


def field_text(turn: Turn, field: str) -> str:
    """The text of a turn by its name; empty where there is none."""
    plain = {"user": turn.user_message, "answer": turn.assistant_response}
    if field in plain or field == "thinking":
        return plain.get(field, turn.thinking)
    name, _, place = field.partition(":")
    if name not in _LISTS or not place.isdecimal():
        return ""
    items: Sequence[Any] = getattr(turn, _LISTS[name][0])
    return _LISTS[name][1](items[int(place)]) if int(place) < len(items) else ""


def call_text(call: ToolCall) -> str:
    """A call as a person would write it down: the tool, and each parameter on a line of its own."""
    lines = [call.tool]
    left: list[tuple[str, Any]] = [("", call.parameters)]
    while left:  # not by recursion: what a model writes may be nested deeply
        name, value = left.pop()
        inner = _inner(name, value)
        if inner is None:
            lines.append(f"{name}: {_leaf(value)}")
        else:
            left.extend(reversed(inner))
    return "\n".join(lines)


def command_of(call: ToolCall) -> str:
    """The shell command of a call; empty where it runs none."""
    if call.verb != "run":
        return ""
    given = call.parameters.get("command", call.parameters.get("cmd"))
    if isinstance(given, (list, tuple)):
        return " ".join(word for word in given if isinstance(word, str))
    return given if isinstance(given, str) else ""


class _Text(NamedTuple):
    field: str
    text: str
    who: Who
    files: str = ""
    command: str = ""
    error: bool = False


def _texts(turn: Turn) -> Iterator[_Text]:
    yield _Text("user", turn.user_message, "user")
    for place, note in enumerate(turn.notes):
        command = note.text if note.kind == "shell" else ""
        yield _Text(f"note:{place}", note.text, "client", command=command)
    yield _Text("thinking", turn.thinking, "agent")
    yield _Text("answer", turn.assistant_response, "agent")
    failed = {result.call_id for result in turn.tool_results if result.failed}
    for place, call in enumerate(turn.tool_calls):
        text = _Text(f"call:{place}", call_text(call), "agent", error=call.id in failed)
        yield _about(text, call)
    calls = {call.id: call for call in reversed(turn.tool_calls)}
    for place, result in enumerate(turn.tool_results):
        for text in _told(place, result):
            yield _about(text, calls.get(result.call_id))


def _told(place: int, result: ToolResult) -> Iterator[_Text]:
    yield _Text(f"result:{place}", result.output, "tool", error=result.failed)
    if result.error and result.error not in result.output:
        yield _Text(f"error:{place}", result.error, "tool", error=result.failed)
    yield _Text(f"reason:{place}", result.reason, "user", error=result.failed)


def _about(text: _Text, call: ToolCall | None) -> _Text:
    if call is None:
        return text
    return text._replace(files="\n".join(call.paths()), command=command_of(call))


def _first_lines(text: str) -> str:
    """As many whole lines as are repeated."""
    return text if len(text) <= REPEATED else text[: text.rfind("\n", 0, REPEATED) + 1]


def _inner(name: str, value: Any) -> list[tuple[str, Any]] | None:
    """What a value is made of, each with its full name; None for one that is not."""
    under = f"{name}." if name else ""
    if isinstance(value, dict):
        return [(f"{under}{key}", inner) for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        if name in ("command", "cmd") and all(isinstance(word, str) for word in value):
            return [(name, " ".join(value))]
        return [(f"{under}{place}", inner) for place, inner in enumerate(value)]
    return None


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    return json.dumps(value, default=str)


_LISTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "note": ("notes", lambda note: note.text),
    "call": ("tool_calls", call_text),
    "result": ("tool_results", lambda result: result.output),
    "error": ("tool_results", lambda result: result.error or ""),
    "reason": ("tool_results", lambda result: result.reason),
}


# Values as bytes: large strings apart, by their hash, so that what repeats is kept once.

T = TypeVar("T", bound=Value)

LARGE = 2_048
"""Characters from which on a string is kept apart. A shorter one repeated costs less than the row
it would be kept in."""
LEVEL = 3
"""Of zstandard: 4 times smaller at some 300 MB/s; higher levels save little on such text."""
LARGEST = 2 << 30
"""Bytes that one packed value may have when it is unpacked: more is not of our making."""
SHOWN = 12
"""Letters of a hash in a message."""
PLAIN, ODD = b"1", b"2"
"""First byte of what is packed: JSON, or JSON with what most readers of it refuse (half a surrogate
pair, numbers beyond 64 bits, NaN)."""
REFERENCE, TEXT = "\0@", "\0="
"""What a string begins with that stands for a blob, and one that began with NUL itself."""

Blob = Callable[[str], bytes | None]
"""The packed bytes of a hash; None where they are gone."""

_local = threading.local()
_working_out = threading.Lock()
_worked_out: set[type[Value]] = set()


class Packed(NamedTuple):
    data: bytes
    blobs: dict[str, bytes]
    """What it refers to: packed bytes by hash."""
    id: str
    """Hash of what it says."""


def packed(value: Value, *, beside: Collection[str] = ()) -> Packed:
    """A value made ready to be stored. `beside` are fields that are no part of what it says, such
    as its place among others."""
    division = _Division()
    tree = division.divided(msgspec.to_builtins(value))
    data = _encoded(tree, odd=division.odd)
    blobs = {hash: compressed(text) for hash, text in division.texts.items()}
    return Packed(compressed(data), blobs, _id(tree, beside, odd=division.odd))


def content_id(value: Value, *, beside: Collection[str] = ()) -> str:
    """The id that the value has when it is packed."""
    division = _Division()
    tree = division.divided(msgspec.to_builtins(value))
    return _id(tree, beside, odd=division.odd)


def _id(tree: dict[str, Any], beside: Collection[str], *, odd: bool) -> str:
    said = {name: inner for name, inner in tree.items() if name not in beside}
    return hash_of(_encoded(said, odd=odd))


def _encoded(tree: Any, *, odd: bool) -> bytes:
    if odd:
        return ODD + json.dumps(tree, separators=(",", ":")).encode("ascii")
    return PLAIN + msgspec.json.encode(tree)


def unpacked(data: bytes, type: type[T], blob: Blob) -> T:
    """The value again, equal to what was packed. `Damaged` where it, or a text that it refers to,
    is not what was written."""
    return _converted(data, type, lambda hash: checked_text(hash, blob(hash)))


def readable(data: bytes, type: type[T], blob: Blob) -> T:
    """The value with a mark in the place of each text that is gone or damaged: the rest of it can
    still be read. `Damaged` only where the value itself is."""

    def text(hash: str) -> str:
        try:
            return checked_text(hash, blob(hash))
        except StoreDamaged as error:
            return f"[{error.why}; `kedgeline fsck` says more]"

    return _converted(data, type, text)


def _converted(data: bytes, type: type[T], text: Callable[[str], str]) -> T:
    _work_out(type)
    try:
        return msgspec.convert(_restored(tree_of(data), text), type)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Damaged(str(error)) from error


def _work_out(kind: type[Value]) -> None:
    """msgspec works a type out when it is first used. Two threads that do so at once with a type
    that refers to itself bring the process down; so one does it for all."""
    if kind not in _worked_out:
        with _working_out:
            msgspec.json.Decoder(kind)
            _worked_out.add(kind)


def tree_of(data: bytes) -> Any:
    """What packed bytes say, as plain values in which references stand for large strings."""
    raw = decompressed(data)
    if raw[:1] not in (PLAIN, ODD):
        raise Damaged("it is not packed as we pack")
    try:
        return json.loads(raw[1:]) if raw[:1] == ODD else msgspec.json.decode(raw[1:])
    except (ValueError, RecursionError) as error:
        raise Damaged(str(error)) from error


def packed_id(data: bytes, *, beside: Collection[str] = ()) -> str:
    """The id of what packed bytes say: that of the value they were made from, whatever fields its
    type has got since."""
    tree = tree_of(data)
    if not isinstance(tree, dict):
        raise Damaged("it is not a value that kedgeline wrote")
    return _id(tree, beside, odd=decompressed(data)[:1] == ODD)


def compressed(data: bytes) -> bytes:
    return bytes(_tools().compressor.compress(data))


def decompressed(data: bytes, *, largest: int = LARGEST) -> bytes:
    import zstandard  # with the first value that is packed or unpacked

    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= largest:
            raise Damaged("its size is implausible")
        return bytes(_tools().decompressor.decompress(data))
    except zstandard.ZstdError as error:
        raise Damaged(str(error)) from error


def hash_of(text: bytes) -> str:
    return sha256(text).hexdigest()


def as_bytes(text: str) -> bytes:
    """A string as it is hashed and kept: half a surrogate pair keeps its place."""
    return text.encode("utf-8", "surrogatepass")


def checked_text(hash: str, data: bytes | None) -> str:
    """The text that a blob keeps under a hash."""
    if data is None:
        raise Damaged(f"{hash[:SHOWN]} is gone")
    raw = decompressed(data)
    if hash_of(raw) != hash:
        raise Damaged(f"{hash[:SHOWN]} is not what was written")
    return raw.decode("utf-8", "surrogatepass")


class Damaged(StoreDamaged):
    """An original is not what was written."""

    def __init__(self, why: str) -> None:
        super().__init__("archive", f"an original is damaged: {why}")


class _Division:
    """Walks a tree of plain values and puts large strings aside."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.odd = False

    def divided(self, tree: Any) -> Any:
        """The tree, changed where it stands. Not by recursion: what a model writes may be nested as
        deeply as it can be read."""
        top = [tree]
        left: list[Any] = [top]
        while left:
            values = left.pop()
            if isinstance(values, dict):
                self.odd = self.odd or not all(map(_is_encodable, values))
            for place, inner in values.items() if isinstance(values, dict) else enumerate(values):
                if isinstance(inner, str):  # most are short and plain: a record has 100,000
                    if len(inner) >= LARGE or not inner.isascii() or inner.startswith("\0"):
                        values[place] = self._text(inner)
                elif isinstance(inner, (dict, list, tuple)):
                    values[place] = inner if isinstance(inner, dict) else list(inner)
                    left.append(values[place])
                elif isinstance(inner, float):
                    self.odd = self.odd or not math.isfinite(inner)
                elif isinstance(inner, int):
                    self.odd = self.odd or not -(1 << 63) <= inner < 1 << 64
        return top[0]

    def _text(self, text: str) -> str:
        if len(text) >= LARGE:
            raw = as_bytes(text)
            hash = hash_of(raw)
            self.texts[hash] = raw
            return REFERENCE + hash
        self.odd = self.odd or not _is_encodable(text)
        return TEXT + text if text.startswith("\0") else text


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _restored(tree: Any, text: Callable[[str], str]) -> Any:
    """The tree with each text in its place. It is changed where it stands: the record of a long
    session has some hundred thousand values, and few of them are references."""
    top = [tree]
    left: list[Any] = [top]
    while left:
        values = left.pop()
        places = values.items() if isinstance(values, dict) else enumerate(values)
        for place, inner in places:
            if isinstance(inner, str):
                if inner.startswith("\0"):
                    values[place] = _said(inner, text)
            elif isinstance(inner, (dict, list)):
                left.append(inner)
    return top[0]


def _said(value: str, text: Callable[[str], str]) -> str:
    if value.startswith(TEXT):
        return value.removeprefix(TEXT)
    return text(value.removeprefix(REFERENCE))


def references(data: bytes) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The hashes that packed bytes refer to, each with the path of fields that leads to it."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), tree_of(data))]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*path, name), inner) for name, inner in value.items())
        elif isinstance(value, list):
            stack.extend(((*path, place), inner) for place, inner in enumerate(value))
        elif isinstance(value, str) and value.startswith(REFERENCE):
            yield path, value.removeprefix(REFERENCE)


class _Tools:
    def __init__(self) -> None:
        import zstandard

        # With a checksum: a flipped bit is not taken for another text.
        self.compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


def _tools() -> _Tools:
    """Those of this thread: they must not be shared."""
    found: _Tools | None = getattr(_local, "tools", None)
    if found is None:
        found = _local.tools = _Tools()
    return found


# Originals by their marks.


class Original(Value, frozen=True):
    """A turn as it was, or one call of it."""

    session: str
    mark: str
    turn: Turn
    call: ToolCall | None = None
    """The one that was asked for; None for the whole turn, or for a result without its call."""
    result: ToolResult | None = None

    @property
    def text(self) -> str:
        """What the tool gave back; empty for a whole turn."""
        return "" if self.result is None else self.result.output or self.result.error or ""


SPOKEN = ("turn", "words", "rewound")
"""Entries that hold a turn."""
NEAR = 5
"""Names shown where one is not known."""
SAME = 200
"""Characters at the beginning of an output by which a shorter one in its turn is known to be of it.
"""

_PLAIN = re.compile(r"(?:t?(\d{1,9})|#(\d{1,12}))(?:\.(\d{1,6})|:(.+))?", re.DOTALL)
_THREAD = re.compile(r"(.+)/(t\d{1,9}.*)", re.DOTALL)


class _Mark(NamedTuple):
    thread: str
    turn: int | None
    number: int | None
    place: int | None
    call_id: str


def original(store: Store, session: str, mark: str) -> Original:
    """A turn by its mark, t12, or what one call of it gave back: t12.0 is the first, t12:toolu_1
    the one with that id. A sub-agent's turn is explore-1/t3; #57 is the entry of that number, also
    where its turn no longer stands."""
    check_session(store, session)
    if mark.startswith(OUTPUT):
        return _kept_apart(store, session, mark)
    asked = _parsed(mark)
    entry = _entry(store, session, asked)
    turn = unpacked(entry.data, Turn, store.blob)
    if asked.place is None and not asked.call_id:
        return Original(session=session, mark=mark, turn=turn)
    call, result = _called(turn, asked, mark)
    if result is not None and store.keyed(session, f"{OUTPUT}{result.call_id}") is not None:
        whole = _kept_apart(store, session, f"{OUTPUT}{result.call_id}").result
        # providers begin their ids anew: it may be of another call
        if whole is not None and whole.output[:SAME] in result.output:
            result = whole
    return Original(session=session, mark=mark, turn=turn, call=call, result=result)


def _kept_apart(store: Store, session: str, mark: str) -> Original:
    """What a call gave back, where something shorter stands in its turn."""
    number = store.keyed(session, mark)
    entry = store.entry(session, number) if number is not None else None
    if entry is None:
        raise UserError(f"session {session!r} has kept no {mark[:80]!r} apart from its turn")
    turn = unpacked(entry.data, Turn, store.blob)
    return Original(
        session=session, mark=mark, turn=turn, call=turn.tool_calls[0], result=turn.tool_results[0]
    )


def check_session(store: Store, session: str) -> None:
    if store.head(session).number == 0:
        names = [info.name for info in store.sessions()]
        raise NoSuchSession(session, known=tuple(get_close_matches(session, names, n=NEAR)))


def _parsed(mark: str) -> _Mark:
    text = mark.strip().removeprefix("[").removesuffix("]")
    thread = ""
    found = _PLAIN.fullmatch(text)
    if found is None and (inside := _THREAD.fullmatch(text)) is not None:
        thread, found = inside[1], _PLAIN.fullmatch(inside[2])
    if found is None:
        raise UserError(f"{mark[:80]!r} does not name a turn; write t12, or t12.0 for a call of it")
    turn, number, place, call_id = found.groups()
    return _Mark(thread, _number(turn), _number(number), _number(place), call_id or "")


def _number(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


def _entry(store: Store, session: str, asked: _Mark) -> Entry:
    if asked.number is not None:
        entry = store.entry(session, asked.number)
        if entry is None or entry.kind not in SPOKEN:
            raise UserError(f"entry {asked.number} of session {session!r} is not a turn")
        return entry
    index = asked.turn or 0
    places = store.places(session, thread=asked.thread, first=index, last=index)
    entry = store.entry(session, places[0].number) if places else None
    if entry is None:
        last = store.last_place(session, thread=asked.thread)
        there = f"the last is t{last.index}" if last else "it has none"
        whose = f" of {asked.thread!r}" if asked.thread else ""
        raise UserError(f"session {session!r} has no turn t{index}{whose}; {there}")
    return entry


def _called(turn: Turn, asked: _Mark, mark: str) -> tuple[ToolCall | None, ToolResult | None]:
    calls = turn.tool_calls
    if asked.place is not None and asked.place < len(calls):
        return calls[asked.place], turn.result_of(calls[asked.place])
    if asked.call_id:
        call = next((call for call in calls if call.id == asked.call_id), None)
        results = turn.tool_results
        result = next((one for one in results if one.call_id == asked.call_id), None)
        if call is not None or result is not None:
            return call, result
    there = f"it has t{turn.index}.0 to t{turn.index}.{len(calls) - 1}" if calls else "it made none"
    raise UserError(f"{mark[:80]!r} is not a call of turn t{turn.index}; {there}")
