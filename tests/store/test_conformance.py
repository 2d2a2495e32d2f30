"""The checks that any store must pass: ours do, and whatever breaks one sentence does not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from kedgeline.store import Store
from kedgeline.store.sqlite import open_memory, open_sqlite
from tests.store.conformance import CHECKS, check_store
from tests.store.conformance.planted import PLANTED, Planted

NAMES = {check.__name__.replace("_", " ") for check in CHECKS}
_runs = count()


def failed(opening: Callable[[str, str], Store]) -> set[str]:
    """Names of the checks that a store fails, each run at places of its own."""
    lines = check_store(opening, prefix=f"run{next(_runs)}-")
    return {line.partition(":")[0] for line in lines}


@pytest.fixture(scope="module")
def reported() -> dict[str, set[str]]:
    return {name: failed(opening) for name, opening in PLANTED.items()}


def test_the_store_in_memory_passes() -> None:
    def opening(place: str, owner: str) -> Store:
        return open_memory(f"memory:{place}", owner=owner)

    assert check_store(opening) == []


def test_the_store_in_a_folder_passes(tmp_path: Path) -> None:
    def opening(place: str, owner: str) -> Store:
        return open_sqlite(str(tmp_path / place), owner=owner)

    assert check_store(opening) == []


def test_the_store_in_a_folder_passes_without_a_write_ahead_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kedgeline.store.sqlite.connection.wanted_journal", lambda *_: "truncate")

    def opening(place: str, owner: str) -> Store:
        store = open_sqlite(str(tmp_path / place), owner=owner, durability="fast")
        assert store.journal == "truncate"
        return store

    assert check_store(opening) == []


def test_what_is_planted_around_a_good_store_is_all_that_is_wrong() -> None:
    def opening(place: str, owner: str) -> Store:
        return Planted(open_memory(f"memory:good {place}", owner=owner), place, owner)  # type: ignore[return-value]

    assert failed(opening) == set()


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_reported(name: str, reported: dict[str, set[str]]) -> None:
    assert reported[name]


def test_every_check_can_fail(reported: dict[str, set[str]]) -> None:
    assert NAMES - set().union(*reported.values()) == set()
