"""A store over SQL tables as a whole: searching, listing and dropping sessions, and its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from hashlib import blake2b
from math import fsum
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, TypeVar

from msgspec.structs import replace

from kedgeline.errors import StoreDamaged, StoreFailed
from kedgeline.files import checked
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
    found_of,
    info_of,
    place_of,
    rank_of,
    readable,
    text_of,
)
from kedgeline.store.values import (
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
    chain_of,
    rarity,
    scores_of,
    words,
)

# Searching: the newest passages that match, and the best of these.

CANDIDATES = 2_000
"""Newest matches that are ranked. A word that stands everywhere would else cost a look at every
passage there is."""
RANKED = 600
"""The same where any word will do: the rarest words that no more have choose what is ranked."""
COUNTED = 500
"""Passages counted to learn how rare a word is."""
BY_WHO: Mapping[str, float] = {"user": 1.4, "agent": 1.2}
"""What words count for by who said them: outputs are many, and repeat."""
FAVOURED = 1.2
"""What those of a failed call count for where failures are asked for."""
RECENT = (0.1, 0.6)
"""What the newest count for beyond the oldest, and where the last is asked for."""
TOGETHER = 0.5
"""Share that words count for in one passage; the rest they count for anywhere in the entry."""
OF_A_TURN = 50
"""Candidates from one turn: a giant output must not be all that is looked at."""
_FOUND = """
SELECT thread, entry.turn, entry.at, entry.id, who, field, start, size, error
FROM passage JOIN entry ON entry.owner = passage.owner AND entry.session = passage.session
     AND entry.number = passage.number
