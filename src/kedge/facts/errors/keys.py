"""What makes two errors the same one, and where an error says it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.facts.files.paths import Paths
from kedge.outcomes.telling.told import LONGEST, TRACED, Told
from kedge.sentences import cut, one_line

KEY_LENGTH = 200
"""Characters of a key: a message and a path."""
MOST_PLACES = 8
"""Places named with one error; a compiler may repeat it at every call site."""

_VARIABLE = re.compile(
    r"(?P<address>\b(?:https?|ssh)://\S{1,300})"
    r"|(?P<scratch>(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s'\":,;)\]]{1,300})"
    r"|(?P<time>\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?Z?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:\.\d{1,9})?\b)"
    r"|(?P<hexadecimal>\b0x[0-9a-fA-F]{1,32}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,30}\b"
    r"|\b(?=[a-f]{0,40}\d)[0-9a-f]{7,64}\b)"
    r"|(?P<number>(?<![\w.])[-+]?\d{1,18}(?:\.\d{1,18}){0,4}(?:ms|s|m|h|%|kB|KB|MB|GB)?(?![\w]))"
)
"""What differs from one time to the next. Digits within names stay: `TS2304`, `utf8`."""
_TYPECHECK = " (typecheck)"
"""What a linter puts behind the compiler's own message."""
_QUOTES = str.maketrans(dict.fromkeys('`"“”‘’´', "'"))
_PLACE = re.compile(r"(?<![\w/.])((?:[A-Za-z]:)?[\w.@+/\\-]{1,300}\.[A-Za-z]\w{0,7}):(\d{1,7})\b")
_ON_LINE = re.compile(r"\bin (\S{1,300}\.\w{1,8}) on line (\d{1,7})\b")


def key_of(line: str, root: str) -> str:
    """The line without what changes from one time to the next."""
    text = one_line(line[:LONGEST]).translate(_QUOTES)
    if text.endswith(_TYPECHECK):
        text = text.removesuffix(_TYPECHECK)
        text = text[:-1] if text.endswith(")") and text.count("(") < text.count(")") else text
    if root:
        text = text.replace(f"{root.rstrip('/')}/", "")
    return cut(_VARIABLE.sub(_folded, text), KEY_LENGTH)


def _folded(found: re.Match[str]) -> str:
    return found[0] if found.lastgroup == "address" else "#"


def places_of(told: Told, paths: Paths, folder: str) -> tuple[str, ...]:
    """`file:line`, seen from the root; as written where the folder is not known."""
    written: Iterable[str] = told.places
    if not told.places and not TRACED.search(told.line):
        pairs = (*_PLACE.findall(told.line), *_ON_LINE.findall(told.line))
        written = (f"{file}:{line}" for file, line in pairs if "//" not in file)
    seen = (_seen_from_root(place, paths, folder) for place in written)
    return tuple(dict.fromkeys(place for place in seen if place))[:MOST_PLACES]


def _seen_from_root(place: str, paths: Paths, folder: str) -> str:
    file, _, line = place.rpartition(":")
    name = paths.name(file, folder)
    led_out = file.startswith("..") and (name.startswith(("/", "..")) or not folder)
    return "" if led_out or not name else f"{name}:{line}"
