"""Words made wrong for the mutation check."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from bench.probes import mutations as wording


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (wording.other_folder, "moon.py", "/moon.py"),
        (wording.other_suffix, "src/moon.py", "src/moon."),
        (wording.other_count, "test: `make test`: passes", "test: `make test`: FAILS"),
        (wording.other_count, "test: `make test`: FAILS: no", "test: `make test`: passes: no"),
        (wording.no_flag, "`pytest -q`", "`pytest`"),
        (wording.no_flag, "`go test --run=One .`", "`go test .`"),
        (wording.no_not, "do not push", "do push"),
        (wording.no_not, "don't push", "do push"),
        (wording.cut_short, 'Now: "one two three four" then', 'Now: "one two" then'),
    ],
)
def test_words_are_made_wrong(change: Any, text: str, expected: str) -> None:
    assert expected in change(text, Random(1))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (wording.one_letter, "--"),
        (wording.other_number, "no number but of a turn: t12 [t3-4, t9]"),
        (wording.other_count, "Tasks: 3 of 4 completed"),
        (wording.other_flag, "`ls | sort`"),
        (wording.no_flag, "`ls a-b`"),
        (wording.other_word, "a `word` in/a/path [t3]"),
        (wording.no_not, "nothing notes nowhere"),
        (wording.cut_short, '"two words"'),
        (wording.cut_short, "no quotes at all here"),
    ],
)
def test_what_is_not_there_cannot_be_made_wrong(change: Any, text: str) -> None:
    assert all(change(text, Random(seed)) is None for seed in range(5))


@pytest.mark.parametrize(
    "change",
    [
        wording.one_letter,
        wording.other_letter,
        wording.other_folder,
        wording.other_suffix,
        wording.other_number,
        wording.other_flag,
        wording.other_word,
    ],
)
def test_what_is_made_wrong_is_never_what_it_was(change: Any) -> None:
    texts = (
        "src/a1.py",
        "lib/tests/b2.md",
        "run `pytest -q --lf 3` while wind blows wind",
        "7 k -x",
    )
    for text in texts:
        for seed in range(20):
            assert change(text, Random(seed)) != text
