"""JSON documents: read whole, and as far as they go when they are cut off."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

import msgspec

from kedgeline.formats.intake.lines import TOLERANT, Line, Lines, Record, decoded, sound
from kedgeline.model import (
    Change,
    Damage,
    DamageKind,
    EarlierCompaction,
    Message,
    SessionFacts,
    Turn,
    Wire,
)

# Which call started which sub-agent: as the client says it, else by the words it began with.

PROMPTS_KEPT = 256
"""Prompts of which a call or a sub-agent is not linked yet; more never wait at once."""
ALIKE_KEPT = 256
"""Calls, and sub-agents, with one prompt that wait for each other."""

Waiting = dict[str, list[tuple[str, str]]]
"""By a prompt, those that wait: when, and who."""


class Links:
    """What the files of one session say, whichever of them is read first."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        """Sub-agents to calls, as the client says."""
        self._linked: set[str] = set()
        """The calls among them."""
        self._asked: Waiting = {}
        """Calls that no sub-agent is known for, by their prompt, with their time."""
        self._begun: Waiting = {}
        """Sub-agents that no call is known for, by the words they began with, with their time."""

    def told(self, agent: str, call: str) -> None:
        """The client names both."""
        if agent not in self._told:
            self._told[agent] = call
            self._linked.add(call)
            _forget(self._asked, call)
            _forget(self._begun, agent)

    def asked(self, call: str, prompt: str, time: str = "") -> None:
        """A call for a sub-agent; until it ends, and if it fails, nothing else tells of which."""
        if call not in self._linked and prompt.strip():
            _keep(self._asked, prompt, (time, call))

    def begun(self, agent: str, words: str, time: str = "") -> None:
        """A sub-agent's conversation begins."""
        if agent not in self._told and words.strip():
            _keep(self._begun, words, (time, agent))

    def all(self) -> dict[str, str]:
        """Sub-agents to calls. Where several were asked the same, they began in that order."""
        found = dict(self._told)
        for prompt, begun in self._begun.items():
            pairs = zip(sorted(begun), sorted(self._asked.get(prompt, ())), strict=False)
            found |= {agent: call for (_, agent), (_, call) in pairs}
        return found


def _keep(known: Waiting, words: str, one: tuple[str, str]) -> None:
    key = blake2b(words.strip().encode("utf-8", "replace"), digest_size=16).hexdigest()
    if key not in known and len(known) >= PROMPTS_KEPT:
        del known[next(iter(known))]
    alike = known.setdefault(key, [])
    if one not in alike and len(alike) < ALIKE_KEPT:
        alike.append(one)


def _forget(known: Waiting, one: str) -> None:
    for key, alike in [*known.items()]:
        left = [waiting for waiting in alike if waiting[1] != one]
        if left:
            known[key] = left
        else:
            del known[key]


# What a reader finds beside the turns: damage, session facts, earlier compactions, links.

DAMAGE_KEPT = 1_000
"""Entries kept with their position; a file broken in more places is only counted further, so
that memory does not grow with the damage."""


