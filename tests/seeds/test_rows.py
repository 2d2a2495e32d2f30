"""Every requirement of the seeds has its row, and each seed as many as were counted in it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.seeds.rows import NUMBER, ROWS


def test_every_row_is_there_once(request: pytest.FixtureRequest) -> None:
    marked = [one for one in request.session.items if one.get_closest_marker("seed")]
    found = Counter(found.groups() for one in marked if (found := NUMBER.search(one.nodeid)))
    wanted = {(seed, f"{row:02}") for seed, rows in ROWS.items() for row in range(1, rows + 1)}
    if {seed for seed, _ in found} != set(ROWS):
        pytest.skip("not all seeds were collected")
    assert found == Counter(wanted)


def test_few_rows_are_owed(request: pytest.FixtureRequest) -> None:
    """None may be added."""
    marks = (one.get_closest_marker("seed") for one in request.session.items)
    owed = Counter(mark.args[1] for mark in marks if mark is not None)
    assert owed["not"] == 0
    assert owed["partly"] <= 3
