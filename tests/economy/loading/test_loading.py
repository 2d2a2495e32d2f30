"""What goes into a budget: the shares of the seed, levels, and what must hold for any bank."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from kedgeline.economy import loading
from kedgeline.economy.loading import EMPTY, NO_ROOM, Level, Loadable, Loaded, load_items
from kedgeline.economy.packing import block
from kedgeline.tokens import EXACT, Estimate

WORDS = ("tide", "berth", "`ice`", "潮", "#", "<kedgeline-x>", "[t3]", "```", "=", "\n", "\n\n")


def sized(name: str, priority: int, *sizes: int, why_not: str = "") -> Loadable:
    """An item whose blocks have so many characters, headings included, from full to 128."""
    made: dict[Level, str] = {}
    for level, size in zip(loading.LEVELS, (*sizes, 0, 0, 0), strict=False):
        made[level] = "x" * (size - len(block(name, "", level))) if size else ""
    return Loadable(name=name, priority=priority, text=lambda level: made[level], why_not=why_not)


def levels(loaded: Loaded) -> dict[str, str]:
    return {part.name: part.level for part in loaded.parts}


def random_bank(random: Random) -> list[Loadable]:
    """Items of words that vocabularies join and that Markdown has a meaning for."""

    def item(number: int) -> Loadable:
        words = random.choices(WORDS, k=random.choice((0, 20, 90, 1_500)))
        cuts = dict(zip(loading.LEVELS, (len(words), 60, 25, 8), strict=True))
        why_not = "on demand" if random.random() < 0.1 else ""
        text = " ".join
        return Loadable(
            f"file{number}",
            random.choice((0, 0, 1, 1, 2, 2, 3)),
            lambda level: text(words[: cuts[level]]),
            code=random.random() < 0.2,
            why_not=why_not,
        )

    return [item(number) for number in range(random.randint(0, 9))]


@pytest.mark.parametrize("count", [len, EXACT.count, Estimate().count, lambda text: len(text) ** 2])
def test_random_banks_keep_every_promise(count: Callable[[str], int]) -> None:
    """R40: never over budget, nothing that would fit is left unused, nothing is silently missing,
    and the same for the same; also where a counter finds more, or less, in the whole."""
    random = Random(7)
    for _ in range(60):
        items, budget = random_bank(random), random.randint(0, 3_000)
        loaded = load_items(budget, items, count)
        assert loaded == load_items(budget, items, count)
        assert loaded.tokens == (count(loaded.text) if loaded.text else 0) <= budget
        told = [*(one.name for one in loaded.parts), *(one.name for one in loaded.left_out)]
        assert sorted(told) == sorted(item.name for item in items)
        assert all(f"# {part.name}" in loaded.text for part in loaded.parts)
        assert all(one.why for one in loaded.left_out)
        if count in (len, EXACT.count):  # blocks have as many tokens together as one by one
            assert loaded.tokens == sum(part.tokens for part in loaded.parts)
            assert loaded.tokens == sum(one.used for one in loaded.shares)
            spare = budget - loaded.tokens
            waiting = [one.tokens for one in loaded.left_out if one.why == NO_ROOM]
            assert all(needed > spare for needed in waiting)


def test_what_is_too_large_falls_to_the_next_level_that_fits() -> None:
    """R40: full, 2048, 512, 128, and only then it is left out."""
    full = [sized(f"{n}{m}", n, 40) for n in (1, 2, 3) for m in range(100)]
    fell = {}
    for budget in (4_000, 1_400, 700, 350, 240, 90):
        loaded = load_items(budget, [sized("a", 0, 1_200, 400, 200, 100), *full], len)
        fell[budget] = levels(loaded).get("a")
    assert fell == {4_000: "full", 1_400: "2048", 700: "512", 350: "128", 240: None, 90: None}
    assert (loaded.left_out[0].why, loaded.left_out[0].tokens) == (NO_ROOM, 100)


def test_what_lower_classes_do_not_use_goes_to_the_highest_first() -> None:
    items = [sized("a", 0, 700, 100), sized("b", 1, 700, 100), sized("c", 2, 200)]
    loaded = load_items(1_000, items, len)
    assert levels(loaded) == {"a": "full", "b": "2048", "c": "full"}
    assert [one.flowed for one in loaded.shares] == [400, -150, -50, -200]


def test_reasons_are_told() -> None:
    items = [
        sized("a", 0, 0),
        sized("b", 3, 50, why_not="on demand"),
        sized("c", 1, 500),
        Loadable(name="d", priority=2, text=lambda level: " \n "),
    ]
    told = {one.name: one.why for one in load_items(100, items, len).left_out}
    assert told == {"a": EMPTY, "b": "on demand", "c": NO_ROOM, "d": EMPTY}


def test_levels_are_made_only_where_they_are_needed() -> None:
    asked: list[str] = []

    def text(level: Level) -> str:
        asked.append(level)
        return "x"

    load_items(1_000, [Loadable(name="a", priority=0, text=text)], len)
    assert set(asked) == {"full"}
    asked.clear()
    load_items(0, [Loadable(name="a", priority=3, text=text, why_not="on demand")], len)
    assert asked == []
