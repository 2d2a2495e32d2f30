"""A search in the catalog of a bank that reads as little as it can (seed 003): summaries of 128
tokens, then those of 512, then the chunks, then the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from kedgeline.bank.catalog import (
    CATALOG,
    Header,
    Listed,
    chunk_order,
    is_key,
    lowered,
    read_catalog,
    read_chunk,
)
from kedgeline.bank.entries import estimated
from kedgeline.errors import FileRefused, UserError
from kedgeline.files import folder_below
from kedgeline.model import Value
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.text.prose import LOOKED_AT, cut, foreign, one_line

Step = Literal[1, 2, 3, 4]
STEPS: tuple[Step, ...] = (1, 2, 3, 4)
WHAT: dict[Step, str] = {
    1: "summaries of 128 tokens in catalog.yml",
    2: "summaries of 512 tokens of the chunks",
    3: "whole chunks",
    4: "source files",
}
HITS, COUNTED = 10, 5
"""Hits that are shown, and times that a word counts in one text."""
LINES_SHOWN, LINE_SHOWN, WHOLE = 6, 200, 2_400
"""Lines of one hit, characters of a line, and of all that is shown of a hit."""
CHANGED = "the source changed since, or is gone; index again"
_QUOTED = re.compile(r"[\"“”„]([^\"“”„]{1,1000})[\"“”„]")
_EDGES = ".,;:!?()[]{}<>'`*_…。、，！？：；（）「」"


class ChunkHit(Value, frozen=True):
    path: str
    """Of the chunk, from the bank's folder; of the source where only that answers."""
    source: str
    lines: tuple[int, int] = (0, 0)
    """Of the source, where the chunk stands or the words do; zeros where it changed."""
    text: str = ""
    """What answered, shortened."""
    tokens: int = 0
    """Estimated, of the chunk or the source as a whole."""
    missing: tuple[str, ...] = ()
    """Words of the query that it does not have."""
    stale: str = ""
    """Why the chunk is not what the source is now."""


class FoundChunks(Value, frozen=True):
    step: Step
    """Where the search stopped."""
    answered: bool
    """Whether something has all words; else the hits are those that have most of them."""
    why: str
    hits: tuple[ChunkHit, ...] = ()
    more: int = 0
    """Hits that are not shown."""
    notes: tuple[str, ...] = ()


class _Item(NamedTuple):
    """What a step looks at."""

    path: str
    source: str
    text: str
    beside: str
    """What counts besides: tags, titles, names."""
    tokens: int
    missing: tuple[str, ...] = ()
    weight: int = 0


_Words = Mapping[str, re.Pattern[str]]


def find(
    query: str,
    folder: str | PathLike[str],
    *,
    redactor: Redactor = REDACTOR,
    step: Step = 1,
    most: int = HITS,
) -> FoundChunks:
    """Chunks that have all words of a query, from the first step that has any. Words may be
    phrases in quotes. A search may begin at a later step."""
    words = _words_of(query)
    shelf = _Shelf(Path(folder))
    nearest: list[_Item] = []
    at = step
    for number in STEPS[step - 1 :]:
        items = (_ranked(words, item) for item in shelf.items(number))
        ranked = [one for one in items if one.weight]
        ranked.sort(key=lambda one: (len(one.missing), -one.weight, chunk_order(one.path)))
        if ranked and (not nearest or len(ranked[0].missing) < len(nearest[0].missing)):
            nearest, at = ranked, number
        if nearest and not nearest[0].missing:
            break
    best = [one for one in nearest if len(one.missing) == len(nearest[0].missing)]
    answered = bool(best) and not best[0].missing
    asked = ", ".join(words)
    why = f"nothing has any of: {asked}"
    if answered:
        why = f"step {at}, {WHAT[at]}: {len(best)} with all of: {asked}"
    elif best:
        why = f"nothing has all of: {asked}; the nearest were found at step {at}, {WHAT[at]}"
    return FoundChunks(
        step=at if answered else STEPS[-1],
        answered=answered,
        why=why,
        hits=tuple(_hit(one, at, words, shelf, redactor) for one in best[:most]),
        more=len(best[most:]),
        notes=tuple(dict.fromkeys(shelf.notes)),
    )


