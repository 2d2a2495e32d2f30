"""What an entry says of itself: times, fields, the line that stands for archived entries; and what
agents want to write down, spelt so that it cannot break the file it goes into."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.bank.markdown import (
    RULE,
    SECTION_LEVELS,
    Hidden,
    Mark,
    Trouble,
    before_comments,
    visible,
    walk,
)
from kedgeline.bank.values import Document, Entry, NewEntry, Reference
from kedgeline.errors import BadName
from kedgeline.text.prose import cut, first_sentence, foreign, unmarked, without_tags

FIRST_MILLISECOND = 100_000_000_000
"""Numbers from here on count milliseconds: as seconds they would be after the year 5000."""

_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}/[0-9]{2}/[0-9]{2})"
    r"(?:[T ]+([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
    r"(?: ?(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?::[0-9]{2})?))?)?",
    re.IGNORECASE,
)
_LIKE_A_DATE = re.compile(r"[0-9]{4}[-/.][0-9]|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}\b")
_NO_OFFSET = ("", "Z", "UTC", "GMT")


@lru_cache(maxsize=1_024)
def moment(text: str) -> datetime | None:
    """The time a text is; None where it is none. One without an offset is UTC."""
    found = _TIME.fullmatch(text.strip())
    if not found:
        return None
    day, clock, offset = found.groups("")
    day = day.replace("/", "-")
    try:
        at = datetime.fromisoformat(f"{day}T{clock or '00:00'}")
        if offset.upper() in _NO_OFFSET:
            return at.replace(tzinfo=UTC)
        return datetime.fromisoformat(f"{day}T{clock}{offset}")
    except ValueError:
        return None


def since_epoch(number: object) -> datetime | None:
    """The time a number is, in seconds or milliseconds; None where it is none."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    seconds = number / 1_000 if number >= FIRST_MILLISECOND else number
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def aware(at: datetime) -> datetime:
    """In UTC, or as it is where the calendar ends before that."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return at


def stamp(at: datetime) -> str:
    """2026-02-23T00:00:00Z"""
    return aware(at).isoformat().replace("+00:00", "Z")


def short(at: datetime) -> str:
    """Only the day where the clock says nothing: what is read is the same."""
    return stamp(at).removesuffix("T00:00:00Z")


TITLE_LEVEL = 1
"""Of a file's own title. One title with a date is no entry; several are."""

_HEADING_DAY = r"[0-9]{4}(?:-[0-9]{1,2}-|/[0-9]{1,2}/)[0-9]{1,2}"
_BRACKETS = re.compile(r"\[([^\]\n]{1,80})\](.*)")
_PLAIN_DATE = re.compile(
    rf"({_HEADING_DAY}(?:[T ][0-9]{{1,2}}(?::[0-9][^\s:]*)+)?)((?=[\s:,–—-]).*)?"
)
_BOLD_DATE = re.compile(r"(\*\*|__)(.+?)\1(.*)")
_BEFORE_DATE = re.compile(
    r"(session|update|entry|log|date)(?: #?[0-9]{1,5})?(?: *[:,–—-])? +", re.I
)
_SEPARATOR = re.compile(r"\s+[-–—]\s+|:\s+|\s*[–—]\s*")
_LEADING = re.compile(r"\s*[-–—:,]*\s*")


class Heading(NamedTuple):
    at: datetime
    agent: str
    title: str
    brackets: bool
    clock: bool


def heading_in(text: str) -> Heading | None:
    """What a heading says; None where it names no time. A time of day in brackets is followed by
    an agent, a mere date by a title."""
    found = _time_in(text)
    if not found:
        return None
    brackets = found.re is _BRACKETS
    at = moment(found[1])
    if at is None:
        return None
    rest, clock = found[2] or "", ":" in found[1]
    title = _LEADING.sub("", rest, count=1).strip()
    if not (brackets and clock) or _SEPARATOR.match(rest):
        return Heading(at, "", title, brackets, clock)
    agent, *titles = _SEPARATOR.split(title, maxsplit=1)
    return Heading(at, agent.strip(), "".join(titles).strip(), brackets, clock)


def names_a_date(mark: Mark) -> bool:
    """Whether a heading was meant to, right or wrong."""
    found = _time_in(mark.text) if mark.level else None
    return found is not None and _LIKE_A_DATE.match(found[1]) is not None


def dated_headings(found: Iterable[Mark]) -> list[Mark]:
    """Those that can be entries: small ones only where no others are there."""
    dated = [mark for mark in found if names_a_date(mark)]
    titles = sum(mark.level == TITLE_LEVEL for mark in dated)
    dated = dated if titles > 1 else [mark for mark in dated if mark.level > TITLE_LEVEL]
    return [mark for mark in dated if mark.level <= SECTION_LEVELS] or dated


