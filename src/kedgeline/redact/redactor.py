"""The redactor: secrets out of texts, turns and transcripts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property
from json import dumps
from time import thread_time
from typing import Any, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote, urlsplit

import msgspec
from msgspec.structs import astuple, replace

from kedgeline.model import CallRef, Media, ResultRef, Thinking, Transcript, Turn, Usage, Value
from kedgeline.redact.rules import all_rules, compiled, has, literals, random_looking
from kedgeline.redact.scanning import (
    APART,
    SecretSpan,
    character,
    merged_spans,
    outside,
    plain_kind,
    scanner,
)

# Secrets that are known by their value: from the environment or the settings of the caller.

LEAST = 8
"""Characters of a value that is looked for: shorter ones stand in too many other words."""
LEAST_LINE = 16
"""Characters of a line that is looked for by itself, in a value of several lines."""
WORD = 16
"""Letters without a digit or sign that pass for an ordinary word."""
BEGINNING = 256
"""Bytes by which a long value is found; then it is followed as far as it goes."""

_NAME = re.compile(
    r"(?i)(?:(?:^|[_-]|api|access|secret|auth|private)key|token|secret|password|passwd|passphrase"
    r"|passcode|credentials?|[_-](?:pass|pwd|pw|pat|auth|dsn))"
    r"(?:_?(?:[0-9]{1,2}|value|base64|b64|json|prod|dev|live|test|staging))?\Z"
)
"""Names of variables that say that their value is secret."""
_PUBLIC = re.compile(r"(?i)(?:public|anon|publishable)_?(?:[a-z]+_)?(?:key|token)\Z")
_ORDINARY = re.compile(r"(?i)true|false|yes|no|on|off|none|null|enabled|disabled")
_WORDS = re.compile(r"[A-Za-z]+(?:[-_. /:][A-Za-z]+)*")


def secrets_in(environment: Mapping[str, str], named: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Names and values of the variables whose names say that they are secret, of passwords in
    addresses, and of those named here, which count whatever their name says."""
    wanted = set(named)
    found = []
    for name, value in environment.items():
        if name in wanted or (_NAME.search(name) and not _PUBLIC.search(name)):
            found.append((name, value))
        if password := _password(value):
            found.extend(((name, value), (name, password)))
    return list(dict.fromkeys(found))


def _password(value: str) -> str:
    """The password in an address; as it is once its escapes are read."""
    if "://" not in value or "@" not in value:
        return ""
    try:
        return unquote(urlsplit(value).password or "")
    except ValueError:  # no address after all
        return ""


def ordinary(value: str) -> bool:
    """Too short or too common to be taken out of every text: a word, a number, a path."""
    value = value.strip()
    text = value.encode("utf-8", "surrogatepass")
    if len(value) < LEAST or _ORDINARY.fullmatch(value) or has(text, "numbers"):
        return True
    if _WORDS.fullmatch(value):
        return len(value) < WORD or not value.isalpha()
    if b"://" in text:
        return not _password(value) and not random_looking(text.rpartition(b"/")[2])
    if has(text, "path"):  # or base64 that begins with a slash
        return b"\\" in text or text.rfind(b"/") > 0 or not random_looking(text)
    return has(text, "dotted") and not random_looking(text)


class _Known:
    """Values by their names. A value is found as it stands, and as it stands in an address, in JSON
    and in base64."""

    def __init__(self, values: Iterable[tuple[str, str]]) -> None:
        self.ignored: list[str] = []
        self._forms: dict[bytes, tuple[str, bytes]] = {}
        """First bytes of a form to the name and the whole of it."""
        for name, value in values:
            if ordinary(value):
                self.ignored.append(name)
                continue
            for form in _forms(value):
                self._forms.setdefault(form[:BEGINNING], (name, form))

    def __bool__(self) -> bool:
        return bool(self._forms)

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self._forms.values()}

    @cached_property
    def _pattern(self) -> Any:
        return literals(self._forms)

    def find(self, data: bytes, first: int, end: int, last: int) -> Iterator[SecretSpan]:
        """Values that begin from `first` on and before `end`; `last` is as far as is read."""
        for match in self._pattern.finditer(data, first, last):
            if match.start() >= end:
                return
            name, form = self._forms[match.group()]
            whole = data.startswith(form, match.start())
            length = len(form) if whole else _common(form, data, match.start())
            yield SecretSpan(match.start(), match.start() + length, name, -1)