class _Shelf:
    """The catalog, chunks and sources as they are now."""

    def __init__(self, bank: Path) -> None:
        self._bank, self._root = bank, bank.absolute().parent
        self.notes: list[str] = []
        data = self._data(bank, CATALOG)
        if data is None:
            raise UserError(
                f"{str(bank)!r} has no {CATALOG}; `kedgeline bank index PATH` makes one"
            )
        self._rows: dict[str, tuple[Listed, list[str]]] = {}
        for tag, listed in read_catalog(CATALOG, data).items():
            for row in listed:
                self._rows.setdefault(row.path, (row, []))[1].append(tag)

    def items(self, step: Step) -> Iterator[_Item]:
        sources: dict[str, None] = {}
        for path, (row, tags) in self._rows.items():
            beside = f"{' '.join(tags)} {path}"
            if step == 1:
                yield _Item(path, "", row.summary_128, beside, row.tokens)
            elif chunk := self.chunk(path):
                header, body = chunk
                sources[header.source] = None
                text = header.summary_512 if step == 2 else body
                beside = f"{beside} {header.title} {header.summary_128} {header.source}"
                if step < 4:
                    yield _Item(path, header.source, text, beside, row.tokens)
        for key in sources if step == 4 else ():
            if (whole := self.source(key)) is not None:
                yield _Item(key, key, whole, "", estimated(whole))

    def chunk(self, path: str) -> tuple[Header, str] | None:
        data = self._data(self._bank, path)
        if data is None:
            self.notes.append(f"{path} is named by the catalog and not there; index again")
        return None if data is None else read_chunk(path, data)

    def source(self, key: str) -> str | None:
        data = self._data(self._root, key)
        return None if data is None else data.decode("utf-8", "replace")

    def standing(self, path: str) -> tuple[str, int, int]:
        """The source of a chunk, and the lines where it stands there; zeros where it does not."""
        chunk = self.chunk(path)
        if chunk is None:
            return "", 0, 0
        header, body = chunk
        now = self.source(header.source) or ""
        start = now.find(body)
        line = now.count("\n", 0, start) + 1 if start >= 0 and now else 0
        return header.source, line, line and line + body.rstrip("\n").count("\n")

    def _data(self, root: Path, path: str) -> bytes | None:
        if not is_key(path):
            self.notes.append(f"{path[:200]!r} leads out of the folder and is not read")
            return None
        *folders, name = PurePosixPath(path).parts
        try:
            with folder_below(root, folders) as folder:
                held = folder.read(name) if folder else None
        except FileRefused as error:
            self.notes.append(str(error))
            return None
        return held.data if held else None


def _ranked(words: _Words, item: _Item) -> _Item:
    """An item with how often it has the words, and those it has not."""
    beside, inside = lowered(item.beside), lowered(item.text)
    times = {
        word: len(one.findall(inside)[:COUNTED]) + 2 * len(one.findall(beside)[:COUNTED])
        for word, one in words.items()
    }
    missing = tuple(word for word, number in times.items() if not number)
    return item._replace(missing=missing, weight=sum(times.values()))


def _hit(item: _Item, step: Step, words: _Words, shelf: _Shelf, redactor: Redactor) -> ChunkHit:
    source, first, last = (item.source, 1, 0) if step == 4 else shelf.standing(item.path)
    lines, text = (first, last), item.text
    if step >= 3:
        lines, text = _lines_shown(words, text, first)
    return ChunkHit(
        path=item.path,
        source=source,
        lines=lines,
        text=cut("\n".join(foreign(redactor.clean(line)) for line in text.split("\n")), WHOLE),
        tokens=item.tokens,
        missing=item.missing,
        stale="" if first else CHANGED,
    )


def _words_of(query: str) -> dict[str, re.Pattern[str]]:
    """Phrases in quotes and words; a word with points or slashes in it is one."""
    phrases = [" ".join(phrase.split()) for phrase in _QUOTED.findall(query)]
    bare = [word.strip(_EDGES) for word in _QUOTED.sub(" ", query).split()]
    said = [word for word in dict.fromkeys((*phrases, *bare)) if any(map(str.isalnum, word))]
    if not said:
        raise UserError("the query has no words; give some, or a phrase in quotes")
    return {word: _pattern(lowered(word)) for word in said}


def _pattern(word: str) -> re.Pattern[str]:
    """A word as a whole, or with the s of a plural; a phrase over the end of a line. Scripts that
    put no blanks between words have no edges."""
    inner = r"\s+".join(re.escape(part) for part in word.split())
    before = r"(?<![a-z0-9_])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"s?(?![a-z0-9_])" if word[-1].isascii() and word[-1].isalnum() else ""
    return re.compile(f"{before}{inner}{after}")


def _lines_shown(words: _Words, text: str, first: int) -> tuple[tuple[int, int], str]:
    """The lines with any of the words, each with its number where that of the first is known."""
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), first):
        places = [found.start() for one in words.values() if (found := one.search(lowered(line)))]
        if places:
            start = max(0, min(places) - LINE_SHOWN // 2) if len(line) > LINE_SHOWN else 0
            rows.append((number, cut("…" * bool(start) + line[start:].strip(), LINE_SHOWN)))
    if not rows:  # a phrase over the end of a line, or words of the title
        rows = [(first, cut(one_line(text[:LOOKED_AT]), LINE_SHOWN))]
    told = [f"{number}: {line}" if first else line for number, line in rows[:LINES_SHOWN]]
    more = [f"+{len(rows) - LINES_SHOWN} more lines"] if len(rows) > LINES_SHOWN else []
    lines = (rows[0][0], rows[-1][0]) if first else (0, 0)
    return lines, "\n".join([*told, *more])
