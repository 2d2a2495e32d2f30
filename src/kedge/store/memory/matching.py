"""Whether a passage answers a query, looked at one by one; for a store without an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from kedge.store.ranking import score_of
from kedge.store.values import Entry, Found, Passage, Phrase, Query
from kedge.store.words import words


class Indexed(NamedTuple):
    """A passage and its words."""

    passage: Passage
    text: Sequence[str]
    files: Sequence[str]
    command: Sequence[str]


class Candidate(NamedTuple):
    """A passage with its session and entry; a higher rank is newer."""

    rank: tuple[int, int]
    session: str
    entry: Entry
    indexed: Indexed


def indexed(passage: Passage) -> Indexed:
    return Indexed(passage, words(passage.text), words(passage.files), words(passage.command))


def answer(query: Query, candidates: Iterable[Candidate]) -> list[Found]:
    """Of each entry its best passage, best first, newer before older."""
    matches = [each for each in candidates if _holds(query, each)]
    average = sum(len(each.indexed.text) for each in matches) / max(1, len(matches))
    scored = [(_score(query, each, average), each.rank, each) for each in matches]
    best: dict[tuple[str, int], Found] = {}
    for score, _, each in sorted(scored, key=lambda one: one[:2], reverse=True):
        best.setdefault((each.session, each.entry.number), _found(each, score))
    return list(best.values())[: max(0, query.limit)]


def _holds(query: Query, candidate: Candidate) -> bool:
    _, session, entry, (passage, text, files, command) = candidate
    return (
        (not query.sessions or session in query.sessions)
        and query.who in ("", passage.who)
        and (passage.error or not query.errors)
        and _between(query.since, entry.at, query.until)
        and _between(query.first, entry.index, query.last)
        and all(count(phrase, text) for phrase in query.phrases)
        and all(count(phrase, files) for phrase in query.files)
        and all(count(phrase, command) for phrase in query.commands)
    )


def _between(least: int | None, value: int, most: int | None) -> bool:
    return (least is None or least <= value) and (most is None or value <= most)


def count(phrase: Phrase, text: Sequence[str]) -> int:
    """How often a phrase stands in words. One without a word stands everywhere."""
    sought = _sought(phrase)
    if not sought:
        return 1
    *whole, last = sought
    hits = 0
    for end in range(len(whole), len(text)):
        ends = text[end].startswith(last) if phrase.prefix else text[end] == last
        hits += ends and list(text[end - len(whole) : end]) == whole
    return hits


@lru_cache(maxsize=64)
def _sought(phrase: Phrase) -> tuple[str, ...]:
    return tuple(word for given in phrase.words for word in words(given))


def _score(query: Query, candidate: Candidate, average: float) -> float:
    text = candidate.indexed.text
    return score_of((count(phrase, text) for phrase in query.phrases), len(text), average)


def _found(candidate: Candidate, score: float) -> Found:
    entry, passage = candidate.entry, candidate.indexed.passage
    return Found(
        session=candidate.session,
        thread=entry.thread,
        index=entry.index,
        number=entry.number,
        at=entry.at,
        id=entry.id,
        who=passage.who,
        field=passage.field,
        start=passage.start,
        size=len(passage.text),
        error=passage.error,
        score=score,
    )
