"""A store over SQL tables: its sessions, searching, and what can go wrong with derived tables."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from math import fsum, log
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import StoreDamaged, StoreFailed
from kedgeline.files import checked
from kedgeline.store.protocol import (
    WHO,
    Entry,
    Found,
    Head,
    Passage,
    Phrase,
    Place,
    Problem,
    Query,
    SessionInfo,
    words,
)
from kedgeline.store.tables import (
    DERIVED,
    ITS_ENTRY,
    LAST_INTEGER,
    MESSAGES,
    MINE,
    PASSAGES,
    PLACE,
    Block,
    Row,
    Tables,
    column_text,
    first_column,
    found_of,
    info_of,
    place_of,
    readable_rows,
)

# Searching: of the newest passages that match, the best, by the formula BM25.

SATURATION, LENGTH_WEIGHT = 1.2, 0.75
"""The usual constants of BM25: how soon further hits count for little, and how much the length of a
passage counts."""
CANDIDATES = 2_000
"""Newest matches that are ranked: a common word must not cost a look at every passage."""
RANKED = 400
"""The same where any word will do: the rarest words with so many passages choose what is ranked."""
COUNTED = 200
"""Passages counted to learn how rare a word is."""
BY_WHO: Mapping[str, float] = {"user": 1.4, "agent": 1.2}
"""Weight of words by who said them: outputs are many, and repeat."""
FAVOURED = 1.2
"""Weight of failed calls where failures are asked for."""
RECENT = (0.1, 0.6)
"""How much more the newest count than the oldest; the second where the last is asked for."""
TOGETHER = 0.5
"""Share that words count for in one passage; the rest they count for anywhere in the entry."""
OF_ENTRY = 50
"""Most candidates from one entry: a giant output must not hide the others."""


class PassageHit(NamedTuple):
    """A passage that matches."""

    id: int
    session: str
    number: int
    who: str
    error: int
    size: int
    """Words of its text."""
    counts: tuple[int, ...]
    """How often it has each word that ranks it."""


class _Match(NamedTuple):
    """The best passage of an entry; of equal scores the one written last is the largest."""

    score: float
    id: int
    session: str
    number: int


class Spread(NamedTuple):
    """The newest passages that match."""

    number: int = 0
    oldest: int | None = None
    newest: int | None = None
    """Ids, which grow with time."""


def rank_by(query: Query) -> tuple[tuple[Phrase, ...], ...]:
    """The words that are counted: those of the topic, else the phrases."""
    return query.topic or tuple((phrase,) for phrase in query.phrases)


def conditions(query: Query) -> tuple[str, dict[str, Any]]:
    """What the index of words does not know."""
    tests: dict[str, tuple[str, int | None]] = {
        "since": ("passage.at >= :since", query.since),
        "until": ("passage.at <= :until", query.until),
        "first": ("passage.turn >= :first", query.first),
        "last": ("passage.turn <= :last", query.last),
    }
    chosen = {name: test for name, test in tests.items() if test[1] is not None}
    text = "".join(f" AND {test}" for test, _ in chosen.values())
    return text, {name: value for name, (_, value) in chosen.items()}


def _plain(query: Query) -> Query:
    """With words as the index has them; phrases without any are left out."""

    def cut(phrases: Iterable[Phrase]) -> tuple[Phrase, ...]:
        found = (
            replace(one, words=tuple(word for text in one.words for word in words(text)))
            for one in phrases
        )
        return tuple(dict.fromkeys(one for one in found if one.words))

    topic = tuple(forms for forms in map(cut, query.topic) if forms)
    files, commands = cut(query.files), cut(query.commands)
    return replace(query, phrases=cut(query.phrases), files=files, commands=commands, topic=topic)


def _newest(page_of: Callable[[int, int], Iterable[PassageHit]], most: int) -> list[PassageHit]:
    """So many of the newest passages, and no more from one entry than would hide the others."""
    found: list[PassageHit] = []
    counts: Counter[tuple[str, int]] = Counter()
    below = LAST_INTEGER
    while len(found) < most:
        page = list(page_of(below, most))
        for hit in page:
            counts[hit.session, hit.number] += 1
            if counts[hit.session, hit.number] <= OF_ENTRY:
                found.append(hit)
        if len(page) < most:
            break
        full = counts[page[-1].session, page[-1].number] >= OF_ENTRY
        below = page[-1].id // PASSAGES * PASSAGES if full else page[-1].id
    return found[:most]


def ranked(
    hits: Sequence[PassageHit], worth: Sequence[float], favour: Sequence[str]
) -> list[_Match]:
    """Of each entry its best passage. A word counts for its entry where it counts most; who said it
    and when count a little."""
    average = max(1.0, fsum(hit.size for hit in hits) / max(1, len(hits)))
    best: dict[tuple[str, int], tuple[float, int]] = {}
    whole: dict[tuple[str, int], list[float]] = {}
    for hit in hits:
        weight = BY_WHO.get(hit.who, 1.0) * (FAVOURED if hit.error and "failed" in favour else 1)
        damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * hit.size / average)
        scores = [
            weight * value * count * (SATURATION + 1) / (count + damping)
            for value, count in zip(worth, hit.counts, strict=True)
        ]
        entry = hit.session, hit.number
        best[entry] = max(best.get(entry, (0.0, 0)), (sum(scores), hit.id))
        whole[entry] = list(map(max, whole.get(entry, scores), scores))
    ids = [hit.id for hit in hits] or [0]
    first, last = min(ids), max(ids)
    newer = RECENT["recent" in favour]
    found = []
    for entry, (score, id) in best.items():
        score = (1 - TOGETHER) * sum(whole[entry]) + TOGETHER * score
        score *= 1 + newer * (id - first) / max(1, last - first)
        if "many" in favour:
            score *= sum(map(bool, whole[entry]))
        found.append(_Match(score, id, *entry))
    return sorted(found, reverse=True)


def rarity(having: float, all_: float) -> float:
    """The weight of a word that so many of all passages have."""
    return log(1 + (max(0.0, all_ - having) + 0.5) / (having + 0.5))


# The store as a whole.

_FOUND = """
SELECT thread, entry.turn, entry.at, entry.id, who, field, start, size, error
FROM passage JOIN entry ON entry.owner = passage.owner AND entry.session = passage.session
     AND entry.number = passage.number
