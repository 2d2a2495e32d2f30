"""A search that reads as little as it can: summaries in the catalog, summaries of the chunks, whole
chunks, and sources at last (seed 003)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
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
    to_text,
)
from kedgeline.bank.values import estimated
from kedgeline.errors import FileRefused, UserError
from kedgeline.files import Folder, folder_below
from kedgeline.model import Value
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.text.prose import LOOKED_AT, cut, foreign, one_line

Step = Literal[1, 2, 3, 4]

WHAT: dict[Step, str] = {
    1: "summaries of 128 tokens in catalog.yml",
    2: "summaries of 512 tokens of the chunks",
    3: "whole chunks",
    4: "source files",
}
MOST, LIMIT = 10, 200
"""Hits that are shown unless told otherwise, and that may be asked for."""
MOST_WORDS, LONGEST_QUERY = 32, 1_000
"""Words and characters of a query; more is a document and no question."""
COUNTED = 5
"""Times that a word counts in one text: a list of the same word is no better answer."""
LINES_SHOWN, LINE_SHOWN, WHOLE = 6, 200, 2_400
"""Lines of one hit that are shown, characters of a line, and of all that is shown of it: a summary
of 512 tokens."""

_QUOTED = re.compile(r"[\"“”„]([^\"“”„]{1,1000})[\"“”„]")
_EDGES = ".,;:!?()[]{}<>'`*_…。、，！？：；（）「」"
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff"
"""Scripts that put no blanks between words."""
_WORD_CHARACTER = rf"[^\W{_CJK}]"


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


class Word(NamedTuple):
    shown: str
    pattern: re.Pattern[str]


class _Item(NamedTuple):
    """What a step looks at."""

    path: str
    source: str
    text: str
    beside: str = ""
    """What counts besides, and is not read for it: tags, a title."""
    tokens: int = 0


class _Ranked(NamedTuple):
    item: _Item
    missing: tuple[str, ...]
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
        reach = Reach(place, base)
        nearest, at, read = _searched(words, reach, step)
        left = min((len(one.missing) for one in nearest), default=0)
        best = [one for one in nearest if len(one.missing) == left]
        answered = bool(best) and not left
        hits = tuple(_hit(one, at, words, reach, redactor) for one in best[:most])
    asked = ", ".join(word.shown for word in words)
    why = f"nothing has any of: {asked}"
    if answered:
        have = "one of them has" if len(best) == 1 else f"{len(best)} of them have"
        why = f"step {at}, {WHAT[at]}: {have} all of: {asked}"
    elif best:
        why = f"nothing has all of: {asked}; the nearest were found at step {at}, {WHAT[at]}"
    return Found(
        query=query,
        step=at if answered else 4,
        answered=answered,
        why=why,
        hits=hits,
        more=len(best) - len(hits),
        read=read,
        notes=tuple(reach.notes),
    )


def _searched(
    words: tuple[Word, ...], reach: Reach, first: int
) -> tuple[list[_Ranked], Step, tuple[Read, ...]]:
    """What the first step has that has all words, or else what comes nearest; the step, and what
    was read."""
    read: list[Read] = []
    nearest: list[_Ranked] = []
    at: Step = 4
    for step in get_args(Step)[first - 1 :]:
        items = list(_items(step, reach))
        ranked = list(filter(None, (_ranked(words, item) for item in items)))
        ranked.sort(key=lambda one: (len(one.missing), -one.weight, order(one.item.path)))
        tokens = sum(estimated(item.text) for item in items)
        read.append(Read(step=step, what=WHAT[step], items=len(items), tokens=tokens))
        if ranked and (not nearest or len(ranked[0].missing) < len(nearest[0].missing)):
            nearest, at = ranked, step
        if nearest and not nearest[0].missing:
            break
    return nearest, at, tuple(read)


def _items(step: Step, reach: Reach) -> Iterator[_Item]:
    rows: dict[str, tuple[Listed, list[str]]] = {}
    for tag, listed in reach.catalog.items():
        for row in listed:
            rows.setdefault(row.path, (row, []))[1].append(tag)
    if step == 1:
        for path, (row, tags) in rows.items():
            yield _Item(path, "", row.summary_128, " ".join(tags), row.tokens)
        return
    chunks = {path: chunk for path in rows if (chunk := reach.chunk(path))}
    sources: dict[str, None] = {}
    for path, chunk in chunks.items():
        head, (row, tags) = chunk.header, rows[path]
        if step == 2:
            text = head.summary_512 or head.summary_128
            beside = f"{head.title} {row.summary_128} {' '.join((*tags, *head.tags))}"
            yield _Item(path, head.source, text, beside, row.tokens or head.token_estimate)
        elif step == 3:
            text = to_text(chunk.body)
            yield _Item(path, head.source, text, head.title, estimated(text))
        else:
            sources[head.source] = None
    for key in sources:
        if (data := reach.source(key)) is not None:
            text = to_text(data)
            yield _Item(key, key, text, "", estimated(text))


def _ranked(words: tuple[Word, ...], item: _Item) -> _Ranked | None:
    """An item with at least one of the words."""
    beside = match(words, lowered(f"{item.beside}\n{item.path}\n{item.source}"))
    inside = match(words, lowered(item.text))
    missing = tuple(word for word in inside.missing if word in beside.missing)
    if len(missing) == len(words):
        return None
    return _Ranked(item, missing, inside.times + 2 * beside.times)


def _hit(
    one: _Ranked, step: Step, words: tuple[Word, ...], reach: Reach, redactor: Redactor
) -> Hit:
    item = one.item
    source, lines, stale = item.source, (1, 0), ""
    if step < 4:
        source, lines, stale = reach.standing(item.path)
    text = hidden(item.text, redactor)
    if step >= 3:
        lines, text = lines_shown(words, text, lines[0])
    return Hit(
        path=item.path,
        source=source,
        lines=lines,
        text=cut("\n".join(foreign(line) for line in text.split("\n")), WHOLE),
        tokens=item.tokens,
        missing=one.missing,
        stale=stale,
    )


def lowered(text: str) -> str:
    """In the one form in which texts and words are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(query: str) -> tuple[Word, ...]:
    """Phrases in quotes and words; a word with points or slashes in it is one."""
    if len(query) > LONGEST_QUERY:
        raise UserError(f"a query has up to {LONGEST_QUERY:,} characters; name fewer words")
    phrases = [" ".join(phrase.split()) for phrase in _QUOTED.findall(query)]
    bare = [word.strip(_EDGES) for word in _QUOTED.sub(" ", query).split()]
    said = [word for word in dict.fromkeys((*phrases, *bare)) if any(map(str.isalnum, word))]
    if not said:
        raise UserError("there are no words to look for; name some, or a phrase in quotes")
    if len(said) > MOST_WORDS:
        raise UserError(f"a query has up to {MOST_WORDS} words; name fewer")
    return tuple(Word(word, _pattern(lowered(word))) for word in said)


