"""What rules let go, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from kedgeline.session.archive import as_bytes, compressed, hash_of
from kedgeline.session.checking import DAY, Rules, check, plan_gc, remove_planned
from kedgeline.session.exports import export_session
from kedgeline.session.session import Session
from kedgeline.store import Entry, Store
from kedgeline.store.protocol import open_store
from tests.checking.planting import LONG
from tests.turns import bash, turn

NOW = 1_000 * DAY
AGES = {"ci-1": 400, "ci-2": 200, "ci-3": 100, "work": 300, "today": 0}
"""Days since the last entry, the one written to first first."""


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = "memory:" if request.param == "memory" else tmp_path / "store"
    with closing(open_store(place)) as store:
        for name, age in AGES.items():
            keep(store, name, age)
        yield store


def keep(store: Store, name: str, age: int) -> None:
    """A session with a text of its own and one that all share."""
    own = "".join(f"{name} {number * 7919} anchor\n" for number in range(900))
    session = Session(name, store)
    session.append(turn(0, bash("make", LONG), bash("log", own), user=f"Look at {name}."))
    with store.writing(name) as writing:
        writing.add(Entry(kind="attempt", **_attempt(), at=NOW - age * DAY))


def _attempt() -> dict[str, object]:
    from kedgeline.session.archive import packed
    from kedgeline.session.journal import Attempt

    made = packed(Attempt(why="nothing to fold"))
    return {"data": made.data, "id": made.id}


def names(store: Store, rules: Rules) -> list[str]:
    return [one.name for one in plan_gc(store, rules, NOW).going]


def exported(store: Store, name: str) -> bytes:
    target = BytesIO()
    export_session(store, name, target)
    return target.getvalue()


@pytest.mark.parametrize(
    ("rules", "going"),
    [
        (Rules(), []),
        (Rules(older_than=90), ["work", "ci-3", "ci-2", "ci-1"]),
        (Rules(older_than=100), ["work", "ci-2", "ci-1"]),
        (Rules(older_than=250), ["work", "ci-1"]),
        (Rules(match=("ci-*",)), ["ci-3", "ci-2", "ci-1"]),
        (Rules(match=("ci-*", "work"), older_than=250), ["work", "ci-1"]),
        (Rules(match=("CI-*",)), []),
        (Rules(keep_last=2), ["ci-3", "ci-2", "ci-1"]),
        (Rules(keep_last=1, match=("ci-*",)), ["ci-2", "ci-1"]),
        (Rules(keep_last=1, match=("ci-*",), older_than=300), ["ci-1"]),
        (Rules(keep_last=0), ["today", "work", "ci-3", "ci-2", "ci-1"]),
        (Rules(larger_than=1 << 30), []),
        (Rules(larger_than=100, older_than=350), ["ci-1"]),
    ],
)
def test_a_session_goes_when_all_rules_hold(store: Store, rules: Rules, going: list[str]) -> None:
    assert names(store, rules) == going


def test_all_else_stays_as_it_was(store: Store) -> None:
    """The text that all share stays with those that are kept."""
    staying = [name for name in AGES if not name.startswith("ci-")]
    forked = Session("ci-1", store).fork("fork")
    before = {name: exported(store, name) for name in (*staying, "fork")}
    views = {name: Session(name, store).view("anthropic") for name in (*staying, "fork")}
    removed = remove_planned(store, plan_gc(store, Rules(match=("ci-*",)), NOW))
    assert removed.sessions == ("ci-3", "ci-2", "ci-1")
    assert removed.texts == 2  # that of ci-1 is in its fork
    assert {info.name for info in store.sessions()} == {*staying, "fork"}
    assert {name: exported(store, name) for name in before} == before
    assert {name: Session(name, store).view("anthropic") for name in views} == views
    assert list(check(store)) == []
    assert dict(store.loose()) == {}
    assert forked.recall("ci-1 anchor")


def test_no_more_is_freed_than_it_says(store: Store) -> None:
    """Texts that sessions share are freed with the last of them."""

    def bytes_kept() -> int:
        entries = [entry for info in store.sessions() for entry in store.entries(info.name)]
        hashes = {hash for entry in entries for hash in entry.blobs} | set(store.loose())
        blobs = sum(len(store.blob(hash) or b"") for hash in hashes)
        return blobs + sum(len(entry.data) for entry in entries)

    Session("ci-1", store).fork("ci-fork")
    for rules in (Rules(), Rules(match=("ci-*",)), Rules(keep_last=0)):
        plan, before = plan_gc(store, rules, NOW), bytes_kept()
        remove_planned(store, plan)
        assert 0 < before - bytes_kept() <= plan.frees or not plan.frees


def test_loose_texts_go_without_any_rule(store: Store) -> None:
    text = as_bytes("left over " * 400)
    with store.writing("today") as writing:
        writing.add(Entry(kind="cut", index=9), blobs={hash_of(text): compressed(text)})
    plan = plan_gc(store, Rules(), NOW)
    assert (plan.going, plan.loose, plan.kept) == ((), 1, 5)
    assert remove_planned(store, plan).texts == 1
    assert plan_gc(store, Rules(), NOW).loose == 0
    assert len(store.sessions()) == 5


def test_a_session_that_was_written_to_meanwhile_stays(store: Store) -> None:
    plan = plan_gc(store, Rules(match=("ci-1",)), NOW)
    Session("ci-1", store).append({"role": "user", "content": "I am back."})
    removed = remove_planned(store, plan)
    assert (removed.sessions, removed.spared) == ((), ("ci-1",))
    assert Session("ci-1", store).transcript().turns


def test_the_file_gets_smaller(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "store")) as store:
        for name in AGES:
            session = Session(name, store)
            for number in range(20):
                text = "".join(f"{name} {number} {step * 7919}\n" for step in range(2_000))
                session.append(turn(number, bash("log", text)))
        remove_planned(store, plan_gc(store, Rules(), NOW))
        file = tmp_path / "store" / "kedgeline.db"
        before = file.stat().st_size
        remove_planned(store, plan_gc(store, Rules(match=("ci-*",)), NOW))
        assert file.stat().st_size < 0.6 * before