WHERE passage.id = :passage AND passage.owner = :owner"""
_OF = "WHERE entry.owner = session.owner AND entry.session = session.name"
_MAIN = "WHERE place.owner = session.owner AND place.session = session.name AND thread = :main"
_LISTED = f"""
SELECT name,
  (SELECT number FROM entry {_OF} ORDER BY number DESC LIMIT 1),
  coalesce((SELECT ahead + 1 FROM place {_MAIN} ORDER BY turn DESC LIMIT 1), 0),
  coalesce((SELECT before + tokens FROM place {_MAIN} ORDER BY turn DESC LIMIT 1), 0),
  (SELECT count(*) FROM entry {_OF} AND kind = :compaction),
  (SELECT at FROM entry {_OF} ORDER BY number LIMIT 1),
  (SELECT at FROM entry {_OF} ORDER BY number DESC LIMIT 1),
  bytes + CAST(coalesce((
    SELECT sum((SELECT length(data) FROM blob
                WHERE blob.owner = link.owner AND blob.hash = link.hash))
    FROM link WHERE link.owner = session.owner AND link.session = session.name), 0) AS bigint)
FROM session WHERE owner = :owner ORDER BY rank DESC"""
_LOOSE = """
FROM blob WHERE owner = :owner AND NOT EXISTS (
  SELECT 1 FROM link WHERE link.owner = blob.owner AND link.hash = blob.hash)"""


class TableStore(Tables):
    """All sessions of an owner. A backend adds how its index of words is searched."""

    indexed_passages: ClassVar[str]
    """Selects the number of the entry and a count of passages, as `Store.indexed` gives them."""
    passage_faults: ClassVar[Mapping[str, str]] = {}
    """Further faults of passages, by the condition that they meet."""
    _holders: set[tuple[int, int]]

    @abstractmethod
    def hits(
        self, query: Query, seek: Sequence[Phrase], below: int, most: int
    ) -> Iterable[PassageHit]:
        """The newest passages with lower ids that match and have one of the phrases to seek by,
        where there are any."""

    @abstractmethod
    def spread(self, query: Query, most: int) -> Spread:
        """Where the newest passages are that match, times and turns aside."""

    def indexed_forms(self, forms: Sequence[Phrase]) -> Collection[Phrase]:
        """Those of a query's words that may stand in any text: most forms of a word are in none,
        and to ask for them one by one took half of the time of a question."""
        return forms

    @contextmanager
    def writing(self, session: str) -> Iterator[Block]:
        with self.locked(checked("session", session)) as block:
            yield block

    @contextmanager
    def locked(self, session: str | None) -> Iterator[Block]:
        """A transaction that locks a session; with None, all of the owner's."""
        me = (os.getpid(), threading.get_ident())
        if me in self._holders:  # it would wait for itself
            step = "end that block first; nothing was written"
            raise StoreFailed(self.place, "this thread already locks a session", next_step=step)
        self._holders.add(me)
        try:
            with self.database.transaction(self.owner, session) as connection:
                block = Block(self.database, self.owner, connection, session or "")
                try:
                    yield block
                    block.finish()
                finally:
                    block.release()
        finally:
            self._holders.discard(me)

    def sessions(self) -> Sequence[SessionInfo]:
        return list(readable_rows(self.ask(_LISTED, main="", compaction="compaction"), info_of))

    def find(self, query: Query) -> Sequence[Found]:
        if query.limit <= 0 or query.who not in ("", *WHO):
            return []
        found: list[Found] = []
        for match in (self._by_topic if query.topic else self._by_phrases)(_plain(query)):
            first = (match.score, match.session, match.number)
            rows = self.ask(_FOUND, passage=match.id)  # none where its entry is gone
            found += readable_rows([first + row for row in rows if row], found_of)
        return found

    def _by_phrases(self, query: Query) -> list[_Match]:
        hits = _newest(partial(self.hits, query, ()), max(CANDIDATES, query.limit))
        return ranked(hits, [1.0] * len(query.phrases), query.favour)[: query.limit]

    def _by_topic(self, query: Query) -> list[_Match]:
        scope = replace(query, topic=(), phrases=(), files=(), commands=())
        whole = self.spread(scope, COUNTED)
        there = self.indexed_forms([form for forms in query.topic for form in forms])
        topic: list[tuple[tuple[Phrase, ...], int]] = []
        for all_forms in query.topic:
            forms = tuple(form for form in all_forms if form in there)
            found = self.spread(replace(scope, topic=(forms,)), COUNTED) if forms else Spread()
            if number := self._number(found, whole):
                topic.append((forms, number))
        if not topic:
            return []
        seek: list[Phrase] = []
        most, all_ = max(RANKED, query.limit), self._number(whole, whole)
        room = most
        for forms, number in sorted(topic, key=itemgetter(1)):
            if seek and number > room and all_ > RANKED:
                break
            seek += forms
            room -= number
        narrowed = replace(query, topic=tuple(forms for forms, _ in topic))
        hits = _newest(partial(self.hits, narrowed, seek), most)
        worth = [rarity(number, all_) for _, number in topic]
        return ranked(hits, worth, query.favour)[: query.limit]

    def _number(self, found: Spread, whole: Spread) -> int:
        """How many passages match: where not all were counted, as if the older ones did as often
        as the newest."""
        if found.number < COUNTED or found.oldest is None or whole.newest is None:
            return found.number
        return found.number * whole.newest // max(1, whole.newest - found.oldest)

    def indexed(self, session: str) -> Mapping[int, int]:
        return {row[0]: row[1] for row in self.ask(self.indexed_passages, session) if row}

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        with self.locked(checked("session", session)) as block:
            if head is not None and block.head(session) != head:
                return False
            block.forget("true")
            for table, column in (("entry", "session"), *DERIVED):
                sql = f"DELETE FROM {table} WHERE owner = :owner AND {column} = :session"
                block.ask(sql, session)
        return True

    def loose(self) -> Mapping[str, int]:
        rows = self.ask(f"SELECT hash, length(data) {_LOOSE}")
        return {column_text(row[0]): row[1] for row in rows if row}

    def sweep(self) -> int:
        with self.locked(None) as block:
            removed = len(block.ask(f"DELETE {_LOOSE} RETURNING 1"))
        self.free_space(removed)
        return removed

    @abstractmethod
    def free_space(self, removed: int) -> None:
        """So many blobs were deleted."""

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        with self.locked(checked("session", session)) as block:
            block.reindex(passages)

    def problems(self) -> Iterator[Problem]:
        for name in self.session_names():
            yield from self._problems_of(name)

    def _problems_of(self, session: str) -> list[Problem]:
        """Of the tables derived from its entries. Where entries are missing or damaged, these
        tables remember more than they do, and are not rebuilt."""
        wrong: list[str] = []
        numbers = "SELECT count(*), max(number) FROM entry"
        try:
            with self.database.unchanging() as connection:
                tables = Tables(self.database, self.owner, connection)
                derived = Derived(tables)
                for entry in tables.entries(session):
                    derived.add(entry)
                (row,) = tables.ask(f"{numbers} WHERE {MINE}", session)
                sound = row is not None and row[0] == (row[1] or 0) == derived.count
                wrong += derived.differences(session)
                for condition, what in {_STRAY: STRAY_PASSAGE, **self.passage_faults}.items():
                    sql = f"SELECT count(*) FROM passage WHERE {MINE} AND {condition}"
                    ((many,),) = tables.ask(sql, session)  # type: ignore[misc]
                    wrong += [f"{what} ({many} times)"] if many else []
        except StoreFailed as error:
            what = f"it cannot be read: {error.why}"
            return [Problem(where=session, what=what, repairable=False)]
        return [Problem(where=session, what=what, repairable=sound) for what in wrong]

    def repair(self) -> Sequence[Problem]:
        found = [problem for problem in self.problems() if problem.repairable]
        self.rebuild({problem.where for problem in found})
        return found

    def rebuild(self, sessions: Collection[str]) -> None:
        for session in sorted(sessions):
            with self.locked(session) as block:
                block.rebuild()

    def session_names(self) -> list[str]:
        """All sessions of which anything is left; of a damaged database, those that can be seen."""
        names: set[str] = set()
        for table, column in (("entry", "session"), ("passage", "session"), *DERIVED):
            sql = f"SELECT DISTINCT {column} FROM {table} WHERE owner = :owner"
            try:
                rows = self.ask(sql)
            except StoreDamaged:  # reported by the check of the database itself
                continue
            names.update(readable_rows(rows, first_column))
        return sorted(names)

    def close(self) -> None:
        self.database.close()