WHERE passage.id = :passage AND passage.owner = :owner"""


def words_of(phrase: Phrase) -> list[str]:
    return [word for text in phrase.words for word in words(text)]


class Match(NamedTuple):
    """A passage that matches; of equal scores the one written last is the largest."""

    score: float
    id: int
    session: str
    number: int


class Hit(NamedTuple):
    """A passage with words of a topic."""

    id: int
    session: str
    number: int
    who: str
    error: int
    size: int
    """Words of its text."""
    counts: tuple[int, ...]
    """How often each word of the topic stands there."""


class Spread(NamedTuple):
    """The newest passages that have something."""

    number: int = 0
    oldest: int | None = None
    newest: int | None = None
    """Ids, which grow with time."""


def conditions(query: Query) -> tuple[str, dict[str, Any]]:
    """What the index of words does not know, or knows by a hash only."""
    tests: dict[str, tuple[str, Any]] = {
        "since": ("passage.at >= :since", query.since),
        "until": ("passage.at <= :until", query.until),
        "first": ("passage.turn >= :first", query.first),
        "last": ("passage.turn <= :last", query.last),
        "who": ("passage.who = :who", query.who or None),
        "error": ("passage.error = :error", 1 if query.errors else None),
    }
    chosen = {name: test for name, test in tests.items() if test[1] is not None}
    text = "".join(f" AND {test}" for test, _ in chosen.values())
    values = {name: value for name, (_, value) in chosen.items()}
    if query.sessions:
        named = {f"s{n}": session for n, session in enumerate(query.sessions)}
        text += f" AND passage.session IN ({', '.join(f':{name}' for name in named)})"
        values |= named
    return text, values


# The store as a whole.


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


Chosen = TypeVar("Chosen", Match, Hit)


def newest(page_of: Callable[[int, int], Iterable[Chosen]], most: int) -> list[Chosen]:
    """So many of the newest passages, and no more from one entry than would hide the others."""
    found: list[Chosen] = []
    counts: Counter[tuple[str, int]] = Counter()
    below = LAST_INTEGER
    while len(found) < most:
        page = list(page_of(below, most))
        for match in page:
            counts[match.session, match.number] += 1
            if counts[match.session, match.number] <= OF_A_TURN:
                found.append(match)
        if len(page) < most:
            break
        full = counts[page[-1].session, page[-1].number] >= OF_A_TURN
        below = page[-1].id // PASSAGES * PASSAGES if full else page[-1].id
    return found[:most]


def ranked(hits: Sequence[Hit], worth: Sequence[float], favour: Sequence[str]) -> list[Match]:
    """Of each entry its best passage. A word counts for its entry where it counts most; in small
    part it counts who said it, and when."""
    average = fsum(hit.size for hit in hits) / max(1, len(hits))
    best: dict[tuple[str, int], tuple[float, int]] = {}
    whole: dict[tuple[str, int], list[float]] = {}
    for hit in hits:
        weight = BY_WHO.get(hit.who, 1.0) * (FAVOURED if hit.error and "failed" in favour else 1)
        scores = [
            weight * value * score
            for value, score in zip(worth, scores_of(hit.counts, hit.size, average), strict=True)
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
        found.append(Match(score, id, *entry))
    return found


class TableStore(Tables):
    """All sessions of an owner. A backend gives transactions, and what only its database can do."""

    counted: ClassVar[str] = f"SELECT number, count(*) FROM passage WHERE {MINE} GROUP BY number"
    """How many passages find each entry."""
    passage_faults: ClassVar[Mapping[str, str]] = {}
    """Further faults of passages, by the condition that they meet."""

    def held(self, session: str) -> AbstractContextManager[Block]:
        """One session held, in a transaction that ends as the block does."""
        raise NotImplementedError

    def alone(self) -> AbstractContextManager[Block]:
        """The same where nobody of this owner may write to any session."""
        raise NotImplementedError

    def one_state(self) -> AbstractContextManager[Tables]:
        """Several questions of one state."""
        raise NotImplementedError

    def matches(self, query: Query, below: int, most: int) -> Iterable[Match]:
        """The newest passages with lower ids that match."""
        raise NotImplementedError

    def hits(self, query: Query, seek: Sequence[Phrase], below: int, most: int) -> Iterable[Hit]:
        """The same of those with any of the phrases to seek by, and what of the topic they have."""
        raise NotImplementedError

    def spread(self, query: Query, most: int) -> Spread:
        """Where the newest passages stand that match, times and turns aside."""
        raise NotImplementedError

    @contextmanager
    def writing(self, session: str) -> Iterator[Block]:
        with self.held(checked("session", session)) as block:
            try:
                yield block
                block.check_whole()
            finally:
                block.release()

    def sessions(self) -> Sequence[SessionInfo]:
        return list(readable(self.ask(_LISTED, main="", compaction="compaction"), info_of))

    def find(self, query: Query) -> Sequence[Found]:
        """Of each turn its best passage, best first, newer before older."""
        if query.limit <= 0 or query.who not in ("", *WHO):
            return []
        best: dict[tuple[str, int], Match] = {}
        matching = self._on_topic(query) if query.topic else self._candidates(query)
        for match in sorted(matching, reverse=True):
            best.setdefault((match.session, match.number), match)
            if len(best) == query.limit:
                break
        found: list[Found] = []
        for match in best.values():
            first = (match.score, match.session, match.number)
            rows = self.ask(_FOUND, passage=match.id)  # none where its entry is gone
            found += readable([first + row for row in rows if row], found_of)
        return found

    def _candidates(self, query: Query) -> list[Match]:
        return newest(partial(self.matches, query), max(CANDIDATES, query.limit))

    def _on_topic(self, query: Query) -> list[Match]:
        """Of each entry the best passage, ranked by the words of the topic that it has and that
        all its passages have."""
        scope = replace(query, topic=(), phrases=(), files=(), commands=())
        whole = self.spread(scope, COUNTED)
        known = (self._frequent(scope, forms, whole) for forms in query.topic)
        words = [(forms, frequency) for forms, frequency in known if forms]
        if not words:
            return []
        seek: list[Phrase] = []
        room, all_ = max(RANKED, query.limit), self._number(whole, whole)
        for forms, frequency in sorted(words, key=itemgetter(1)):
            if seek and frequency > room and all_ > RANKED:
                break
            seek += forms
            room -= frequency
        narrowed = replace(query, topic=tuple(forms for forms, _ in words))
        hits = newest(partial(self.hits, narrowed, seek), max(RANKED, query.limit))
        return ranked(hits, [rarity(frequency, all_) for _, frequency in words], query.favour)

    def _frequent(
        self, scope: Query, forms: Sequence[Phrase], whole: Spread
    ) -> tuple[tuple[Phrase, ...], int]:
        """The forms of a word that occur, and how many passages have them."""
        cut = (replace(form, words=tuple(words_of(form))) for form in forms)
        found = {
            form: self._number(self.spread(replace(scope, topic=((form,),)), COUNTED), whole)
            for form in dict.fromkeys(cut)
            if form.words
        }
        return tuple(form for form in found if found[form]), sum(found.values())

    def _number(self, found: Spread, whole: Spread) -> int:
        """How many passages have something: where not all were counted, as if the older ones had
        it as often as the newest."""
        if found.number < COUNTED or found.oldest is None or whole.newest is None:
            return found.number
        return found.number * whole.newest // max(1, whole.newest - found.oldest)

    def indexed(self, session: str) -> Mapping[int, int]:
        return {row[0]: row[1] for row in self.ask(self.counted, session) if row}

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        with self.held(checked("session", session)) as block:
            if head is not None and block.head(session) != head:
                return False
            block.forget()
            for table, column in (("entry", "session"), *DERIVED):
                sql = f"DELETE FROM {table} WHERE owner = :owner AND {column} = :session"
                block.ask(sql, session)
        return True

    def loose(self) -> Mapping[str, int]:
        rows = self.ask(f"SELECT hash, length(data) {_LOOSE}")
        return {text_of(row[0]): row[1] for row in rows if row}

    def sweep(self) -> int:
        with self.alone() as block:
            removed = len(block.ask(f"DELETE {_LOOSE} RETURNING 1"))
        self.give_room_back(removed)
        return removed

    def give_room_back(self, removed: int) -> None:
        """So many blobs were removed."""

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        with self.held(checked("session", session)) as block:
            block.reindex(passages)

    def problems(self) -> Iterator[Problem]:
        for name in self.session_names():
            with self.one_state() as tables:
                found = list(session_problems(tables, name, self.passage_faults))
            yield from found

    def repair(self) -> Sequence[Problem]:
        """The words of passages come back with `reindex`, from the originals."""
        good = [problem for problem in self.problems() if problem.repairable]
        self.repair_sessions(good)
        return good

    def repair_sessions(self, found: Collection[Problem]) -> None:
        where = {problem.where for problem in found}
        for session in self.session_names():
            if session in where:
                with self.held(session) as block:
                    block.derive_anew()

    def session_names(self) -> list[str]:
        """All sessions of which anything is left; of a damaged database, those that can be seen."""
        names: set[str] = set()
        for table, column in (("entry", "session"), ("passage", "session"), *DERIVED):
            sql = f"SELECT DISTINCT {column} FROM {table} WHERE owner = :owner"
            try:
                rows = self.ask(sql)
            except StoreDamaged:  # said already by what the database itself finds
                continue
            names.update(readable(rows, lambda row: text_of(row and row[0])))
        return sorted(names)


def held_already(place: str) -> StoreFailed:
    step = "end that block first; nothing was written"
    return StoreFailed(place, "this thread holds a session already", next_step=step)


# What is wrong with a session: its entries, and what follows from them.

WRONG = {
    "place": "the turns that stand are not those that its entries say",
    "said": "its messages are not those that its entries say",
    "link": "its links to blobs are not those that its entries say",
    "session": "its line in the list of sessions is not what its entries say",
}
_STRAY = f"NOT EXISTS ({ITS_ENTRY} AND entry.at = passage.at AND entry.turn = passage.turn)"


class Derived:
    """The rows that follow from entries, as they are taken in one by one. Of messages, which are
    many, no more than a sum of hashes is kept."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._said, self._links, self._bytes = 0, set[str](), 0
        self._standing: dict[str, list[Place]] = {}

    def take(self, entry: Entry) -> None:
        text = self._tables.text
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
        """Where the tables say something else, or nothing that can be read."""
        text, rank = self._tables.text, rank_of(self._tables, session)
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
        for (what, expected), (_, column) in zip(wanted.items(), DERIVED, strict=True):
            sql = f"SELECT {what} WHERE owner = :owner AND {column} = :session"
            if sum(map(_fingerprint, self._tables.ask(sql, session))) != expected:
                yield WRONG[what.rpartition(" ")[2]]