def level_of_entries(dated: Iterable[Mark]) -> int:
    """The level of the first one; 0 where there is none. Where a heading is only a day and has
    headings of the same day below it, it is a section, and these are entries."""
    known = list(dated)
    for above, below in pairwise(known):
        day, entry = heading_in(above.text), heading_in(below.text)
        if not day or not entry or below.level <= above.level or day.clock or day.title:
            continue
        if day.at.date() == entry.at.date():
            return below.level
    return known[0].level if known else 0


def _time_in(text: str) -> re.Match[str] | None:
    """The time that a heading begins with, and what stands behind it."""
    if word := _BEFORE_DATE.match(text):
        text = text[word.end() :]
    if bold := _BOLD_DATE.match(text):
        text = bold[2] + bold[3]
    return _BRACKETS.match(text) or _PLAIN_DATE.fullmatch(text)


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


_ENTRY_FIELDS = ("id", "agent", "title", "status")


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


def entry_of(text: str, line: int, fields: Mapping[str, str], **own: object) -> Entry:
    """By what its first line says, then by its fields."""
    said = {name: own.get(name) or fields.get(name, "") for name in _ENTRY_FIELDS}
    return Entry(
        text=text,
        line=line,
        **said,  # type: ignore[arg-type]
        at=own.get("at"),  # type: ignore[arg-type]
        done=bool(own.get("done", is_done(str(said["status"])))),
        sources=split_sources(fields.get("sources", "")),
        summary=fields.get("summary", ""),
    )


def is_done(status: str) -> bool:
    """Whether a status says that something was reached: by its first word, so that `not done` and
    `incomplete` do not."""
    word = _WORD.search(status)
    if word:
        return word[0].casefold() in _DONE
    return any(tick in status for tick in _TICKS) or status.strip() == "100%"


PREFIX, ID = "DEC-", r"(?:DEC|ADR)-[0-9]{1,12}(?:-[0-9]{1,12})?[a-z]?"
"""Of decisions."""
WIDTH = 3
"""Digits of a number that a file begins with: DEC-001."""
MOST_DIGITS = 12
"""Digits up to which something is a number that counts."""

_PATTERN = re.compile(
    r"(?P<prefix>[A-Za-z][A-Za-z_.-]{0,40}?|)(?P<day>[0-9]{8}-)?"
    rf"(?P<number>[0-9]{{1,{MOST_DIGITS}}})"
)
_DIGITS = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}")


def next_id(ids: Iterable[str], at: datetime, *, prefix: str = "") -> str:
    """Behind the highest one of the pattern that the last id has. Where no id has one, the first
    of `prefix`, and none where that is empty."""
    known = list(ids)
    for last in reversed(known):
        if found := _PATTERN.fullmatch(last):
            date = aware(at).date().isoformat().replace("-", "") + "-" if found["day"] else ""
            prefix, width = found["prefix"] + date, len(found["number"])
            rests = (one.removeprefix(prefix) for one in known if one.startswith(prefix))
            highest = max((int(rest) for rest in rests if _DIGITS.fullmatch(rest)), default=0)
            return f"{prefix}{highest + 1:0{width}}"
    return f"{prefix}{1:0{WIDTH}}" if prefix else ""


def numbered(new: NewEntry, document: Document) -> NewEntry:
    """With the next number of the file. Raises BadName where one was given that cannot be."""
    if not new.id:
        ids = [entry.id for entry in document.entries()]
        return replace(new, id=next_id(ids, new.at, prefix=PREFIX))
    if not re.fullmatch(ID, new.id):
        why = "has no number such as DEC-001, and without one it gets it"
        raise BadName("decision", new.id, why)
    for entry in document.entries():
        if entry.id == new.id:
            why = f"stands in line {entry.line} of {document.name} already"
            raise BadName("decision", new.id, f"{why}, and without one it gets the next")
    return new


QUOTED, LISTED = "> ", "- "
"""What the line begins with: a quote, or an item among others."""

_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]{8,15}(?:Z|[+-][0-9:]{5,8}))?"
_SHA256 = r"[0-9a-f]{64}"
_REFERENCE = re.compile(
    r"Archived: (?P<entries>[0-9]{1,9}) (?:entry|entries)"
    rf"(?:, (?:(?P<first>{_MOMENT}) to (?P<last>{_MOMENT})|from (?P<start>{_MOMENT})"
    rf"|until (?P<until>{_MOMENT})))?:"
    r"(?: (?P<summary>[^\n]*?))?"
    r" \((?P<archive>[^\s./\\(),|<>:\"][^/\\(),|<>:\"\n]{0,199}),"
    rf" sha256:(?P<sha256>{_SHA256})(?:, end:(?P<end>{_SHA256}))?\)"
)


