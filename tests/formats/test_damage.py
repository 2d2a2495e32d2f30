"""Damaged files of every line format: everything readable is read, all damage is reported."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from kedgeline.formats import Head, detect, load_format
from kedgeline.pipeline.read import Reading, collect, open_source
from tests.formats.damage import Row, Session
from tests.formats.damage_edits import ANY, DEEP, EDITS
from tests.formats.damage_oracle import complaints
from tests.formats.damage_sessions import SESSIONS, json_session
from tests.formats.damage_texts import TEXTS, text_session
from tests.formats.damage_variants import UNSTRUCTURED, variants

LEAST = 5_000
"""Variants that every format has to stand."""
SHOWN = 5
JSON_FORMATS = sorted(SESSIONS)
ALL_FORMATS = sorted([*SESSIONS, *TEXTS])
MEGABYTE = 1_000_000
HIDING = frozenset({"duplicate", "wrong type", "other byte", "NUL over", "whole file", "cut"})
"""Families that may leave a record of another format, or hardly any."""


@cache
def session(name: str) -> Session:
    return json_session(name) if name in SESSIONS else text_session(name)


def run(name: str, seed: int | None = None) -> tuple[Counter[str], dict[str, list[str]]]:
    """How many variants of each family were read, and what was wrong with some of each."""
    read: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    here = session(name)
    for family, rows in variants(here) if seed is None else variants(here, seed):
        read[family] += 1
        if found := list(complaints(here, rows)):
            damaged = [row.data[:300] for row in rows if row.must or row.may]
            wrong.setdefault(family, []).append(f"{found[0]} in {damaged}")
    return read, {family: found[:SHOWN] for family, found in wrong.items()}


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_everything_readable_is_read_and_all_damage_reported(name: str) -> None:
    read, wrong = run(name)
    assert wrong == {}
    assert read.total() >= LEAST
    families = {"cut", "whole file", *(EDITS if name in SESSIONS else UNSTRUCTURED)}
    assert families - read.keys() == set()
    assert read["cut"] >= 600


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ALL_FORMATS)
def test_everything_readable_is_read_whatever_the_seed(name: str, seed: int) -> None:
    read, wrong = run(name, seed)
    assert wrong == {}
    assert read.total() >= LEAST


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_files_of_nothing(name: str) -> None:
    """A crash of the machine can leave a file of NUL bytes as long as the real one was."""
    nothing = {
        b"": set(),
        b"\n\n \r\n": set(),
        b"\xef\xbb\xbf": set(),
        b"\0" * 70_000: {"nul"},
        b"\0" * 5_000 + b"\n" + b"\0" * 5_000 + b"\n": {"nul"},
    }
    for data, kinds in nothing.items():
        reading = Reading(open_source(data), load_format(name))
        [transcript] = collect(reading)
        assert (transcript.turns, transcript.pending) == ((), None)
        assert {damage.kind for damage in transcript.damage} == kinds


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_nesting_that_cannot_be_read(name: str) -> None:
    here = session(name)
    for deep in DEEP:
        for at in (0, len(here.rows) // 2, len(here.rows)):
            rows = [*here.rows[:at], Row(deep + b"\n", must=ANY), *here.rows[at:]]
            assert list(complaints(here, rows)) == []


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_nesting_of_every_depth(name: str) -> None:
    """What one reader of JSON just manages is too deep for the next step: a reader once walked
    through a value of depth 600 with a recursion of two calls per level, and raised."""
    here = session(name)
    at = len(here.rows) // 2
    row = here.rows[at]
    for depth in (*range(100, 1_000, 50), *range(900, 1_010, 5), 1_500, 3_000):
        for before in (b"", b"\0"):
            for opening, end in ((b"[", b"]"), (b'{"a":', b"}")):
                inner = opening * depth + b"0" + end * depth
                data = before + row.data[:-2] + b',"extra":' + inner + b"}\n"
                hurt = Row(data, parts=row.whole, may=True, unknowable=True)
                rows = [*here.rows[:at], hurt, *here.rows[at + 1 :]]
                assert list(complaints(here, rows)) == []


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_line_of_five_megabytes(name: str) -> None:
    assert long_line(session(name), 5 * MEGABYTE) == []


@pytest.mark.torture
@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_line_of_a_hundred_megabytes(name: str) -> None:
    assert long_line(session(name), 100 * MEGABYTE) == []


def long_line(here: Session, size: int) -> list[str]:
    """What is wrong when one record holds as much text, whole, behind a NUL byte, or torn."""
    at = max(here.answers, default=len(here.rows) // 2)
    row, more = here.rows[at], "x" * size
    marker = f"mark{at:03d}x".encode()
    data = row.data.replace(marker, marker + more.encode(), 1)
    altered = ((at, more),)
    shapes = (
        Row(data, altered=altered),
        Row(b"\0" + data, altered=altered, must=frozenset({"nul"})),
        Row(data[: size // 2] + b"\n", parts=row.whole, must=frozenset({"torn"})),
    )
    before, after = here.rows[:at], here.rows[at + 1 :]
    return [found[:300] for shape in shapes for found in complaints(here, [*before, shape, *after])]


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_damage_at_the_beginning_does_not_hide_the_format(name: str) -> None:
    """Formats are recognised by content, and the first lines are as often damaged as others."""
    here = session(name)
    hidden: Counter[str] = Counter()
    tried = 0
    for family, rows in variants(here):
        if family not in HIDING and "+" not in family and rows[:1] != list(here.rows[:1]):
            tried += 1
            found = detect(Head(b"".join(row.data for row in rows)))
            hidden[family] += found is None or found.name != name
    assert +hidden == Counter()
    assert tried >= 100
