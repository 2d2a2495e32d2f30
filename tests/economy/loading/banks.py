"""Random banks as items, and what must hold for whatever is loaded of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from kedgeline.economy.loading import LEVELS, NO_ROOM, Item, Level, Loaded

Load = Callable[[int, Sequence[Item], Callable[[str], int]], Loaded]

WORDS = (
    "tide",
    "berth",
    "pier",
    "`ice`",
    "潮",
    "#",
    "<kedgeline-x>",
    "[t3]",
    "```",
    "=",
    "-",
    "\n",
    "\n\n",
)


def texts(random: Random, size: int) -> Callable[[Level], str]:
    """A text of about so many characters with its levels, some of which it may not have."""
    made: dict[Level, str] = {"full": "x" * size}
    for level, most in (("2048", 60), ("512", 25), ("128", 8)):
        made[level] = "y" * random.randint(0, min(most, size + 2))  # type: ignore[index]
    return lambda level: made[level]


def worded(random: Random, size: int) -> Callable[[Level], str]:
    full = " ".join(random.choices(WORDS, k=size))
    cuts = dict(zip(LEVELS, (size, 60, 25, 8), strict=True))
    return lambda level: " ".join(full.split(" ")[: cuts[level]])


def bank(
    random: Random, text: Callable[[Random, int], Callable[[Level], str]] = texts
) -> list[Item]:
    sizes = random.choice(((0, 30), (0, 200), (50, 90), (1, 1_500)))
    return [
        Item(
            name=f"file{number}",
            priority=random.choice((0, 0, 1, 1, 2, 2, 3)),
            text=text(random, random.randint(*sizes)),
            code=random.random() < 0.2,
            why_not="on demand" if random.random() < 0.1 else "",
        )
        for number in range(random.randint(0, 9))
    ]


def broken(loaded: Loaded, items: Sequence[Item], count: Callable[[str], int]) -> Iterator[str]:
    """What is wrong with one result, whatever it was made by."""
    if count(loaded.text) > max(0, loaded.budget) or loaded.tokens != count(loaded.text):
        yield "over budget, or counted wrongly"
    named = sorted([*(one.name for one in loaded.parts), *(one.name for one in loaded.left_out)])
    if named != sorted(item.name for item in items):
        yield "something is missing, or there twice"
    if any(f"# {part.name}" not in loaded.text for part in loaded.parts):
        yield "a part that the text does not have"
    if loaded.tokens != sum(part.tokens for part in loaded.parts):
        yield "the parts are not the whole"
    if sum(one.used for one in loaded.shares) != loaded.tokens:
        yield "the classes are not the whole"
    if any(not one.why for one in loaded.left_out):
        yield "left out without a reason"


def unused(loaded: Loaded, needs: Callable[[str], int]) -> Iterator[str]:
    """What could be more with what is left. `needs`: tokens that the next higher level of an item
    has more."""
    spare = loaded.budget - loaded.tokens
    waiting = [part.name for part in loaded.parts if part.level != "full"]
    waiting += [one.name for one in loaded.left_out if one.why == NO_ROOM]
    for name in waiting:
        if 0 < needs(name) <= spare:
            yield f"{name} needs {needs(name)} of {spare}"


def steps_up(
    loaded: Loaded, items: Sequence[Item], alone: Callable[[Item, Level], int]
) -> Callable[[str], int]:
    """Tokens to the next higher level of an item; 0 where it has none."""
    by_name = {item.name: item for item in items}
    now = {part.name: part.tokens for part in loaded.parts}

    def needs(name: str) -> int:
        have = now.get(name, 0)
        sizes = falling([alone(by_name[name], level) for level in LEVELS])
        return min((size - have for size in sizes if size > have), default=0)

    return needs


def falling(sizes: Sequence[int]) -> list[int]:
    """Those that are smaller than all before them: a level that is no shorter is none."""
    return [
        size
        for number, size in enumerate(sizes)
        if size and all(size < before for before in sizes[:number] if before)
    ]
