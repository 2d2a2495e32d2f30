"""A search that reads as little as it can: summaries in the catalog, summaries of the chunks, whole
chunks, and sources at last (seed 003)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, get_args

from kedgeline.bank.catalog import (
    CATALOG,
    Header,
    Listed,
    chunk_name,
    digest,
    is_key,
    order,
    read_catalog,
    read_chunk,
)
from kedgeline.bank.values import estimated
from kedgeline.errors import FileRefused, UserError
from kedgeline.files import Folder, folder_below
from kedgeline.model import Value
from kedgeline.redaction import REDACTOR, Redactor
from kedgeline.text.prose import LOOKED_AT, cut, foreign, one_line

Step = Literal[1, 2, 3, 4]


class Read(Value, frozen=True):
    """What a step looked at."""

    step: Step
    what: str
    items: int
    tokens: int
    """Estimated."""


class Hit(Value, frozen=True):
    path: str
    """Of the chunk, from the catalog's folder; of the source where only that answers."""
    source: str
    lines: tuple[int, int] = (0, 0)
    """Of the source, where the chunk stands or where the words do; zeros where it changed."""
    text: str = ""
    """What answered, shortened."""
    tokens: int = 0
    """Estimated, of the chunk or the source as a whole."""
    missing: tuple[str, ...] = ()
    """Words of the query that it does not have."""
    stale: str = ""
    """Why the chunk is not what the source is now."""


class Found(Value, frozen=True):
    query: str
    step: Step
    """Where the search stopped."""
    answered: bool
    """Whether something has all words; else the hits are those that have most of them."""
    why: str
    hits: tuple[Hit, ...] = ()
    more: int = 0
    """Hits that are not shown."""
    read: tuple[Read, ...] = ()
    notes: tuple[str, ...] = ()


MOST = 10
"""Hits that are shown unless told otherwise."""
LIMIT = 200
"""Hits that may be asked for."""
WHAT: dict[Step, str] = {
    1: "summaries of 128 tokens in catalog.yml",
    2: "summaries of 512 tokens of the chunks",
    3: "whole chunks",
    4: "source files",
}


class Item(NamedTuple):
    """What a step looks at."""

    path: str
    source: str
    text: str
    beside: str = ""
    """What counts besides, and is not read for it: tags, a title."""
    tokens: int = 0


class _Ranked(NamedTuple):
    item: Item
    match: Match
    weight: int


def find(
    query: str,
    folder: str | PathLike[str],
    *,
    root: str | PathLike[str] | None = None,
    redactor: Redactor = REDACTOR,
    step: int = 1,
    most: int = MOST,
) -> Found:
    """Chunks that have all words of a query, from the first step that has any. Words may be
    phrases in quotes. A later step can be asked for; the steps before it are passed over."""
    words = words_of(query)
    if step not in get_args(Step):
        raise UserError(f"there is no step {step}; choose one from 1 to {len(WHAT)}")
    if not 1 <= most <= LIMIT:
        raise UserError(f"{most} hits cannot be shown; choose from 1 to {LIMIT}")
    where = Path(folder)
    base = Path(root) if root is not None else where.absolute().parent
    with folder_below(where) as place:
        assert place is not None
        return _Search(query, words, Reach(place, base), redactor, most).run(step)


