"""A search that reads as little as it can: summaries in the catalog, summaries of the chunks, whole
chunks, and sources at last (seed 003)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple, get_args

from kedge.bank.catalog.keeping import order
from kedge.bank.catalog.query import Match, Word, lowered, match, words_of
from kedge.bank.catalog.reaching import Reach, Standing
from kedge.bank.catalog.showing import hidden, lines_shown, shown
from kedge.bank.catalog.values import Found, Hit, Listed, Read, Step, estimated
from kedge.errors import UserError
from kedge.guarded_files import folder_below
from kedge.redaction import REDACTOR, Redactor

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
