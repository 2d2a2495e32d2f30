"""What a store finds: words that stand together first, each turn once, and something rather than
nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from msgspec.structs import replace

from kedge.store import Found, Phrase, Query, Store

ASKED_FOR = 4
"""Passages asked of the store for one answer: equal turns of forks become one."""
MOST_ASKED = 400
"""Passages asked for at most to that end: each costs a look into a table."""
LEFT_OUT_SINGLY = 6
"""Words up to which each is left out in turn. With more, that many searches would take long."""


class Hit(NamedTuple):
    found: Found
    together: bool = False
    also: tuple[str, ...] = ()


class Answer(NamedTuple):
    hits: Sequence[Hit]
    relaxed: bool
    """Whether nothing had all of it."""


def answered(store: Store, query: Query) -> Answer:
    """The best passages for a query, one a turn. Where none has all of it: those that have all its
    words, else those with all words that occur at all, else with as many as can be."""
    wide = replace(query, limit=_wide(query.limit))
    if hits := _strictly(store, wide, enough=query.limit):
        return Answer(hits[: query.limit], relaxed=False)
    for attempt in _attempts(store, wide):
        if hits := [Hit(found) for found in attempt]:
            return Answer(_grouped(hits)[: query.limit], relaxed=True)
    return Answer((), relaxed=False)


def _wide(limit: int) -> int:
    return max(limit, min(limit * ASKED_FOR, MOST_ASKED))


def _strictly(store: Store, query: Query, *, enough: int) -> list[Hit]:
    """Turns with all of it; first those in which it stands as it was typed."""
    phrase = _joined(query.phrases)
    first = store.find(replace(query, phrases=(phrase,))) if phrase else ()
    together = [Hit(found, together=True) for found in first]
    if len(hits := _grouped(together)) >= enough:
        return hits
    return _grouped(together + [Hit(found) for found in store.find(query)])


def _joined(phrases: Sequence[Phrase]) -> Phrase | None:
    """All words as one phrase; none where that would be another question, or the same."""
    if len(phrases) < 2 or any(phrase.prefix for phrase in phrases[:-1]):
        return None
    joined = tuple(word for phrase in phrases for word in phrase.words)
    return Phrase(words=joined, prefix=phrases[-1].prefix)


def _attempts(store: Store, query: Query) -> Iterator[Iterable[Found]]:
    """Ever weaker answers."""
    single = tuple(dict.fromkeys(one for phrase in query.phrases for one in _words(phrase)))
    if single != query.phrases:
        yield store.find(replace(query, phrases=single))
    if len(single) < 2:
        return
    alone = {word: store.find(replace(query, phrases=(word,))) for word in single}
    known = tuple(word for word in single if alone[word])
    if 1 < len(known) < len(single):
        yield store.find(replace(query, phrases=known))
    if 2 < len(known) <= LEFT_OUT_SINGLY:
        some = combinations(known, len(known) - 1)
        yield _any(store.find(replace(query, phrases=phrases)) for phrases in some)
    yield _any(alone.values())


def _words(phrase: Phrase) -> Iterator[Phrase]:
    *before, last = phrase.words
    yield from (Phrase(words=(word,)) for word in before)
    yield Phrase(words=(last,), prefix=phrase.prefix)


def _any(answers: Iterable[Iterable[Found]]) -> list[Found]:
    """What stands in any of these; a turn that is in several comes first."""
    times: Counter[tuple[str, int]] = Counter()
    best: dict[tuple[str, int], Found] = {}
    for found in chain.from_iterable(answers):
        entry = (found.session, found.number)
        times[entry] += 1
        if entry not in best or found.score > best[entry].score:
            best[entry] = found
    order = sorted(best, key=lambda entry: (-times[entry], -best[entry].score))
    return [best[entry] for entry in order]


def _grouped(hits: Iterable[Hit]) -> list[Hit]:
    """One hit a turn: the best, with the other sessions that have the same turn."""
    groups: dict[tuple[str, str, int], list[Hit]] = {}
    for hit in hits:
        found = hit.found
        same = found.id or f"{found.session}\0{found.number}"
        groups.setdefault((same, found.thread, found.index), []).append(hit)
    return [_one(group) for group in groups.values()]


def _one(group: Sequence[Hit]) -> Hit:
    first = group[0]
    others = dict.fromkeys(hit.found.session for hit in group)
    return first._replace(also=tuple(name for name in others if name != first.found.session))