# Whether the derived tables say what the entries say.

WRONG = {
    "place": "the turns that stand are not those that its entries say",
    "said": "its messages are not those that its entries say",
    "link": "its links to blobs are not those that its entries say",
    "session": "its line in the list of sessions is not what its entries say",
}
STRAY_PASSAGE = "a passage belongs to no entry, or to another time or turn"
_STRAY = f"NOT EXISTS ({ITS_ENTRY} AND entry.at = passage.at AND entry.turn = passage.turn)"


class Derived:
    """The rows that are derived from entries, which are added one by one. Of messages, which are
    many, only a sum of hashes is kept."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.count = 0
        self._said, self._links, self._bytes = 0, set[str](), 0
        self._standing: dict[str, list[Place]] = {}

    def add(self, entry: Entry) -> None:
        text = self._tables.database.text
        self.count += 1
        self._bytes += len(entry.data)
        self._links.update(entry.blobs)
        for position, id in enumerate(entry.said, entry.number * MESSAGES):
            self._said += _fingerprint((position, text(id)))
        if entry.kind not in ("turn", "cut"):
            return
        places = self._standing.setdefault(entry.thread, [])
        while places and places[-1].index >= entry.index:
            places.pop()
        if entry.kind == "turn":
            before = places[-1].before + places[-1].tokens if places else 0
            places.append(place_of((entry.index, entry.number, entry.tokens, before, entry.id)))

    def differences(self, session: str) -> Iterator[str]:
        text, rank = self._tables.database.text, self._tables.rank(session)
        places = (
            (text(thread), ahead, one.index, one.number, one.tokens, one.before, text(one.id))
            for thread, standing in self._standing.items()
            for ahead, one in enumerate(standing)
        )
        wanted = {
            f"thread, ahead, {PLACE} FROM place": sum(map(_fingerprint, places)),
            "position, id FROM said": self._said,
            "hash FROM link": sum(_fingerprint((text(hash),)) for hash in self._links),
            "rank, bytes FROM session": 0 if rank is None else _fingerprint((rank, self._bytes)),
        }
        for (what, expected), (table, column) in zip(wanted.items(), DERIVED, strict=True):
            sql = f"SELECT {what} WHERE owner = :owner AND {column} = :session"
            if sum(map(_fingerprint, self._tables.ask(sql, session))) != expected:
                yield WRONG[table]


def _fingerprint(row: Row) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest())