class Log:
    """Filled while turns are read; complete once the reader is exhausted."""

    def __init__(self) -> None:
        self.file = ""
        """The file being read, when it is one beside the session's own."""
        self.session = 0
        """The session being read, where one file holds several."""
        self.damage: list[Damage] = []
        self.damage_counts: Counter[DamageKind] = Counter()
        self.ignored: Counter[str] = Counter()
        """Record types nobody knows, and how often they came."""
        self.changes: list[Change] = []
        self.compactions: list[EarlierCompaction] = []
        self.heads: dict[int, list[Message]] = {}
        """System messages before the first turn, by session."""
        self.pending: dict[tuple[int, str], Turn] = {}
        """Unanswered words, by session and agent."""
        self.lengths: dict[tuple[int, str], int] = {}
        """How many turns stand in the end, by session and agent; fewer than were read after a
        rewind."""
        self.links = Links()
        self.rewound = 0
        self.wire: Wire | None = None
        self._latest: dict[tuple[int, str], str] = {}

    def beside(self, file: str) -> Log:
        """For a file beside the session's own. Sub-agents speak in it: what it says of its own
        session is not said of this one."""
        other = Log()
        other.file, other.links = file, self.links
        other.damage, other.damage_counts, other.ignored = (
            self.damage,
            self.damage_counts,
            self.ignored,
        )
        return other

    def take_in(self, other: Log) -> None:
        """What a file beside the session's own said of sub-agents, once it is read."""
        for key, length in other.lengths.items():
            if key[1]:
                self.lengths[key] = length
        for key, words in other.pending.items():
            if key[1]:
                self.pending[key] = words

    @property
    def delegated_by(self) -> dict[str, str]:
        """Sub-agent id to the call that started it."""
        return self.links.all()

    def broken(self, kind: DamageKind, line: Line, detail: str) -> None:
        self.damage_counts[kind] += 1
        if len(self.damage) < DAMAGE_KEPT:
            self.damage.append(
                Damage(
                    kind=kind, line=line.number, offset=line.start, detail=detail, file=self.file
                )
            )

    def fact(self, name: str, value: object, *, turn: int) -> None:
        """Record a session fact; only a change is kept."""
        if isinstance(value, str) and value and self.latest(name) != value:
            self._latest[self.session, name] = value
            change = Change(turn=turn, name=name, value=value, session=self.session)  # type: ignore[arg-type]
            self.changes.append(change)

    def latest(self, name: str) -> str:
        return self._latest.get((self.session, name), "")

    def facts(self, session: int | None = None) -> SessionFacts:
        """The facts of one session, or of all a file holds."""
        return SessionFacts(
            changes=tuple(c for c in self.changes if session is None or c.session == session)
        )


