"""What a person types as a query: words and names, phrases in quotes, a question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple, TypedDict

from kedgeline.errors import UnknownName, UserError
from kedgeline.store import Phrase, Query, words
from kedgeline.store.protocol import EAST, WHO, Favour


class Question(Query, frozen=True):
    """A query as it was typed: `phrases` are all of it, `topic` its words of which any will do."""

    quoted: tuple[Phrase, ...] = ()
    """Those of its phrases that must stand in any case."""
    asks: bool = False
    """Whether it is a question in plain words: that all of them stand in one passage means
    nothing."""


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
    """Who said it: one of `kedgeline.store.protocol.WHO`."""
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
) -> Question:
    """A query from words. What has all of them in one passage comes first, then what has any; "in
    quotes" they must stand, side by side, and so do those of a name where they can: src/a_b.py,
    foo.bar(), --no-verify. A * at the end lets the last word go on. There are no operators, so
    nothing that is typed can be wrong syntax."""
    if who and who not in WHO:
        raise UnknownName("speaker", who, known=WHO)
    if limit < 1:
        raise UserError(f"the limit is {limit}; give 1 or more")
    pieces = _pieces(text)
    plain = [piece for piece in pieces if not piece.quoted]
    query = Question(
        phrases=_phrases(text, pieces),
        quoted=tuple(piece.phrase for piece in pieces if piece.quoted),
        topic=tuple(_topic(plain, asks=_asks(plain))),
        asks=_asks(plain),
        favour=tuple(_favour(text, asks=_asks(plain))),
        files=tuple(_phrase(path, "file") for path in files),
        commands=tuple(_phrase(command, "command") for command in commands),
        sessions=tuple(sessions),
        who=who,
        errors=errors,
        since=moment_given(since),
        until=moment_given(until, end=True),
        first=None if turns is None else turns.start,
        last=None if turns is None else turns.stop - 1,
        limit=limit,
    )
    _check(query)
    return query


def moment_given(given: Moment, *, end: bool = False, now: datetime | None = None) -> int | None:
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
            f"{str(given)[:80]!r} is not a time; write 2026-11-01, 2026-11-01T14:30, or how long "
            f"ago: 30m, 12h, 7d or 2w"
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


def _phrases(text: str, pieces: Iterable[_Piece]) -> tuple[Phrase, ...]:
    if len(text) > LONGEST:
        raise UserError(f"the query has {len(text):,} characters; give at most {LONGEST:,}")
    found = tuple(dict.fromkeys(piece.phrase for piece in pieces))
    if text.strip() and not found:
        raise UserError(f"there is no word in {text.strip()[:80]!r}; give letters or digits")
    if len(found) > MOST_PHRASES:
        raise UserError(
            f"the query has {len(found)} words; give at most {MOST_PHRASES}, or put them in quotes"
        )
    return found


class _Piece(NamedTuple):
    text: str
    phrase: Phrase
    quoted: bool
    """Whether it must stand as it is: in quotes, or with an end left open."""


def _pieces(text: str) -> list[_Piece]:
    found: list[_Piece] = []
    for piece in _PIECE.finditer(text[: LONGEST + 1].translate(_QUOTES)):
        quoted, behind, plain = piece.groups()
        said = plain if quoted is None else f"{quoted}{behind.lstrip(chr(34))}"
        phrase = _worded(said)
        if phrase.words:
            found.append(_Piece(said, phrase, quoted is not None or phrase.prefix))
    return found


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
        raise UserError("--since is after --until; swap them")


# What a question is about: words of which any may stand, each in all its forms.

_SAYS_NOTHING = (
    "a about after again all also am an and any are as at be because been before being between both"
    " but by can could did do does doing done during each else for from further get got had has"
    " have having he her here hers him his how i if in into is it its itself just let me might more"
    " most must my no nor not now of off on once only or other our out over own same she should so"
    " some such than that the their them then there these they this those through to too until up"
    " upon us very was we were what when where whether which while who whom whose why will with"
    " would yet you your"
)
STOP_WORDS = frozenset(_SAYS_NOTHING.split())
"""Words that tell no subject."""
LEAST_ASKING = 4
"""Words from which on a query with such words among them is a question."""
LEAST_STEM = 3
"""Letters that an ending leaves of a word."""
_ENDINGS = (
    *(("ies", "y"), ("ied", "y"), ("ions", ""), ("ion", ""), ("ing", ""), ("ed", "")),
    *(("es", ""), ("s", ""), ("ly", "")),
)
"""Of English words, and what stands in their place in the word they are made from."""
_ADDED = ("", "e", "s", "es", "ed", "ing", "er", "ion")
"""What is added to it."""
_DOUBLED = re.compile(r"^[a-z]{0,3}[^aeiou][aeiou][^aeiouwxy]$")
"""Words whose last letter an ending doubles: drop, dropped."""
_CASES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_EAST = re.compile(f"[{EAST}]")
_LAST = re.compile(
    r"\b(?:last|latest|newest|recent\w*|now|next|current\w*|still|pending|open|remain\w*|left"
    r"|about to|yet|un\w+ed|in hand)\b",
    re.IGNORECASE,
)
"""What one asks with for the end of a session."""
_FAILED = re.compile(
    r"\b(?:fail\w*|errors?|exceptions?|crash\w*|broke\w*|traceback|panic\w*)\b"
    r"|\w(?:Error|Exception)\b|\bE[A-Z]{4,}\b|\bE\d{3,}\b",
)
"""What one asks with for something that went wrong."""


def _asks(pieces: Iterable[_Piece]) -> bool:
    said = [word for piece in pieces for word in piece.phrase.words]
    return len(said) >= LEAST_ASKING and not STOP_WORDS.isdisjoint(said)


def _favour(text: str, *, asks: bool) -> Iterator[Favour]:
    if not asks:
        yield "many"
    if _LAST.search(text):
        yield "recent"
    if _FAILED.search(text):
        yield "failed"


def _topic(pieces: Sequence[_Piece], *, asks: bool) -> Iterator[tuple[Phrase, ...]]:
    """Names as a whole and by their words, which in a question are also those of a name in camel
    case; other words in all their forms, and neighbours as one: such a name is one in the index."""
    said = [word for piece in pieces for word in piece.phrase.words]
    told = [word for word in said if word not in STOP_WORDS] or said
    alone = [word for word in told if not _EAST.match(word)]
    names = [piece.phrase.words for piece in pieces if len(piece.phrase.words) > 1]
    parts = [part.lower() for piece in pieces for part in _cases(piece.text) if asks]
    split = (part for part in parts if len(part) >= LEAST_STEM and part not in STOP_WORDS)
    joined = (one + other for one, other in pairwise(said) if one in alone and other in alone)
    east = (pair for pair in pairwise(said) if all(map(_EAST.match, pair)))
    single = {word: _forms(word) for word in (*alone, *split)}
    for sought in dict.fromkeys(
        (*names, *east, *((word,) for word in joined if word not in single))
    ):
        yield (Phrase(words=sought),)
    yield from (tuple(Phrase(words=(form,)) for form in forms) for forms in single.values())


def _cases(name: str) -> list[str]:
    """The parts of a name in camel case; none of a plain word."""
    parts = [part for word in re.findall(r"[^\W_]+", name) for part in _CASES.findall(word)]
    return parts if len(parts) > 1 else []


def _forms(word: str) -> tuple[str, ...]:
    """The word first, then what else it may have been written as: deploy, deploys, deployed."""
    if not (word.isascii() and word.isalpha() and len(word) > LEAST_STEM):
        return (word,)
    stems = {word}
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM and word[-2:] != "ss":
            stem = word.removesuffix(ending) + instead
            stems = {stem, stem[:-1]} if stem[-1] == stem[-2] else {stem}
            break
    if _DOUBLED.search(word):
        stems.add(word + word[-1])
    made = (stem.removesuffix("e") + added for stem in sorted(stems) for added in _ADDED)
    plural = (f"{stem[:-1]}ies" for stem in stems if stem.endswith("y"))
    return tuple(dict.fromkeys((word, *made, *plural)))