class _Search:
    def __init__(
        self, query: str, words: tuple[Word, ...], reach: Reach, redactor: Redactor, most: int
    ) -> None:
        self._query, self._words, self._most = query, words, most
        self._reach, self._redactor = reach, redactor
        self._catalog = reach.catalog()
        self._read: list[Read] = []

    def run(self, first: int) -> Found:
        steps: dict[Step, Callable[[], Iterator[Item]]] = {
            1: self._listed,
            2: self._headers,
            3: self._bodies,
            4: self._sources,
        }
        nearest: list[_Ranked] = []
        at: Step = 4
        for step, items in steps.items():
            if step >= first:
                ranked = self._ranked(step, items())
                full = [one for one in ranked if not one.match.missing]
                if full:
                    return self._found(step, full, answered=True)
                if ranked and (not nearest or _misses(ranked) < _misses(nearest)):
                    nearest, at = ranked, step
        best = [one for one in nearest if len(one.match.missing) == _misses(nearest)]
        return self._found(at, best, answered=False)

    def _ranked(self, step: Step, items: Iterator[Item]) -> list[_Ranked]:
        """Items with at least one of the words, best first, and how much was read for them."""
        found, count, tokens = [], 0, 0
        for item in items:
            count += 1
            tokens += estimated(item.text)
            beside = match(self._words, lowered(f"{item.beside}\n{item.path}\n{item.source}"))
            inside = match(self._words, lowered(item.text))
            missing = tuple(word for word in inside.missing if word in beside.missing)
            if len(missing) < len(self._words):
                weight = inside.times + 2 * beside.times
                found.append(_Ranked(item, Match(missing, inside.times), weight))
        self._read.append(Read(step=step, what=WHAT[step], items=count, tokens=tokens))
        return sorted(
            found, key=lambda one: (len(one.match.missing), -one.weight, order(one.item.path))
        )

    def _by_path(self) -> dict[str, tuple[Listed, list[str]]]:
        found: dict[str, tuple[Listed, list[str]]] = {}
        for tag, rows in self._catalog.items():
            for row in rows:
                found.setdefault(row.path, (row, []))[1].append(tag)
        return found

    def _listed(self) -> Iterator[Item]:
        for path, (row, tags) in self._by_path().items():
            yield Item(path, "", row.summary_128, " ".join(tags), row.tokens)

    def _headers(self) -> Iterator[Item]:
        for path, (row, tags) in self._by_path().items():
            if chunk := self._reach.chunk(path):
                head = chunk.header
                text = head.summary_512 or head.summary_128
                beside = f"{head.title} {row.summary_128} {' '.join((*tags, *head.tags))}"
                yield Item(path, head.source, text, beside, row.tokens or head.token_estimate)

    def _bodies(self) -> Iterator[Item]:
        for path in self._by_path():
            if chunk := self._reach.chunk(path):
                text = chunk.text
                yield Item(path, chunk.header.source, text, chunk.header.title, estimated(text))

    def _sources(self) -> Iterator[Item]:
        found = (self._reach.chunk(path) for path in self._by_path())
        for key in dict.fromkeys(chunk.header.source for chunk in found if chunk):
            text = self._reach.source(key)
            if text is not None:
                yield Item(key, key, text, "", estimated(text))

    def _found(self, step: Step, ranked: list[_Ranked], *, answered: bool) -> Found:
        """`step` is where the hits are from."""
        hits = tuple(self._hit(step, one) for one in ranked[: self._most])
        return Found(
            query=self._query,
            step=step if answered else 4,
            answered=answered,
            why=self._why(step, len(ranked), answered=answered),
            hits=hits,
            more=len(ranked) - len(hits),
            read=tuple(self._read),
            notes=tuple(self._reach.notes),
        )

    def _hit(self, step: Step, one: _Ranked) -> Hit:
        item = one.item
        standing = Standing(item.source, (1, 0), "")
        if step < 4:
            standing = self._reach.standing(item.path)
        lines, text = standing.lines, hidden(item.text, self._redactor)
        if step >= 3:
            lines, text = lines_shown(self._words, text, lines[0])
        return Hit(
            path=item.path,
            source=standing.source,
            lines=lines,
            text=shown(text),
            tokens=item.tokens,
            missing=one.match.missing,
            stale=standing.stale,
        )

    def _why(self, step: Step, count: int, *, answered: bool) -> str:
        asked = ", ".join(word.shown for word in self._words)
        if answered:
            have = "one of them has" if count == 1 else f"{count} of them have"
            return f"step {step}, {WHAT[step]}: {have} all of: {asked}"
        if count:
            return (
                f"nothing has all of: {asked}; the nearest were found at step {step}, {WHAT[step]}"
            )
        return f"nothing has any of: {asked}"


def _misses(ranked: list[_Ranked]) -> int:
    return len(ranked[0].match.missing)


MOST_WORDS = 32
LONGEST_QUERY = 1_000
"""Characters of a query; more is a document and no question."""
COUNTED = 5
"""Times that a word counts in one text: a list of the same word is no better answer."""