_WHOLE = Line(0, 0, 0)
_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_WHOLE_NUMBER = re.compile(r"\d[\s,\]}]|[el]")
"""The last letter of a number, or of a word such as true, and what may stand behind it."""
_SKIPPED = b"\xef\xbb\xbf\0"
_NOTHING = _SKIPPED + b" \t\r\n"
OPENING_LINES = 8
"""Written lines looked at to tell a document from records; a few of them may be damaged."""
DEEPEST = 200
"""Values inside of values that a record may have. No tool takes so many, and whoever looks through
them goes down once or twice for each."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},]', re.DOTALL)
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def document(lines: Lines, log: Log) -> Any:
    """The JSON value a file holds; of a cut-off file, the part that is complete."""
    data = b"".join(lines)
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return _recovered(data, log)


def first_lines(lines: Lines) -> tuple[list[bytes], Iterator[bytes]]:
    """The first lines, enough to tell a document from records, and all of them again. Who has told
    lets go of the first: each of them may be large, and is given once."""
    iterator = iter(lines)
    taken: list[bytes] = []
    written = 0
    for line in iterator:
        taken.append(line)
        written += bool(line.lstrip(_NOTHING))
        if written == OPENING_LINES:
            break
    return taken, chain(given_back(deque(taken)), iterator)


def given_back(taken: deque[bytes]) -> Iterator[bytes]:
    """Each line once; none is held when it was given."""
    while taken:
        yield taken.popleft()


def is_document(opened: Sequence[bytes]) -> bool:
    """Whether a file is one JSON value rather than one on each line, also when it is damaged."""
    written = [line.lstrip(_SKIPPED) for line in opened if line.lstrip(_NOTHING)]
    first, *others = written or [b""]
    begins = first.lstrip()[:1]
    if begins not in (b"{", b"[") or not others:
        return begins in (b"{", b"[")
    if _is_whole(first):
        return begins == b"[" and not any(line.startswith(b'{"') for line in others)
    if begins == b"{" and others[0].startswith(b'{"'):
        return False  # a torn record and the next one; a document would go on with a key
    # Inside a document a whole object at the beginning of a line has a comma behind it, but for
    # the last one of a list.
    return sum(line.startswith(b'{"') and _is_whole(line) for line in others) < 2


def _is_whole(line: bytes) -> bool:
    try:
        _decode_raw(line)
    except (ValueError, RecursionError):
        return False
    return True


def _recovered(data: bytes, log: Log) -> Any:
    text = decoded(data, _WHOLE, log)
    try:
        return sound(_whole_or_closed(text, log), _WHOLE, log)
    except RecursionError:
        return sound(_whole_or_closed(without_deep(text, log), log), _WHOLE, log)


def without_deep(text: str, log: Log) -> str:
    """A document without the records in which a value is nested deeper than can be read. A record
    is an item of the first list on the way to it, or a field of the document."""
    kept: list[str] = []
    at = 0
    for number, start, end in _deep_records(text):
        log.broken("too_deep", Line(number), "nested deeper than can be read")
        kept += (text[at:start], "null")
        at = end
    return "".join((*kept, text[at:]))


def _deep_records(text: str) -> Iterator[tuple[int, int, int]]:
    """Each with its number in its list, where it begins and where it ends."""
    opened: list[str] = []
    records = 0
    """How deep the records lie; 0 where no list was opened yet."""
    number, start, deep = 0, 0, False
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "[{":
            opened.append(token)
            if token == "[" and (not records or len(opened) <= records):
                records, number, start, deep = len(opened), 0, found.end(), False
            deep = deep or len(opened) > DEEPEST
        elif token in "]}":
            if len(opened) == records and deep:
                yield number, start, found.start()
                deep = False
            opened[-1:] = []
        elif token == "," and len(opened) == records:
            if deep:
                yield number, start, found.start()
            number, start, deep = number + 1, found.end(), False
    if deep:
        yield number, start, len(text)


def _whole_or_closed(text: str, log: Log) -> Any:
    try:
        return TOLERANT.decode(text)
    except ValueError as error:
        log.broken("torn", _WHOLE, f"not complete: {error}")
        return closed(text)


def closed(text: str) -> Any:
    """The longest readable beginning of a JSON text, its open brackets closed; None if none is."""
    root: list[Any] = []
    open_ones: list[Any] = [root]
    position = 0
    try:
        while position >= 0 and not (root and len(open_ones) == 1):
            position = _read_on(text, position, open_ones)
    except RecursionError:
        return None
    return root[0] if root else None


def _read_on(text: str, position: int, open_ones: list[Any]) -> int:
    """Read the next thing into the innermost open value; where it ends, or -1 if it is not whole.

    Of what cannot be read whole, only the bracket is taken: what stands in it comes next."""
    inner = open_ones[-1]
    position = _behind(_BETWEEN, text, position)
    if text[position : position + 1] == ("}" if isinstance(inner, dict) else "]"):
        open_ones.pop()
        return position + 1 if open_ones else -1
    name = ""
    if isinstance(inner, dict):
        name, position = _name_at(text, position)
        if position < 0:
            return -1
    try:
        value, end = TOLERANT.raw_decode(text, position)
    except json.JSONDecodeError:
        if text[position : position + 1] not in ("{", "["):
            return -1
        value, end = {} if text[position] == "{" else [], position + 1
        open_ones.append(value)
    if isinstance(value, (int, float)) and not _WHOLE_NUMBER.match(text, end - 1):
        return -1  # it may go on behind the cut
    if isinstance(inner, dict):
        inner[name] = value
    else:
        inner.append(value)
    return end


def _name_at(text: str, position: int) -> tuple[str, int]:
    """The name of a field, and where its value begins; -1 if no name stands here."""
    try:
        name, end = TOLERANT.raw_decode(text, position)
    except json.JSONDecodeError:
        return "", -1
    begins = _behind(_COLON, text, end)
    return (name, begins) if isinstance(name, str) and begins > end else ("", -1)


def _behind(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


# The beginning of a file, as much of it as a format needs to recognise itself.

HEAD_BYTES = 256 * 1024
"""Enough for twenty ordinary records. A head ends with a line: records are seen whole."""
MOST_BYTES = 64 << 20
"""Of a file in which no format is seen yet: a system prompt or a list of tools may come before the
first message, and have any size."""
LONG_TEXT, ESCAPE = 4_096, 6
"""Bytes of a text in a record that is larger than a head should be; and of the longest escape."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_HEAD_SKIPPED = b"\xef\xbb\xbf\0 \t\r\n"
HEAD_LINES = 20
"""One odd line must not decide, and twenty always hold an ordinary one."""


