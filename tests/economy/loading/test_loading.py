"""What goes into a budget: the shares of the seed, levels, and what must hold for any bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

from kedgeline.economy import loading
from kedgeline.economy.loading import EMPTY, NO_ROOM, Item, Level, Loaded, load
from kedgeline.economy.packing import block
from kedgeline.tokens import EXACT, Estimate
from tests.economy.loading.banks import Load, bank, broken, falling, steps_up, unused, worded

BANKS = 1_500


def sized(name: str, priority: int, *sizes: int, why_not: str = "") -> Item:
    """An item whose blocks have so many characters, headings included, from full to 128."""
    made: dict[Level, str] = {}
    for level, size in zip(loading.LEVELS, (*sizes, 0, 0, 0), strict=False):
        made[level] = "x" * (size - len(block(name, "", level))) if size else ""
    return Item(name=name, priority=priority, text=lambda level: made[level], why_not=why_not)


def levels(loaded: Loaded) -> dict[str, str]:
    return {part.name: part.level for part in loaded.parts}


def alone(item: Item, level: Level) -> int:
    said = item.text(level)
    return len(block(item.name, said, level, code=item.code)) if said else 0


def faults(load: Load, random: Random) -> list[str]:
    """What is wrong with what is loaded of one random bank, into two budgets."""
    items = bank(random)
    small = random.randint(0, 900)
    large = small + random.choice((1, random.randint(1, 60), random.randint(1, 900)))
    first, second = load(small, items, len), load(large, items, len)
    found = [*broken(first, items, len), *broken(second, items, len)]
    if first != load(small, items, len):
        found.append("another result for the same")
    for loaded in (first, second):
        found += unused(loaded, steps_up(loaded, items, alone))
        found += lost_shares(loaded, items)
    return found


def lost_shares(loaded: Loaded, items: Sequence[Item]) -> Iterator[str]:
    """Classes that have less than they would load from their shares alone."""
    for one in loaded.shares:
        rows = [item for item in items if item.priority == one.priority]
        if one.used < load_alone(one.share, rows):
            yield f"P{one.priority} has {one.used} of {one.share}"


def load_alone(share: int, rows: Sequence[Item]) -> int:
    """Tokens that a class loads from its share alone, counted by other code than ours."""
    left = share
    for item in rows:
        if item.why_not or not item.text("full"):
            continue
        sizes = falling([alone(item, level) for level in loading.LEVELS])
        left -= max((size for size in sizes if size <= left), default=0)
    return share - left


def test_random_banks_keep_every_promise() -> None:
    """R40: never over budget, no class loses its share, nothing that fits is left unused, nothing
    is silently missing, and the same for the same."""
    random = Random(7)
    assert [found for _ in range(BANKS) if (found := faults(load, random))] == []


def test_what_is_too_large_falls_to_the_next_level_that_fits() -> None:
    """R40: full, 2048, 512, 128, and only then it is left out."""
    others = [sized(f"o{number}", number, 2_000) for number in (1, 2, 3)]
    fell = {}
    for budget in (4_000, 1_400, 700, 350, 240):
        loaded = load(budget, [sized("a", 0, 1_200, 400, 200, 100), *others], len)
        fell[budget] = levels(loaded).get("a")
    assert fell == {4_000: "full", 1_400: "full", 700: "2048", 350: "512", 240: "512"}
    full = [sized(f"{n}{m}", n, 40) for n in (1, 2, 3) for m in range(100)]
    for budget in (4_000, 1_400, 700, 350, 240, 90):
        loaded = load(budget, [sized("a", 0, 1_200, 400, 200, 100), *full], len)
        fell[budget] = levels(loaded).get("a")
    assert fell == {4_000: "full", 1_400: "2048", 700: "512", 350: "128", 240: None, 90: None}
    assert loaded.left_out[0].why == NO_ROOM
    assert loaded.left_out[0].tokens == 100


def test_a_class_keeps_its_share_from_higher_ones_that_want_more() -> None:
    items = [
        sized("a", 0, 900, 100),
        sized("b", 1, 250, 40),
        sized("c", 2, 250, 40),
        sized("d", 3, 200, 40),
    ]
    loaded = load(1_000, items, len)
    assert levels(loaded) == {"a": "2048", "b": "full", "c": "full", "d": "full"}


def test_what_lower_classes_do_not_use_goes_to_the_highest_first() -> None:
    items = [sized("a", 0, 700, 100), sized("b", 1, 700, 100), sized("c", 2, 200)]
    loaded = load(1_000, items, len)
    assert levels(loaded) == {"a": "full", "b": "2048", "c": "full"}
    assert [one.flowed for one in loaded.shares] == [400, -150, -50, -200]


def test_reasons_are_told() -> None:
    items = [
        sized("a", 0, 0),
        sized("b", 3, 50, why_not="on demand"),
        sized("c", 1, 500),
        Item(name="d", priority=2, text=lambda level: " \n "),
    ]
    told = {one.name: one.why for one in load(100, items, len).left_out}
    assert told == {"a": EMPTY, "b": "on demand", "c": NO_ROOM, "d": EMPTY}


@pytest.mark.parametrize("budget", [-5, 0, 1])
def test_no_budget_loads_nothing_and_says_so(budget: int) -> None:
    loaded = load(budget, [sized("a", 0, 50, 40)], len)
    assert (loaded.text, loaded.tokens, len(loaded.left_out)) == ("", 0, 1)


def test_levels_are_made_only_where_they_are_needed() -> None:
    asked: list[str] = []

    def text(level: Level) -> str:
        asked.append(level)
        return "x"

    load(1_000, [Item(name="a", priority=0, text=text)], len)
    assert set(asked) == {"full"}
    asked.clear()
    load(0, [Item(name="a", priority=3, text=text, why_not="on demand")], len)
    assert asked == []


@pytest.mark.parametrize("count", [EXACT.count, Estimate().count, lambda text: len(text) ** 2])
def test_the_whole_text_is_what_is_counted(count: Callable[[str], int]) -> None:
    """Also where a counter finds more, or less, in the whole than in its parts."""
    random = Random(3)
    for _ in range(200):
        items = bank(random, worded)
        budget = random.randint(0, 2_000)
        loaded = load(budget, items, count)
        assert loaded.tokens == (count(loaded.text) if loaded.text else 0) <= budget
        assert len(loaded.parts) + len(loaded.left_out) == len(items)


def test_blocks_have_as_many_tokens_together_as_alone() -> None:
    """So that what is planned block by block holds for the text that is sent."""
    random = Random(5)
    for _ in range(200):
        items = bank(random, worded)
        loaded = load(random.randint(100, 3_000), items, EXACT.count)
        assert loaded.tokens == sum(part.tokens for part in loaded.parts)