def _pattern(word: str) -> re.Pattern[str]:
    """A word as a whole, or with the s of a plural; a phrase over the end of a line."""
    inner = r"\s+".join(re.escape(part) for part in word.split())
    before = rf"(?<!{_WORD_CHARACTER})" if re.match(_WORD_CHARACTER, word[0]) else ""
    after = rf"s?(?!{_WORD_CHARACTER})" if re.match(_WORD_CHARACTER, word[-1]) else ""
    return re.compile(f"{before}{inner}{after}")


class Match(NamedTuple):
    missing: tuple[str, ...]
    times: int
    """How often its words stand there, each counted a few times at the most."""


def match(words: tuple[Word, ...], text: str) -> Match:
    """`text` is lowered already."""
    times = [
        sum(1 for _ in zip(range(COUNTED), word.pattern.finditer(text), strict=False))
        for word in words
    ]
    missing = (word.shown for word, found in zip(words, times, strict=True) if not found)
    return Match(tuple(missing), sum(times))


class Reached(NamedTuple):
    header: Header
    body: bytes


class Reach:
    """Chunks and sources as they are now, each read once."""

    def __init__(self, place: Folder, root: Path) -> None:
        self._place, self._root = place, root
        self._chunks: dict[str, Reached | None] = {}
        self._sources: dict[str, bytes | None] = {}
        self.notes: list[str] = []
        held = place.read(CATALOG)
        if held is None:
            where = str(place.path)
            raise UserError(f"{where!r} has no {CATALOG}; `kedgeline bank index PATH` makes one")
        self.catalog = read_catalog(CATALOG, held.data)

    def chunk(self, path: str, *, named: bool = True) -> Reached | None:
        """None where it cannot be read, which the notes say where the catalog names it."""
        if path not in self._chunks:
            data = self._data(self._place.path, path)
            if data is None:  # the field names chunks from the root
                data = self._data(self._root, path)
            if data is None and named:
                self.notes.append(f"{path} is named by the catalog and not there; index again")
            self._chunks[path] = None if data is None else Reached(*read_chunk(path, data))
        return self._chunks[path]

    def source(self, key: str) -> bytes | None:
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

    def standing(self, path: str) -> tuple[str, tuple[int, int], str]:
        """The source of a chunk, the lines where it stands there, and why it is not what the source
        is now."""
        chunk = self.chunk(path)
        if chunk is None:
            return "", (0, 0), "the chunk is gone"
        head, body = chunk.header, chunk.body
        if head.hash and digest(body) != head.hash:
            return head.source, (0, 0), "the chunk was changed by hand"
        now = self.source(head.source)
        if now is None:
            return head.source, (0, 0), "the source is gone"
        above = (self._beside(path, number) for number in range(1, head.chunk_index))
        start = sum(len(one.body) for one in above if one)
        if now[start : start + len(body)] != body:
            start = now.find(body)
        if start < 0:
            return head.source, (0, 0), "the source changed since"
        goes_on = start + len(body) < len(now)
        if goes_on and self._beside(path, head.chunk_index + 1) is None:
            return head.source, (0, 0), "the source goes on behind it since"
        line = now.count(b"\n", 0, start) + 1
        return head.source, (line, line + body.rstrip(b"\n").count(b"\n")), ""

    def _beside(self, path: str, number: int) -> Reached | None:
        """Another chunk of the same document."""
        return self.chunk(f"{path.rpartition('/')[0]}/{chunk_name(number)}", named=False)


