"""Making good what follows from the originals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from kedge.archive.passages import as_it_is
from kedge.checking.checking import NOT_FOUND, Watch, check
from kedge.checking.searching import Clean, passages_anew
from kedge.store import Passage, Problem, Store

UNKNOWN = (
    "{count} turns are in the index of words anew; a value that was left out of it because an"
    " environment variable had it is in it now, unless the variable is set"
)


def repair(
    store: Store,
    *,
    sessions: Collection[str] = (),
    clean: Clean = as_it_is,
    watch: Watch | None = None,
) -> Iterator[Problem]:
    """What was made good: indexes, places and passages, from the entries; no entry is changed. What
    remains, `check` says. Nothing secret gets into the index that `clean` takes out, and what is in
    the index stays as it is."""
    made_good = list(store.repair())
    yield from made_good
    poor = {problem.where.partition(" ")[0] for problem in made_good}
    broken = set()
    for problem in check(store, sessions=sessions, watch=watch):
        if problem.repairable:
            session = problem.where.partition(" ")[0]
            poor.add(session)
            if problem.what == NOT_FOUND:
                broken.add(session)
            yield problem
    for info in store.sessions():
        if info.name in poor:
            anew = passages_anew(store, info.name, clean, every=info.name in broken)
            yield from _reindexed(store, info.name, anew)


def _reindexed(
    store: Store, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]
) -> Iterator[Problem]:
    count = 0

    def counted() -> Iterator[tuple[int, Sequence[Passage]]]:
        nonlocal count
        for one in passages:
            count += 1
            yield one

    store.reindex(session, counted())
    if count:
        yield Problem(where=session, what=UNKNOWN.format(count=count), repairable=True)