_QUOTED = re.compile(r"[\"“”„]([^\"“”„]{1,1000})[\"“”„]")
_EDGES = ".,;:!?()[]{}<>'`*_…。、，！？：；（）「」"
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff"
"""Scripts that put no blanks between words."""
_WORD_CHARACTER = rf"[^\W{_CJK}]"


class Word(NamedTuple):
    shown: str
    pattern: re.Pattern[str]


def lowered(text: str) -> str:
    """In the one form in which texts and words are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(query: str) -> tuple[Word, ...]:
    """Phrases in quotes and words; a word with points or slashes in it is one."""
    if len(query) > LONGEST_QUERY:
        raise UserError(f"a query has up to {LONGEST_QUERY:,} characters; name fewer words")
    phrases = [" ".join(phrase.split()) for phrase in _QUOTED.findall(query)]
    bare = [word.strip(_EDGES) for word in _QUOTED.sub(" ", query).split()]
    said = list(dict.fromkeys(word for word in (*phrases, *bare) if _has_letter(word)))
    if not said:
        raise UserError("there are no words to look for; name some, or a phrase in quotes")
    if len(said) > MOST_WORDS:
        raise UserError(f"a query has up to {MOST_WORDS} words; name fewer")
    return tuple(Word(word, _pattern(lowered(word))) for word in said)


def _has_letter(word: str) -> bool:
    return any(character.isalnum() for character in word)


def _pattern(word: str) -> re.Pattern[str]:
    """A word as a whole, or with the s of a plural; a phrase over the end of a line."""
    inner = r"\s+".join(re.escape(part) for part in word.split())
    before = rf"(?<!{_WORD_CHARACTER})" if _is_word(word[0]) else ""
    after = rf"s?(?!{_WORD_CHARACTER})" if _is_word(word[-1]) else ""
    return re.compile(f"{before}{inner}{after}")


def _is_word(character: str) -> bool:
    return re.match(_WORD_CHARACTER, character) is not None


class Match(NamedTuple):
    missing: tuple[str, ...]
    times: int
    """How often its words stand there, each counted a few times at the most."""


def match(words: tuple[Word, ...], text: str) -> Match:
    """`text` is lowered already."""
    missing, times = [], 0
    for word in words:
        found = 0
        for _ in word.pattern.finditer(text):
            found += 1
            if found == COUNTED:
                break
        times += found
        if not found:
            missing.append(word.shown)
    return Match(tuple(missing), times)


class Reached(NamedTuple):
    header: Header
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")


class Standing(NamedTuple):
    """A chunk beside its source as that is now."""

    source: str
    lines: tuple[int, int]
    stale: str


class Reach:
    def __init__(self, place: Folder, root: Path) -> None:
        self._place, self._root = place, root
        self._chunks: dict[str, Reached | None] = {}
        self._sources: dict[str, bytes | None] = {}
        self.notes: list[str] = []

    def catalog(self) -> dict[str, list[Listed]]:
        held = self._place.read(CATALOG)
        if held is None:
            where = str(self._place.path)
            raise UserError(f"{where!r} has no {CATALOG}; `kedgeline bank index PATH` makes one")
        return read_catalog(CATALOG, held.data)

    def chunk(self, path: str) -> Reached | None:
        """None where it cannot be read, which the notes say."""
        if path not in self._chunks and self._there(path) is None:
            self.notes.append(f"{path} is named by the catalog and not there; index again")
        return self._there(path)

    def _there(self, path: str) -> Reached | None:
        if path not in self._chunks:
            data = self._data(self._place.path, path)
            if data is None:  # the field names chunks from the root
                data = self._data(self._root, path)
            self._chunks[path] = None if data is None else Reached(*read_chunk(path, data))
        return self._chunks[path]

    def source(self, key: str) -> str | None:
        data = self._source(key)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def _source(self, key: str) -> bytes | None:
        if key not in self._sources:
            self._sources[key] = self._data(self._root, key)
        return self._sources[key]

    def _data(self, root: Path, path: str) -> bytes | None:
        if not is_key(path):
            self.notes.append(f"{path[:200]!r} leads out of the folder and is not read")
            return None
        parts = PurePosixPath(path).parts
        try:
            with folder_below(root, parts[:-1]) as folder:
                held = folder.read(parts[-1]) if folder else None
        except FileRefused as error:
            self.notes.append(str(error))
            return None
        return held.data if held else None

    def standing(self, path: str) -> Standing:
        """Where a chunk stands in its source, and why it is not what the source is now."""
        chunk = self.chunk(path)
        if chunk is None:
            return Standing("", (0, 0), "the chunk is gone")
        source, body = chunk.header.source, chunk.body
        if chunk.header.hash and digest(body) != chunk.header.hash:
            return Standing(source, (0, 0), "the chunk was changed by hand")
        now = self._source(source)
        if now is None:
            return Standing(source, (0, 0), "the source is gone")
        start = self._start(path, chunk.header, now)
        if now[start : start + len(body)] != body:
            start = now.find(body)
        if start < 0:
            return Standing(source, (0, 0), "the source changed since")
        if (
            start + len(body) < len(now)
            and self._beside(path, chunk.header.chunk_index + 1) is None
        ):
            return Standing(source, (0, 0), "the source goes on behind it since")
        line = now.count(b"\n", 0, start) + 1
        lines = (line, line + max(0, body.rstrip(b"\n").count(b"\n")))
        return Standing(source, lines, "")

    def _start(self, path: str, header: Header, now: bytes) -> int:
        """Bytes of the chunks before it."""
        size = 0
        for number in range(1, header.chunk_index):
            before = self._beside(path, number)
            if before is None:
                return len(now)
            size += len(before.body)
        return size

    def _beside(self, path: str, number: int) -> Reached | None:
        """Another chunk of the same document."""
        return self._there(f"{path.rpartition('/')[0]}/{chunk_name(number)}")


LINES_SHOWN = 6
"""Lines of one hit that are shown."""
LINE_SHOWN = 200
"""Characters of a line."""
WHOLE = 2_400
"""Characters of what is shown of one hit: a summary of 512 tokens."""


def hidden(text: str, redactor: Redactor) -> str:
    """The text with marks in the place of secrets and with as many lines."""
    pieces, place = [], 0
    for secret in redactor.found(text):
        lines = text.count("\n", secret.start, secret.end)
        pieces += [text[place : secret.start], f"[secret: {secret.kind}]", "\n" * lines]
        place = secret.end
    return "".join([*pieces, text[place:]]) if pieces else text


def shown(text: str) -> str:
    return cut("\n".join(foreign(line) for line in text.split("\n")), WHOLE)


def lines_shown(words: tuple[Word, ...], text: str, first: int) -> tuple[tuple[int, int], str]:
    """Where the words stand, from the first line to the last, and these lines with their numbers.
    `first` is the number of the text's first line; 0 where it is not known."""
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n")):
        plain = lowered(line)
        if any(word.pattern.search(plain) for word in words):
            rows.append((number, line))
    if not rows:  # a phrase over the end of a line, or words of the title
        last = first + text.rstrip("\n").count("\n")
        return (first, last) if first else (0, 0), cut(one_line(text[:LOOKED_AT]), LINE_SHOWN)
    told = [
        f"{first + number}: {_line(words, line)}" if first else _line(words, line)
        for number, line in rows[:LINES_SHOWN]
    ]
    if len(rows) > LINES_SHOWN:
        told.append(f"+{len(rows) - LINES_SHOWN} more lines")
    lines = (first + rows[0][0], first + rows[-1][0]) if first else (0, 0)
    return lines, "\n".join(told)


def _line(words: tuple[Word, ...], line: str) -> str:
    """The part of a long line where the first word stands."""
    if len(line) > LINE_SHOWN:
        plain = lowered(line)
        places = [found.start() for word in words if (found := word.pattern.search(plain))]
        start = max(0, min(places, default=0) - LINE_SHOWN // 2)
        line = ("…" if start else "") + line[start : start + 4 * LINE_SHOWN]
    return cut(one_line(line), LINE_SHOWN)
