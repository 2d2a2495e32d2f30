"""Fields of an entry: lines with a name, a colon and a value, as people and agents write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kedge.bank.shapes.markdown import visible
from kedge.bank.shapes.times import moment

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "task id", "task_id"),
    "at": ("date", "time", "timestamp", "updated", "updated at", "updated_at", "completed"),
    "agent": ("agent", "author", "proposer", "proposed by", "decided by"),
    "title": ("title",),
    "status": ("status", "state"),
    "sources": ("sources", "source files", "source chunks", "source_chunks", "files"),
    "summary": ("summary_128", "summary"),
}
"""What is read of an entry, by the names that a file may have for it, in lower case."""
INDENT = "    "
"""Before the lines of a value that has several: four blanks, so that nothing in them can be a
heading, the beginning of a code block or a field."""

_MEANT = {name: field for field, names in NAMES.items() for name in names}
_KNOWN = "|".join(sorted(map(re.escape, _MEANT), key=len, reverse=True))
_FIELD = re.compile(
    r"^ {0,3}(?P<bullet>[-*+][ \t]+)?"
    rf"(?:\*\*(?:(?P<bold>{_KNOWN})\*\*[ \t]*(?P<outside>:)|(?P<inside>{_KNOWN}):\*\*)"
    rf"|(?P<plain>{_KNOWN})[ \t]*(?P<colon>:))(?=\s|$)(?P<value>[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_USUAL = "Context|Decision|Rationale|Alternatives|Consequences"
_ANY_FIELD = re.compile(
    r"^(?P<bullet>[-*+] )?(?:\*\*[^*:\n]{1,40}(?:\*\*:|(?P<inside>:\*\*))"
    rf"|(?P<plain>(?:{_USUAL}|{_KNOWN}):))\s",
    re.MULTILINE | re.IGNORECASE,
)
_ITEM = re.compile(r"\s*[-*+] +([^\n]*)(?:\n|$)")
_SOURCE = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([^,]*))\s*(?:,|$)')
_DONE = {
    *("done", "completed", "complete", "closed", "finished"),
    *("merged", "shipped", "resolved", "reached"),
}
_WORD = re.compile(r"[^\W\d_]+")
_TICKS = "✅☑✔🗹"


class Style(NamedTuple):
    """How a file writes its fields."""

    bullet: str = "- "
    bold: bool = True
    colon_inside: bool = False


def read_fields(text: str) -> dict[str, str]:
    """What an entry says of itself, by the names of our values; the first of a kind counts."""
    found: dict[str, str] = {}
    text = visible(text)
    for match in _FIELD.finditer(text):
        name = match["bold"] or match["inside"] or match["plain"]
        field, value = _MEANT[name.lower()], match["value"].strip()
        if field == "sources" and not value:
            value = _listed(text, match.end())
        if value and (field != "at" or moment(value)):
            found.setdefault(field, value)
    return found


def is_known(name: str) -> bool:
    return name.lower() in _MEANT


def without_fields(text: str) -> str:
    """With no field that would be read as one of the entry's own: the colon stays, a backslash
    before it says that it is only a colon."""

    def spelt(match: re.Match[str]) -> str:
        name = next(kind for kind in ("outside", "inside", "colon") if match[kind])
        place = match.end(name) - (name != "inside") - match.start()
        return f"{match[0][:place]}\\{match[0][place:]}"

    return _FIELD.sub(spelt, text)


def style_of(text: str) -> Style:
    """How the entry of a file writes them; ours where it has none."""
    found = _ANY_FIELD.search(text)
    if not found:
        return Style()
    return Style(found["bullet"] or "", not found["plain"], bool(found["inside"]))


def written(fields: Mapping[str, str], style: Style) -> str:
    """All that are not empty. Without bullets a blank line keeps two of them from becoming one
    paragraph."""
    lines = [_line(name, value, style) for name, value in fields.items() if value]
    return ("\n" if style.bullet else "\n\n").join(lines)


def _line(name: str, value: str, style: Style) -> str:
    name = f"**{name}:**" if style.colon_inside else f"**{name}**:" if style.bold else f"{name}:"
    if "\n" not in value:
        return f"{style.bullet}{name} {value}"
    if not style.bullet:
        return f"{name}\n\n{value}"
    lines = [f"{INDENT}{line}" if line else "" for line in value.split("\n")]
    return "\n".join((f"{style.bullet}{name}", *lines))


def joined_sources(sources: Sequence[str]) -> str:
    """With commas between them; one that has a comma itself stands in quotes."""
    return ", ".join(
        json.dumps(source, ensure_ascii=False) if set(',"`\\') & set(source) else source
        for source in sources
    )


def split_sources(text: str) -> tuple[str, ...]:
    found = []
    place = 0
    while place < len(text) and (match := _SOURCE.match(text, place)):
        quoted, plain = match.groups()
        source = _unquoted(quoted) if quoted else plain.strip().strip("`").strip()
        if source:
            found.append(source)
        place = match.end()
    return tuple(found)


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:  # a person's quotes
        return text.strip('"')


def _listed(text: str, place: int) -> str:
    """Items of the list below a field that has no value on its own line."""
    items = []
    place = text.find("\n", place) + 1
    while place and (found := _ITEM.match(text, place)):
        if _FIELD.match(text, place):
            break
        items.append(found[1].strip().strip("`"))
        place = found.end()
    return joined_sources([item for item in items if item])


def is_done(status: str) -> bool:
    """Whether a status says that something was reached: by its first word, so that `not done` and
    `incomplete` do not."""
    word = _WORD.search(status)
    if word:
        return word[0].casefold() in _DONE
    return any(tick in status for tick in _TICKS) or status.strip() == "100%"
