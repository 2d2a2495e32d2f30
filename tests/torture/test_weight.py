"""T-M2 and T-M3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.outcome import assert_sound, keep, run


def test_images_are_kept_once_and_a_large_record_takes_little_memory(tmp_path: Path) -> None:
    """codex#32287: 70 compactions wrote the same screenshots again, 862 MB. CC#79196: a transcript
    took 9 to 14 times its size in memory."""
    assert_sound(run("weight", place=str(tmp_path), seed=1, megabytes=8, images=100))


@pytest.mark.torture
def test_a_thousand_images_and_a_huge_record(tmp_path: Path) -> None:
    found = run("weight", place=str(tmp_path), seed=2, megabytes=100, images=1_000)
    assert_sound(keep("weight", found))


def test_the_check_finds_copies(tmp_path: Path) -> None:
    options = {"megabytes": 8, "images": 100, "plant": "copied"}
    found = run("weight", place=str(tmp_path), seed=1, **options).violations
    assert len([each for each in found if "images take" in each or "times their size" in each]) == 3