def _common(form: bytes, data: bytes, start: int) -> int:
    """How many bytes of a long value stand here: its output may have been cut."""
    low, high = BEGINNING, len(form)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if data.startswith(form[:middle], start) else (low, middle - 1)
    return low


def _forms(value: str) -> Iterator[bytes]:
    """Ways in which a value may be written."""
    lines = [line.strip() for line in value.splitlines()]
    parts = [value.strip(), *(line for line in lines if len(line) >= LEAST_LINE)]
    for part in dict.fromkeys(part for part in parts if not ordinary(part)):
        plain = part.encode("utf-8", "surrogatepass")
        yield plain
        for form in (quote(plain, safe=""), quote_plus(plain), quote(plain)):
            yield form.encode()
            yield _small_escapes(form).encode()
        for ascii_only in (True, False):
            yield dumps(part, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogatepass")
        yield b64encode(plain).rstrip(b"=")
        for core in cores(plain):
            if len(core) >= LEAST:
                yield core
                yield core.replace(b"+", b"-").replace(b"/", b"_")


def cores(literal: bytes) -> Iterator[bytes]:
    """The three ways bytes look inside base64, by how many bytes stand before them; without the
    characters that their neighbours change."""
    for before in range(3):
        whole = b64encode(bytes(before) + literal).rstrip(b"=")
        first = -(-before * 8 // 6)
        last = (before + len(literal)) * 8 // 6
        yield whole[first:last]


def _small_escapes(form: str) -> str:
    """An address with its escapes in small letters."""
    first, *rest = form.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


# All texts of a turn or a transcript, wherever they stand.

DEPTH = 150
"""Levels of parameters that are walked through. No tool takes more, and Python's stack bears it."""
TOO_DEEP = "[withheld: nested too deep to be searched for secrets]"
SHORT = 8
"""Characters below which no text can be a secret; most strings of a turn are shorter."""

_WORDLESS = frozenset((int, float, bool, datetime, Media, CallRef, ResultRef, Usage))
"""Nothing to read in these; media are bytes in disguise."""
Any_ = TypeVar("Any_")


def texts_in(turn: Turn) -> list[str] | None:
    """Each text of a turn that is worth cleaning, once; None where it is nested too deep."""
    found: dict[str, None] = {}
    level: list[Any] = [turn]
    for _ in range(DEPTH):
        below: list[Any] = []
        for value in level:
            if type(value) is not str:
                below += _held_by(value)
            elif len(value) >= SHORT:
                found[value] = None
        if not below:
            return [*found]
        level = below
    return None


def _held_by(value: Any) -> Iterable[Any]:
    """What stands in a value that is no plain text."""
    kind = type(value)
    if value is None or kind in _WORDLESS:
        return ()
    if isinstance(value, (tuple, list)):
        return value
    if kind is Thinking:
        return (value.text, value.wire)
    if isinstance(value, msgspec.Struct):
        return astuple(value)
    if isinstance(value, dict):
        return (*value, *value.values())
    return (str(value),) if isinstance(value, str) else ()


class Walk:
    """One turn or transcript. What has nothing to clean is given back as it is, not copied."""

    def __init__(
        self, clean: Callable[[str], str], any_secret: Callable[[list[str]], bool] | None = None
    ) -> None:
        """`any_secret` says of all texts of a turn at once whether one is worth cleaning: most have
        none, and most texts are short."""
        self._clean, self._any_secret = clean, any_secret
        self._texts: dict[str, str] = {}
        """What became of a text: a turn says the same in its fields and in its layout."""

    def turn(self, turn: Turn) -> Turn:
        if self._any_secret:
            texts = texts_in(turn)
            if texts is not None and not self._any_secret(texts):
                return turn
        self._texts = {}
        self._name_calls(turn)
        return self._fields(turn, DEPTH)

    def transcript(self, transcript: Transcript) -> Transcript:
        return cast(Transcript, self._any(transcript, DEPTH))

    def _name_calls(self, turn: Turn) -> None:
        """Calls and results are matched by their ids, so two must not become one."""
        ids = (*(c.id for c in turn.tool_calls), *(r.call_id for r in turn.tool_results))
        taken = set(ids)
        for one in dict.fromkeys(ids):
            cleaned = self._text(one)
            if cleaned != one:
                self._texts[one] = _free(cleaned, taken)
                taken.add(self._texts[one])

    def _any(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value)
        if value is None or kind in _WORDLESS:
            return value
        if not depth:
            return TOO_DEEP
        if isinstance(value, Turn):
            return self.turn(value)
        if isinstance(value, Thinking):
            cleaned = self._fields(value, depth)
            return cleaned if cleaned.text == value.text else replace(cleaned, signature="")
        if isinstance(value, msgspec.Struct):
            return self._fields(value, depth)
        if isinstance(value, dict):
            return self._mapping(value, depth - 1)
        if isinstance(value, (tuple, list)):
            return self._items(value, depth - 1)
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        if len(text) < SHORT:
            return text
        cleaned = self._texts.get(text)
        if cleaned is None:
            cleaned = self._texts[text] = self._clean(text)
        return text if cleaned == text else cleaned

    def _fields(self, value: Any_, depth: int) -> Any_:
        changed = {}
        for name in value.__struct_fields__:  # type: ignore[attr-defined]
            old = getattr(value, name)
            if not old or name == "signature":
                continue
            new = self._any(old, depth)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value  # type: ignore[type-var]

    def _items(self, values: Any, depth: int) -> Any:
        cleaned = [self._any(value, depth) for value in values]
        if all(new is old for new, old in zip(cleaned, values, strict=True)):
            return values
        return type(values)(cleaned)

    def _mapping(self, values: dict[Any, Any], depth: int) -> dict[Any, Any]:
        cleaned: dict[Any, Any] = {}
        taken = {*values}
        same = True
        for key, value in values.items():
            name, new = self._any(key, depth), self._any(value, depth)
            same = same and name is key and new is value
            name = key if name is key else _free(name, taken)
            taken.add(name)
            cleaned[name] = new
        return values if same else cleaned


def _free(name: str, taken: set[Any]) -> str:
    """A name that nothing else has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


SECONDS = 30.0
"""Of the processor, for one text: what else the machine does must not withhold it. A hundred
megabytes take three seconds, and eight where they look encoded."""
NAME = 60
"""Characters of a name in a mark."""
UNSEARCHED = "not searched in time"
_OPENING = b"[secret: "
_MARK = rb"\[secret: ([A-Za-z0-9 ._-]{1,80})\]"
_CODES = ("utf-8", "surrogatepass")
_NAMED = frozenset({"password", "token", "key", "secret"})
"""Kinds of what stands behind a name."""


class Secret(Value, frozen=True):
    """Where a secret stands in a text. What it is, is not kept."""

    kind: str
    start: int
    end: int


class Redactor:
    """Finds secrets by their values and by patterns, and puts a mark in their place.

    - What was marked is not marked again: cleaning twice is cleaning once.
    - A text that cannot be searched within its seconds is withheld from there on.
    - No text makes it raise, and it takes time in proportion to the text.
    """

    def __init__(
        self,
        values: Iterable[tuple[str, str]] = (),
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = thread_time,
    ) -> None:
        """`values`: names with the values that must not get out, as `secrets_in` gives them."""
        self._known = _Known((_shown(name), value) for name, value in values)
        self._seconds, self._clock = seconds, clock

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names whose values are not looked for: too short, or a common word, number or path."""
        return tuple(self._known.ignored)

    def clean(self, text: str) -> str:
        """The text with a mark in the place of every secret; itself where there is none."""
        if len(text) < LEAST:
            return text
        data, over = text.encode(*_CODES), self._deadline()
        while True:  # a mark may set free what stood next to a secret
            spans, reached = self._search(data, over)
            if reached < len(data):
                left = len(data[reached:].decode(*_CODES))
                return _marked(data[:reached], spans).decode(*_CODES) + _withheld(left)
            if not spans:
                return text
            data = _marked(data, spans)
            text = data.decode(*_CODES)

    def found(self, text: str) -> list[Secret]:
        """Where secrets stand, in order. What was not searched in time counts as one."""
        data = text.encode(*_CODES)
        spans, reached = self._search(data, self._deadline())
        if reached < len(data):
            spans.append(SecretSpan(reached, len(data), UNSEARCHED, 0))
        secrets, characters, position = [], 0, 0
        for span in spans:
            start = characters + len(data[position : span.start].decode(*_CODES))
            end = start + len(data[span.start : span.end].decode(*_CODES))
            secrets.append(Secret(kind=span.kind, start=start, end=end))
            characters, position = end, span.end
        return secrets

    def turn(self, turn: Turn) -> Turn:
        """The turn with all its texts cleaned; itself where there is nothing to clean.

        Media stay as they are. Equal ids stay equal and different ones different. Thinking that
        was changed loses its seal: a provider takes it as it was or not at all."""
        return Walk(self.clean, self._any_secret).turn(turn)

    def transcript(self, transcript: Transcript) -> Transcript:
        """The same for all turns, and for what stands beside them."""
        return Walk(self.clean, self._any_secret).transcript(transcript)

    def _any_secret(self, texts: list[str]) -> bool:
        data = APART.join(text.encode(*_CODES) for text in texts)
        spans, reached = self._search(data, self._deadline())
        return bool(spans) or reached < len(data)

    def _deadline(self) -> Callable[[], bool]:
        end = self._clock() + self._seconds
        return lambda: self._clock() > end

    def _search(self, data: bytes, over: Callable[[], bool]) -> tuple[list[SecretSpan], int]:
        """Secrets in order, and where the part begins that was not searched in time."""
        always = (self._known,) if self._known else ()
        spans, reached = scanner().find(data, over, always)
        if not spans and reached == len(data):
            return spans, reached
        reached = character(data, reached)
        spans = merged_spans((span for span in spans if span.start < reached), data)
        if _OPENING in data:
            spans = list(outside(spans, self._marks(data)))
        return spans, max([reached, *(span.end for span in spans[-1:])])

    def _marks(self, data: bytes) -> list[tuple[int, int]]:
        """Marks that stand in a text already. One with a name that we do not give is none: whoever
        writes brackets around a secret does not hide it."""
        own = _NAMED | self._known.names | {rule.kind for rule in all_rules()}
        found = _mark().finditer(data)
        return [match.span() for match in found if plain_kind(match.group(1).decode()) in own]


@cache
def _mark() -> Any:
    return compiled(_MARK)


def _marked(data: bytes, spans: list[SecretSpan]) -> bytes:
    pieces: list[bytes] = []
    position = 0
    for span in spans:
        pieces += (data[position : span.start], _OPENING, span.kind.encode(), b"]")
        position = span.end
    return b"".join((*pieces, data[position:]))


def _withheld(characters: int) -> str:
    return f"[withheld: {characters:,} characters could not be searched for secrets in time]"


def _shown(name: str) -> str:
    """A name as it may stand in a mark."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return plain[:NAME] or "value"


REDACTOR = Redactor()
"""Knows no values, only patterns."""