def reference_line(reference: Reference) -> str:
    """Without what it begins with, and without a newline."""
    count = "1 entry" if reference.entries == 1 else f"{reference.entries} entries"
    summary = as_value(reference.summary)
    end = f", end:{reference.end}" if reference.end else ""
    return (
        f"Archived: {count}{_range(reference.first, reference.last)}:"
        f"{' ' if summary else ''}{summary}"
        f" ({reference.archive}, sha256:{reference.sha256}{end})"
    )


def reference_in(line: str) -> Reference | None:
    """The reference that a line is, without what it begins with; None where something in it cannot
    be: such a line is somebody else's."""
    found = _REFERENCE.fullmatch(line.strip())
    if not found:
        return None
    first, last = found["first"] or found["start"], found["last"] or found["until"]
    times = [moment(time) for time in (first, last) if time]
    if None in times:
        return None
    return Reference(
        archive=found["archive"],
        sha256=found["sha256"],
        entries=int(found["entries"]),
        summary=found["summary"] or "",
        first=moment(first or ""),
        last=moment(last or ""),
        end=found["end"] or "",
    )


def _range(first: datetime | None, last: datetime | None) -> str:
    if first and last:
        return f", {short(first)} to {short(last)}"
    if first:
        return f", from {short(first)}"
    return f", until {short(last)}" if last else ""


FIELD_NAME_LENGTH = 40
"""Characters of the name of a field; those in use have up to twelve."""
TITLE_LENGTH = 120
"""Characters of a title that is made from the text: a line."""

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,32}[ -/]?[@-~]")
_JOINERS = "\u200c\u200d"
"""Nobody sees them, and emoji and scripts need them."""
_UNDERLINE = re.compile(r"(?<=\S\n)(?=(?:={3,}|-{4,})[ \t]*$)", re.MULTILINE)
"""Makes a heading of the line above, and where that is one, of what it is spelt as."""
_NO_NAME = re.compile(r"[*:|\\]+")


def clean(new: NewEntry) -> NewEntry:
    """With every value on one line, and nothing in it that could pass for something of ours. What
    is read back of an entry is this."""
    return replace(
        new,
        agent=as_value(new.agent),
        at=aware(new.at),
        text=multiline(new.text),
        title=as_value(new.title),
        id=as_value(new.id),
        status=as_value(new.status),
        sources=tuple(filter(None, (as_value(source) for source in new.sources))),
        summary=as_value(new.summary),
        fields={
            name: multiline(value) for key, value in new.fields.items() if (name := _name(key))
        },
    )


def as_value(text: str) -> str:
    """Text of others for one line of ours."""
    return foreign(_plain(text))


def titled(new: NewEntry) -> NewEntry:
    """With a title, for shapes whose entries need one."""
    if new.title:
        return new
    said = cut(first_sentence(new.text), TITLE_LENGTH) if new.text else new.summary
    return replace(new, title=foreign(said))


def multiline(text: str) -> str:
    """Text of several lines without what nobody sees, tags of ours and marks of turns."""
    text = _LINE_ENDS.sub("\n", text)
    lines = [_plain(line).rstrip() for line in text.split("\n")]
    return unmarked(without_tags("\n".join(lines))).strip("\n")


def as_body(text: str) -> str:
    """Text for the body of an entry: nothing in it begins or ends one, and no line is a field. A
    code block that is left open gets closed."""
    parts: list[str] = []
    place, closing = 0, ""

    def shown(end: int) -> None:
        said = RULE.sub(r"\\\g<0>", without_fields(text[place:end]))
        parts.append(_UNDERLINE.sub("\\\\", said))

    found_all = list(walk(text))
    comments = before_comments(text, [x for x in found_all if isinstance(x, Hidden)], len(text))
    for found in found_all:
        if isinstance(found, Mark) and found.level > SECTION_LEVELS and not names_a_date(found):
            continue
        if isinstance(found, Hidden):
            shown(found.start)
            parts.append("\\" if found.start >= comments else "")
            parts.append(text[found.start : found.end])
            place = found.end
        elif isinstance(found, Trouble) and found.closing:
            closing = f"\n{found.closing}"
            shown(found.start)
            parts.append(text[found.start :])
            place = len(text)
        else:
            sign = found.sign if isinstance(found, Mark) else found.start
            shown(sign)
            parts.append("\\")
            place = sign
    shown(len(text))
    return "".join(parts) + closing


def _name(text: str) -> str:
    return cut(_NO_NAME.sub(" ", as_value(text)).strip(), FIELD_NAME_LENGTH)


def _plain(text: str) -> str:
    """Without control characters, halves of characters and what turns others around."""
    if text.isprintable():
        return text
    return "".join(filter(_stays, _COLOUR.sub("", text)))


def _stays(character: str) -> bool:
    if character in _JOINERS or character.isspace():
        return character not in "\x1f"
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs")