class Head:
    """Formats look at `text`, `document` or `records`; each is worked out once, when asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def text(self) -> str:
        """As much of it as tells what kind of text it is."""
        return _plain(self.data[:HEAD_BYTES])

    @property
    def is_json(self) -> bool:
        """Whether it begins like a JSON object or list; Markdown formats need not look further."""
        return self.text[:1] in ("{", "[")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, as far as the head goes; None when it is lines or no JSON."""
        if not self.is_json:
            return None
        if len(self.lines) > 1:
            return None
        try:
            return _value(_plain(self.data))
        except ValueError:
            return None if self.lines else _whole_items(closed(_plain(self.data)))

    @cached_property
    def lines(self) -> tuple[Record, ...]:
        """Objects that stand alone on one of the first lines; an indented one is part of a
        document."""
        if not self.text.startswith("{") and "\n{" not in self.text:
            return ()
        if self.text.startswith("[") and is_document(first_lines(self.data.split(b"\n"))[0]):
            return ()
        lines = islice(_lines(self.data.lstrip(_HEAD_SKIPPED)), HEAD_LINES)
        return tuple(filter(None, map(_object, lines)))

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The objects of a JSON Lines file; a file of one record is a document too."""
        if self.lines:
            return self.lines
        return (self.document,) if isinstance(self.document, dict) else ()

    def described(self) -> str:
        """What the file seems to be, for the one who asked to read it."""
        if not self.data.strip(b" \t\r\n\0"):
            return "an empty file"
        if b"\0" in self.data[:1024] and self.document is None and not self.lines:
            return "binary data"
        if isinstance(self.document, dict):
            return f"a JSON object with the keys {_some(self.document)}"
        if isinstance(self.document, list):
            inner = next((i for i in self.document if isinstance(i, dict)), None)
            return "a JSON list" + (f" of objects with the keys {_some(inner)}" if inner else "")
        if self.lines:
            return f"JSON Lines with the keys {_some(self.lines[0])}"
        return f"text that begins {self.text[:40]!r}"


def _value(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except RecursionError:
        return json.loads(without_deep(text, Log()), strict=False)


def _whole_items(value: Any) -> Any:
    """A cut-off document without the item the cut went through; it lacks fields it really has."""
    if isinstance(value, list) and len(value) > 1:
        return value[:-1]
    if isinstance(value, dict) and value:
        key = next(reversed(value))
        return {**value, key: _whole_items(value[key])} if isinstance(value[key], list) else value
    return value


def _lines(data: bytes) -> Iterator[bytes]:
    """One after the other: together they would be the data once more."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


def _object(line: bytes) -> Record | None:
    if not line.startswith((b"{", b"\0")):
        return None
    if len(line) > HEAD_BYTES:
        line = _abridged(line)
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        text = _plain(line)
        value = _tolerated(text) if text.startswith("{") else None
    return value if isinstance(value, dict) else None


def _abridged(line: bytes) -> bytes:
    """A record with its long texts cut: of these the beginning tells enough."""

    def cut(found: re.Match[bytes]) -> bytes:
        start, end = found.span()
        if end - start <= LONG_TEXT:
            return found[0]
        text = line[start : start + LONG_TEXT]
        escape = text.rfind(b"\\", -ESCAPE)
        return (text if escape < 0 else text[:escape].rstrip(b"\\")) + b'"'

    return _STRING.sub(cut, line)


def _plain(data: bytes) -> str:
    return data.replace(b"\0", b"").decode(errors="replace").lstrip("\ufeff \t\r\n")


def _tolerated(line: str) -> Any:
    try:
        return json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None


def _some(record: Record) -> str:
    keys = ", ".join(repr(key) for key in list(record)[:6])
    return keys + (", …" if len(record) > 6 else "") if keys else "(none)"


# The objects of a list inside a JSON document, each with its place.


def numbered_items(value: Any, log: Log) -> Iterator[tuple[Line, Record]]:
    """Items with their number; what is not an object is reported and passed over."""
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield Line(number), item
        else:
            log.broken("shape", Line(number), f"a {type(item).__name__}, not an object")


# Lines of a text file, decoded, with their positions; damaged bytes are replaced and reported.


def text_lines(lines: Lines, log: Log) -> Iterator[tuple[Line, str]]:
    """Every line without its line end, blank ones too."""
    start = 0
    for number, data in enumerate(lines):
        line = Line(number, start, start + len(data))
        start = line.end
        yield line, decoded(data, line, log).rstrip("\r\n")


def spanning(first: Line, last: Line) -> Line:
    """The place of a message that covers several lines."""
    return Line(first.number, first.start, last.end, last=max(last.number, last.last))
