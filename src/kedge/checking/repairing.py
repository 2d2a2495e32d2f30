"""Making good what follows from the originals."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kedge.archive.passages import as_it_is
from kedge.checking.checking import Watch, check
from kedge.checking.searching import Clean, passages_anew
from kedge.store import Problem, Store


def repair(
    store: Store,
    *,
    sessions: Collection[str] = (),
    clean: Clean = as_it_is,
    watch: Watch | None = None,
) -> Iterator[Problem]:
    """What was made good: indexes, places and passages, from the entries; no entry is changed. What
    remains, `check` says. Nothing secret gets into the index that `clean` takes out."""
    made_good = list(store.repair())
    yield from made_good
    poor = {problem.where.partition(" ")[0] for problem in made_good}
    for problem in check(store, sessions=sessions, clean=clean, watch=watch):
        if problem.repairable:
            poor.add(problem.where.partition(" ")[0])
            yield problem
    for info in store.sessions():
        if info.name in poor:
            store.reindex(info.name, passages_anew(store, info.name, clean))
