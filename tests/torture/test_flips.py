"""Changed bytes all over a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.outcome import assert_sound, keep, run

NORMAL, TORTURE, PARTS = 20, 2_000, 4


def test_a_damaged_database_is_reported_and_nothing_is_invented(tmp_path: Path) -> None:
    """Invalid UTF-8 in a column ended `fsck`, its repair and `view` in a traceback."""
    assert_sound(run("flips", place=str(tmp_path), seed=1, cases=NORMAL))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_damaged_databases(part: int, tmp_path: Path) -> None:
    found = run("flips", place=str(tmp_path), seed=10 + part, cases=TORTURE // PARTS)
    assert_sound(keep("flips", found, part=part))
