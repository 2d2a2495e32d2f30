"""Means over sessions, and what a report says of the sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.corpus import (
    Corpus,
    Mean,
    Part,
    Resampling,
    fingerprint,
    mean_of,
    means,
    write_session,
)


def quiet(what: str) -> None:
    return


def test_a_mean_is_over_things_and_its_interval_over_sessions() -> None:
    rows = [("a", {"names": 0.0}), ("a", {"names": 0.5}), ("b", {"names": 1.0}), ("c", {})]
    assert means(rows, ["names", "pairs"]) == {"names": Mean(mean=0.5, low=0.25, high=1.0, over=3)}


def test_the_things_of_one_session_come_and_go_together() -> None:
    """Twenty lines of one session say no more than one: their interval must not be narrower."""
    many = [(session, {"names": value}) for session, value in (("a", 0.0), ("b", 1.0)) * 20]
    few = [("a", {"names": 0.0}), ("b", {"names": 1.0})]
    wide, narrow = means(many, ["names"])["names"], means(few, ["names"])["names"]
    assert (wide.low, wide.high) == (narrow.low, narrow.high) == (0.0, 1.0)


def test_a_share_weighs_sessions_by_how_much_they_hold() -> None:
    found = mean_of([("long", 9.0, 90), ("short", 10.0, 10)])
    assert found is not None
    assert (found.mean, found.over) == (0.19, 100)
    assert (found.low, found.high) == (0.1, 1.0)


def test_the_same_seed_gives_the_same_interval_and_another_one_does_not() -> None:
    rows: list[Part] = [(f"s{n:02}", (n * 37 % 101) / 101, 1) for n in range(30)]
    assert mean_of(rows) == mean_of(rows[::-1]) == mean_of(rows, seed=1)
    assert mean_of(rows) != mean_of(rows, seed=2)


def test_all_that_is_measured_on_the_same_sessions_uses_the_same_draws() -> None:
    """Else a method could win by the luck of its draw."""
    drawn = Resampling(f"s{n:02}" for n in range(30))
    values: list[Part] = [(f"s{n:02}", (n * 37 % 101) / 101, 1) for n in range(30)]
    less = drawn.mean([(session, value - 0.25, 1) for session, value, _ in values])
    more = drawn.mean(values)
    assert less is not None
    assert more is not None
    assert more.low - less.low == pytest.approx(0.25)
    assert more.high - less.high == pytest.approx(0.25)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    write_session(tmp_path / "inner" / "one.jsonl", 1)
    write_session(tmp_path / "two.jsonl", 1)
    (tmp_path / "notes.txt").write_text("tides", "utf-8")
    return tmp_path


def test_a_folder_gives_its_sessions_and_counts_them(folder: Path) -> None:
    seen: list[str] = []
    corpus = Corpus(folder, watch=seen.append)
    assert [session.key for session in corpus] == ["inner/one.jsonl 0", "two.jsonl 0"]
    assert seen == ["inner/one.jsonl", "notes.txt", "two.jsonl"]
    origin = corpus.origin()
    assert (origin.files, origin.sessions) == (2, 2)
    assert origin.fingerprint == fingerprint(folder)


def test_the_fingerprint_is_of_names_and_sizes_wherever_the_folder_lies(folder: Path) -> None:
    first = fingerprint(folder)
    (folder / "notes.txt").write_text("piers", "utf-8")
    assert fingerprint(folder) == first
    (folder / "notes.txt").write_text("pier", "utf-8")
    assert fingerprint(folder) != first
    (folder / "notes.txt").write_text("piers", "utf-8")
    (folder / "notes.txt").rename(folder / "inner" / "notes.txt")
    assert fingerprint(folder) != first
    (folder / "inner" / "notes.txt").rename(folder / "notes.txt")
    moved = folder.rename(folder.with_name("moved"))
    assert fingerprint(moved) == first