def hidden(text: str, redactor: Redactor) -> str:
    """The text with marks in the place of secrets and with as many lines."""
    pieces, place = [], 0
    for secret in redactor.found(text):
        lines = text.count("\n", secret.start, secret.end)
        pieces += [text[place : secret.start], f"[secret: {secret.kind}]", "\n" * lines]
        place = secret.end
    return "".join([*pieces, text[place:]])


def lines_shown(words: tuple[Word, ...], text: str, first: int) -> tuple[tuple[int, int], str]:
    """Where the words stand, from the first line to the last, and these lines with their numbers.
    `first` is the number of the text's first line; 0 where it is not known."""
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), first):
        plain = lowered(line)
        places = [found.start() for word in words if (found := word.pattern.search(plain))]
        if places:
            rows.append((number, _around(line, min(places))))
    if not rows:  # a phrase over the end of a line, or words of the title
        last = first + text.rstrip("\n").count("\n")
        return (first, last) if first else (0, 0), cut(one_line(text[:LOOKED_AT]), LINE_SHOWN)
    told = [f"{number}: {line}" if first else line for number, line in rows[:LINES_SHOWN]]
    if len(rows) > LINES_SHOWN:
        told.append(f"+{len(rows) - LINES_SHOWN} more lines")
    return (rows[0][0], rows[-1][0]) if first else (0, 0), "\n".join(told)


def _around(line: str, place: int) -> str:
    """The part of a long line where the first word stands."""
    if len(line) > LINE_SHOWN:
        start = max(0, place - LINE_SHOWN // 2)
        line = ("…" if start else "") + line[start : start + 4 * LINE_SHOWN]
    return cut(one_line(line), LINE_SHOWN)
