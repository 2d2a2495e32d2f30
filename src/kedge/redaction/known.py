"""Secrets that are known by their value: from the environment or the settings of the caller."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from json import dumps
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from kedge.redaction.encoded import cores
from kedge.redaction.expressions import literals
from kedge.redaction.plausible import DOTTED, NUMBERS, PATH, has, random_looking
from kedge.redaction.spans import Span

LEAST = 8
"""Characters of a value that is looked for: shorter ones stand in too many other words."""
LEAST_LINE = 16
"""Characters of a line that is looked for by itself, in a value of several lines."""
WORD = 16
"""Letters without a digit or sign that pass for an ordinary word."""
BEGINNING = 256
"""Bytes by which a long value is found; then it is followed as far as it goes."""

_NAMES = (
    rb"(?i)(?:(?:^|[_-]|api|access|secret|auth|private)key|token|secret|password|passwd|passphrase"
    rb"|passcode|credentials?|[_-](?:pass|pwd|pw|pat|auth|dsn))"
    rb"(?:_?(?:[0-9]{1,2}|value|base64|b64|json|prod|dev|live|test|staging))?\z"
)
"""Names of variables that say that their value is secret."""
_PUBLIC = rb"(?i)(?:public|anon|publishable)_?(?:[a-z]+_)?(?:key|token)\z"
_ORDINARY = rb"(?i)\A(?:true|false|yes|no|on|off|none|null|enabled|disabled)\z"
_WORDS = rb"\A[A-Za-z]+(?:[-_. /:][A-Za-z]+)*\z"


def secrets_in(environment: Mapping[str, str], named: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Names and values of the variables whose names say that they are secret, of passwords in
    addresses, and of those named here, which count whatever their name says."""
    wanted = set(named)
    found = []
    for name, value in environment.items():
        spelled = name.encode("utf-8", "surrogatepass")
        if name in wanted or (has(_NAMES, spelled) and not has(_PUBLIC, spelled)):
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
    text = value.strip().encode("utf-8", "surrogatepass")
    if len(value.strip()) < LEAST or has(_ORDINARY, text) or has(NUMBERS, text):
        return True
    if has(_WORDS, text):
        return len(text) < WORD or not text.isalpha()
    if b"://" in text:
        return not _password(value) and not random_looking(text.rpartition(b"/")[2])
    if has(PATH, text):  # or base64 that begins with a slash
        return b"\\" in text or text.rfind(b"/") > 0 or not random_looking(text)
    return has(DOTTED, text) and not random_looking(text)


class Known:
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

    def find(self, data: bytes, first: int, end: int, last: int) -> Iterator[Span]:
        """Values that begin from `first` on and before `end`; `last` is as far as is read."""
        for match in self._pattern.finditer(data, first, last):
            if match.start() >= end:
                return
            name, form = self._forms[match.group()]
            whole = data.startswith(form, match.start())
            length = len(form) if whole else _common(form, data, match.start())
            yield Span(match.start(), match.start() + length, name, -1)


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


def _small_escapes(form: str) -> str:
    """An address with its escapes in small letters."""
    first, *rest = form.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)
