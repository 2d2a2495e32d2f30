"""What need not be kept any longer, by rules that somebody gave. Nothing goes by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from kedgeline.model import Value
from kedgeline.store import Head, SessionInfo, Store

DAY = 86_400_000_000
"""Microseconds."""


class Rules(Value, frozen=True):
    """Which sessions may go: those for which all that is given holds. Without any, none."""

    older_than: float | None = None
    """Days since the last entry."""
    larger_than: int | None = None
    """Bytes of its entries and texts, as they are stored."""
    match: tuple[str, ...] = ()
    """Patterns such as ci-*, one of which its name has."""
    keep_last: int | None = None
    """So many that were written to last stay in any case, counted among those that match."""

    @property
    def given(self) -> bool:
        return self != Rules()


class Going(Value, frozen=True):
    """A session that a rule lets go."""

    name: str
    turns: int
    last: int
    """Microseconds since 1970, UTC, of its last entry."""
    bytes: int
    """Its size; texts that others share stay."""
    why: str
    head: Head
    """Where it ended when it was looked at."""


class Removal(Value, frozen=True):
    """What would go, and what that would free."""

    going: tuple[Going, ...] = ()
    kept: int = 0
    """Sessions that stay."""
    loose: int = 0
    """Texts that no session refers to now."""
    frees: int = 0
    """Bytes of the sessions and of all texts that nobody needs then, as they are stored."""


class Removed(Value, frozen=True):
    """What is gone."""

    sessions: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    """Sessions that were written to after the look: they stay."""
    texts: int = 0


def plan_gc(store: Store, rules: Rules, now: int) -> Removal:
    """What the rules let go, and why. `now` is in microseconds since 1970, UTC."""
    sessions = store.sessions()
    going = tuple(_going(store, sessions, rules, now))
    loose = store.loose()
    return Removal(
        going=going,
        kept=len(sessions) - len(going),
        loose=len(loose),
        frees=sum(loose.values()) + _freed(store, sessions, going),
    )


def collect(store: Store, removal: Removal) -> Removed:
    """Remove what was planned, and all texts that no session refers to then."""
    dropped: list[str] = []
    spared: list[str] = []
    for going in removal.going:
        gone = store.drop(going.name, head=going.head)
        (dropped if gone else spared).append(going.name)
    return Removed(sessions=tuple(dropped), spared=tuple(spared), texts=store.sweep())


def _going(
    store: Store, sessions: Sequence[SessionInfo], rules: Rules, now: int
) -> Iterator[Going]:
    named = [info for info in sessions if _matches(info, rules)]
    for place, info in enumerate(named):
        why = _why(info, place, rules, now)
        if why:
            yield Going(
                name=info.name,
                turns=info.turns,
                last=info.last,
                bytes=info.bytes,
                why="; ".join(why),
                head=store.head(info.name),
            )


def _matches(info: SessionInfo, rules: Rules) -> bool:
    return not rules.match or any(fnmatchcase(info.name, one) for one in rules.match)


def _why(info: SessionInfo, place: int, rules: Rules, now: int) -> list[str]:
    """The rules that hold for it, in words; none where one does not."""
    why = []
    if rules.match:
        why.append(f"its name is like {' or '.join(rules.match)}")
    if rules.older_than is not None:
        age = (now - info.last) / DAY
        if age <= rules.older_than:
            return []
        why.append(f"last entry {age:,.0f} days ago")
    if rules.larger_than is not None:
        if info.bytes <= rules.larger_than:
            return []
        why.append(f"larger than {rules.larger_than:,} bytes")
    if rules.keep_last is not None:
        if place < rules.keep_last:
            return []
        why.append(f"not among the last {rules.keep_last:,}")
    return why


def _freed(store: Store, sessions: Sequence[SessionInfo], going: Sequence[Going]) -> int:
    """Bytes of sessions and their texts; those that a session which stays refers to stay too, and
    those that several of them share are there once."""
    if not going:
        return 0
    names = {one.name for one in going}
    users: Counter[str] = Counter()
    for name in names:
        users.update(_texts(store, name))
    staying = set()
    for info in sessions:
        if info.name not in names:
            staying.update(users.keys() & _texts(store, info.name))
    total = sum(one.bytes for one in going)
    for hash, count in users.items():
        spare = count if hash in staying else count - 1
        if spare:
            total -= spare * len(store.blob(hash) or b"")
    return total


def _texts(store: Store, session: str) -> set[str]:
    return {hash for entry in store.entries(session) for hash in entry.blobs}
