"""Texts made shorter: never longer than their level, and as long as it allows."""

from __future__ import annotations

from random import Random

from kedgeline.economy.loading import ROOM, begun
from kedgeline.tokens import EXACT


def test_a_beginning_is_as_long_as_its_level_allows() -> None:
    random = Random(4)
    kinds = ("", "", "x", "# a comment", "    return berth(pier, tide)", "潮" * 9, "word " * 40)
    for _ in range(60):
        lines = random.choices(kinds, k=random.randint(1, 1_600))
        text = "\n".join(lines)
        level_of = begun(text)
        assert level_of("full") == text
        for level, room in ROOM.items():
            shown = level_of(level)
            assert EXACT.count(shown) <= room
            *kept, last = shown.split("\n")
            if last.endswith("more lines"):
                assert kept == text.splitlines()[: len(kept)]


def test_a_first_line_that_is_cut_says_how_many_follow() -> None:
    text = "import tide " * 1_200 + "\n" + "\n".join(f"line {number}" for number in range(1_500))
    for level, room in ROOM.items():
        shown = begun(text)(level)
        assert EXACT.count(shown) <= room
        assert shown.startswith("import tide ")
        assert shown.endswith("…\n… 1,500 more lines")
