"""What a person types, as a query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TypedDict

from kedge.errors import UnknownName, UserError
from kedge.store import Phrase, Query, words
from kedge.store.values import WHO

LIMIT = 10
"""Answers, unless told: about two screens."""
LONGEST = 2_000
"""Characters of a query. Nothing longer can stand in one passage."""
MOST_PHRASES = 64
"""Words and phrases of a query: what full-text engines take without complaint."""
LEAST_BEGINNING = 3
"""Letters that a word must have whose end is left open: one or two begin half of all words, and
looking for all of them takes a second in a large archive."""
ALL_TIME = timedelta(days=36_500)
"""No archive is older."""

_PIECE = re.compile(r'"([^"]*)("?\*?)|([^\s"]+)')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
"""What editors and keyboards make of quotes."""
_AGO = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

Moment = str | int | datetime | None
"""An ISO date or time, or so long ago: 30m, 12h, 7d, 2w; or microseconds since 1970."""


class RecallOptions(TypedDict, total=False):
    """What a query takes by name beside the sessions it is about."""

    files: Iterable[str]
    commands: Iterable[str]
    who: str
    """Who said it: one of `kedge.store.values.WHO`."""
    errors: bool
    """Only what failed."""
    since: Moment
    until: Moment
    turns: range | None
    limit: int
    """Answers at the most."""


def query_of(
    text: str = "",
    *,
    files: Iterable[str] = (),
    commands: Iterable[str] = (),
    sessions: Iterable[str] = (),
    who: str = "",
    errors: bool = False,
    since: Moment = None,
    until: Moment = None,
    turns: range | None = None,
    limit: int = LIMIT,
) -> Query:
    """A query from words. All must stand in one passage; "in quotes" they stand side by side, and
    so do those of a name: src/a_b.py, foo.bar(), --no-verify. A * at the end lets the last word go
    on. There are no operators, so nothing that is typed can be wrong syntax."""
    if who and who not in WHO:
        raise UnknownName("speaker", who, known=WHO)
    if limit < 1:
        raise UserError(f"a limit of {limit} shows nothing; give 1 or more")
    query = Query(
        phrases=_phrases(text),
        files=tuple(_phrase(path, "file") for path in files),
        commands=tuple(_phrase(command, "command") for command in commands),
        sessions=tuple(sessions),
        who=who,
        errors=errors,
        since=moment(since),
        until=moment(until, end=True),
        first=None if turns is None else turns.start,
        last=None if turns is None else turns.stop - 1,
        limit=limit,
    )
    _check(query)
    return query


def moment(given: Moment, *, end: bool = False, now: datetime | None = None) -> int | None:
    """A time in microseconds since 1970, UTC. Without a zone it is the local one; a date alone is
    its beginning, or with `end` the end of that day."""
    if given is None or isinstance(given, int):
        return given
    try:
        when = given if isinstance(given, datetime) else _time(given.strip(), end, now)
        return (when.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
            microseconds=1
        )
    except (ValueError, OverflowError, OSError) as error:  # OSError: beyond what the zone knows
        raise UserError(
            f"{str(given)[:80]!r} is no time; write 2026-11-01, 2026-11-01T14:30, or so long ago "
            f"as 30m, 12h, 7d or 2w"
        ) from error


def _time(text: str, end: bool, now: datetime | None) -> datetime:
    if ago := _AGO.fullmatch(text):
        back = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return (now or datetime.now(UTC)) - min(back, ALL_TIME)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)
    begins = datetime(day.year, day.month, day.day)
    if not end:
        return begins
    return datetime.fromordinal(day.toordinal() + 1) - timedelta(microseconds=1)


def _phrases(text: str) -> tuple[Phrase, ...]:
    if len(text) > LONGEST:
        raise UserError(f"the query has {len(text):,} characters; give at most {LONGEST:,}")
    found = tuple(dict.fromkeys(phrase for phrase in _pieces(text) if phrase.words))
    if text.strip() and not found:
        raise UserError(f"there is no word in {text.strip()[:80]!r}; give letters or digits")
    if len(found) > MOST_PHRASES:
        raise UserError(
            f"the query has {len(found)} words; give at most {MOST_PHRASES}, or put them in quotes"
        )
    return found


def _pieces(text: str) -> Iterator[Phrase]:
    for piece in _PIECE.finditer(text.translate(_QUOTES)):
        quoted, behind, plain = piece.groups()
        yield _worded(plain if quoted is None else f"{quoted}{behind.lstrip(chr(34))}")


def _worded(text: str) -> Phrase:
    """The words of a text; a star lets the last go on where it stands right behind it: `src/*`
    means any file below src, which its words say already."""
    found = words(text)
    before = unicodedata.normalize("NFC", text).rstrip("*")
    goes_on = text.endswith("*") and bool(words(before[-1:]))
    if goes_on and len("".join(found)) < LEAST_BEGINNING:
        raise UserError(
            f"{found[-1] + '*'!r} begins too many words; give {LEAST_BEGINNING} letters or more"
        )
    return Phrase(words=tuple(found), prefix=goes_on)


def _phrase(text: str, kind: str) -> Phrase:
    phrase = _worded(text)
    if not phrase.words:
        raise UserError(
            f"the {kind} {text[:80]!r} has no word to look for; give a part of its name"
        )
    return phrase


def _check(query: Query) -> None:
    filters = (query.files, query.commands, query.sessions, query.who, query.errors)
    bounds = (query.since, query.until, query.first)
    if not query.phrases and not any(filters) and all(bound is None for bound in bounds):
        raise UserError("there is nothing to look for; give words, a file, a command or a time")
    if query.since is not None and query.until is not None and query.since > query.until:
        raise UserError("the time to begin with is after the time to end with; swap them")