def _fingerprint(row: Row) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=16).digest())


def session_problems(
    tables: Tables, session: str, passage_faults: Mapping[str, str]
) -> Iterator[Problem]:
    """What is wrong with a session, entry by entry. Where one of them is damaged, what followed
    from all of them remembers more than they do, and is not made anew."""
    derived, before, sound = Derived(tables), Head(), True
    there: set[str] = set()
    try:
        for _, entry in tables.numbered(session):
            number = entry.number if isinstance(entry, Entry) else before.number + 1
            for what in _entry_faults(entry, before):
                sound = False
                yield Problem(where=f"{session} entry {number}", what=what, repairable=False)
            before = Head(number=number)
            if not isinstance(entry, Entry):
                continue
            for hash in entry.blobs:
                if hash in there or tables.blob(hash) is not None:
                    there.add(hash)
                    continue
                what = f"the blob {hash} that it refers to is missing"
                yield Problem(where=f"{session} entry {number}", what=what, repairable=False)
            derived.take(entry)
            before = Head(number=number, chain=entry.chain)
        wrong = list(derived.differences(session))
        stray = "a passage belongs to no entry, or to another time or turn"
        for condition, what in {_STRAY: stray, **passage_faults}.items():
            rows = tables.ask(f"SELECT count(*) FROM passage WHERE {MINE} AND {condition}", session)
            if rows[0] and rows[0][0]:
                wrong.append(f"{what} ({rows[0][0]} times)")
        for what in wrong:
            yield Problem(where=session, what=what, repairable=sound)
    except StoreFailed as error:
        yield Problem(where=session, what=f"it cannot be read: {error.why}", repairable=False)


def _entry_faults(entry: Entry | Exception, before: Head) -> Iterator[str]:
    if not isinstance(entry, Entry):
        yield f"it cannot be read: {entry}"
        return
    if entry.number != before.number + 1:
        yield f"its number comes after {before.number}: entries are missing"
    if entry.chain != chain_of(entry, before.chain):
        yield "its chain is broken: it, or what was before it, is not what was written"
